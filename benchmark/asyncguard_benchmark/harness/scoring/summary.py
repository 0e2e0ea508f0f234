"""Figures over many episodes; no data is None, never 0."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from asyncguard_benchmark.harness.scoring import f1
from asyncguard_benchmark.harness.scoring.verdict import Score, SubTaskScore
from asyncguard_benchmark.harness.statistics.clustered import Sources, share_of
from asyncguard_benchmark.harness.statistics.estimates import wilson


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A share in per cent with its 95 % interval."""

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
    whole = [frozenset(task.task_id for task in each.sub_tasks) for each in scores]
    # What one sub-task comes to depends on those that it is played with.
    judged = [
        (task, own) for each, own in zip(scores, whole, strict=True) for task in each.sub_tasks
    ]
    tasks = [task for task, _ in judged]

    def of_tasks(
        holds: Callable[[SubTaskScore], bool],
        counts: Callable[[SubTaskScore], bool] = lambda _: True,
    ) -> Rate | None:
        chosen = [(holds(task), own) for task, own in judged if counts(task)]
        return rate([verdict for verdict, _ in chosen], [own for _, own in chosen])

    return Summary(
        episodes=len(scores),
        trajectory=of_tasks(attrgetter("trajectory")),
        ordered_trajectory=of_tasks(attrgetter("ordered_trajectory")),
        result=of_tasks(attrgetter("result")),
        state=of_tasks(attrgetter("state")),
        state_where_changed=of_tasks(attrgetter("state"), attrgetter("changes_state")),
        accuracy=of_tasks(attrgetter("accurate")),
        accuracy_without_result=of_tasks(attrgetter("accurate_without_result")),
        task_trajectory=rate([each.task_trajectory for each in scores], whole),
        task_state=rate([each.task_state for each in scores], whole),
        overall=rate([each.overall for each in scores], whole),
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
        truncated=rate([each.counters.truncated for each in scores], whole),
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


def rate(verdicts: Sequence[bool], sources: Sequence[Sources] | None = None) -> Rate | None:
    """Return the share of yes with Wilson's interval, or None without data.

    Args:
        verdicts: Observations.
        sources: Source tasks of each, as observations that share one are not two; None if none do.
    """
    count = len(verdicts)
    if not count:
        return None
    found = wilson(sum(verdicts) / count, count) if sources is None else share_of(verdicts, sources)
    return Rate(value=100 * found.value, low=100 * found.low, high=100 * found.high, count=count)
