"""Harm by guards, and control experiments that must show no effect."""

from collections import Counter
from collections.abc import Callable, Sequence

from asyncguard_benchmark.harness.ablation.findings import (
    Effect,
    Findings,
    HarmVerdict,
    Setup,
    Sham,
    Study,
    Wild,
)
from asyncguard_benchmark.harness.arms import NONE, ArmKind
from asyncguard_benchmark.harness.report.blocks import Block, Chapter, Plot, Table, Text, axis_for
from asyncguard_benchmark.harness.report.chapters.names import VERDICTS, change, namer
from asyncguard_benchmark.harness.report.number_format import (
    count,
    difference,
    number,
    p_value,
    share,
    signed_span,
    span,
)


def chapter(findings: Findings) -> Chapter:
    """Return the chapter on harm, sham, the same again, and derived values."""
    margin = number(findings.settings.margin)
    blocks: list[Block] = [
        *_harm(findings, margin),
        *_sham(findings.studies),
        *_same(findings.studies),
    ]
    for wild in findings.wild:
        blocks += _wild(wild)
    text = (
        f"An arm is harmless if its whole interval lies above a loss of {margin} points, harmful if the interval lies "
        "below zero and the estimate below that loss, and undecided otherwise. Every arm with guards is judged against "
        "none. The experiment is judged, too: rejections at random must gain nothing, and an arm must not differ from "
        "itself."
    )
    return Chapter(id="harm", title="Harm, and the experiment itself", text=text, blocks=blocks)


def _judged(study: Study) -> list[Effect]:
    others = {arm.arm for arm in study.arms if arm.kind in (ArmKind.SHAM, ArmKind.CONTROL)}
    return [
        effect for effect in study.effects if effect.arm not in others and effect.against == NONE
    ]


def _harm(findings: Findings, margin: str) -> list[Block]:
    name = namer(study.setup for study in findings.studies)
    judged = [(study, effect) for study in findings.studies for effect in _judged(study)]
    if not judged:
        return []
    undecided = sum(effect.harm is HarmVerdict.UNDECIDED for _, effect in judged)
    doubtful = [
        (study, effect)
        for study, effect in judged
        if effect.harm is not HarmVerdict.HARMLESS and effect.difference.value < 0
    ]
    blocks: list[Block] = [_counts(judged, name)]
    if not doubtful:
        text = f"No arm is estimated to lose, but for losses shown to be harmless; {undecided} verdicts are undecided."
        return [*blocks, Text(text=text)]
    marks = [change(effect.difference) for _, effect in doubtful]
    lines = [
        (
            f"{name(study.setup)}: {effect.arm}",
            difference(effect.difference),
            signed_span(effect.difference),
            VERDICTS[effect.harm],
        )
        for study, effect in doubtful
    ]
    table = Table(
        title="Arms that may do harm",
        note="Those whose estimate lies below zero and that are not shown to be harmless.",
        heads=("setup and arm", "points", "95 %", "verdict"),
        lines=lines,
        plot=Plot(axis=axis_for(marks), unit="points of overall", marks=marks),
    )
    return [*blocks, table]


def _counts(judged: Sequence[tuple[Study, Effect]], name: Callable[[Setup], str]) -> Table:
    counts: dict[str, Counter[HarmVerdict]] = {}
    for study, effect in judged:
        counts.setdefault(name(study.setup), Counter())[effect.harm] += 1
    return Table(
        title="Verdicts by setup",
        heads=("setup", *(VERDICTS[verdict] for verdict in HarmVerdict)),
        lines=[
            (label, *(count(found[verdict]) for verdict in HarmVerdict))
            for label, found in counts.items()
        ],
    )


def _sham(studies: Sequence[Study]) -> list[Block]:
    name = namer(study.setup for study in studies)
    found = [(name(study.setup), study.sham) for study in studies if study.sham is not None]
    if not found:
        return []
    marks = [
        change(each.difference) for _, sham in found for each in (sham.effect, sham.beside_features)
    ]
    table = Table(
        title="Sham: rejections at random",
        heads=("setup", "points", "95 %", "p", "rejections made", "wanted"),
        lines=[line for label, sham in found for line in _sham_lines(label, sham)],
        plot=Plot(axis=axis_for(marks), unit="points of overall", marks=marks),
        note="As many calls are rejected as with all guards, in the same words, but at random: what feedback and "
        "further attempts are worth by themselves. Features: ledger, waiting and the view of tasks, without any guard.",
    )
    return [table]


def _sham_lines(label: str, sham: Sham) -> list[tuple[str, ...]]:
    return [
        (
            f"{label}, against {against}",
            difference(effect.difference),
            signed_span(effect.difference),
            p_value(effect.p),
            count(sham.rejections_made),
            count(sham.rejections_wanted),
        )
        for against, effect in (("none", sham.effect), ("features", sham.beside_features))
    ]


def _same(studies: Sequence[Study]) -> list[Block]:
    name = namer(study.setup for study in studies)
    found = [(name(study.setup), effect) for study in studies for effect in study.same]
    if not found:
        return []
    marks = [change(effect.difference) for _, effect in found]
    lines = [
        (
            f"{label}: {effect.against}",
            difference(effect.difference),
            signed_span(effect.difference),
            p_value(effect.p),
            count(effect.mcnemar.gained),
            count(effect.mcnemar.lost),
        )
        for label, effect in found
    ]
    table = Table(
        title="A/A: the same arm again with another seed",
        heads=("setup and arm", "points", "95 %", "p", "gained", "lost"),
        lines=lines,
        plot=Plot(axis=axis_for(marks), unit="points of overall", marks=marks),
        note="An effect here is noise or an error of the experiment. One in twenty may lie outside its interval.",
    )
    return [table]


def _wild(wild: Wild) -> list[Block]:
    marks = [change(each.rate) for each in wild.guards]
    table = Table(
        title="False alarms on derived values",
        heads=("guard", "per 100 calls", "95 %", "rejections", "deferrals", "nudges"),
        lines=[
            (
                each.guard,
                number(each.rate.value, 2),
                span(each.rate),
                count(each.rejections),
                count(each.deferrals),
                count(each.nudges),
            )
            for each in wild.guards
        ],
        plot=Plot(axis=axis_for(marks), unit="rejections per 100 calls", marks=marks),
        note=f"{wild.setup.label}: {count(wild.episodes)} episodes, {count(wild.calls)} calls of an agent that makes "
        "no mistake, on tasks whose arguments are computed, normalised or customary. Every rejection is an error of "
        "the guard; a deferral costs no round. "
        f"Overall without guards {share(wild.unguarded)} ({span(wild.unguarded)}), with all {share(wild.guarded)} "
        f"({span(wild.guarded)}), difference {difference(wild.difference)} ({signed_span(wild.difference)}): "
        f"{VERDICTS[wild.harm]}.",
    )
    return [table]
