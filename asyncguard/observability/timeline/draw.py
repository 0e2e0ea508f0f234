"""Drawing of a run as a timeline: tasks from top to bottom, time from left to right.

The drawing is bounded whatever the trace holds: lanes per task, tasks per run and runs are capped,
and what was left out is counted where it would have stood.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

from asyncguard.observability.plain import printable
from asyncguard.observability.timeline.canvas import Ink, Line, fit, paint
from asyncguard.observability.timeline.history import (
    Bar,
    Mark,
    Phase,
    RunHistory,
    Totals,
    histories,
)
from asyncguard.observability.timeline.lanes import (
    AFTER,
    BEFORE,
    MARKS,
    PHASES,
    Placed,
    Scale,
    density,
    draw,
    place,
    stack,
)
from asyncguard.observability.trace import Trace

MIN_WIDTH = 40
"""Narrower terminals get lines of this width."""

_SPARE = 2  # columns right of the time, for marks that collide at its end
_LANES = 36  # of all tasks of a run together, which fills a screen
_LANES_PER_TASK = (2, 8)
_TASKS = 24
_RUNS = 10
_GUTTER = (8, 18)

_PHASE_NAMES = {
    Phase.RUNNING: "running",
    Phase.DEFERRED: "deferred",
    Phase.HELD: "held for a person",
    Phase.QUEUED: "queued or backing off",
}
_MARK_NAMES = {
    Mark.DELIVERED: "delivered",
    Mark.OBJECTED: "a guard objects",
    Mark.REJECTED: "rejected",
    Mark.SQUASHED: "squashed",
    Mark.CANCELLED: "cancelled",
    Mark.RETRIED: "retry",
    Mark.FALLBACK: "fallback",
    Mark.CHECKED: "checked elsewhere",
    Mark.MENDED: "mended",
    Mark.GIVEN_UP: "given up",
    Mark.FAILED: "failed",
    Mark.IN_DOUBT: "in doubt",
    Mark.NUDGED: "reminded of tasks",
    Mark.PARKED: "parked",
    Mark.ENDED: "end",
}


def render_timeline(trace: Trace, *, width: int = 80, color: bool = False) -> str:
    """Draw every run of a trace.

    Args:
        trace: The trace.
        width: Columns of the terminal.
        color: True to use ANSI colours; every meaning has a character of its own as well.

    Returns:
        Lines of at most ``width`` (at least 40) columns, each ended by a newline.
    """
    width = max(width, MIN_WIDTH)
    runs = histories(trace)
    lines: list[Text] = []
    if not runs:
        lines.append(Text("The trace holds no events."))
    if len(runs) > _RUNS:
        lines += [
            Text(f"{len(runs) - _RUNS} earlier runs are not drawn; name one to see it."),
            Text(),
        ]
    for position, run in enumerate(runs[-_RUNS:]):
        lines += [Text()] if position else []
        lines += _Chart(run, width).lines()
    return paint(lines, width=width, color=color)


class _Chart:
    """Drawing of one run."""

    def __init__(self, run: RunHistory, width: int) -> None:
        self.run = run
        self.width = width
        names = [cell_len(_task_name(task)) for task in run.tasks[:_TASKS]]
        least, most = _GUTTER
        self.gutter = min(max([least, *names]), most, width // 4)
        self.offset = self.gutter + 1
        self.columns = width - self.offset
        self.scale = Scale(start=run.start, end=run.end, columns=self.columns - _SPARE)

    def lines(self) -> list[Text]:
        # The caller's own id; the minted one tells only that two drawings are of one thread.
        thread = self.run.thread_id or self.run.thread
        names = [("run", self.run.run), ("thread", thread), ("agent", self.run.agent)]
        title = " · ".join(f"{what} {printable(name)}" for what, name in names if name)
        return [
            Text(fit(title, self.width).rstrip(), style=Ink.HEADING.value),
            self._axis().text(),
            *(line.text() for line in self._model()),
            *self._tasks(),
            *_wrapped(_legend(self.run, self.scale), self.width, "   ", Ink.QUIET),
            *_wrapped(_summary(self.run.totals), self.width, " · ", Ink.HEADING),
        ]

    def _line(self, name: str, ink: Ink = Ink.QUIET) -> Line:
        line = Line(self.width)
        line.put(0, fit(name, self.gutter), ink)
        return line

    def _axis(self) -> Line:
        line = self._line("seconds")
        step, digits = _tick(self.run.end - self.run.start, self.columns)
        position, end = 0, -1
        while (at := position * step) <= self.run.end - self.run.start:
            column = self.offset + self.scale.column(self.run.start + at)
            text = f"{at:.{digits}f}"
            # A number that would touch the one before it, or the edge, is left out, never cut.
            if column > end and column + len(text) <= self.width:
                line.put(column, text, Ink.QUIET)
                end = column + len(text)
            position += 1
        return line

    def _model(self) -> Iterator[Line]:
        """Yield two lines: the numbers of the turns, and the model's activity."""
        numbers, work = self._line("turns"), self._line("model")
        for column in range(self.columns - _SPARE):
            work.put(self.offset + column, "·", Ink.QUIET)
        for start, end in self.run.busy:
            for column in range(self.scale.column(start), self.scale.column(end) + 1):
                work.put(self.offset + column, "─", Ink.TURN)
        end = -1
        # A mark of the run in the column of a turn moves one to the right, as colliding marks do.
        turned = {self.offset + self.scale.column(at) for at, _ in self.run.turns}
        for at, number in self.run.turns:
            column = self.offset + self.scale.column(at)
            work.put(column, "┤", Ink.TURN)
            text = f"│{number}"
            if column <= end:
                continue  # too close to the one before; the bar below still shows it
            numbers.put(column, text if column + len(text) <= self.width else "│", Ink.TURN)
            end = column + len(text) - 1
        taken = -1
        for at, mark in self.run.marks:
            column = self.offset + self.scale.column(at)
            taken = min(max(column + (column in turned), taken + 1), self.width - 1)
            work.put(taken, *MARKS[mark])
        yield numbers
        yield work

    def _tasks(self) -> Iterator[Text]:
        shown = self.run.tasks[:_TASKS]
        least, most = _LANES_PER_TASK
        limit = min(most, max(least, _LANES // max(1, len(shown))))
        bars: dict[str, list[Bar]] = {task: [] for task in self.run.tasks}
        for bar in self.run.bars:
            bars[bar.task].append(bar)
        for task in shown:
            yield from self._task(
                task, [place(bar, self.scale, self.columns) for bar in bars[task]], limit
            )
        if hidden := self.run.tasks[_TASKS:]:
            calls = sum(len(bars[task]) for task in hidden)
            yield Text(
                f"+{len(hidden)} tasks with {calls} calls are not drawn", style=Ink.QUIET.value
            )

    def _task(self, task: str, placed: list[Placed], limit: int) -> Iterator[Text]:
        lanes, folded = stack(placed, limit)
        # Thin verticals at the turns, unless they would crowd the chart.
        turns = self.run.turns if len(self.run.turns) * 5 <= self.columns else ()
        for position, lane in enumerate(lanes or [[]]):
            line = self._line("" if position else _task_name(task), Ink.HEADING)
            draw(line, lane, self.offset)
            for at, _ in turns:
                column = self.offset + self.scale.column(at)
                if line.free(column):  # calls come first
                    line.put(column, "┊", Ink.QUIET)
            yield line.text()
        if folded:
            line = self._line(f"  +{len(folded)}")
            line.put(self.offset, density(folded, self.columns), Ink.QUIET)
            yield line.text()
            tools = Counter(item.bar.tool for item in folded).most_common(3)
            text = ", ".join(f"{printable(tool)} x{count}" for tool, count in tools)
            note = f"{' ' * self.offset}folded (digits: how many at a time): {text}"
            yield Text(fit(note, self.width).rstrip(), style=Ink.QUIET.value)


def _task_name(task: str) -> str:
    """Return the task for the margin; a malformed call may belong to none."""
    return printable(task) or "(no task)"


def _tick(span: float, columns: int) -> tuple[float, int]:
    """Return a round distance between ticks with room for its text, and its decimals.

    It is 1, 2 or 5 times a power of ten.
    """
    wanted = max(1, columns // 10)
    if span <= 0:
        return 1.0, 0
    power, digits = 1e-6, 6
    while power * 10 * wanted < span:
        power, digits = power * 10, max(0, digits - 1)
    step = next((factor for factor in (1, 2, 5) if power * factor * wanted >= span), 10)
    return power * step, max(0, digits - (step == 10))


def _legend(run: RunHistory, scale: Scale) -> list[str]:
    """Return the legend of the signs that occur."""
    phases = {piece.phase for bar in run.bars for piece in bar.stretches if scale.extent(piece)}
    edges = any(bar.start < run.start or bar.end is None or bar.end > run.end for bar in run.bars)
    marks = {mark for bar in run.bars for _, mark in bar.marks} | {mark for _, mark in run.marks}
    return [
        "│n model turn",
        "─ model at work",
        "· waiting (model: for news, result: for delivery)",
        *(f"{PHASES[phase][0]} {name}" for phase, name in _PHASE_NAMES.items() if phase in phases),
        *(f"{MARKS[mark][0]} {name}" for mark, name in _MARK_NAMES.items() if mark in marks),
        *([f"{BEFORE[0]} {AFTER[0]} open before or after"] if edges else []),
    ]


def _summary(totals: Totals) -> list[str]:
    rare = ((totals.fallbacks, "fallback"), (totals.squashed, "squashed"))
    return [
        f"{totals.turns} {'turn' if totals.turns == 1 else 'turns'}",
        f"{totals.calls} {'call' if totals.calls == 1 else 'calls'}",
        f"{totals.rejected} rejected",
        f"{totals.deferred} deferred",
        f"{totals.retried} retried",
        *(f"{count} {name}" for count, name in rare if count),
        f"{totals.engine_seconds:.2f} s engine",
        f"{totals.wall_seconds:.2f} s wall",
        "nothing retired" if totals.makespan is None else f"makespan {totals.makespan:.2f} s",
        f"ended: {totals.end}" if totals.end else "not ended",
    ]


def _wrapped(parts: Sequence[str], width: int, between: str, ink: Ink) -> Iterator[Text]:
    """Yield the parts on as few lines as they need; only a part longer than a line is cut."""
    line = ""
    for part in parts:
        longer = f"{line}{between}{part}" if line else part
        if cell_len(longer) > width and line:
            yield Text(line, style=ink.value)
            longer = part
        line = longer if cell_len(longer) <= width else fit(longer, width)
    yield Text(line, style=ink.value)
