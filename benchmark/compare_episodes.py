"""Compare two files of episodes call by call: what a change of the runtime has changed for the agents.

    asyncguard bench run --agents eager --players graph,middleware --arms all --out old.jsonl    (in the old checkout)
    asyncguard bench run --agents eager --players graph,middleware --arms all --out new.jsonl    (in the new one)
    python benchmark/compare_episodes.py old.jsonl new.jsonl

Facts and texts are compared apart. Facts are what the agent proposed in which turn, which calls began with which
arguments and when, what they returned, the verdicts of guards, diagnoses, recoveries, counters and the score. Texts
are reasons, messages and the view of the tasks. A difference of facts ends in exit code 1; one of texts alone in 0.

Both files are scored by the code that runs this script. Episodes need their conversations (no --no-messages).
"""

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.episode import Episode, digest_of
from asyncguard_benchmark.harness.journal import read_lines
from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.harness.scoring.verdict import score
from asyncguard_benchmark.suites.hazards.instances import all_tasks
from asyncguard_benchmark.suites.hazards.scorer import score_hazards

SAME, DIFFERENT, UNUSABLE = 0, 1, 2
"""Exit codes."""
SHOWN = 5
"""Differences that are shown of each kind, unless more are asked for."""
_NEVER_COMPARED = frozenset({"digest"})
"""Settings that are derived from others: `config` says the same, and says where it differs."""
_EVENTS = {"interventions": "verdict", "diagnoses": "diagnosis", "recoveries": "recovery"}

_SAID = frozenset({"content", "tool_calls"})
"""Parts of a message that are compared by themselves."""
_WORDS = frozenset({"content", "error", "wait", "note"})
"""Fields of an answer that hold words of the runtime."""

Place = tuple[str, str]
"""Kind of a fact, and where it stands in the episode."""


class UnusableFileError(Exception):
    """A file cannot be compared."""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """One episode taken apart."""

    facts: Mapping[Place, str]
    """As JSON, so that 1, 1.0 and true differ."""
    texts: Mapping[str, str]
    calls: int
    """Calls that began."""
    proposals: int
    """Calls that the agent proposed."""
    verdicts: int


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One fact that differs."""

    episode: str
    kind: str
    where: str
    old: str | None
    """None if only the new episode has it."""
    new: str | None


@dataclass(kw_only=True)
class Comparison:
    """All that was found."""

    episodes: int = 0
    proposals: int = 0
    calls: int = 0
    verdicts: int = 0
    differences: list[Difference] = field(default_factory=list)
    texts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Changed words of a text, old and new -> how often."""


# -- taking an episode apart -----------------------------------------------------------------------------------------


def name_of(episode: Episode) -> str:
    """Return the name of an episode; it leaves out the digest of the settings, which may differ between versions."""
    declared = "declared" if episode.settings.get("declared", True) else "undeclared"
    arm, run = episode.settings.get("arm", ""), episode.run
    names = (
        episode.composition.id,
        episode.agent,
        episode.player,
        arm,
        declared,
        run.regime,
        run.surface,
    )
    return " ".join([*map(str, names), str(run.seed)])


def contents_of(episode: Episode) -> Contents:
    """Take an episode apart into facts and texts.

    Raises:
        UnusableFileError: the episode was saved without its conversation.
    """
    if not episode.messages:
        raise UnusableFileError(
            f"{name_of(episode)} has no messages; play it without --no-messages"
        )
    found = [
        *_settings(episode),
        *_calls(episode.trajectory),
        *_conversation(episode),
        *_score(episode),
    ]
    facts = {
        (kind, where): json.dumps(value, sort_keys=True)
        for kind, where, value in found
        if kind != "text"
    }
    return Contents(
        facts=facts,
        texts={where: str(value) for kind, where, value in found if kind == "text"},
        calls=len(episode.trajectory),
        proposals=sum(kind == "proposal" for kind, _ in facts),
        verdicts=sum(kind == "verdict" for kind, _ in facts),
    )


_Found = tuple[str, str, Any]
"""Kind, where and value; texts are of the kind ``text``."""


def _settings(episode: Episode) -> Iterator[_Found]:
    yield "composition", "digest", digest_of(episode.composition)
    yield "counters", "", asdict(episode.counters)
    for number, firing in enumerate(episode.firings):
        yield "firing", f"{number}", asdict(firing)
    for name, value in episode.settings.items():
        if name in _EVENTS:
            for number, event in enumerate(value):
                yield (
                    _EVENTS[name],
                    f"{number}",
                    {key: said for key, said in event.items() if key != "reason"},
                )
                yield "text", f"{_EVENTS[name]} {number}", event.get("reason", "")
        elif isinstance(value, Mapping):
            yield from (("setting", f"{name}.{key}", inner) for key, inner in value.items())
        elif name not in _NEVER_COMPARED:
            yield "setting", name, value


def _calls(trajectory: Sequence[CallRecord]) -> Iterator[_Found]:
    for record in trajectory:
        where = f"{record.number}"
        yield "call", where, [record.task_id, record.tool, record.arguments]
        yield "time", where, [record.issued, record.due, record.delivered, record.pending_before]
        yield "response", where, record.response
        yield "text", f"note of call {where}", record.note


def _conversation(episode: Episode) -> Iterator[_Found]:
    for number, message in enumerate(episode.messages):
        role, content = message["role"], str(message["content"])
        yield (
            "message",
            f"{number}",
            {key: said for key, said in message.items() if key not in _SAID},
        )
        for position, call in enumerate(message.get("tool_calls", ())):
            yield "proposal", f"{number}.{position}", call
        if role == "assistant":
            # The agent's own words are not a text of the runtime: all of them are compared as
            # facts.
            yield ("proposal" if '"func_name"' in content else "said"), f"{number}", content
            continue
        for position, line in enumerate(content.split("\n")):
            where, value = f"{number}.{position}", _json_object(line)
            # The first two messages hold the prompt and the questions, also where a line of them looks like JSON.
            if number < 2 or value is None:
                yield "text", f"{role} {where}", line
            else:
                yield from _answer(value, where)


