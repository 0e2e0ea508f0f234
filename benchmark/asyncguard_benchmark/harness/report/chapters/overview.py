"""Every guard that changes anything, over all setups: alone, left out, and by its share."""

from collections.abc import Iterator

from asyncguard_benchmark.harness.ablation.findings import (
    Effect,
    Findings,
    Interval,
    ShapleyValue,
    Study,
)
from asyncguard_benchmark.harness.arms import ALL, NONE
from asyncguard_benchmark.harness.report.blocks import Chapter, Plot, Table, axis_for
from asyncguard_benchmark.harness.report.chapters.names import change, is_full, namer
from asyncguard_benchmark.harness.report.number_format import difference, signed_span

_NOTHING = 0.05
"""Points that are shown as zero."""


def chapter(findings: Findings) -> Chapter | None:
    """Return the overview by itself, for a terminal; None if no setup switched single guards."""
    found = overview(findings)
    if found is None:
        return None
    text = (
        "alone: with this guard only, against none. left out: without this guard only, against all. share: its Shapley "
        "value, what it adds averaged over all orders in which guards could be switched on. Points of overall."
    )
    return Chapter(id="guards", title="Which guard does it", text=text, blocks=[found])


def overview(findings: Findings) -> Table | None:
    """Return one line for each setup and guard; None if no setup switched single guards."""
    studies = [study for study in findings.studies if is_full(study)]
    if not studies:
        return None
    name = namer(study.setup for study in findings.studies)
    rows = [(name(study.setup), study, each) for study in studies for each in _moving(study)]
    marks = [change(each.value) for *_, each in rows]
    return Table(
        title="Guards that change anything",
        heads=("setup and guard", "share", "95 %", "alone", "95 %", "left out", "95 %"),
        lines=[
            (
                f"{label}: {each.switch}",
                difference(each.value),
                signed_span(each.value),
                *_said(study.effect(f"only-{each.switch}", NONE)),
                *_said(study.effect(f"without-{each.switch}", ALL)),
            )
            for label, study, each in rows
        ],
        plot=Plot(axis=axis_for(marks), unit="Shapley value, points of overall", marks=marks),
    )


def _moving(study: Study) -> Iterator[ShapleyValue]:
    for each in study.shapley.values if study.shapley is not None else ():
        left_out = study.effect(f"without-{each.switch}", ALL)
        values = [each.value.value, 0.0 if left_out is None else left_out.difference.value]
        if any(abs(value) >= _NOTHING for value in values):
            yield each


def _said(effect: Effect | None) -> tuple[str, str]:
    found: Interval | None = effect.difference if effect is not None else None
    return difference(found), signed_span(found)
