"""Effect of delay, and of guards under delay."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from asyncguard_benchmark.harness.ablation.findings import Findings, FourCells, Setup, Study
from asyncguard_benchmark.harness.arms import ALL, NONE, TIMING
from asyncguard_benchmark.harness.report.blocks import (
    PERCENT,
    Block,
    Chapter,
    Curves,
    Mark,
    Plot,
    Row,
    Series,
    Table,
    Tone,
)
from asyncguard_benchmark.harness.report.chapters.names import dot, namer
from asyncguard_benchmark.harness.report.number_format import difference, share, signed_span, span
from asyncguard_benchmark.harness.scenario import Regime

_MOST_LINES = 48
"""A longer table is folded."""
_REGIMES = tuple(each.value for each in Regime)


def chapter(findings: Findings) -> Chapter | None:
    """Return four cells and curves over the regimes; None if nothing was played with and without delay."""
    blocks: list[Block] = []
    curves = list(_curves(findings.studies))
    if curves:
        blocks.append(Row(charts=curves))
    if findings.four_cells:
        blocks += [_cells(findings.four_cells), _gaps(findings.four_cells)]
    if not blocks:
        return None
    text = (
        "sync: every result at once. fixed1, fixed2: one or two messages late. random01, random12: at random between "
        "these. The four cells are guarded and unguarded, without and with delay. The gap is what delay costs an "
        "unguarded agent. The interaction, (guarded minus unguarded) delayed less the same without delay, is what "
        "guards do against delay and not against mistakes that an agent makes anyway."
    )
    return Chapter(id="delay", title="Delay", text=text, blocks=blocks)


def _curves(studies: Sequence[Study]) -> Iterator[Curves]:
    groups: dict[Setup, dict[str, Study]] = {}
    for study in studies:
        groups.setdefault(replace(study.setup, regime=""), {})[study.setup.regime] = study
    found = {key: by_regime for key, by_regime in groups.items() if len(by_regime) > 1}
    first = {key: next(iter(by_regime.values())).setup for key, by_regime in found.items()}
    name = namer(first.values())
    for key, by_regime in found.items():
        places = [regime for regime in _REGIMES if regime in by_regime]
        yield Curves(
            title=_without_regime(name(first[key]), first[key]),
            axis_name="delay",
            places=places,
            series=[
                _series(label, arm, tone, [by_regime[place] for place in places])
                for label, arm, tone in (("all", ALL, Tone.GUARDED), ("none", NONE, Tone.BARE))
            ],
        )


def _without_regime(name: str, setup: Setup) -> str:
    return name.replace(f" · {setup.regime}", "")


def _series(label: str, arm: str, tone: Tone, studies: Sequence[Study]) -> Series:
    figures = [study.arm(arm) for study in studies]
    return Series(
        label=label,
        tone=tone,
        values=[each.overall if each and each.valid else None for each in figures],
    )


_CELLS = (
    ("none, sync", "unguarded_sync", Tone.BARE),
    ("none, delayed", "unguarded_delayed", Tone.BARE),
    ("timing guards, delayed", "timing_delayed", Tone.NEUTRAL),
    ("all, delayed", "guarded_delayed", Tone.GUARDED),
    ("all, sync", "guarded_sync", Tone.GUARDED),
)


def _cells(found: Sequence[FourCells]) -> Table:
    name = namer(each.setup for each in found)
    lines: list[tuple[str, ...]] = []
    marks: list[Sequence[Mark]] = []
    for each in found:
        lines.append((name(each.setup), "", ""))
        marks.append(())
        for label, field, tone in _CELLS:
            value = getattr(each, field)
            lines.append((label, share(value), span(value)))
            marks.append(dot(value, tone))
    return Table(
        title="Four cells, and the timing guards alone",
        heads=("cell", "overall", "95 %"),
        lines=lines,
        plot=Plot(axis=PERCENT, unit="overall, %", marks=marks),
        strong=frozenset(range(0, len(lines), len(_CELLS) + 1)),
        folded=len(lines) > _MOST_LINES,
        note=f"{TIMING} guards: those that ask what is known yet. They have nothing to say where every result is "
        "there at once.",
    )


def _gaps(found: Sequence[FourCells]) -> Table:
    name = namer(each.setup for each in found)
    return Table(
        title="What delay costs, and how much of it guards win back",
        heads=(
            "setup",
            "gap",
            "95 %",
            "closed by timing",
            "95 %",
            "closed by all",
            "95 %",
            "interaction",
            "95 %",
        ),
        lines=[
            (
                name(each.setup),
                difference(each.gap),
                signed_span(each.gap),
                share(each.closed_by_timing),
                span(each.closed_by_timing),
                share(each.closed_by_all),
                span(each.closed_by_all),
                difference(each.interaction),
                signed_span(each.interaction),
            )
            for each in found
        ],
        note="gap and interaction: in points of overall. closed: in per cent of the gap, more than 100 where guards "
        "also catch mistakes that delay has no part in; a dash where there is no gap to speak of.",
    )
