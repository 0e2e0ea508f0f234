"""Scores of played missions: for each condition a line a challenge, by both scorers, from the file alone."""

from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncguard_benchmark.commands.output import console, notice, print_json, table
from asyncguard_benchmark.errors import BenchmarkError, DataError
from asyncguard_benchmark.harness.report.number_format import number
from asyncguard_benchmark.suites.missions.commands.joint import say_joint
from asyncguard_benchmark.suites.missions.played_rows import (
    JointKey,
    PlayedRow,
    lost_in,
    read_joint,
    read_played,
)
from asyncguard_benchmark.suites.missions.scorers.frontier import Rules
from asyncguard_benchmark.suites.missions.scorers.message_clock import TimedCall, prematurity
from asyncguard_benchmark.suites.missions.scorers.metrics import Scorer
from asyncguard_benchmark.suites.missions.scorers.steps import ToolCall
from asyncguard_benchmark.suites.missions.scorers.summary import summary
from asyncguard_benchmark.suites.missions.scorers.verdict import Verdict, judge
from asyncguard_benchmark.suites.missions.terms import Letter

EVERY_MISSION = "all"
"""Challenge that holds every run."""
_PARTS = (EVERY_MISSION, "c1", "c2", "c3")
_HEADS = (
    *("missions", "n", "SR", "compat", "OP", "AP", "parallel", "asked, c", "asked, s m"),
    *("early calls", "early ends", "messages", "guards"),
)


class NothingPlayedError(BenchmarkError):
    """A file holds no played mission."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Runs under one condition."""

    names: Mapping[str, Any]
    parts: Mapping[str, Mapping[str, Any]]
    """Challenge -> every figure of it."""


def score_played(options: Namespace) -> int:
    """Score files of `bench missions run`."""
    problems: list[DataError] | None = [] if options.partial else None
    joint = [row for path in options.files for row in read_joint(Path(path), problems)]
    rows = [row for path in options.files for row in read_played(Path(path), problems)]
    for path in options.files:
        if lost := lost_in(Path(path), problems):
            notice(
                f"{path}: the infrastructure ended {len(lost)} more runs, which are in no figure; the command that "
                "wrote the file plays them again"
            )
    for each in dict.fromkeys(
        map(str, problems or ())
    ):  # both readers tell of lines that are neither
        notice(f"left out: {each}")
    if not rows and not joint:
        raise NothingPlayedError(f"{options.files[0]} holds no played mission")
    if joint and rows:
        raise NothingPlayedError(
            f"{options.files[0]} holds missions played alone and with --overlap; score them from files of their own"
        )
    if joint:
        say_joint(joint, options, tuple(each for each in options.by if each in JointKey._fields))
    else:
        say(scored(rows, options.by), options, [str(path) for path in options.files])
    return 0


def scored(rows: Iterable[PlayedRow], by: Sequence[str]) -> list[Condition]:
    """Return the figures of each condition; runs of one key count once.

    Args:
        rows: The runs.
        by: Parts of the key that make conditions apart.
    """
    groups: dict[tuple[Any, ...], dict[Any, PlayedRow]] = {}
    for row in rows:
        place = tuple(getattr(row.key, name) for name in by)
        groups.setdefault(place, {}).setdefault(row.key, row)
    found = []
    for place, group in groups.items():
        judged = [(row, judge(row.entry)) for row in group.values()]
        parts = {part: [each for each in judged if is_part(part, each[0])] for part in _PARTS}
        figures = {part: _figures(each) for part, each in parts.items() if each}
        found.append(Condition(names=dict(zip(by, place, strict=True)), parts=figures))
    return found


def is_part(part: str, row: PlayedRow) -> bool:
    """Return True if a run belongs to a challenge; `all` holds every run."""
    if part == EVERY_MISSION:
        return True
    if part == "c1":
        return row.entry.letter is Letter.MULTI and row.key.history == "upta"
    return row.entry.position > 1 and row.key.history == ("ua" if part == "c2" else "upta")


