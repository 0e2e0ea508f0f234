"""Blocks as HTML. All text is escaped here and nowhere else."""

from collections.abc import Callable, Sequence
from html import escape

from asyncguard_benchmark.harness.report.blocks import (
    Axis,
    Block,
    Chapter,
    Curves,
    HeatCell,
    HeatMap,
    Mark,
    Panels,
    Plot,
    Row,
    Table,
    Text,
)
from asyncguard_benchmark.harness.report.curves import drawing
from asyncguard_benchmark.harness.report.number_format import MINUS, NO_DATA, count, is_figure
from asyncguard_benchmark.harness.suites import registry

Keep = Callable[[str], str]
"""Takes a piece of the page that is not shown at first, and returns the key under which the page finds it."""

_LONG = 46
"""Characters of the name of a line above which it may be broken."""
_MIDDLE = 9
"""Height at which marks stand in a line, in pixels."""


def chapter_html(chapter: Chapter, keep: Keep) -> str:
    """Return a chapter with all its blocks.

    Args:
        chapter: Chapter to show.
        keep: Takes panels that are not shown at first.
    """
    blocks = "\n".join(block_html(block, keep) for block in chapter.blocks)
    return (
        f'<section id="{escape(chapter.id)}"><h2>{escape(chapter.title)}</h2>'
        f"<p>{escape(chapter.text)}</p>\n{blocks}</section>"
    )


def block_html(block: Block, keep: Keep) -> str:
    """Return one block."""
    match block:
        case Text():
            head = f"<h3>{escape(block.title)}</h3>" if block.title else ""
            return f"{head}<p>{escape(block.text)}</p>"
        case Table():
            return _table(block)
        case HeatMap():
            return _heat_map(block)
        case Row():
            return f'<div class="row">{"".join(_curves(each) for each in block.charts)}</div>'
        case Panels():
            return _panels(block, keep)


def _table(table: Table) -> str:
    body = _wide(table.title, _grid(table))
    note = _note(table.caption)
    if table.folded:
        return f"<details><summary>{escape(table.title)}</summary>{body}{note}</details>"
    return f"<h3>{escape(table.title)}</h3>{body}{note}"


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>' if text else ""


def _wide(title: str, body: str) -> str:
    """Return a part that may be wider than the page, in a box that scrolls by itself, also by keyboard."""
    return f'<div class="wide" tabindex="0" role="region" aria-label="{escape(title)}">{body}</div>'


def _grid(table: Table) -> str:
    figures = [is_column_of_figures(table, column) for column in range(len(table.heads))]
    heads = [
        f'<th scope="col"{_aligned(figures[n])}>{escape(head)}</th>'
        for n, head in enumerate(table.heads)
    ]
    if table.plot is not None:
        heads.insert(1, _scale(table.plot))
    lines = "\n".join(_line(table, number, figures) for number in range(len(table.lines)))
    kind = ' class="plotted"' if table.plot is not None else ""
    return f"<table{kind}><thead><tr>{''.join(heads)}</tr></thead><tbody>{lines}</tbody></table>"


def is_column_of_figures(table: Table, column: int) -> bool:
    """Return True if a column holds figures only, and so is aligned right; the first column names its lines."""
    texts = [line[column] for line in table.lines]
    return column > 0 and all(map(is_figure, texts))


def _aligned(figures: bool) -> str:
    return ' class="figure"' if figures else ""


def _line(table: Table, number: int, figures: Sequence[bool]) -> str:
    first, *others = table.lines[number]
    long = ' class="long"' if len(first) > _LONG else ""
    cells = [f'<th scope="row"{long}>{escape(first)}</th>']
    if table.plot is not None:
        cells.append(_marks(table.plot.axis, table.plot.marks[number]))
    cells += [f"<td{_aligned(figures[n])}>{escape(text)}</td>" for n, text in enumerate(others, 1)]
    kind = ' class="strong"' if number in table.strong else ""
    return f"<tr{kind}>{''.join(cells)}</tr>"


