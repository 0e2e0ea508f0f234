"""Figures over many episodes; no data is None, never 0."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from asyncguard_benchmark.harness.scoring import f1
from asyncguard_benchmark.harness.scoring.verdict import Score, SubTaskScore

_Z = 1.959964
"""Standard score of a two-sided 95 % interval."""


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A share in per cent with its 95 % Wilson interval."""

    value: float
    low: float
    high: float
    count: int
    """Number of observations."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Every figure of the metrics table. Sub-task figures are means over sub-tasks, task figures over compositions."""

    episodes: int
    trajectory: Rate | None
    ordered_trajectory: Rate | None
    result: Rate | None
    state: Rate | None
    state_where_changed: Rate | None
    """`state` over the sub-tasks whose ground truth changes the state."""
    accuracy: Rate | None
    accuracy_without_result: Rate | None
    task_trajectory: Rate | None
    task_state: Rate | None
    overall: Rate | None
    function_f1: float | None
    """Macro, 0 to 1."""
    parameter_f1: float | None
    function_micro_f1: float | None
    parameter_micro_f1: float | None
    rounds_on_success: Mapping[int, float]
    """Mean assistant messages of successful episodes, by number of sub-tasks; absent if none succeeded."""
    rounds: float | None
    """Mean assistant messages of all episodes."""
    ticks: float | None
    same_task_streak: float | None
    idle_turns: float | None
    format_errors: float | None
    truncated: Rate | None
    premature_needed: int
    premature_harmless: int


def summarise(scores: Iterable[Score]) -> Summary:
    """Aggregate scores, usually of one agent, player and regime."""
    scores = tuple(scores)
    tasks = [task for each in scores for task in each.sub_tasks]
    return Summary(
        episodes=len(scores),
        trajectory=rate(task.trajectory for task in tasks),
        ordered_trajectory=rate(task.ordered_trajectory for task in tasks),
        result=rate(task.result for task in tasks),
        state=rate(task.state for task in tasks),
        state_where_changed=rate(task.state for task in tasks if task.changes_state),
        accuracy=rate(task.accurate for task in tasks),
        accuracy_without_result=rate(task.accurate_without_result for task in tasks),
        task_trajectory=rate(each.task_trajectory for each in scores),
        task_state=rate(each.task_state for each in scores),
        overall=rate(each.overall for each in scores),
        function_f1=f1.function_macro_f1(tasks),
        parameter_f1=f1.parameter_macro_f1(tasks),
        function_micro_f1=f1.function_micro_f1(tasks),
        parameter_micro_f1=f1.parameter_micro_f1(tasks),
        rounds_on_success=_rounds_on_success(scores),
        rounds=mean([each.counters.rounds for each in scores]),
        ticks=mean([each.counters.ticks for each in scores]),
        same_task_streak=mean([each.same_task_streak for each in scores]),
        idle_turns=mean([each.counters.idle_turns for each in scores]),
        format_errors=mean([each.counters.format_errors for each in scores]),
        truncated=rate(each.counters.truncated for each in scores),
        **_premature(tasks),
    )


def _premature(tasks: Sequence[SubTaskScore]) -> dict[str, int]:
    return {
        "premature_needed": sum(task.premature_needed for task in tasks),
        "premature_harmless": sum(task.premature_harmless for task in tasks),
    }


def _rounds_on_success(scores: Sequence[Score]) -> dict[int, float]:
    found: dict[int, list[int]] = {}
    for each in scores:
        if each.rounds_on_success is not None:
            found.setdefault(len(each.sub_tasks), []).append(each.rounds_on_success)
    return {size: sum(rounds) / len(rounds) for size, rounds in sorted(found.items())}


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, or None without data."""
    return sum(values) / len(values) if values else None


def rate(verdicts: Iterable[bool]) -> Rate | None:
    """Return the share of yes, or None without data."""
    judged = list(verdicts)
    count = len(judged)
    if not count:
        return None
    share = sum(judged) / count
    centre = (share + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
    spread = _Z * sqrt(share * (1 - share) / count + _Z**2 / (4 * count**2)) / (1 + _Z**2 / count)
    # At 0 and 100 per cent an end of the interval is the value itself, but for rounding.
    low, high = max(0.0, min(share, centre - spread)), min(1.0, max(share, centre + spread))
    return Rate(value=100 * share, low=100 * low, high=100 * high, count=count)
