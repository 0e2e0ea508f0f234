"""Text for a terminal: times, widths, and nothing that steers the terminal."""

import io
import os
import sys

from rich.console import Console, RenderableType
from rich.text import Text

from asyncguard.observability.fields import printable

_UNITS = {"d": 86_400, "h": 3600, "m": 60}
_WIDTH = 120
"""Columns where nobody says how many there are: in a pipe."""
_NARROW = 100


def clean(value: object) -> Text:
    """A value as text without markup, line ends and control characters."""
    return Text(printable(str(value)))


def age(seconds: float) -> str:
    """How long ago, in the largest unit that is full: ``12s``, ``5m``, ``3h``, ``9d``."""
    left = int(max(0.0, seconds))
    return next((f"{left // span}{unit}" for unit, span in _UNITS.items() if left >= span), f"{left}s")


def is_narrow() -> bool:
    """Whether a table has to save space."""
    return _console().width < _NARROW


def show(*parts: RenderableType) -> None:
    """Print to standard output, as wide as the terminal is; colours only on a terminal that wants them."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that lacks a character shows a question mark for it, instead of an error for all of it.
        sys.stdout.reconfigure(errors="replace")
    console = _console()
    for part in parts:
        console.print(part)


def _console() -> Console:
    known = sys.stdout.isatty() or os.environ.get("COLUMNS")
    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False, width=None if known else _WIDTH)
