"""The first thing on the page: one figure in words, and one picture of it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from asyncguard_benchmark.harness.ablation.findings import Findings, Setup
from asyncguard_benchmark.harness.arms import ALL, NONE
from asyncguard_benchmark.harness.report.blocks import PERCENT, Chapter, Plot, Table, Text
from asyncguard_benchmark.harness.report.chapters.names import (
    dot,
    everything,
    namer,
    nothing,
    tone_of,
)
from asyncguard_benchmark.harness.report.figures import Figures
from asyncguard_benchmark.harness.report.number_format import (
    NO_DATA,
    count,
    difference,
    p_value,
    signed_span,
)
from asyncguard_benchmark.harness.report.observations import Observations, Played
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.harness.statistics.estimates import Interval
from asyncguard_benchmark.harness.statistics.paired import mcnemar

_MOST = 12
"""Lines of the picture; a longer one would not be taken in at a glance."""
_HEADS = ("condition", "solved", "95 % interval")


def of_findings(findings: Findings) -> Chapter | None:
    """Return overall of each setup without guards and with all, and the first difference in words."""
    compared = [
        (study, effect)
        for study in findings.studies
        if (effect := study.effect(ALL, NONE)) is not None
    ]
    if not compared:
        return None
    name = namer(study.setup for study, _ in compared)
    # Guards are for late results: a setup where results come at once is told after the others.
    compared.sort(key=lambda each: each[0].setup.regime == Regime.SYNC.value)
    study, effect = compared[0]
    better = sum(each.difference.low > 0 for _, each in compared)
    worse = sum(each.difference.high < 0 for _, each in compared)
    text = (
        f"All guards beside none, {len(compared)} setups: better in {better}, worse in {worse}, not shown to differ in "
        f"{len(compared) - better - worse}. "
        f"{name(study.setup)}: {per_cent(everything(study))} of the compositions are solved with all guards and "
        f"{per_cent(nothing(study))} without, a difference of {difference(effect.difference)} points (95 % interval "
        f"{signed_span(effect.difference)}; {count(effect.pairs)} pairs)."
    )
    rows = [
        (f"{name(study.setup)}, {arm}", interval, tone_of(arm))
        for study, _ in compared
        for arm, interval in ((NONE, nothing(study)), (ALL, everything(study)))
    ]
    shown = rows[:_MOST]
    table = Table(
        title="Compositions solved",
        heads=_HEADS,
        lines=[(label, per_cent(interval), range_of(interval)) for label, interval, _ in shown],
        plot=Plot(
            axis=PERCENT,
            unit="% of compositions",
            marks=[dot(interval, tone) for _, interval, tone in shown],
        ),
        note=""
        if len(rows) == len(shown)
        else f"{len(rows) - len(shown)} more lines stand in the next chapter.",
    )
    return Chapter(id="headline", title="In one figure", text=text, blocks=[table])


def of_episodes(figures: Sequence[Figures], observed: Observations) -> Chapter:
    """Return the share of compositions solved by condition, and paired figures where there are two arms.

    Args:
        figures: By condition; at least one.
        observed: The same episodes, one by one.
    """
    name = namer(_setup(row) for row in figures)
    rows = [(f"{name(_setup(row))}, {row.group.arm or '-'}", row) for row in figures]
    shown = rows[:_MOST]
    table = Table(
        title="Compositions solved",
        heads=("condition", "solved", "share", "95 % interval"),
        lines=[
            (label, solved_of(row), per_cent(overall_of(row)), range_of(overall_of(row)))
            for label, row in shown
        ],
        plot=Plot(
            axis=PERCENT,
            unit="% of compositions",
            marks=[dot(overall_of(row), tone_of(row.group.arm)) for _, row in shown],
        ),
        note=""
        if len(rows) == len(shown)
        else f"{len(rows) - len(shown)} more lines stand in the next chapter.",
    )
    pairs = [Text(text=text) for text in list(_paired(observed, name))[:3]]
    return Chapter(
        id="headline",
        title="In one figure",
        text="; ".join(_sentence(label, row) for label, row in rows[:2]) + ".",
        blocks=[*pairs, table],
    )


def is_compared(observed: Observations) -> bool:
    """Return True if a composition was played both without guards and with all."""
    return bool(list(_pairs(observed)))


def solved_of(row: Figures) -> str:
    """Return the compositions that a condition solved, of how many."""
    overall = row.summary.overall
    if overall is None:
        return NO_DATA
    return f"{round(overall.value * overall.count / 100)} of {count(overall.count)}"


def _sentence(label: str, row: Figures) -> str:
    overall = overall_of(row)
    return (
        f"{label}: {solved_of(row)} compositions solved ({per_cent(overall)}, "
        f"95 % interval {range_of(overall)})"
    )


def _pairs(observed: Observations) -> Iterator[tuple[Played, int, int, int]]:
    """Yield each group that played both arms, with its pairs, gains and losses."""
    for played, bare in sorted(observed.verdicts.items()):
        full = observed.verdicts.get(replace(played, arm=ALL), {})
        both = bare.keys() & full.keys()
        if played.arm == NONE and both:
            gained = sum(full[each] and not bare[each] for each in both)
            lost = sum(bare[each] and not full[each] for each in both)
            yield played, len(both), gained, lost


def _paired(observed: Observations, name: Callable[[Setup], str]) -> Iterator[str]:
    for played, pairs, gained, lost in _pairs(observed):
        yield (
            f"{name(played.setup)}: of {count(pairs)} compositions that both arms played, all guards gain {gained} and "
            f"lose {lost} against none (McNemar's exact test: p {_p(mcnemar(gained, lost))})."
        )


def _p(value: float) -> str:
    said = p_value(value)
    return said if said.startswith("<") else f"= {said}"


def _setup(row: Figures) -> Setup:
    group = row.group
    return Setup(
        agent=group.agent,
        player=group.player,
        regime=group.regime,
        surface=group.surface,
        contract=group.contract,
        declared=group.declared,
    )


def overall_of(row: Figures) -> Interval | None:
    """Return the share of compositions that a condition solved."""
    found = row.summary.overall
    return None if found is None else Interval(value=found.value, low=found.low, high=found.high)


def per_cent(interval: Interval | None) -> str:
    """Return the value of a share, with its unit."""
    return NO_DATA if interval is None else f"{interval.value:.0f} %"


def range_of(interval: Interval | None) -> str:
    """Return the ends of an interval of shares, with their unit."""
    return NO_DATA if interval is None else f"{interval.low:.0f} to {interval.high:.0f} %"
