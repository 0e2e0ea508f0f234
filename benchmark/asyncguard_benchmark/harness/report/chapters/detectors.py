"""Guards as detectors, agents that heed them or not, and models that the data do not pin down."""

from asyncguard_benchmark.harness.ablation.findings import (
    ComplianceSweep,
    Detection,
    EnsembleEffect,
    Findings,
    GuardDetections,
    Interval,
    Shadow,
    Truth,
)
from asyncguard_benchmark.harness.report.blocks import (
    PERCENT,
    Block,
    Chapter,
    Curves,
    Mark,
    Panels,
    Plot,
    Row,
    Series,
    Table,
    Tone,
    axis_for,
)
from asyncguard_benchmark.harness.report.chapters.names import dot, namer
from asyncguard_benchmark.harness.report.number_format import (
    count,
    difference,
    number,
    share,
    signed,
    signed_span,
    span,
)

_TRUTHS = {
    Truth.WRONG: "wrong: the call is none of the gold calls that remain",
    Truth.IRRECOVERABLE: "irrecoverable: after the call the sub-task cannot be solved any more",
    Truth.HARMFUL: "harmful: the same agent solves more sub-tasks going on without the call",
}


def shadow_chapter(findings: Findings) -> Chapter | None:
    """Return precision and recall of guards beside unguarded runs; None without data."""
    if not findings.shadow:
        return None
    name = namer(each.setup for each in findings.shadow)
    choices = {name(each.setup): _shadow(each) for each in findings.shadow}
    text = (
        "The guards watch unguarded runs and are not heeded. Each call is labelled without looking at any guard. "
        "Precision is the share of a guard's objections that hit such a call, recall the share of such calls that "
        "it objects to. A guard is not meant to catch every kind of mistake, so one guard may have a low recall."
    )
    return Chapter(
        id="shadow",
        title="Guards as detectors",
        text=text,
        blocks=[Panels(name="setup", choices=choices)],
    )


def _shadow(shadow: Shadow) -> list[Block]:
    return [_detections(shadow, truth) for truth in Truth]


def _detections(shadow: Shadow, truth: Truth) -> Table:
    rows: list[tuple[GuardDetections, Detection]] = [
        (guard, each) for guard in shadow.guards for each in guard.detections if each.truth is truth
    ]
    positives = rows[0][1].positives if rows else 0
    return Table(
        title=_TRUTHS[truth],
        heads=("guard", "precision", "95 %", "recall", "95 %", "objections", "hits"),
        lines=[
            (
                guard.guard,
                share(each.precision),
                span(each.precision),
                share(each.recall),
                span(each.recall),
                count(guard.objections),
                count(each.hits),
            )
            for guard, each in rows
        ],
        plot=Plot(
            axis=PERCENT,
            unit="precision, %",
            marks=[dot(each.precision, Tone.GUARDED) for _, each in rows],
        ),
        note=f"{count(positives)} of {count(shadow.calls)} calls in {count(shadow.episodes)} episodes are so.",
    )


def compliance_chapter(findings: Findings) -> Chapter | None:
    """Return the chapter on compliance with feedback, and on ranges over ensembles; None without either."""
    blocks: list[Block] = []
    if findings.compliance:
        blocks.append(Row(charts=[_sweep(each) for each in findings.compliance]))
        blocks += [_sweep_effects(each) for each in findings.compliance]
    if findings.ensembles:
        blocks.append(_ensembles(findings.ensembles))
    if not blocks:
        return None
    text = (
        "Compliance is the rate at which an agent heeds what a guard tells it. Nothing published says what it is, so "
        "it is swept and never fitted. A model whose published figures are met by many sets of rates gets a range over "
        "all of them, and never a single number. In the other chapters such a model stands by its best set alone."
    )
    return Chapter(
        id="compliance", title="What is not known of the agents", text=text, blocks=blocks
    )


def _sweep(sweep: ComplianceSweep) -> Curves:
    return Curves(
        title=sweep.setup.label,
        axis_name="compliance",
        places=[f"{point.compliance:g}" for point in sweep.points],
        series=[
            Series(
                label="all", tone=Tone.GUARDED, values=[point.guarded for point in sweep.points]
            ),
            Series(
                label="none", tone=Tone.BARE, values=[point.unguarded for point in sweep.points]
            ),
        ],
    )


def _sweep_effects(sweep: ComplianceSweep) -> Table:
    marks = [dot(point.difference, Tone.GUARDED) for point in sweep.points]
    return Table(
        title=f"Effect of all guards by compliance, {sweep.setup.label}",
        heads=("compliance", "all - sham", "95 %", "all - none", "95 % "),
        lines=[
            (
                f"{point.compliance:g}",
                difference(point.beside_sham),
                signed_span(point.beside_sham),
                difference(point.difference),
                signed_span(point.difference),
            )
            for point in sweep.points
        ],
        plot=Plot(axis=axis_for(marks), unit="points of overall, all minus none", marks=marks),
    )


def _ensembles(effects: tuple[EnsembleEffect, ...]) -> Table:
    name = namer(each.setup for each in effects)
    marks = [_range(each) for each in effects]
    return Table(
        title="Effects over ensembles",
        heads=("ensemble and arm", "median", "range", "sets of rates", "harmful for"),
        lines=[
            (
                f"{name(each.setup)}: {each.arm} against {each.against}",
                signed(each.median),
                f"{signed(each.low)} to {signed(each.high)}",
                count(each.members),
                number(each.harmful, 0),
            )
            for each in effects
        ],
        plot=Plot(axis=axis_for(marks), unit="points of overall", marks=marks),
        note="The thin lines are ranges over the sets of rates, and no intervals.",
    )


def _range(each: EnsembleEffect) -> tuple[Mark, ...]:
    return (
        Mark(interval=Interval(value=each.median, low=each.low, high=each.high), tone=Tone.GUARDED),
    )
