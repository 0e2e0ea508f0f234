"""Blocks of the hazard report: the grid of hazards and workflows, severity, hints, and success against calls."""

from collections.abc import Sequence

from asyncguard_benchmark.harness.arms import ALL, NONE
from asyncguard_benchmark.harness.names import PLAIN
from asyncguard_benchmark.harness.report.blocks import (
    Block,
    Curves,
    HeatCell,
    HeatMap,
    Row,
    Series,
    Table,
    Tone,
)
from asyncguard_benchmark.harness.report.number_format import (
    count,
    difference,
    p_value,
    share,
    signed_span,
    span,
)
from asyncguard_benchmark.harness.scenario import Workflow
from asyncguard_benchmark.suites.hazards.findings import ArmFigures, HazardStudy
from asyncguard_benchmark.suites.hazards.metrics import Endings, Facet


def grid_blocks(study: HazardStudy) -> list[Block]:
    """Return success by hazard and workflow, by severity, and with a hint beside without."""
    found: list[Block] = [
        HeatMap(
            title=f"Success by hazard and workflow, {arm.arm}",
            corner="hazard",
            columns=[each.value for each in Workflow],
            rows=[
                (hazard, [_cell(row.get(each.value)) for each in Workflow])
                for hazard, row in arm.grid.items()
            ],
            note="In per cent, with the number of runs.",
        )
        for arm in _ends(study)
        if arm.grid
    ]
    return [*found, *_severity(study), *_hints(study)]


def _ends(study: HazardStudy) -> Sequence[ArmFigures]:
    """Return the arms without and with recovery; all arms if there is neither."""
    return [arm for arm in study.arms if arm.arm in (NONE, ALL)] or study.arms


def _cell(found: Endings | None) -> HeatCell | None:
    return None if found is None else HeatCell(value=found.success.value, count=found.count)


def _severity(study: HazardStudy) -> list[Block]:
    lines = [
        (
            f"{severity}, {arm.arm}",
            count(found.count),
            share(found.success),
            span(found.success),
            share(found.wrong_answer),
            share(found.honest_failure),
        )
        for arm in _ends(study)
        for severity, found in arm.facets.get(Facet.SEVERITY, {}).items()
    ]
    heads = ("severity and arm", "runs", "success", "95 %", "wrong answer", "honest failure")
    return [Table(title="By severity", heads=heads, lines=lines)] if lines else []


def _hints(study: HazardStudy) -> list[Block]:
    lines = [
        (
            arm.arm,
            count(gain.pairs),
            difference(gain.points),
            signed_span(gain.points),
            count(gain.newly_recovered),
            count(gain.regressions),
            p_value(gain.p),
        )
        for arm in study.arms
        if (gain := arm.to_strict) is not None
    ]
    if not lines:
        return []
    heads = ("arm", "pairs", "points", "95 %", "solved with it alone", "without it alone", "p")
    note = "The first strange answer comes with a hint at what is wrong; the same runs without it are beside it."
    return [Table(title="With a hint", heads=heads, lines=lines, note=note)]


def budget_curve(study: HazardStudy) -> Block:
    """Return success against the budget of calls."""
    tones = {ALL: Tone.GUARDED, NONE: Tone.BARE, PLAIN: Tone.BARE}
    arms = _ends(study)
    return Row(
        charts=[
            Curves(
                title="Success with a budget of calls",
                axis_name="calls, as a multiple of the ground truth's",
                places=[f"{each.factor:g}" for each in arms[0].budgets],
                series=[
                    Series(
                        label=arm.arm,
                        tone=tones.get(arm.arm, Tone.NEUTRAL),
                        values=[each.success for each in arm.budgets],
                    )
                    for arm in arms
                ],
            )
        ]
    )