def _answer(answer: Mapping[str, Any], where: str) -> Iterator[_Found]:
    """Split an answer into its form and its values, which are facts, and the words of the runtime."""
    inner = _json_object(answer.get("content"))
    form = {**answer, "content": inner} if inner is not None else dict(answer)
    for holder in (form, inner or {}):
        for name in _WORDS & holder.keys():
            if isinstance(holder[name], str):
                yield "text", f"{name} {where}", holder[name]
                holder[name] = ""
    yield "answer", where, form


def _json_object(text: object) -> dict[str, Any] | None:
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _score(episode: Episode) -> Iterator[_Found]:
    domains = any(isinstance(task.category, Domain) for task in episode.composition.sub_tasks)
    for number, verdict in enumerate(score_hazards(episode, _tasks()) if domains else ()):
        yield "score", f"hazard {number}", repr(verdict)
    judged = score(episode)
    yield "score", "overall", [judged.overall, judged.rounds_on_success, judged.same_task_streak]
    for task in judged.sub_tasks:
        told = {key: repr(said) for key, said in vars(task).items() if key != "findings"}
        yield "score", f"task {task.task_id}", told


_tasks = cache(all_tasks)


# -- comparing -------------------------------------------------------------------------------------------------------


def episodes_of(path: Path) -> dict[str, Episode]:
    """Read a file.

    Raises:
        UnusableFileError: a line cannot be read, two episodes have one name, or there is none.
    """
    found: dict[str, Episode] = {}
    for line in read_lines(path):
        if line.episode is None:
            raise UnusableFileError(line.problem)
        if found.setdefault(name_of(line.episode), line.episode) is not line.episode:
            raise UnusableFileError(
                f"{path}:{line.number}: a second episode of the name {name_of(line.episode)}"
            )
    if not found:
        raise UnusableFileError(f"{path} holds no episode")
    return found


def compare(old: Mapping[str, Episode], new: Mapping[str, Episode]) -> Comparison:
    """Compare the episodes of the same name; one that only one side has is a difference."""
    result = Comparison()
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in old or name not in new:
            sides = [("played" if name in side else None) for side in (old, new)]
            result.differences.append(
                Difference(episode=name, kind="episode", where="", old=sides[0], new=sides[1])
            )
            continue
        one, other = contents_of(old[name]), contents_of(new[name])
        result.episodes += 1
        result.calls += one.calls
        result.proposals += one.proposals
        result.verdicts += one.verdicts
        for kind, where in sorted(
            {*one.facts, *other.facts}, key=lambda place: [*map(_numeric, place)]
        ):
            before, after = one.facts.get((kind, where)), other.facts.get((kind, where))
            if before != after:
                result.differences.append(
                    Difference(episode=name, kind=kind, where=where, old=before, new=after)
                )
        for where in {**one.texts, **other.texts}:
            before, after = one.texts.get(where, ""), other.texts.get(where, "")
            if before != after:
                result.texts[changed_words(before, after)] += 1
    return result


def _numeric(text: str) -> tuple[tuple[int, str], ...]:
    return tuple((int(word), "") if word.isdigit() else (-1, word) for word in text.split("."))


def changed_words(old: str, new: str) -> tuple[str, str]:
    """Return what lies between the words that two texts have in common at their beginnings and ends."""
    before, after = old.split(" "), new.split(" ")
    shorter = min(len(before), len(after))
    head = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    rest = shorter - head
    tail = next((at for at in range(rest) if before[-1 - at] != after[-1 - at]), rest)
    return tuple(" ".join(words[head : len(words) - tail]) for words in (before, after))  # type: ignore[return-value]


# -- telling ---------------------------------------------------------------------------------------------------------


def report(found: Comparison, *, shown: int) -> Iterator[str]:
    """Say what was found, line by line."""
    yield (
        f"{found.episodes} episodes in both files: {found.proposals} calls proposed, {found.calls} begun, "
        f"{found.verdicts} verdicts of guards"
    )
    groups: dict[str, list[Difference]] = defaultdict(list)
    for each in found.differences:
        groups[each.kind].append(each)
    for kind, members in groups.items():
        episodes = len({each.episode for each in members})
        yield f"\n{kind}: {len(members)} differ in {episodes} episodes"
        for each in members[:shown]:
            yield f"  {each.episode}: {each.kind} {each.where}\n    - {each.old}\n    + {each.new}"
    yield f"\ntexts: {found.texts.total()} differ, {len(found.texts)} pairs of changed words"
    for (old, new), times in found.texts.most_common():
        yield f"  {times} x\n    - {old}\n    + {new}"
    yield (
        "\nNo fact differs."
        if not found.differences
        else f"\n{len(found.differences)} facts differ."
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "old", type=Path, help="what `bench run` or `bench hazards run` wrote before the change"
    )
    parser.add_argument("new", type=Path, help="what the same command wrote after it")
    parser.add_argument(
        "--show", type=int, default=SHOWN, metavar="N", help=f"of a kind, {SHOWN} by default"
    )
    options = parser.parse_args(argv)
    try:
        found = compare(episodes_of(options.old), episodes_of(options.new))
    except (OSError, UnusableFileError) as error:
        sys.stderr.write(f"{error}\n")
        return UNUSABLE
    _write(report(found, shown=options.show))
    return DIFFERENT if found.differences else SAME


def _write(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
