"""Verdict on missions that overlapped, from the file alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asyncguard_benchmark.suites.missions.gold_graph import Tool
from asyncguard_benchmark.suites.missions.scorers.frontier import Rules
from asyncguard_benchmark.suites.missions.scorers.joint import (
    JointGold,
    follow,
    labelled,
    qualified,
)
from asyncguard_benchmark.suites.missions.scorers.message_clock import (
    Prematurity,
    TimedCall,
    prematurity,
)
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall
from asyncguard_benchmark.suites.missions.scorers.verdict import StrictRules


@dataclass(frozen=True, kw_only=True)
class JointVerdict:
    """What a run made of its missions."""

    passed: tuple[bool, ...]
    """By mission: True if all calls were right, in a legal order, and the answer came after the results."""
    early_answers: int
    """Missions that were answered while a result of theirs was pending."""
    premature: Prematurity
    """Calls made before a result that they follow, of the same mission or an earlier one."""
    least_ticks: int
    """Length of the longest chain."""


def judge_joint(
    gold: JointGold,
    tools: Mapping[str, Tool],
    steps: Sequence[Mapping[int, Step]],
    row: Mapping[str, Any],
) -> JointVerdict:
    """Judge a run by the frontier of its missions with strict arguments.

    Args:
        gold: The missions.
        tools: Tools of the dialogue by name.
        steps: By step the mission -> its calls or its text.
        row: The run as it stands in a file.

    Raises:
        FrontierOverflowError: the gold has too many equal names.
    """
    rules = StrictRules(gold.graph, gold.tools(tools)).rules
    named = [{m: labelled(m, step) for m, step in parts.items()} for parts in steps]
    complete = follow(gold, rules, named).complete
    pending: Sequence[int | None] = row["pending_at_end"]
    early = prematurity(
        Rules.by_names(gold.graph), _timed(row["calls"]), gold.graph.asks, skipping=True
    )
    if early is None:
        raise AssertionError("calls that fit nothing are passed over, so a run has a count")
    return JointVerdict(
        passed=tuple(m in complete and left == 0 for m, left in enumerate(pending)),
        early_answers=sum(bool(left) for left in pending),
        premature=early,
        least_ticks=gold.least_ticks(row["run"]["overlap"]),
    )


def _timed(calls: Sequence[Mapping[str, Any]]) -> list[TimedCall]:
    places = {each["number"]: place for place, each in enumerate(calls)}
    return [
        TimedCall(
            ToolCall(qualified(int(each["task_id"][1:]) - 1, each["tool"]), each["arguments"]),
            frozenset(places[number] for number in each["pending_of_all"] if number in places),
        )
        for each in calls
    ]
