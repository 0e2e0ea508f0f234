"""Chapters as Markdown: every chart by its table."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from asyncguard_benchmark.harness.report.blocks import (
    Block,
    Chapter,
    HeatMap,
    Panels,
    Row,
    Table,
    Text,
)
from asyncguard_benchmark.harness.report.markup import is_column_of_figures

_TAG = re.compile(r"<(?=[A-Za-z/!?])")
"""Beginning of a tag."""


def markdown(title: str, opening: str, chapters: Sequence[Chapter], closing: str) -> str:
    """Return the whole report.

    Args:
        title: Heads it.
        opening: Comes first, say what is simulated.
        chapters: Content of the report.
        closing: Comes last.
    """
    parts = [f"# {_plain(title)}", _plain(opening)]
    for chapter in chapters:
        parts += [f"## {_plain(chapter.title)}", _plain(chapter.text)]
        parts += [text for block in chapter.blocks for text in _block(block)]
    return "\n\n".join(part for part in (*parts, _plain(closing)) if part) + "\n"


def tables_of(block: Block) -> Iterator[tuple[str, Table]]:
    """Yield every table of a block under its heading; charts by the tables that say the same."""
    match block:
        case Text():
            return
        case Table():
            yield block.title, block
        case HeatMap():
            yield block.title, block.table()
        case Row():
            for curves in block.charts:
                yield curves.title, curves.table()
        case Panels():
            for name, blocks in block.choices.items():
                for inner in blocks:
                    for title, table in tables_of(inner):
                        yield f"{name}: {title}", replace(table, title=f"{name}: {title}")


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Text):
        yield (
            f"**{_plain(block.title)}** {_plain(block.text)}" if block.title else _plain(block.text)
        )
    for title, table in tables_of(block):
        yield f"### {_plain(title)}"
        yield markdown_table(table)
        if table.caption:
            yield _plain(table.caption)


def markdown_table(table: Table) -> str:
    """Return one table; figures stand to the right."""
    right = [is_column_of_figures(table, column) for column in range(len(table.heads))]
    rule = ["---:" if each else "---" for each in right]
    lines = [[_cell(text) for text in line] for line in (table.heads, *table.lines)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (lines[0], rule, *lines[1:]))


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|").replace("\n", " ")


def _plain(text: str) -> str:
    """Return a text with its tags escaped: names of agents and tasks come from files."""
    return _TAG.sub("&lt;", text)
