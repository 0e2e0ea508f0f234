"""Failures by kind of mistake, by category, and by the agent's way of working."""

from collections.abc import Callable, Iterator
from enum import StrEnum

from asyncguard_benchmark.harness.ablation.findings import Setup
from asyncguard_benchmark.harness.report.blocks import (
    PERCENT,
    Block,
    Chapter,
    HeatCell,
    HeatMap,
    Panels,
    Plot,
    Table,
)
from asyncguard_benchmark.harness.report.chapters.names import bar, namer, tone_of
from asyncguard_benchmark.harness.report.number_format import NO_DATA, count, number, share, span
from asyncguard_benchmark.harness.report.observations import TOLD, Conduct, Observations, Share
from asyncguard_benchmark.harness.scoring.mistakes import Mistake
from asyncguard_benchmark.harness.scoring.summary import Rate, rate
from asyncguard_benchmark.harness.statistics.estimates import Interval
from asyncguard_benchmark.harness.suites import registry

_LONGEST = 8
"""Streaks from here on stand in one line."""


def chapter(observed: Observations, is_told: Callable[[Setup], bool]) -> Chapter | None:
    """Return mistakes, categories and streaks by setup; None without episodes.

    Args:
        observed: Figures of the episodes.
        is_told: Selects the setups of it to show.
    """
    seen = {setup for setup, _ in observed.conducts}
    setups = [setup for setup in observed.setups if setup in seen and is_told(setup)]
    if not setups:
        return None
    name = namer(setups)
    text = (
        "Counted from saved episodes of the arms none and all. A failed sub-task counts for the first that applies: "
        "confusion (a call with another sub-task's id, or with a tool that is not on its list), premature (a call "
        "before a value that it needed was there), format (unreadable, or names and types that its tool cannot take), "
        "argument (a wrong value), neglect (a call that was not made), other (order, repeats, harm done by further "
        "calls). Guards have no part in this judgement. Intervals are Wilson's and take what is counted for "
        "independent."
    )
    choices = {name(setup): list(_panel(observed, setup)) for setup in setups}
    return Chapter(
        id="mistakes",
        title="Where it goes wrong",
        text=text,
        blocks=[Panels(name="setup", choices=choices)],
    )


def _panel(observed: Observations, setup: Setup) -> Iterator[Block]:
    found = {
        arm: observed.conducts[setup, arm] for arm in TOLD if (setup, arm) in observed.conducts
    }
    yield _mistakes(found)
    yield _heat(found)
    yield _streaks(found)


def _mistakes(found: dict[str, Conduct]) -> Table:
    made = [each for each in Mistake if any(conduct.mistakes[each] for conduct in found.values())]
    never = ", ".join(each.value for each in Mistake if each not in made)
    rows = [(mistake, arm, conduct) for mistake in made for arm, conduct in found.items()]
    rates = [_share(conduct.mistakes[mistake], conduct.sub_tasks) for mistake, _, conduct in rows]
    return Table(
        title="Mistakes",
        heads=("mistake", "sub-tasks", "of 100", "95 %"),
        lines=[
            (f"{mistake.value}, {arm}", count(conduct.mistakes[mistake]), share(value), span(value))
            for (mistake, arm, conduct), value in zip(rows, rates, strict=True)
        ],
        plot=Plot(
            axis=PERCENT,
            unit="% of all sub-tasks",
            marks=[
                bar(value, tone_of(arm)) for (_, arm, _), value in zip(rows, rates, strict=True)
            ],
        ),
        note=f"No sub-task failed by: {never}." if never else "",
    )


def _share(part: int, whole: int) -> Interval | None:
    return _interval(rate([index < part for index in range(whole)]))


def _interval(found: Rate | None) -> Interval | None:
    return None if found is None else Interval(value=found.value, low=found.low, high=found.high)


def _heat(found: dict[str, Conduct]) -> HeatMap:
    played = {place for conduct in found.values() for place in conduct.by_category}
    columns = [(arm, size) for arm in found for size in sorted({size for _, size in played})]
    return HeatMap(
        title="Sub-tasks solved, by category and number of tasks",
        corner="category",
        columns=[f"{arm}, {size} tasks" for arm, size in columns],
        rows=[
            (
                _name(category),
                [_cell(found[arm].by_category.get((category, size))) for arm, size in columns],
            )
            for category in sorted({each for each, _ in played}, key=registry().categories.index)
        ],
        note="In per cent, with the number of sub-tasks.",
    )


def _name(category: StrEnum) -> str:
    return f"{category.value} {category.name.lower().replace('_', ' ')}"


def _cell(found: Share | None) -> HeatCell | None:
    return (
        None
        if found is None
        else HeatCell(value=100 * found.solved / found.judged, count=found.judged)
    )


def _streaks(found: dict[str, Conduct]) -> Table:
    rows: list[tuple[str, Share, str]] = []
    for length in range(_LONGEST + 1):
        for arm, conduct in found.items():
            shared = _gathered(conduct, length)
            if shared.judged:
                rows.append(
                    (f"{length}{' or more' if length == _LONGEST else ''}, {arm}", shared, arm)
                )
    rates = [_share(shared.solved, shared.judged) for _, shared, _ in rows]
    means = ", ".join(f"{number(_mean(conduct))} ({arm})" for arm, conduct in found.items())
    return Table(
        title="Longest run of calls for one task, and overall",
        heads=("calls in a row", "compositions", "overall", "95 %"),
        lines=[
            (label, count(shared.judged), share(value), span(value))
            for (label, shared, _), value in zip(rows, rates, strict=True)
        ],
        plot=Plot(
            axis=PERCENT,
            unit="overall, %",
            marks=[
                bar(value, tone_of(arm)) for (_, _, arm), value in zip(rows, rates, strict=True)
            ],
        ),
        note=f"Mean: {means or NO_DATA}. Who keeps to one task has long runs, who switches while it waits short ones.",
    )


def _gathered(conduct: Conduct, length: int) -> Share:
    fitting = [
        shared
        for streak, shared in conduct.by_streak.items()
        if streak == length or (length == _LONGEST and streak > _LONGEST)
    ]
    return Share(
        solved=sum(each.solved for each in fitting), judged=sum(each.judged for each in fitting)
    )


def _mean(conduct: Conduct) -> float | None:
    judged = sum(shared.judged for shared in conduct.by_streak.values())
    total = sum(streak * shared.judged for streak, shared in conduct.by_streak.items())
    return total / judged if judged else None
