"""Output of the commands: tables and progress for people, one JSON object for programs."""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from rich.console import Console
from rich.table import Table

from asyncguard.cli.output import refuse_input as refuse_input
from asyncguard.cli.output import replace_text as replace_text
from asyncguard_benchmark.harness.report.number_format import is_figure
from asyncguard_benchmark.harness.suites import registry

_T = TypeVar("_T")
_PAUSES = (5.0, 60.0)
"""Shortest and longest pause, in seconds, between two lines of progress that stay (see :func:`pause`)."""


def harmless(text: str) -> str:
    """Return the text with every character replaced that could steer a terminal: names and messages come from files."""
    return "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text)


def print_json(value: Any) -> None:
    """Print one JSON object on the standard output."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    sys.stdout.write((text if harmless(text) == text else json.dumps(value, indent=2)) + "\n")


def notice(text: str) -> None:
    """Print a line for people, beside the output."""
    sys.stderr.write(f"asyncguard bench: {harmless(text)}\n")


def table(heads: Sequence[str], lines: Iterable[Sequence[str]], title: str | None = None) -> Table:
    """Return a table; columns that hold figures stand to the right."""
    lines = list(lines)
    title = None if title is None else harmless(title)
    made = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=None,
        pad_edge=False,
        caption=registry().persona_note([title or "", *heads, *(c for line in lines for c in line)])
        or None,
        caption_justify="left",
    )
    for index, head in enumerate(heads):
        figures = bool(lines) and all(is_figure(line[index]) for line in lines)
        made.add_column(harmless(head), justify="right" if figures else "left", overflow="fold")
    for line in lines:
        made.add_row(*map(harmless, line))
    return made


class _Output(Console):
    """Console that prints text as it is: nothing in it is markup, and nothing in it steers the terminal."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(
            *(harmless(each) if isinstance(each, str) else each for each in objects), **options
        )


def console() -> Console:
    """Return the standard output; wide enough for a table if it is not a terminal."""
    made = _Output(highlight=False, markup=False)
    return made if made.is_terminal else _Output(highlight=False, markup=False, width=140)


def pause(elapsed: float) -> float:
    """Return the seconds until the next line of progress, where lines cannot overwrite each other: ever more."""
    shortest, longest = _PAUSES
    return min(max(shortest, elapsed / 4), longest)


def with_progress(played: Iterable[_T], total: int, what: str = "episodes") -> Iterator[_T]:
    """Pass things on and say on the standard error how many are done and how long the rest will take."""
    said = first = time.monotonic()
    terminal = sys.stderr.isatty()
    for done, each in enumerate(played, 1):
        yield each
        now = time.monotonic()
        first = (
            now if done == 1 else first
        )  # processes take seconds to start; the first one says nothing of the pace
        if done == 1 or (now - said < (0.2 if terminal else pause(said - first)) and done < total):
            continue
        said = now
        left = (now - first) / (done - 1) * (total - done)
        text = f"{done}/{total} {what}, {now - first:.0f} s, about {left:.0f} s left"
        sys.stderr.write(f"\r{text} \x1b[K" if terminal else f"{text}\n")
        sys.stderr.flush()
    if terminal and total:
        sys.stderr.write("\r\x1b[K")
