"""The headlines of the results: `all - sham` of named agents and sources, with what is not known of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from asyncguard_benchmark.harness.ablation.findings import (
    ComplianceSweep,
    Effect,
    Findings,
    Interval,
    Study,
)
from asyncguard_benchmark.harness.arms import ALL, CONTENT, FEATURES, NONE, SHAM, TIMING
from asyncguard_benchmark.harness.report.chapters.comparison import compared, imitated
from asyncguard_benchmark.harness.report.forest import ForestRow, forest
from asyncguard_benchmark.harness.report.result_cells import (
    Line,
    Part,
    difference_of,
    least_seen_of,
    span,
)
from asyncguard_benchmark.harness.statistics.power import tasks_needed

WIDE = "*"
"""Marks an interval that reaches farther than the design wants."""
REACH = 3.0
"""Points that an interval is to reach at most, unless a design says otherwise."""
HEADS = ("source, fixed1", "all - sham", "sham - none", "can miss", "compliance 0 to 1", "pairs")


@dataclass(frozen=True, kw_only=True)
class Headline:
    """One line of the first table."""

    name: str
    study: Study | None = None
    band: ComplianceSweep | None = None
    """The same agent at several rates of compliance."""
    tasks: int | None = None
    """Different tasks of its compositions, where that is known."""
    note: str = ""
    """Reason that there is no figure."""

    @property
    def effect(self) -> Effect | None:
        """All guards against the sham; None without data, or where the sham did not do its work."""
        sham = self.study.sham if self.study is not None else None
        if self.study is None or (sham is not None and not sham.works):
            return None
        return self.study.effect(ALL, SHAM)

    @property
    def feedback(self) -> Effect | None:
        """The sham against no guards."""
        return None if self.study is None else self.study.effect(SHAM, NONE)

    @property
    def broken(self) -> bool:
        """True if it has a sham that did not do its work."""
        return self.study is not None and self.study.sham is not None and not self.study.sham.works


def of_findings(found: Sequence[Findings]) -> list[Headline]:
    """Return a headline for each setup with a sham, where no design says which ones count."""
    return [
        Headline(
            name=f"{study.setup.agent}, {study.setup.player}",
            study=study,
            band=band_of(each, study.setup.agent),
            tasks=each.settings.sources,
        )
        for each in found
        for study in compared(each)
    ]


def study_in(found: Findings, agent: str) -> Study | None:
    """Return the study of an agent, or of pooled agents by that name, that has a sham."""
    return next((study for study in compared(found) if study.setup.agent == agent), None)


def band_of(found: Findings, agent: str) -> ComplianceSweep | None:
    """Return the sweep over compliance of an agent, or of pooled agents by that name."""
    sweeps = (*(each.compliance for each in found.pooled), *found.compliance)
    return next((each for each in sweeps if each is not None and each.setup.agent == agent), None)


def headline_lines(headlines: Sequence[Headline], reach: float = REACH) -> list[Line]:
    """Return the lines of the first table; `+-` says how far the 95 % interval reaches."""
    return [(each.name, *_figures(each, reach)) for each in headlines]


def _figures(headline: Headline, reach: float) -> Line:
    effect = headline.effect
    if effect is None:
        broken = "the sham did not do its work: no control"
        return (broken if headline.broken else headline.note or "no data", "-", "-", "-", "-")
    mark = WIDE if effect.reach > reach else ""
    return (
        f"{_short(effect)}{mark}",
        _short(headline.feedback),
        least_seen_of(effect),
        _band(headline.band),
        f"{effect.pairs:,}",
    )


def _short(effect: Effect | None) -> str:
    return "-" if effect is None else f"{effect.difference.value:+.1f} ± {effect.reach:.1f}"


def _band(sweep: ComplianceSweep | None) -> str:
    values = (
        [point.beside_sham.value for point in sweep.points if point.beside_sham] if sweep else []
    )
    return f"{min(values):+.1f} to {max(values):+.1f}" if values else "-"


def caption(reach: float) -> str:
    """Return how the first table is to be read."""
    return (
        f"Points of overall at `fixed1`, ± half of the 95 % interval. {WIDE} reaches farther than {reach:g} points. "
        "*can miss*: smaller effects are missed in a fifth of repetitions or more. *compliance*: lowest and highest "
        "`all - sham` as the agent heeds no, some or all refusals; the other columns are at 1."
    )


def sentences(headlines: Sequence[Headline], reach: float) -> Iterator[str]:
    """Yield the summary in words, made of the same figures as the table."""
    known = [(each, each.effect) for each in headlines if each.effect is not None]
    better = [each.name for each, effect in known if effect.difference.low > 0]
    worse = [each.name for each, effect in known if effect.difference.high < 0]
    others = [each.name for each, _ in known if each.name not in (*better, *worse)]
    for words, names in (
        ("worth more than the sham", better),
        ("worth less than the sham", worse),
        ("not shown to differ from the sham", others),
    ):
        if names:
            yield f"**All guards are {words}** for {', '.join(names)}."
    flat = [each for each, _ in known if each.feedback is not None and _is_zero(each.feedback)]
    rising = [each.name for each, _ in known if each not in flat]
    if rising:
        yield (
            f"**The sham is not flat** for {', '.join(rising)}: refusals and reminders at random, as many and in the "
            "same words, change the result by themselves. An agent that errs in many calls is refused a wrong one by "
            "chance, and makes it again with care. `all - none` counts that for the guards; `all - sham` does not."
        )
    for each, effect in known:
        if effect.reach > reach:
            yield f"**{each.name}**: the interval reaches ± {effect.reach:.1f} points. {_remedy(each, effect, reach)}"
    missing = [
        f"{each.name} ({each.note})" for each in headlines if each.effect is None and each.note
    ]
    if missing:
        yield f"**Not scored here**: {'; '.join(missing)}."


def _is_zero(effect: Effect) -> bool:
    return effect.difference.low <= 0 <= effect.difference.high


def _remedy(headline: Headline, effect: Effect, reach: float) -> str:
    needed = effect.pairs_needed(reach)
    if needed is None:
        return (
            f"By these pairs, more compositions of the same tasks do not bring it to ± {reach:g}; "
            f"{_more_tasks(headline.tasks, effect, reach)}."
        )
    return f"About {needed:,} pairs bring it to ± {reach:g}; there are {effect.pairs:,}."


def _more_tasks(tasks: int | None, effect: Effect, reach: float) -> str:
    if tasks is None:
        return "more tasks do"
    needed = tasks_needed(tasks, reach=effect.reach, wanted=reach)
    return f"about {needed:,} tasks do, each in as many compositions, and there are {tasks:,}"


def picture(headlines: Sequence[Headline]) -> str:
    """Return the headlines as SVG."""
    rows = [
        ForestRow(
            name=each.name,
            strong=_interval(each.effect),
            weak=_interval(each.feedback),
        )
        for each in headlines
        if each.effect is not None
    ]
    return forest("all - sham and sham - none, in points", "all - sham", "sham - none", rows)


def _interval(effect: Effect | None) -> Interval | None:
    return None if effect is None else effect.difference


def power(headlines: Sequence[Headline], reach: float) -> Part:
    """Return the part on what each headline could have missed, and what would be needed."""
    lines: list[Line] = []
    for each in headlines:
        if (effect := each.effect) is None or each.study is None:
            continue
        needed = effect.pairs_needed(reach)
        lines.append(
            (
                each.name,
                difference_of(effect),
                f"{effect.standard_error:.2f}",
                f"{effect.naive_error:.2f}",
                f"{effect.shared_error:.2f}",
                least_seen_of(effect),
                f"{effect.pairs:,}",
                "more tasks" if needed is None else f"{needed:,}",
                imitated(each.study),
            )
        )
    text = (
        "`error` is robust against tasks that compositions share, `naive` takes pairs for independent, `shared` is "
        "what more compositions of the same tasks do not take away. `can miss` is the effect that 80 % of repetitions "
        f"would show. `needed` are the pairs for an interval of ± {reach:g} points; where it says `more tasks`, no "
        "number of compositions of these tasks is enough. `imitated` are refusals and reminders of the sham, of those "
        "of the guards."
    )
    heads = (
        "source",
        "all - sham",
        "error",
        "naive",
        "shared",
        "can miss",
        "pairs",
        "needed",
        "imitated",
    )
    return "Power", text, heads, lines


def groups(headlines: Sequence[Headline]) -> Part:
    """Return the groups of guards beside none and beside the sham."""
    lines: list[Line] = [
        (each.name, group, difference_of(to_none), difference_of(each.study.effect(group, SHAM)))
        for each in headlines
        if each.study is not None and each.effect is not None
        for group in (FEATURES, CONTENT, TIMING, ALL)
        if (to_none := each.study.effect(group, NONE)) is not None
    ]
    text = (
        "`features` is the runtime without guards (ledger, waiting, task view, references); `content` judges a call by "
        "itself, `timing` asks what is known yet. The sham has the features, and refuses and reminds as often as all "
        "guards do."
    )
    return "Groups of guards", text, ("source", "group", "group - none", "group - sham"), lines


def band(found: Sequence[Findings]) -> Part:
    """Return `all - sham` at every rate of compliance."""
    sweeps = [
        sweep
        for each in found
        for sweep in (*(pooled.compliance for pooled in each.pooled), *each.compliance)
        if sweep is not None and any(point.beside_sham for point in sweep.points)
    ]
    lines: list[Line] = [
        (sweep.setup.agent, *(span(point.beside_sham, signed=True) for point in sweep.points))
        for sweep in sweeps
    ]
    rates = sweeps[0].points if sweeps else ()
    text = (
        "All guards beside the sham, by the share of refusals and reminders that the agent heeds. Nothing published "
        "tells that share, so the effect is this band and not its right end. What is not heeded is taken as if it had "
        "not been said: the agent goes on as it would have."
    )
    return "All - sham by compliance", text, ("agent", *(f"{p.compliance:g}" for p in rates)), lines
