"""A whole report: chapters, explorer and page from findings and observed episodes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from asyncguard_benchmark.harness.ablation.findings import Findings, Setup
from asyncguard_benchmark.harness.report.blocks import Chapter, Table
from asyncguard_benchmark.harness.report.chapters import (
    behaviour,
    breakdowns,
    costs,
    delay,
    detectors,
    flips,
    guards,
    headline,
    safety,
    summary,
)
from asyncguard_benchmark.harness.report.document import Document
from asyncguard_benchmark.harness.report.explorer import Explorer
from asyncguard_benchmark.harness.report.figures import COLUMNS, Figures, cells
from asyncguard_benchmark.harness.report.number_format import count
from asyncguard_benchmark.harness.report.observations import Observations, compare
from asyncguard_benchmark.harness.suites import registry

_TITLE = "What the guards are worth"
_NAMED = 3
"""Agents whose names a title holds."""
_UNITS = {"overall": "solved", "95 %": "95 % interval", "sub-tasks": "sub-tasks solved"}
"""Heads that say more, where a terminal has no room for it."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One run: what an ablation found, what its episodes say, or both."""

    findings: Findings | None
    observed: Observations
    figures: tuple[Figures, ...] = ()
    """By condition, of the episodes."""


def document_of(
    side: Side,
    against: Side | None = None,
    *,
    title: str = "",
    closing: str = "",
    further: Sequence[Chapter] = (),
    view: str = "",
) -> Document:
    """Return the whole report.

    Args:
        side: The run that is reported.
        against: Another that it is compared with.
        title: Heads the page; empty for one that says what is compared, or what was played.
        closing: Ends it.
        further: Chapters of one's own, before the one on how it was measured.
        view: Name of the page of ``asyncguard view`` beside it, if there is one.
    """
    explorer, is_told = Explorer(), _telling(side.findings)
    if side.observed.verdicts:
        explorer.add(side.observed, is_told, run="this run" if against is not None else "")
    if against is not None and against.observed.verdicts:
        explorer.add(against.observed, is_told, run="other run")
    return Document(
        title=title or _title(side),
        subtitle=_subtitle(side),
        simulated=summary.ASKED if side.observed.models_only else summary.SIMULATED,
        headline=_first(side),
        chapters=chapters_of(side, against, further),
        explorer=explorer,
        closing=closing,
        view=view,
    )


def _title(side: Side) -> str:
    if side.findings is not None or headline.is_compared(side.observed):
        return _TITLE
    agents = sorted({setup.agent for setup in side.observed.setups})
    played = ", ".join(agents) if len(agents) <= _NAMED else f"{len(agents)} agents"
    return f"{played} on {count(len(side.observed.compositions))} compositions"


def _first(side: Side) -> Chapter | None:
    if side.findings is not None:
        return headline.of_findings(_headline(side.findings))
    return headline.of_episodes(side.figures, side.observed) if side.figures else None


def chapters_of(
    side: Side, against: Side | None = None, further: Sequence[Chapter] = ()
) -> list[Chapter]:
    """Return all chapters for which there are data."""
    found = _found(side.findings) if side.findings is not None else [_episodes(side)]
    found += [
        behaviour.chapter(side.observed, _telling(side.findings)),
        breakdowns.chapter(side.observed, _telling(side.findings)),
        _between(side, against),
        *further,
        *_of_suites(side),
    ]
    found += [costs.method_chapter(side.findings)] if side.findings is not None else []
    return [chapter for chapter in found if chapter is not None]


def _of_suites(side: Side) -> list[Chapter | None]:
    """Return what the suites of the observed episodes say of them."""
    found = {
        suite.name: suite
        for composition in side.observed.compositions.values()
        for suite in [registry().suite_of(composition.sub_tasks[0].category)]
    }
    return [suite.load(each)(side) for suite in found.values() for each in suite.chapters]


def _found(whole: Findings) -> list[Chapter | None]:
    findings = _headline(whole)
    changes = flips.flips_block(findings)
    costly = costs.costs_chapter(findings)
    return [
        summary.chapter(findings),
        guards.chapter(findings),
        delay.chapter(findings),
        safety.chapter(findings),
        detectors.shadow_chapter(findings),
        detectors.compliance_chapter(findings),
        costly,
        None if changes is None else _flips(changes),
    ]


def _telling(findings: Findings | None) -> Callable[[Setup], bool]:
    """Return the filter of setups: of an ensemble its best member alone is shown, as the others are in ranges."""
    ensembles = {each.ensemble for each in findings.ensembles} if findings is not None else set()

    def is_told(setup: Setup) -> bool:
        name, _, settings = setup.agent.partition(",")
        return not (settings and name in ensembles)

    return is_told


def _headline(findings: Findings) -> Findings:
    is_told = _telling(findings)
    return replace(
        findings,
        studies=tuple(each for each in findings.studies if is_told(each.setup)),
        four_cells=tuple(each for each in findings.four_cells if is_told(each.setup)),
        shadow=tuple(each for each in findings.shadow if is_told(each.setup)),
        compliance=tuple(each for each in findings.compliance if is_told(each.setup)),
    )


def _flips(changes: Table) -> Chapter:
    text = (
        "Compositions that one arm solves and the other does not. What is lost against none is a case in which guards "
        "may have done harm, and one of the first whose trajectories are in this page, below. What is lost against "
        "all is a case in which the guard that was left out is needed."
    )
    return Chapter(id="flips", title="Flips", text=text, blocks=[changes])


def _between(side: Side, against: Side | None) -> Chapter | None:
    if against is None:
        return None
    return flips.runs_chapter(
        side.findings, against.findings, compare(against.observed, side.observed)
    )


def _episodes(side: Side) -> Chapter:
    heads = [head for head in COLUMNS if head != "time"]  # a file does not hold it
    table = Table(
        title="By condition",
        heads=[_UNITS.get(head, head) for head in heads],
        lines=[[_cells(row)[head] for head in heads] for row in side.figures],
    )
    spent = costs.tokens_table(side.observed)
    text = (
        "Figures of saved episodes. Intervals are Wilson's, with fewer observations where compositions share "
        "sub-tasks; `bench ablate` makes paired comparisons."
    )
    return Chapter(
        id="episodes", title="Episodes", text=text, blocks=[table, *([spent] if spent else [])]
    )


def _cells(row: Figures) -> dict[str, str]:
    """Return a line of figures by its heads, with units."""
    overall, accuracy = headline.overall_of(row), row.summary.accuracy
    return {
        **dict(zip(COLUMNS, cells(row), strict=True)),
        "overall": f"{headline.solved_of(row)} ({headline.per_cent(overall)})",
        "95 %": headline.range_of(overall),
        "sub-tasks": "-" if accuracy is None else f"{accuracy.value:.0f} % of {accuracy.count}",
    }


def _subtitle(side: Side) -> str:
    if side.findings is None:
        return f"{count(side.observed.episodes)} saved episodes"
    settings = side.findings.settings
    return (
        f"{count(settings.compositions)} compositions ({settings.suite}), {count(settings.sub_tasks)} sub-tasks of "
        f"which {count(settings.sources)} are different, seeds {', '.join(map(str, settings.seeds))}; "
        f"asyncguard {settings.version}"
    )
