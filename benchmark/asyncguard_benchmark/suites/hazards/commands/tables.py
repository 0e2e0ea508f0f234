"""Findings of the hazard suite as tables on a terminal."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.console import Console

from asyncguard_benchmark.commands.output import table
from asyncguard_benchmark.harness.arms import ALL, NONE
from asyncguard_benchmark.harness.faults import Hazard
from asyncguard_benchmark.harness.report.blocks import Table
from asyncguard_benchmark.harness.report.number_format import (
    NO_DATA,
    difference,
    number,
    p_value,
    share,
    signed_span,
    span,
)
from asyncguard_benchmark.harness.scenario import Workflow
from asyncguard_benchmark.harness.statistics.estimates import Interval
from asyncguard_benchmark.suites.hazards.findings import (
    UNDIAGNOSED,
    ArmFigures,
    FalseAlarms,
    HazardFindings,
    HazardStudy,
)
from asyncguard_benchmark.suites.hazards.metrics import Endings, Facet, Gain

_ARMS = (
    "arm",
    "runs",
    "success",
    "95 %",
    "clean",
    "kept",
    "wrong",
    "95 % ",
    "honest",
    "twice",
    "calls",
    "ticks",
)
_GAINS = ("arm", "to none", "95 %", "new", "lost", "p", "to all", "95 % ", "clean, to none")
_READ = """\
kept: of what is solved clean, what is solved injected. wrong: a wrong answer or wrong effects, without a word. \
twice: effects that happened too often. new, lost: solved by the arm alone, by the arm none alone."""


def show_findings(out: Console, found: HazardFindings) -> None:
    """Print every study."""
    said = found.settings
    out.print(
        f"{said.tasks} tasks, {said.instances} injected compositions, {len(said.seeds)} seeds. Intervals are 95 % and "
        "count all runs of one task as one observation."
    )
    out.print(_READ)
    for study in found.studies:
        out.print()
        out.print(table(_ARMS, map(_arm, study.arms), title=study.setup.label))
        _show_gains(out, study)
        for facet in (Facet.HAZARD, Facet.WORKFLOW, Facet.SEVERITY):
            _show(out, _by_facet(study, facet))
        for shown in (_grid(study), _budgets(study), *_hints(study)):
            _show(out, shown)
        _show_diagnoses(out, study)


def _arm(arm: ArmFigures) -> tuple[str, ...]:
    injected = arm.injected
    return (
        arm.arm,
        str(injected.count),
        share(injected.success),
        span(injected.success),
        NO_DATA if arm.clean is None else share(arm.clean.success),
        NO_DATA if arm.kept is None else share(arm.kept.kept),
        share(arm.silent),
        span(arm.silent),
        share(injected.honest_failure),
        str(injected.duplicated),
        number(injected.calls),
        number(injected.ticks),
    )


def _show_gains(out: Console, study: HazardStudy) -> None:
    compared = [arm for arm in study.arms if arm.to_none is not None or arm.to_all is not None]
    if compared:
        out.print()
        out.print(table(_GAINS, map(_gains, compared)))


def _gains(arm: ArmFigures) -> tuple[str, ...]:
    found = arm.to_none
    counts = (NO_DATA,) * 3
    if found is not None:
        counts = _changes(found)
    return (arm.arm, *_points(found), *counts, *_points(arm.to_all), _points(arm.to_none_clean)[0])


def _points(gain: Gain | None) -> tuple[str, str]:
    return difference(None if gain is None else gain.points), signed_span(
        None if gain is None else gain.points
    )


def _by_facet(study: HazardStudy, facet: Facet) -> Table:
    values = sorted({value for arm in study.arms for value in arm.facets[facet]})
    lines = [(arm.arm, *(_success(arm, facet, value) for value in values)) for arm in study.arms]
    title = f"success by {facet.value}"
    return Table(title=title, heads=(title, *values), lines=lines)


def _success(arm: ArmFigures, facet: Facet, value: str) -> str:
    found = arm.facets[facet].get(value)
    return NO_DATA if found is None else f"{share(found.success)} ({span(found.success)})"


def split_tables(study: HazardStudy) -> list[Table]:
    """Return what the terminal shows of the splits of a study, for a document."""
    made = [
        _grid(study),
        *(_by_facet(study, facet) for facet in (Facet.WORKFLOW, Facet.SEVERITY)),
        *_hints(study),
        _budgets(study),
    ]
    return [replace(each, title=f"Hazards, {study.setup.label}: {each.title}") for each in made]


def _show(out: Console, shown: Table) -> None:
    out.print()
    out.print(table(shown.heads, shown.lines))


def _grid(study: HazardStudy) -> Table:
    workflows = [each.value for each in Workflow]
    lines = [
        (f"{arm.arm}: {hazard}", *(_ending(row.get(workflow)) for workflow in workflows))
        for arm in study.arms
        if arm.arm in (NONE, ALL) or len(study.arms) == 1
        for hazard, row in arm.grid.items()
    ]
    title = "success by hazard and workflow (runs)"
    return Table(title=title, heads=(title, *workflows), lines=lines)


def _ending(found: Endings | None) -> str:
    return NO_DATA if found is None else f"{_interval(found.success)} of {found.count}"


def _hints(study: HazardStudy) -> list[Table]:
    hinted = [(arm.arm, gain) for arm in study.arms if (gain := arm.to_strict) is not None]
    title = "with a hint, to the same without"
    heads = (title, "pairs", "points", "95 %", "new", "lost", "p")
    lines = [(arm, str(gain.pairs), *_points(gain), *_changes(gain)) for arm, gain in hinted]
    return [Table(title=title, heads=heads, lines=lines)] if lines else []


def _changes(gain: Gain) -> tuple[str, str, str]:
    return str(gain.newly_recovered), str(gain.regressions), p_value(gain.p)


def _budgets(study: HazardStudy) -> Table:
    factors = [each.factor for each in study.arms[0].budgets]
    lines = [(arm.arm, *(_interval(each.success) for each in arm.budgets)) for arm in study.arms]
    title = "success with at most"
    heads = (title, *(f"{factor:g} x the calls needed" for factor in factors))
    return Table(title=title, heads=heads, lines=lines)


def _interval(interval: Interval) -> str:
    return f"{share(interval)} ({span(interval)})"


def _show_diagnoses(out: Console, study: HazardStudy) -> None:
    diagnosing = [
        arm for arm in study.arms if arm.arm == ALL or any(each.detected for each in arm.detections)
    ]
    if not diagnosing:
        return
    lines = [
        (
            arm.arm,
            each.sign.value,
            str(each.struck),
            str(each.detected),
            share(each.share),
            span(each.share),
        )
        for arm in diagnosing
        for each in arm.detections
    ]
    out.print()
    out.print(
        table(
            ("diagnosed by", "fault shows itself by", "struck", "detected", "share", "95 %"), lines
        )
    )
    alarms = [
        (arm.arm, what, *_alarm(found))
        for arm in diagnosing
        for what, found in (("clean", arm.false_alarms), ("benign variation", arm.benign))
        if found is not None
    ]
    if alarms:
        out.print()
        out.print(
            table(
                ("false alarms", "runs", "of", "alarmed", "share", "95 %", "calls", "diagnoses"),
                alarms,
            )
        )
    out.print()
    out.print(_confusion([arm for arm in diagnosing if arm.arm == ALL] or diagnosing[-1:]))


def _alarm(found: FalseAlarms) -> tuple[str, ...]:
    return (
        str(found.runs),
        str(found.alarmed),
        share(found.share),
        span(found.share),
        str(found.calls),
        str(found.alarms),
    )


def _confusion(arms: Sequence[ArmFigures]) -> object:
    columns = [*(hazard.value for hazard in Hazard), UNDIAGNOSED]
    lines: Iterable[tuple[str, ...]] = [
        (f"{arm.arm}: {hazard.value}", *(str(found.get(column, 0)) for column in columns))
        for arm in arms
        for hazard, found in arm.confusion.items()
    ]
    return table(("injected, by what was diagnosed", *columns), lines)