def _figures(judged: Sequence[tuple[PlayedRow, Verdict]]) -> dict[str, Any]:
    verdicts = [verdict for _, verdict in judged]
    early = [premature_calls(row) for row, _ in judged]
    interventions: dict[str, int] = {}
    for row, _ in judged:
        for each in row.value["notes"].get("interventions", ()):
            interventions[each["guard"]] = interventions.get(each["guard"], 0) + 1
    outcomes = [row.value["final_state_is_gold"] for row, _ in judged]
    known = [each for each in outcomes if each is not None]
    return {
        **summary(verdicts),
        "premature": sum(each[0] for each in early if each is not None),
        "premature_needed": sum(each[1] or 0 for each in early if each is not None),
        "early_answers": sum(row.entry.pending_at_end > 0 for row, _ in judged),
        "messages": sum(row.value["messages_made"] for row, _ in judged) / len(judged),
        "without_step": sum(row.entry.without_step for row, _ in judged),
        "ticks": sum(row.value["ticks"] for row, _ in judged) / len(judged),
        "truncated": sum(row.value["truncated"] for row, _ in judged),
        "final_state_is_gold": sum(known) / len(known) if known else None,
        "interventions": interventions,
        "usage": _usage([row for row, _ in judged]),
    }


def _usage(rows: Iterable[PlayedRow]) -> dict[str, float] | None:
    """Return what runs of models have used in all; None if no run has a record."""
    known = [each.value["usage"] for each in rows if "usage" in each.value]
    names = ("calls", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
    return {name: sum(each[name] for each in known) for name in names} if known else None


def premature_calls(row: PlayedRow) -> tuple[int, int | None] | None:
    """Return the premature calls of a run and those of them that were needed; None if a call fits nothing."""
    places = {each["number"]: place for place, each in enumerate(row.value["calls"])}
    calls = [
        TimedCall(
            ToolCall(each["tool"], each["arguments"]),
            frozenset(places[number] for number in each["pending_before"] if number in places),
        )
        for each in row.value["calls"]
    ]
    found = prematurity(Rules.by_names(row.entry.graph), calls, row.entry.graph.asks)
    return None if found is None else (found.premature, found.needed)


def say(found: Sequence[Condition], options: Namespace, files: Sequence[str]) -> None:
    """Print the figures, as tables or as JSON."""
    if options.json:
        conditions = [{**each.names, "challenges": each.parts} for each in found]
        print_json({"files": list(files), "conditions": conditions})
        return
    by = tuple(found[0].names) if found else ()
    lines = [
        (*(str(value) for value in each.names.values()), *_line(part, figures))
        for each in found
        for part, figures in each.parts.items()
    ]
    used = any(figures["usage"] for each in found for figures in each.parts.values())
    heads = (*by, *_HEADS, *(_TOKENS.values() if used else ()))
    console().print(table(heads, [(*line, *("-",) * (len(heads) - len(line))) for line in lines]))


def _line(part: str, said: Mapping[str, Any]) -> tuple[str, ...]:
    strict, compat = said["scorers"][Scorer.STRICT], said["scorers"][Scorer.COMPAT]
    asked = said["clarification"]
    guards = ", ".join(f"{name} {count}" for name, count in said["interventions"].items())
    return (
        *(part, str(said["missions"])),
        *(_percent(each["SR"]) for each in (strict, compat)),
        _percent(strict["OP"]),
        _percent(said["AP"].get("strict")),
        _percent(strict["parallel_efficiency"]),
        *(_percent(asked.get(name)) for name in _ASKED),
        *(str(said["premature"]), str(said["early_answers"])),
        *(number(said["messages"], 2), guards or "-"),
        *((f"{said['usage'][name]:,}" for name in _TOKENS) if said["usage"] else ()),
    )


def _percent(figure: Mapping[str, Any] | None) -> str:
    value = None if figure is None else figure["value"]
    return number(None if value is None else 100 * value)


_TOKENS = {"input_tokens": "tokens in", "output_tokens": "tokens out"}
"""Figures of real models -> their heads; shown if there are any."""
_ASKED = ("c_asked_first", "sm_asked")
