"""A report as one HTML file that needs nothing from anywhere else."""

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template

from asyncguard_benchmark.report.section import Bar, Section, is_figure

_ROW = 22
"""Height of a bar with its gap, in pixels."""
_LEFT = 190
"""Where bars begin; labels stand to the left."""
_WIDTH = 400
"""Length of a bar of 100 %."""


def page(title: str, sections: Sequence[Section], closing: str) -> str:
    """The whole file; light or dark as the reader's system is."""
    template = Template((files("asyncguard_benchmark") / "report" / "page.html").read_text(encoding="utf-8"))
    body = "\n".join(_section(section) for section in sections)
    return template.substitute(title=escape(title), body=body, closing=escape(closing))


def _section(section: Section) -> str:
    text = f"<p>{escape(section.text)}</p>" if section.text else ""
    return f"<section><h2>{escape(section.title)}</h2>{text}{_chart(section)}{_table(section)}</section>"


def _table(section: Section) -> str:
    if not section.lines:
        return ""
    right = [all(is_figure(line[index]) for line in section.lines) for index in range(len(section.heads))]
    marks = [' class="figure"' if each else "" for each in right]
    heads = "".join(f"<th{mark}>{escape(head)}</th>" for mark, head in zip(marks, section.heads, strict=True))
    lines = "\n".join(
        "<tr>" + "".join(f"<td{mark}>{escape(cell)}</td>" for mark, cell in zip(marks, line, strict=True)) + "</tr>"
        for line in section.lines
    )
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>'


def _chart(section: Section) -> str:
    if not section.bars:
        return ""
    height = _ROW * len(section.bars) + 24
    bars = "\n".join(_bar(bar, 4 + _ROW * index) for index, bar in enumerate(section.bars))
    ends = "\n".join(
        f'<line class="grid" x1="{x}" y1="0" x2="{x}" y2="{height - 20}"/>'
        f'<text class="axis" x="{x}" y="{height - 6}">{share}</text>'
        for share in (0, 25, 50, 75, 100)
        for x in (_LEFT + _WIDTH * share // 100,)
    )
    return (
        '<p class="legend"><span class="key guarded"></span>guarded <span class="key bare"></span>unguarded; '
        "overall in per cent, the thin line is its 95 % interval</p>"
        f'<div class="wide"><svg viewBox="0 0 {_LEFT + _WIDTH + 60} {height}" role="img" '
        f'aria-label="{escape(section.title)}, overall in per cent, as in the table below">{ends}{bars}</svg></div>'
    )


def _bar(bar: Bar, top: int) -> str:
    middle = top + 8
    label = f'<text class="label" x="{_LEFT - 8}" y="{middle + 4}">{escape(bar.label)}</text>'
    if bar.rate is None:
        return label
    low, value, high = (_LEFT + _WIDTH * share / 100 for share in (bar.rate.low, bar.rate.value, bar.rate.high))
    kind = "guarded" if bar.guarded else "bare"
    return (
        f'{label}<rect class="{kind}" x="{_LEFT}" y="{top}" width="{max(value - _LEFT, 1):.1f}" height="16" rx="2"/>'
        f'<line class="interval" x1="{low:.1f}" y1="{middle}" x2="{high:.1f}" y2="{middle}"/>'
        f'<text class="value" x="{_LEFT + _WIDTH + 10}" y="{middle + 4}">{bar.rate.value:.1f}</text>'
    )
