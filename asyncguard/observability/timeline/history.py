"""History of each run in a trace: the phases of every call, the model's turns, and the totals.

These are the data behind the timeline: rows in, frozen values out, nothing about characters or
columns.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from asyncguard.observability.trace import Row, Trace, asked_person


class Phase(StrEnum):
    """Activity of a call."""

    DEFERRED = "deferred"
    """It waits for other calls."""
    HELD = "held"
    """It waits for a person."""
    QUEUED = "queued"
    """It was admitted, or waits for the next attempt."""
    RUNNING = "running"
    """An executor runs it."""
    UNDELIVERED = "undelivered"
    """It has ended and the model has not been notified."""


class Mark(StrEnum):
    """A moment in the life of a call or of the model."""

    OBJECTED = "objected"
    """A guard would have intervened, in shadow mode."""
    REJECTED = "rejected"
    SQUASHED = "squashed"
    CANCELLED = "cancelled"
    RETRIED = "retried"
    FALLBACK = "fallback"
    CHECKED = "checked"
    """Another tool was asked: the live contract, a source, a probe."""
    MENDED = "mended"
    """Arguments were re-bound, or the answer was brought into the declared form."""
    GIVEN_UP = "given_up"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"
    DELIVERED = "delivered"
    NUDGED = "nudged"
    PARKED = "parked"
    ENDED = "ended"


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """A phase with its time, in seconds."""

    phase: Phase
    start: float
    end: float | None = None
    """``None`` while it lasts."""


@dataclass(kw_only=True, slots=True)
class Bar:
    """One call over time."""

    key: str
    task: str
    label: str
    tool: str
    start: float
    stretches: list[Stretch] = field(default_factory=list)
    """In order of time, without overlap."""
    marks: list[tuple[float, Mark]] = field(default_factory=list)
    """In order of time."""

    @property
    def end(self) -> float | None:
        """Time of the last thing that happened to it; ``None`` while a phase lasts."""
        if self.stretches and self.stretches[-1].end is None:
            return None
        times = [at for at, _ in self.marks] + [
            piece.end for piece in self.stretches if piece.end is not None
        ]
        return max(times, default=self.start)

    def enter(self, phase: Phase | None, at: float) -> None:
        """End the current phase and begin another, if one is given."""
        if self.stretches and self.stretches[-1].end is None:
            last = self.stretches.pop()
            # A phase without duration is not kept, unless the call ends in it.
            if at > last.start or phase is None:
                self.stretches.append(Stretch(phase=last.phase, start=last.start, end=at))
        if phase is not None:
            self.stretches.append(Stretch(phase=phase, start=at))

    def mark(self, at: float, mark: Mark) -> None:
        """Add a mark; an event that comes twice adds one."""
        if (at, mark) not in self.marks[-1:]:
            self.marks.append((at, mark))


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Numbers of a run."""

    turns: int
    calls: int
    """Calls that were proposed in the run."""
    rejected: int
    deferred: int
    """Calls that were deferred at least once."""
    retried: int
    fallbacks: int
    squashed: int
    engine_seconds: float
    """Time from first to last event, by the engine's clock."""
    wall_seconds: float
    """Time from first to last event, by the wall clock; it differs under a virtual clock."""
    makespan: float | None
    """Seconds from the start of the run to the last retirement, ``None`` if nothing retired."""
    end: str
    """Reason why the run ended, empty if it did not."""


@dataclass(frozen=True, kw_only=True)
class RunHistory:
    """One run of one thread."""

    agent: str
    thread: str
    thread_id: str
    """The caller's id of the thread, empty if the run had none."""
    run: str
    start: float
    """Time of its first event."""
    end: float
    """Time of its last event."""
    tasks: tuple[str, ...]
    """Tasks in the order in which they appear."""
    bars: tuple[Bar, ...]
    """Calls that were open during the run, in program order."""
    turns: tuple[tuple[float, int], ...]
    """End of each model turn, and its number."""
    busy: tuple[tuple[float, float], ...]
    """Times at which the model was at work.

    Each lasts from its last input or output to the end of its turn.
    """
    marks: tuple[tuple[float, Mark], ...]
    """Moments of the run itself."""
    totals: Totals


# Event kind to the phase that begins (None: the call ends) and the mark that is set.
_STEPS: Mapping[str, tuple[Phase | None, Mark | None]] = {
    "call_proposed": (Phase.QUEUED, None),
    "call_edited": (Phase.QUEUED, None),
    "call_objected": (Phase.QUEUED, Mark.OBJECTED),
    "call_admitted": (Phase.QUEUED, None),
    "call_deferred": (Phase.DEFERRED, None),
    "call_held": (Phase.HELD, None),
    "call_rejected": (None, Mark.REJECTED),
    "call_started": (Phase.RUNNING, None),
    "call_squashed": (None, Mark.SQUASHED),
    "call_cancelled": (None, Mark.CANCELLED),
}
_OUTCOMES = {"done": None, "failed": Mark.FAILED, "in_doubt": Mark.IN_DOUBT}
_RECOVERIES = {
    "retry": Mark.RETRIED,
    "fallback": Mark.FALLBACK,
    "refresh": Mark.CHECKED,
    "cross_check": Mark.CHECKED,
    "verify": Mark.CHECKED,
    "rebind": Mark.MENDED,
    "normalise": Mark.MENDED,
    "ask": Mark.GIVEN_UP,
    "give_up": Mark.GIVEN_UP,
}
# Only these events move a call. A damaged file may give any event a key, and findings about a call
# do not move it.
_MOVING = frozenset({*_STEPS, "call_retired", "call_recovered"})
# After these the model can be asked; before them, since its last turn, it was waiting.
_WAKING = frozenset(
    {"run_started", "task_opened", "calls_delivered", "completion_judged", "turn_taken"}
)


