"""Placement of the calls of one task on as few lines as possible, each with its label.

A label stands inside its bar, or beside it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from asyncguard.observability.timeline.canvas import Ink, Line, fit
from asyncguard.observability.timeline.history import Bar, Mark, Phase, Stretch

PHASES: Mapping[Phase, tuple[str, Ink]] = {
    Phase.DEFERRED: ("░", Ink.DEFERRED),
    Phase.HELD: ("▒", Ink.HELD),
    Phase.QUEUED: ("-", Ink.QUIET),
    Phase.RUNNING: ("━", Ink.RUNNING),
    Phase.UNDELIVERED: ("·", Ink.QUIET),
}
"""Character that fills the time of a phase."""

MARKS: Mapping[Mark, tuple[str, Ink]] = {
    Mark.OBJECTED: ("○", Ink.HELD),
    Mark.REJECTED: ("✗", Ink.BAD),
    Mark.SQUASHED: ("⊘", Ink.BAD),
    Mark.CANCELLED: ("⊖", Ink.QUIET),
    Mark.RETRIED: ("↻", Ink.HELD),
    Mark.FALLBACK: ("⇢", Ink.HELD),
    Mark.CHECKED: ("±", Ink.HELD),
    Mark.MENDED: ("≈", Ink.HELD),
    Mark.GIVEN_UP: ("⊥", Ink.BAD),
    Mark.FAILED: ("!", Ink.BAD),
    Mark.IN_DOUBT: ("?", Ink.BAD),
    Mark.DELIVERED: ("▼", Ink.GOOD),
    Mark.NUDGED: ("N", Ink.BAD),
    Mark.PARKED: ("P", Ink.HELD),
    Mark.ENDED: ("■", Ink.HEADING),
}
"""Character of a mark."""

BEFORE, AFTER = ("◂", Ink.QUIET), ("▸", Ink.QUIET)
"""Characters at the edges of a run: the call began before it, or has not ended at its end."""

LABEL_WIDTH = 22
"""Width of a label; longer ones are cut in the middle, as their number has to stay."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Conversion of seconds to columns."""

    start: float
    end: float
    columns: int
    """Columns of the time; marks that collide may run one or two over."""

    def column(self, at: float) -> int:
        """Return the column of a moment; moments outside come to the edge."""
        span = self.end - self.start
        if span <= 0:
            return 0
        share = min(1.0, max(0.0, (at - self.start) / span))
        return round(share * (self.columns - 1))

    def extent(self, piece: Stretch) -> tuple[int, int] | None:
        """Return first and last column of a stretch, ``None`` if it is not visible."""
        if piece.start > self.end or (piece.end is not None and piece.end < self.start):
            return None
        first, last = (
            self.column(piece.start),
            self.column(self.end if piece.end is None else piece.end),
        )
        # A call that passes the queue at once has both columns from its neighbours.
        return None if piece.phase is Phase.QUEUED and last - first <= 1 else (first, last)


@dataclass(frozen=True, kw_only=True)
class Placed:
    """One call as it is drawn."""

    bar: Bar
    cells: tuple[tuple[int, str, Ink], ...]
    """Column, character and style, left to right."""
    label: str
    label_at: int
    left: int
    """First column that is used."""
    right: int
    """Last column that is used."""


def place(bar: Bar, scale: Scale, width: int) -> Placed:
    """Return the cells of a call and the best place for its label: inside, right, or left of it.

    Args:
        bar: The call.
        scale: The chart's time scale.
        width: Columns of the chart.
    """
    cells, inside = _cells(bar, scale, width)
    columns = sorted(cells)
    left, right = columns[0], columns[-1]
    label = short_label(bar.label, LABEL_WIDTH)
    size = cell_len(label)
    start, room = inside
    if room >= size + 2:
        at = start + (room - size) // 2
    elif right + 1 + size < width:
        at = right + 2 if right + 2 + size <= width else right + 1
    elif left >= size + 1:
        at = left - size - 1
    else:  # a bar from edge to edge of many short phases: its label hides a few of them
        at = min(left + 1, max(0, width - size))
    return Placed(
        bar=bar,
        cells=tuple((column, *cells[column]) for column in columns),
        label=label,
        label_at=at,
        left=min(left, at),
        right=max(right, at + size - 1),
    )


def _cells(
    bar: Bar, scale: Scale, width: int
) -> tuple[dict[int, tuple[str, Ink]], tuple[int, int]]:
    """Return the cells of a bar, and start and length of the phase that holds its label."""
    cells: dict[int, tuple[str, Ink]] = {}
    room = cell_len(short_label(bar.label, LABEL_WIDTH)) + 2
    pieces: list[tuple[bool, int, int]] = []
    for piece in bar.stretches:
        if (extent := scale.extent(piece)) is None:
            continue
        first, last = extent
        for column in range(first, last + 1):
            cells[column] = PHASES[piece.phase]
        # The label stands where the call runs, if there is room; else where there is most room.
        pieces.append((piece.phase is Phase.RUNNING and last - first >= room, last - first, first))
    if bar.start < scale.start:
        cells[0] = BEFORE
    if bar.end is None or bar.end > scale.end:
        cells[scale.columns - 1] = AFTER
    taken = -1
    for at, mark in bar.marks:
        if scale.start <= at <= scale.end:
            # Marks that collide stand side by side, in order of time.
            taken = min(max(scale.column(at), taken + 1), width - 1)
            cells[taken] = MARKS[mark]
    _, length, start = max(pieces, default=(False, 0, 0))
    # A call that passed within one column is still drawn.
    return cells or {scale.column(bar.start): PHASES[Phase.QUEUED]}, (start, length)


def short_label(label: str, width: int) -> str:
    """Return the label in at most ``width`` cells; the number after ``#`` is kept."""
    if cell_len(label) <= width:
        return label
    name, _, number = label.rpartition("#")
    return f"{fit(name, max(1, width - len(number) - 1))}#{number}"


def stack(placed: Sequence[Placed], limit: int) -> tuple[list[list[Placed]], list[Placed]]:
    """Put calls on lanes, each on the first that has room.

    Args:
        placed: Calls in program order.
        limit: Highest number of lanes.

    Returns:
        The lanes, and the calls that found no room.
    """
    lanes: list[list[Placed]] = []
    folded: list[Placed] = []
    for item in placed:
        for lane in lanes:
            # At least one blank column between two calls, so that their labels do not join.
            if all(item.left > other.right + 1 or item.right < other.left - 1 for other in lane):
                lane.append(item)
                break
        else:
            if len(lanes) < limit:
                lanes.append([item])
            else:
                folded.append(item)
    return lanes, folded


def draw(line: Line, lane: list[Placed], offset: int) -> None:
    """Write the calls of a lane to a line whose chart begins at column ``offset``."""
    for item in lane:
        for column, char, ink in item.cells:
            line.put(offset + column, char, ink)
        line.put(offset + item.label_at, item.label, Ink.PLAIN)


def density(folded: Sequence[Placed], width: int) -> str:
    """Return the number of folded calls in each column.

    It is a digit, ``+`` above nine, a blank for none.
    """
    counts = [0] * width
    for item in folded:
        for column in range(item.cells[0][0], item.cells[-1][0] + 1):
            counts[column] += 1
    return "".join(" " if count == 0 else str(count) if count < 10 else "+" for count in counts)
