"""``bench replay``: plays recorded conversations of real agents, and counts what guards do to them."""

import hashlib
import json
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from asyncguard import DeclarationError, GuardConfig, Mode, ToolSpec
from asyncguard_benchmark.commands.output import console, notice, print_json, table, with_progress
from asyncguard_benchmark.errors import BenchmarkError, DataError
from asyncguard_benchmark.harness.arms import arm_of
from asyncguard_benchmark.harness.json_lines import whole_content
from asyncguard_benchmark.harness.replay.conversations import (
    Conversation,
    read_conversations,
)
from asyncguard_benchmark.harness.replay.counts import CountsFile, Sum, summed
from asyncguard_benchmark.harness.replay.knowledge import Need
from asyncguard_benchmark.harness.replay.play import BROKEN, Outcome, Setting, play

_UNRECORDED = frozenset(
    {"fallbacks", "probe", "contract", "sources", "verifier", "retry", "token_argument"}
)
"""Fields of a declaration that need answers which were not recorded, or cannot stand in a file."""
_OWN = frozenset({"name", "parameters"})


@dataclass(frozen=True, kw_only=True)
class _Episode:
    """One thing to play."""

    conversations: Sequence[Conversation]
    setting: Setting
    arm: str
    early: int | None

    @property
    def about(self) -> dict[str, Any]:
        """Name of the episode, as it stands in a file of counts: without a word of the conversations."""
        return {
            "conversations": [each.source for each in self.conversations],
            "player": self.setting.player,
            "arm": self.arm,
            "shadow": self.setting.config.shadow,
            "early": self.early,
        }

    @property
    def key(self) -> str:
        """Digest of everything that decides what comes of it."""
        said = [asdict(each) for each in self.conversations]
        text = json.dumps([self.about, said, asdict(self.setting)], sort_keys=True, default=_plain)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


def _plain(value: Any) -> Any:
    # A set has another order in each process.
    return sorted(value) if isinstance(value, frozenset) else str(value)


def execute(options: Namespace) -> int:
    """Run the command."""
    if options.early and options.interleave < 2:
        raise BenchmarkError(
            "--early needs --interleave 2 or more: alone, an agent gets no turn while a call runs"
        )
    if not options.arms:
        raise BenchmarkError("--arms names no arm; see `bench list arms`")
    read = [each for path in options.files for each in read_conversations(path)]
    conversations = [each for each in read if isinstance(each, Conversation)]
    problems = [each for each in read if isinstance(each, DataError)]
    for complaint in _grouped(problems):
        notice(complaint)
    episodes = list(_episodes(conversations, options))
    with CountsFile(options.out) as file:
        keys = [episode.key for episode in episodes]
        missing = [(k, e) for k, e in zip(keys, episodes, strict=True) if k not in file.known]
        if len(missing) < len(episodes):
            notice(
                f"{len(episodes) - len(missing)} of {len(episodes)} episodes are in {options.out} already"
            )
        for key, episode, outcome in with_progress(map(_played, missing), len(missing)):
            if outcome.ended.startswith(BROKEN):
                notice(
                    f"the episode that begins with {episode.conversations[0].source}: {outcome.ended}"
                )
            file.add(key, episode.about, outcome)
        outcomes = [file.known[key] for key in keys]
    _say(options, episodes, outcomes, conversations, problems)
    broken = [each for each in outcomes if each.ended.startswith(BROKEN)]
    return 1 if problems or broken or not conversations else 0


def _grouped(problems: Sequence[DataError]) -> Iterator[str]:
    """Yield each complaint once, with the number of further places of which it is made."""
    alike: dict[str, list[DataError]] = {}
    for problem in problems:
        alike.setdefault(problem.problem, []).append(problem)
    for first, *more in alike.values():
        yield (
            f"{first} (and {len(more)} more, the last at {more[-1].where})" if more else str(first)
        )


def _played(missing: tuple[str, _Episode]) -> tuple[str, _Episode, Outcome]:
    key, episode = missing
    try:
        return key, episode, play(episode.conversations, episode.setting, episode.early)
    except DeclarationError as error:
        raise DataError("--declare", str(error)) from error


def _episodes(conversations: Sequence[Conversation], options: Namespace) -> Iterator[_Episode]:
    tools = recorded_tools(options.tools)
    called = {call.tool for each in conversations for step in each.steps for call in step.calls}
    setting = Setting(
        tools=tools,
        specs=_specs(options.declare, {*tools, *called}),
        system="" if options.system is None else _text(options.system),
        seconds=options.seconds,
        seed=options.seed,
    )
    if tools and (unknown := sorted(called - set(tools))):
        notice(f"{options.tools} lacks {', '.join(unknown)}: they take any object")
    size = options.interleave
    groups = [conversations[at : at + size] for at in range(0, len(conversations), size)]
    for player in options.players:
        for arm in options.arms:
            config = _config(arm, shadow=options.shadow)
            chosen = replace(setting, player=player, config=config)
            for early in (0, 1) if options.early else (None,):
                for group in groups:
                    yield _Episode(conversations=group, setting=chosen, arm=arm, early=early)


def _config(name: str, *, shadow: bool) -> GuardConfig:
    arm = arm_of(name)
    if arm.sham or arm.again or arm.drops is not None or not arm.wording:
        raise BenchmarkError(f"the arm {name!r} is more than switches, and cannot be replayed")
    return replace(arm.config, shadow=True) if shadow else arm.config