def _scale(plot: Plot) -> str:
    """Return the head of a column of marks: its unit, and the axis."""
    axis = plot.axis
    ticks = "".join(
        f'<text x="{axis.at(tick):.4g}%" y="12"{_anchor(axis, tick)}>{tick:g}</text>'.replace(
            ">-", f">{MINUS}"
        )
        for tick in axis.ticks
    )
    return f'<th scope="col" class="plot">{escape(plot.unit)}<svg height="16" aria-hidden="true">{ticks}</svg></th>'


def _anchor(axis: Axis, tick: float) -> str:
    return ' class="zero"' if tick == 0 and axis.low < 0 else ""


def _marks(axis: Axis, marks: Sequence[Mark]) -> str:
    zero = (
        f'<line class="zero" x1="{axis.at(0):.4g}%" x2="{axis.at(0):.4g}%" y1="0" y2="18"/>'
        if axis.low < 0
        else ""
    )
    drawn = "".join(_mark(axis, mark) for mark in marks)
    style = f' style="--first:{axis.at(axis.ticks[0]):.4g}%;--step:{axis.step:.4g}%"'
    # What the marks say stands in the cells beside them.
    return f'<td class="plot" aria-hidden="true"{style}><svg height="18">{zero}{drawn}</svg></td>'


def _mark(axis: Axis, mark: Mark) -> str:
    at, low, high = (
        axis.at(end) for end in (mark.interval.value, mark.interval.low, mark.interval.high)
    )
    whisker = (
        f'<line x1="{low:.4g}%" x2="{high:.4g}%" y1="{_MIDDLE}" y2="{_MIDDLE}"/>'
        if high > low
        else ""
    )
    if mark.start is None:
        return (
            f'<g class="{mark.tone}">{whisker}<circle cx="{at:.4g}%" cy="{_MIDDLE}" r="3.5"/></g>'
        )
    begin = axis.at(mark.start)
    left, width = min(begin, at), abs(at - begin)
    return f'<g class="{mark.tone}"><rect x="{left:.4g}%" y="3" width="{width:.4g}%" height="12"/>{whisker}</g>'


def _heat_map(heat: HeatMap) -> str:
    heads = "".join(f'<th scope="col" class="figure">{escape(name)}</th>' for name in heat.columns)
    lines = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(map(_heat_cell, cells))}</tr>'
        for name, cells in heat.rows
    )
    grid = (
        f'<table class="heat"><thead><tr><th scope="col">{escape(heat.corner)}</th>{heads}</tr></thead>'
        f"<tbody>{lines}</tbody></table>"
    )
    return f"<h3>{escape(heat.title)}</h3>{_wide(heat.title, grid)}{_note(heat.table().caption)}"


def _heat_cell(cell: HeatCell | None) -> str:
    if cell is None:
        return f'<td class="figure">{NO_DATA}</td>'
    text = f"{cell.value:.0f} % <small>of {count(cell.count)}</small>"
    return f'<td class="figure" style="--share:{cell.value:.0f}%">{text}</td>'


def _curves(curves: Curves) -> str:
    table = curves.table()
    return (
        f"<figure><figcaption>{escape(curves.title)}</figcaption>{drawing(curves)}"
        f"<details><summary>Figures</summary>{_wide(table.title, _grid(table))}</details>"
        f"{_note(table.caption)}</figure>"
    )


def _panels(panels: Panels, keep: Keep) -> str:
    (first, shown), *others = panels.choices.items()
    body = "\n".join(block_html(block, keep) for block in shown)
    options = [f"<option>{escape(first)}</option>"]
    for name, blocks in others:
        key = keep("\n".join(block_html(block, keep) for block in blocks))
        options.append(f'<option value="{escape(key)}">{escape(name)}</option>')
    return (
        f'<div class="panels"><p class="choice"><label>{escape(panels.name)} <select>{"".join(options)}</select>'
        f'</label></p>{_note(registry().persona_note(panels.choices))}<div class="panel">{body}</div></div>'
    )
