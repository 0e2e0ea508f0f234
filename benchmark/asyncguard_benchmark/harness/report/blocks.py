"""Parts of reports, independent of page and Markdown.

A chart is drawn inside the table that has its figures, or has a `table()`: everything that is drawn
can also be read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, floor

from asyncguard_benchmark.harness.report.number_format import NO_DATA, count, share, span
from asyncguard_benchmark.harness.statistics.estimates import Interval
from asyncguard_benchmark.harness.suites import registry


class Tone(StrEnum):
    """Meaning of a mark; the same colour on every chart."""

    GUARDED = "guarded"
    BARE = "bare"
    """Without guards."""
    GAIN = "gain"
    LOSS = "loss"
    NEUTRAL = "neutral"


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The scale of a column of marks."""

    low: float
    high: float
    ticks: tuple[float, ...]

    @property
    def step(self) -> float:
        """Distance of two ticks, in per cent of the width."""
        return self.at(self.ticks[1]) - self.at(self.ticks[0]) if len(self.ticks) > 1 else 100.0

    def at(self, value: float) -> float:
        """Return the position of a value, in per cent of the width; a value beyond an end stands at that end."""
        held = min(self.high, max(self.low, value))
        return 100 * (held - self.low) / (self.high - self.low)


PERCENT = Axis(low=0, high=100, ticks=(0, 25, 50, 75, 100))
_STEPS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 25.0, 50.0, 100.0)


def axis_for(marks: Sequence[Sequence["Mark"]]) -> Axis:
    """Return a scale about zero that all marks fit into, with few ticks at round values."""
    ends = [end for row in marks for mark in row for end in mark.reach]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    extent = max(high - low, 1.0)
    step = next((step for step in _STEPS if extent / step <= 6), extent)
    # A little beyond the last tick does not call for a further one.
    low, high = min(low, -step / 5 if low < 0 else 0.0), max(high, step if high >= -low else 0.0)
    first, last = ceil(low / step), floor(high / step)
    return Axis(low=low, high=high, ticks=tuple(number * step for number in range(first, last + 1)))


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One value on an axis: a dot with its interval, and a bar to it where it begins somewhere."""

    interval: Interval
    tone: Tone
    start: float | None = None
    """Beginning of the bar; None for a dot alone."""

    @property
    def reach(self) -> tuple[float, ...]:
        """All values that the axis is to hold."""
        ends = (self.interval.low, self.interval.high, self.interval.value)
        return ends if self.start is None else (*ends, self.start)


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A column of marks within a table."""

    axis: Axis
    unit: str
    marks: Sequence[Sequence[Mark]]
    """By line of the table; a line without data has none."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Lines of text and figures, and a plot of some of them after the first column."""

    title: str
    heads: Sequence[str]
    lines: Sequence[Sequence[str]]
    plot: Plot | None = None
    note: str = ""
    strong: frozenset[int] = frozenset()
    """Lines that stand out."""
    folded: bool = False
    """Shown on demand: the page says the gist elsewhere."""

    @property
    def caption(self) -> str:
        """The note, and what must be said of the personas that the table names."""
        cells = (cell for line in self.lines for cell in line)
        said = registry().persona_note([self.title, *self.heads, *cells])
        return " ".join(text for text in (self.note, said) if text)

    def __post_init__(self) -> None:
        if any(len(line) != len(self.heads) for line in self.lines):
            raise ValueError(f"the lines of {self.title!r} do not fit its heads")
        if self.plot is not None and len(self.plot.marks) != len(self.lines):
            raise ValueError(f"the marks of {self.title!r} do not fit its lines")


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line of a chart."""

    label: str
    tone: Tone
    values: Sequence[Interval | None]


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Lines over a few named places, in per cent."""

    title: str
    axis_name: str
    places: Sequence[str]
    series: Sequence[Series]

    def table(self) -> Table:
        """Return the same in figures."""
        lines = [
            (
                place,
                *(
                    text
                    for series in self.series
                    for text in (share(series.values[n]), span(series.values[n]))
                ),
            )
            for n, place in enumerate(self.places)
        ]
        heads = (
            self.axis_name,
            *(text for series in self.series for text in (series.label, "95 %")),
        )
        return Table(title=self.title, heads=heads, lines=lines)


@dataclass(frozen=True, kw_only=True)
class HeatCell:
    """A share among so many."""

    value: float
    """In per cent."""
    count: int


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """Shares by two properties; a table whose cells are shaded."""

    title: str
    corner: str
    """Heads the names of the rows."""
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[HeatCell | None]]]
    note: str = ""

    def table(self) -> Table:
        """Return the same without shades, with the number of observations."""
        lines = [(name, *(_heat_text(cell) for cell in cells)) for name, cells in self.rows]
        return Table(
            title=self.title, heads=(self.corner, *self.columns), lines=lines, note=self.note
        )


def _heat_text(cell: HeatCell | None) -> str:
    return NO_DATA if cell is None else f"{cell.value:.0f} % of {count(cell.count)}"


@dataclass(frozen=True, kw_only=True)
class Text:
    """A paragraph, under a heading if it has one."""

    text: str
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """Small charts side by side where there is room."""

    charts: Sequence[Curves]


@dataclass(frozen=True, kw_only=True)
class Panels:
    """Alternatives of which one is shown at a time."""

    name: str
    """Name of the choice, say "setup"."""
    choices: Mapping[str, Sequence["Block"]]


Block = Text | Table | HeatMap | Row | Panels


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """A heading and what stands below it."""

    id: str
    """Target of links."""
    title: str
    text: str
    """Text on what is to be seen here, and how to read it."""
    blocks: Sequence[Block] = ()
