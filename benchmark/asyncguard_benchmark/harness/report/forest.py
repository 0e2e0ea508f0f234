"""A forest plot as SVG: intervals one below the other, for pages that run no script."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from asyncguard_benchmark.harness.report.blocks import Mark, Tone, axis_for
from asyncguard_benchmark.harness.statistics.estimates import Interval

_WIDTH, _LABELS, _RIGHT, _ROW, _TOP = 860, 230, 40, 34, 64
"""Sizes in pixels: of the picture, of the names to the left at least, of the margin to the right, of a row, above the
rows."""
_LETTER = 7.2
"""Width of a letter in pixels, about."""
_INK, _GREY = "#1a5fb4", "#9a9996"


@dataclass(frozen=True, kw_only=True)
class ForestRow:
    """A name with the interval that counts, and one to compare it with."""

    name: str
    strong: Interval | None
    weak: Interval | None


def forest(title: str, strong: str, weak: str, rows: Sequence[ForestRow]) -> str:
    """Return the picture.

    Args:
        title: What it shows, for readers that see no pictures.
        strong: Legend of the intervals that count.
        weak: Legend of those that stand beside them; empty if there are none.
        rows: From top to bottom; one without an interval is a name alone.
    """
    marks = [
        [Mark(interval=each, tone=Tone.NEUTRAL) for each in (row.strong, row.weak) if each]
        for row in rows
    ]
    axis = axis_for(marks)
    labels = max([_LABELS, *(16 + round(_LETTER * len(row.name)) for row in rows)])
    width, height = _WIDTH - labels - _RIGHT, _TOP + _ROW * len(rows) + 30

    def x(value: float) -> float:
        return round(labels + width * axis.at(value) / 100, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        f'font-family="sans-serif" font-size="14" role="img" aria-label="{escape(title)}">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        _legend(labels, strong, _INK),
        *([_legend(labels + width // 2, weak, _GREY)] if weak else []),
    ]
    for tick in axis.ticks:
        line, told = ("#5e5c64", "0") if tick == 0 else ("#deddda", f"{tick:+g}")
        parts.append(
            f'<path d="M{x(tick)} {_TOP - 12}V{height - 26}" stroke="{line}"/>'
            f'<text x="{x(tick)}" y="{height - 8}" text-anchor="middle" fill="#3d3846">{told}</text>'
        )
    for number, row in enumerate(rows):
        y = _TOP + _ROW * number + _ROW // 2
        parts.append(f'<text x="8" y="{y + 5}" fill="#241f31">{escape(row.name)}</text>')
        parts += [
            f'<path d="M{x(each.low)} {y + shift}H{x(each.high)}" stroke="{ink}" stroke-width="2.5"/>'
            f'<circle cx="{x(each.value)}" cy="{y + shift}" r="4.5" fill="{ink}"/>'
            for each, shift, ink in ((row.strong, -5, _INK), (row.weak, 7, _GREY))
            if each is not None
        ]
    return "\n".join((*parts, "</svg>")) + "\n"


def _legend(x: int, text: str, ink: str) -> str:
    return (
        f'<circle cx="{x}" cy="22" r="4.5" fill="{ink}"/>'
        f'<text x="{x + 12}" y="27" fill="#241f31">{escape(text)}</text>'
    )