def histories(trace: Trace) -> tuple[RunHistory, ...]:
    """Return every run of the trace, in the order in which they begin."""
    rows_of: dict[tuple[str, str, str], list[Row]] = {}
    bars_of: dict[tuple[str, str], dict[str, Bar]] = {}
    for row in trace.rows:
        rows_of.setdefault((row["agent"], row["thread"], row["run"]), []).append(row)
        _follow(bars_of.setdefault((row["agent"], row["thread"]), {}), row)
    return tuple(_history(rows, bars_of[place[:2]].values()) for place, rows in rows_of.items())


def _follow(bars: dict[str, Bar], row: Row) -> None:
    """Apply one event to the bars of its thread."""
    kind = row["event"]
    if kind == "calls_delivered":
        for key in row["delivered"]:
            if (bar := bars.get(key)) is not None:
                _deliver(bar, row["at"])
    elif kind in _MOVING:
        new = Bar(
            key=row["key"], task=row["task"], label=row["label"], tool=row["tool"], start=row["at"]
        )
        bar = bars.setdefault(row["key"], new)
        phase: Phase | None
        match kind:
            case "call_retired":
                phase, mark = Phase.UNDELIVERED, _OUTCOMES.get(row["outcome"])
            case "call_recovered" if asked_person(row):
                phase, mark = Phase.HELD, None
            case "call_recovered":
                phase, mark = Phase.QUEUED, _RECOVERIES.get(row["action"])
            case _:
                phase, mark = _STEPS[kind]
        # A recovery without a further attempt changes nothing: the call ends at the same moment.
        if row.get("follows", True):
            bar.enter(phase, row["at"])
        if mark is not None:
            bar.mark(row["at"], mark)


def _deliver(bar: Bar, at: float) -> None:
    # Rejected and squashed calls are reported as well, but have nothing to deliver.
    last = bar.stretches[-1] if bar.stretches else None
    if last is not None and last.phase is Phase.UNDELIVERED and last.end is None:
        bar.enter(None, at)
        bar.mark(at, Mark.DELIVERED)


def _history(rows: list[Row], bars: Iterable[Bar]) -> RunHistory:
    start, end = min(row["at"] for row in rows), max(row["at"] for row in rows)
    proposed = {row["key"] for row in rows if "key" in row}
    # Also calls of earlier runs that were still open; they have no event in this one.
    shown = tuple(
        bar
        for bar in bars
        if bar.key in proposed or (bar.start <= end and (bar.end is None or bar.end > start))
    )
    opened = [row["task"] for row in rows if row["event"] == "task_opened"]
    return RunHistory(
        agent=rows[0]["agent"],
        thread=rows[0]["thread"],
        thread_id=rows[0]["thread_id"],
        run=rows[0]["run"],
        start=start,
        end=end,
        # The user's tasks first; a malformed call may name another.
        tasks=tuple(dict.fromkeys([*opened, *(bar.task for bar in shown)])),
        bars=shown,
        turns=tuple((row["at"], row["turn"]) for row in rows if row["event"] == "turn_taken"),
        busy=tuple(_busy(rows)),
        marks=tuple(_run_marks(rows)),
        totals=_totals(rows),
    )


def _busy(rows: list[Row]) -> Iterable[tuple[float, float]]:
    woken = rows[0]["at"]
    for row in rows:
        if row["event"] == "turn_taken":
            yield woken, row["at"]
        if row["event"] in _WAKING:
            woken = row["at"]


def _run_marks(rows: list[Row]) -> Iterable[tuple[float, Mark]]:
    for row in rows:
        match row["event"]:
            case "completion_judged" if row["verdict"] == "nudge" and row.get("enforced", True):
                yield row["at"], Mark.NUDGED
            case "run_parked":
                yield row["at"], Mark.PARKED
            case "run_ended":
                yield row["at"], Mark.ENDED
            case _:
                pass


def _totals(rows: list[Row]) -> Totals:
    kinds = [row["event"] for row in rows]
    retired = [row["at"] for row in rows if row["event"] == "call_retired"]
    walls = [row["wall"] for row in rows]
    actions = [
        row["action"] for row in rows if row["event"] == "call_recovered" and not asked_person(row)
    ]
    times = [row["at"] for row in rows]
    return Totals(
        turns=kinds.count("turn_taken"),
        calls=kinds.count("call_proposed"),
        rejected=kinds.count("call_rejected"),
        # By call: one may be deferred several times.
        deferred=len({row["key"] for row in rows if row["event"] == "call_deferred"}),
        retried=actions.count("retry"),
        fallbacks=actions.count("fallback"),
        squashed=kinds.count("call_squashed"),
        engine_seconds=max(times) - min(times),
        wall_seconds=max(walls) - min(walls),
        makespan=max(retired) - min(times) if retired else None,
        end=next((row["end"] for row in reversed(rows) if row["event"] == "run_ended"), ""),
    )