def recorded_tools(path: Path | None) -> dict[str, Mapping[str, Any]]:
    """Read OpenAI function schemas, with or without the envelope."""
    found: dict[str, Mapping[str, Any]] = {}
    for number, value in enumerate(_json(path, list) if path is not None else (), 1):
        tool = value.get("function", value) if isinstance(value, Mapping) else {}
        if not isinstance(tool.get("name"), str):
            raise DataError(f"{path}[{number}]", "is not a function schema: it has no name")
        found[tool["name"]] = tool
    return found


def _specs(path: Path | None, known: set[str]) -> tuple[ToolSpec, ...]:
    """Read declarations.

    Raises:
        DataError: A tool or a field is unknown, cannot be replayed, or has a wrong value.
    """
    allowed = [each.name for each in fields(ToolSpec) if each.name not in _UNRECORDED | _OWN]
    specs = []
    for tool, declared in (_json(path, dict) if path is not None else {}).items():
        where = f"{path}: {tool}"
        if tool not in known:
            raise DataError(where, "is not among the tools of the conversations")
        if not isinstance(declared, Mapping):
            raise DataError(where, "must be an object of fields of ToolSpec")
        for name in declared:
            if name in _UNRECORDED:
                raise DataError(
                    where, f"{name!r} cannot be replayed: its answers were not recorded"
                )
            if name not in allowed:
                raise DataError(
                    where, f"ToolSpec has no {name!r}; the fields are {', '.join(allowed)}"
                )
        try:
            specs.append(ToolSpec(name=tool, **declared))
        except DeclarationError as error:
            raise DataError(where, str(error)) from error
        if specs[-1].mode is Mode.EXTERNAL:
            raise DataError(
                where, "external calls cannot be replayed: nothing delivers their results"
            )
    return tuple(specs)


def _json(path: Path, kind: type) -> Any:
    try:
        value = json.loads(_text(path))
    except (ValueError, RecursionError):
        raise DataError(str(path), "is cut off, or not JSON") from None
    if not isinstance(value, kind):
        raise DataError(str(path), f"must hold a JSON {'array' if kind is list else 'object'}")
    return value


def _text(path: Path) -> str:
    try:
        return whole_content(path).decode()
    except OSError as error:
        raise DataError(str(path), f"cannot be read: {error.strerror}") from None
    except ValueError:
        raise DataError(str(path), "is not UTF-8 text") from None


def _say(
    options: Namespace,
    episodes: Sequence[_Episode],
    outcomes: Sequence[Outcome],
    conversations: Sequence[Conversation],
    problems: Sequence[DataError],
) -> None:
    grouped: dict[tuple[str, str], list[Outcome]] = {}
    for episode, outcome in zip(episodes, outcomes, strict=True):
        grouped.setdefault((episode.setting.player, episode.arm), []).append(outcome)
    sums = {name: summed(each) for name, each in grouped.items()}
    if options.json:
        rows = [{"player": p, "arm": a, **total.to_json()} for (p, a), total in sums.items()]
        counts = {"conversations": len(conversations), "problems": [str(each) for each in problems]}
        print_json({**counts, "rows": rows})
        return
    out = console()
    out.print(table(_HEADS, [(*name, *_figures(total)) for name, total in sums.items()]))
    lines = [
        (*name, guard, *_verdicts(counts))
        for name, total in sums.items()
        for guard, counts in total.guards.items()
    ]
    if lines:
        out.print(table(_GUARD_HEADS, lines))
    early = [
        (*name, *what.split("/"), str(number))
        for name, total in sums.items()
        for what, number in sorted(total.early.items())
    ]
    if early:
        out.print(table(("player", "arm", "values", "tool", "outcome", "early calls"), early))
    if any(total.pairs for total in sums.values()):
        pairs = next(total.pairs for total in sums.values() if total.pairs)
        classes = ", ".join(f"{pairs[need]:,} {need}" for need in Need)
        out.print(f"{pairs.total():,} recorded calls follow another one of their task: {classes}.")
    out.print(f"{len(conversations)} conversations were played; {len(problems)} complaints.")


_HEADS = (
    "player",
    "arm",
    "episodes",
    "complete",
    "calls made",
    "of",
    "lost",
    "other arguments",
    "other order",
    "turns",
    "needless",
    "nudges",
)
_COUNTS = (
    "episodes",
    "complete",
    "made",
    "recorded",
    "lost",
    "other_arguments",
    "other_order",
    "turns",
    "needless",
    "nudges",
)
_GUARD_HEADS = (
    "player",
    "arm",
    "guard",
    "rejected, needed",
    "without need",
    "deferred",
    "held",
    "nudged",
    "in shadow",
)


def _figures(total: Sum) -> Iterator[str]:
    return (f"{total.counts[name]:,}" for name in _COUNTS)


def _verdicts(counts: Mapping[str, int]) -> Iterator[str]:
    needed = counts.get(f"reject {Need.NEEDS}", 0)
    rejected = sum(number for name, number in counts.items() if name.startswith("reject"))
    shadow = sum(number for name, number in counts.items() if name.startswith("shadow"))
    named = (counts.get(name, 0) for name in ("defer", "hold", "nudge"))
    return (f"{each:,}" for each in (needed, rejected - needed, *named, shadow))
