"""Compositions whose verdict changes: between arms, and between two runs."""

from collections.abc import Sequence

from asyncguard_benchmark.harness.ablation.findings import Findings, Flip, Setup
from asyncguard_benchmark.harness.report.blocks import (
    Block,
    Chapter,
    Plot,
    Table,
    Text,
    Tone,
    axis_for,
)
from asyncguard_benchmark.harness.report.chapters.names import bar, everything, namer, nothing
from asyncguard_benchmark.harness.report.number_format import (
    NO_DATA,
    count,
    difference,
    p_value,
    share,
    signed,
    span,
)
from asyncguard_benchmark.harness.report.observations import Comparison
from asyncguard_benchmark.harness.statistics.estimates import Interval
from asyncguard_benchmark.harness.statistics.paired import mcnemar

_NAMED = 12
"""So many compositions are named in a line; the explorer shows all."""


def flips_block(findings: Findings) -> Table | None:
    """Return flips between arms, by setup; None if nothing flipped."""
    name = namer(study.setup for study in findings.studies)
    groups: dict[tuple[Setup, str, str], list[Flip]] = {}
    for study in findings.studies:
        for flip in study.flips:
            groups.setdefault((study.setup, flip.arm, flip.against), []).append(flip)
    if not groups:
        return None
    lines = [
        (
            f"{name(setup)}: {arm} against {against}",
            count(sum(flip.gained for flip in flips)),
            count(sum(not flip.gained for flip in flips)),
            _listed([f"{flip.composition}{_seed(flip)}" for flip in flips if not flip.gained]),
        )
        for (setup, arm, against), flips in groups.items()
    ]
    return Table(
        title="Compositions whose verdict changes",
        heads=("setup and arms", "gained", "lost", "which were lost"),
        lines=lines,
        folded=len(lines) > 24,
    )


def _seed(flip: Flip) -> str:
    return f"@{flip.seed}" if flip.seed else ""


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}" if names else NO_DATA


def runs_chapter(
    findings: Findings | None, other: Findings | None, comparisons: Sequence[Comparison]
) -> Chapter | None:
    """Return two runs beside each other; None if they have nothing in common."""
    blocks: list[Block] = []
    if findings is not None and other is not None:
        blocks += _beside(findings, other)
    if any(each.shared for each in comparisons):
        blocks.append(_changed([each for each in comparisons if each.shared]))
    if not blocks:
        return None
    text = "This run and the other, arm by arm. Flips are compositions that both played and one solved."
    return Chapter(id="runs", title="Two runs", text=text, blocks=blocks)


def _beside(findings: Findings, other: Findings) -> list[Block]:
    blocks: list[Block] = []
    if findings.settings.data != other.settings.data:
        blocks.append(
            Text(
                text="The two runs played different compositions: their figures are not to be compared."
            )
        )
    others = {study.setup: study for study in other.studies}
    pairs = [(study, others[study.setup]) for study in findings.studies if study.setup in others]
    if not pairs:
        return blocks
    name = namer(study.setup for study, _ in pairs)
    rows = [
        (f"{name(study.setup)}: {arm}", figure(study), figure(before))
        for study, before in pairs
        for arm, figure in (("none", nothing), ("all", everything))
    ]
    marks = [
        bar(_moved(now, then), _tone(now, then)) if now and then else () for _, now, then in rows
    ]
    table = Table(
        title="Overall in both runs",
        heads=("setup and arm", "this run", "95 %", "other run", "95 %", "difference"),
        lines=[
            (label, share(now), span(now), share(then), span(then), difference(_moved(now, then)))
            for label, now, then in rows
        ],
        plot=Plot(axis=axis_for(marks), unit="points, this run minus the other", marks=marks),
        note="The difference has no interval here: the figures of two runs do not say which episodes belong together.",
    )
    return [*blocks, table]


def _moved(now: Interval | None, then: Interval | None) -> Interval | None:
    if now is None or then is None:
        return None
    moved = now.value - then.value
    return Interval(value=moved, low=moved, high=moved)


def _tone(now: Interval, then: Interval) -> Tone:
    return Tone.GAIN if now.value >= then.value else Tone.LOSS


def _changed(comparisons: Sequence[Comparison]) -> Table:
    name = namer(each.played.setup for each in comparisons)
    lines = [
        (
            f"{name(each.played.setup)}: {each.played.arm}, seed {each.played.seed}",
            count(len(each.shared)),
            count(len(each.gained)),
            count(len(each.lost)),
            signed(_points(each)),
            p_value(mcnemar(len(each.gained), len(each.lost))),
            _listed(each.lost),
        )
        for each in comparisons
    ]
    return Table(
        title="Flips between the runs",
        heads=(
            "setup and arm",
            "both played",
            "gained",
            "lost",
            "points",
            "McNemar p",
            "which were lost",
        ),
        lines=lines,
        note="p takes compositions for independent, which they are not.",
    )


def _points(each: Comparison) -> float | None:
    return 100 * (len(each.gained) - len(each.lost)) / len(each.shared) if each.shared else None
