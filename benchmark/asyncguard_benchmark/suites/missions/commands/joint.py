"""Scores of overlapping missions: a line for each condition, from the file alone."""

from argparse import Namespace
from collections.abc import Sequence
from statistics import mean
from typing import Any

from asyncguard_benchmark.commands.output import console, print_json, table
from asyncguard_benchmark.harness.report.blocks import Chapter, Table
from asyncguard_benchmark.harness.report.number_format import number
from asyncguard_benchmark.harness.statistics.clustered import share_of
from asyncguard_benchmark.suites.missions.played_rows import JointKey, JointRow
from asyncguard_benchmark.suites.missions.scorers.joint_verdict import JointVerdict, judge_joint

_HEADS = (
    *("dialogues", "n", "SR", "95 %", "early calls", "needed", "early ends"),
    *("messages", "ticks", "longest chain", "ratio", "guards"),
)

_REPORTED = frozenset({"agent", "player", "arm", "regime", "observations"})
"""Parts of a key, beside the overlap, that make conditions of the page apart."""


def verdict_of(row: JointRow) -> JointVerdict:
    """Return the verdict on a run."""
    return judge_joint(row.gold, row.tools, row.steps, row.value)


def say_joint(rows: Sequence[JointRow], options: Namespace, by: Sequence[str]) -> None:
    """Print the figures of each condition, as a table or as JSON; runs of one key count once.

    Args:
        rows: The runs.
        options: Of the command line; `json` says how.
        by: Parts of the key that make conditions apart; the overlap always does.
    """
    names = ("overlap", *by)
    conditions = _conditions(rows, names)
    if options.json:
        print_json({"conditions": conditions})
        return
    lines = [(*(str(each[name]) for name in names), *_line(each)) for each in conditions]
    console().print(table((*names, *_HEADS), lines))


def joint_chapter(rows: Sequence[JointRow]) -> Chapter | None:
    """Return the chapter on overlapping missions of the page of played missions; None if there are no runs.

    Args:
        rows: The runs, of any conditions; runs of one key count once.
    """
    if not rows:
        return None
    names = ("overlap", *(each for each in JointKey._fields if each in _REPORTED))
    lines = [
        (*(str(each[name]) for name in names), *_line(each)) for each in _conditions(rows, names)
    ]
    text = (
        "All missions of a dialogue in one conversation: the user puts the next one a number of ticks (overlap) "
        "after the first call or text of the last, whatever is pending. SR is that of the strict scorer, in % of "
        "missions; the makespan (ticks) is laid beside the longest chain of calls that the gold needs."
    )
    scores = Table(title="Missions passed, with overlap", heads=(*names, *_HEADS), lines=lines)
    return Chapter(id="overlap", title="Missions that overlap", text=text, blocks=[scores])


def _conditions(rows: Sequence[JointRow], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the figures of each condition; the names are the parts of the key that make conditions apart."""
    groups: dict[tuple[Any, ...], dict[JointKey, JointRow]] = {}
    for row in rows:
        place = tuple(getattr(row.key, name) for name in names)
        groups.setdefault(place, {}).setdefault(row.key, row)
    return [
        {**dict(zip(names, place, strict=True)), **figures(tuple(group.values()))}
        for place, group in groups.items()
    ]


def figures(rows: Sequence[JointRow]) -> dict[str, Any]:
    """Return every figure of the runs of one condition."""
    judged = [(row, verdict_of(row)) for row in rows]
    passed = [each for _, verdict in judged for each in verdict.passed]
    sources = [frozenset({row.key.dialogue}) for row, verdict in judged for _ in verdict.passed]
    found = share_of(passed, sources)
    interventions: dict[str, int] = {}
    for row, _ in judged:
        for each in row.value["notes"].get("interventions", ()):
            interventions[each["guard"]] = interventions.get(each["guard"], 0) + 1
    states = [each for row in rows if (each := row.value["final_state_is_gold"]) is not None]
    ticks = sum(row.value["ticks"] for row in rows)
    chain = sum(verdict.least_ticks for _, verdict in judged)
    premature = sum(verdict.premature.premature for _, verdict in judged)
    needed = sum(verdict.premature.needed or 0 for _, verdict in judged)
    return {
        "dialogues": len(rows),
        "missions": len(passed),
        "SR": {"value": found.value, "low": found.low, "high": found.high, "n": len(passed)},
        "premature": premature,
        "premature_needed": needed,
        "premature_harmless": premature - needed,
        "early_answers": sum(verdict.early_answers for _, verdict in judged),
        "messages": mean(row.value["messages_made"] for row in rows),
        "waiting_messages": mean(row.value["waiting_messages"] for row in rows),
        "ticks": ticks / len(rows),
        "longest_chain": chain / len(rows),
        "makespan_ratio": ticks / chain,
        "truncated": sum(row.value["truncated"] for row in rows),
        "final_state_is_gold": mean(states) if states else None,
        "interventions": interventions,
    }


def _line(said: dict[str, Any]) -> tuple[str, ...]:
    rate = said["SR"]
    guards = ", ".join(f"{name} {count}" for name, count in said["interventions"].items())
    return (
        *(str(said["dialogues"]), str(said["missions"]), number(100 * rate["value"])),
        f"{number(100 * rate['low'])} to {number(100 * rate['high'])}",
        *(str(said[name]) for name in ("premature", "premature_needed", "early_answers")),
        *(number(said[name], 2) for name in ("messages", "ticks", "longest_chain")),
        *(number(said["makespan_ratio"], 2), guards or "-"),
    )
