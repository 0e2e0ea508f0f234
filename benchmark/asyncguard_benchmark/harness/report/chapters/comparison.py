"""The comparison that counts: all guards beside the sham, then the groups of guards."""

from collections.abc import Iterator

from asyncguard_benchmark.harness.ablation.findings import Effect, Findings, Study
from asyncguard_benchmark.harness.arms import ALL, CONTENT, FEATURES, NONE, SHAM, TIMING
from asyncguard_benchmark.harness.report.blocks import Plot, Table, axis_for
from asyncguard_benchmark.harness.report.chapters.names import change, namer
from asyncguard_benchmark.harness.report.number_format import (
    NO_DATA,
    difference,
    signed_span,
)
from asyncguard_benchmark.harness.report.result_cells import least_seen_of

MEANING = (
    "The sham refuses as many calls as the guards and reminds as often, in their words, but calls and tasks are drawn "
    "at random. It is not flat: an agent that errs often is refused a wrong call by chance, too, and tries again. So "
    "what guards are worth is all minus sham, and not all minus none."
)


def compared(findings: Findings) -> list[Study]:
    """Return the studies with a sham: pooled agents first, then each setup."""
    studies = (*(each.study for each in findings.pooled), *findings.studies)
    return [study for study in studies if study.effect(ALL, SHAM) is not None]


def comparison(findings: Findings) -> Table | None:
    """Return `all - sham` for each setup, with what it could have missed; None if no sham was played."""
    studies = compared(findings)
    if not studies:
        return None
    name = namer(study.setup for study in studies)
    effects = [study.effect(ALL, SHAM) for study in studies]
    marks = [change(None if effect is None else effect.difference) for effect in effects]
    return Table(
        title="All guards beside the sham",
        heads=(
            "setup",
            "all - sham",
            "95 %",
            "sham - none",
            "95 % ",
            "all - none",
            "imitated",
            "could miss",
            "pairs",
        ),
        lines=[(name(study.setup), *_cells(study)) for study in studies],
        plot=Plot(axis=axis_for(marks), unit="points of overall, all minus sham", marks=marks),
        note="imitated: refusals and reminders of the sham, of those of the guards. could miss: effects up to so many "
        "points would have been missed in one of five repetitions or more; any: even one of 100 points.",
    )


def _cells(study: Study) -> tuple[str, ...]:
    effect, sham = study.effect(ALL, SHAM), study.effect(SHAM, NONE)
    return (
        *_said(effect),
        *_said(sham),
        _said(study.effect(ALL, NONE))[0],
        imitated(study),
        NO_DATA if effect is None else least_seen_of(effect),
        NO_DATA if effect is None else str(effect.pairs),
    )


def imitated(study: Study) -> str:
    """Return how much of what the guards said the sham said; a sham that does not do its work is called broken."""
    if study.sham is None:
        return NO_DATA
    made = study.sham.rejections_made + study.sham.reminders_made
    wanted = study.sham.rejections_wanted + study.sham.reminders_wanted
    return f"{made} of {wanted}{'' if study.sham.works else ': BROKEN'}"


def groups(findings: Findings) -> Table | None:
    """Return the groups of guards, each beside none and beside the sham; None if no sham was played."""
    studies = compared(findings)
    lines = [line for study in studies for line in _group_lines(study)]
    if not lines:
        return None
    return Table(
        title="Groups of guards",
        heads=("setup and group", "to none", "95 %", "to the sham", "95 % "),
        lines=lines,
        note="features: the runtime without guards (ledger, waiting, task view, references). content: guards that "
        "judge a call by itself. timing: guards that ask what is known yet. The sham has the features, and refuses as "
        "often as all guards do.",
    )


def _group_lines(study: Study) -> Iterator[tuple[str, ...]]:
    name = f"{study.setup.agent} · {study.setup.regime}"
    for group in (FEATURES, CONTENT, TIMING, ALL):
        to_none, to_sham = study.effect(group, NONE), study.effect(group, SHAM)
        if to_none is not None:
            yield f"{name}: {group}", *_said(to_none), *_said(to_sham)


def _said(effect: Effect | None) -> tuple[str, str]:
    found = None if effect is None else effect.difference
    return difference(found), signed_span(found)
