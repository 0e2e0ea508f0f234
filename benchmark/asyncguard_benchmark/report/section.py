"""A piece of a report, before it is text, Markdown or HTML."""

from collections.abc import Sequence
from dataclasses import dataclass

from asyncguard_benchmark.metrics.summary import Rate


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One bar of a chart."""

    label: str
    rate: Rate | None
    guarded: bool
    """Bars of guarded and unguarded arms differ in colour, and their labels say which is which."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading and what stands below it; every part but the title may be missing."""

    title: str
    text: str = ""
    heads: Sequence[str] = ()
    lines: Sequence[Sequence[str]] = ()
    bars: Sequence[Bar] = ()
    """Drawn where drawing is possible; the lines say the same."""


def is_figure(text: str) -> bool:
    """Whether a cell of a table stands to the right."""
    return text in ("", "-") or text.lstrip("+-")[:1].isdigit()
