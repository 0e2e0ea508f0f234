"""Runs built event by event, folded by the real ledger and shown to real observers."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core.calls import Call, call_key, fingerprint
from asyncguard.core.faults import CircuitState, HazardKind
from asyncguard.core.footprints import Footprint
from asyncguard.core.ledger import Ledger
from asyncguard.core.lifecycle import TaskState
from asyncguard.observability.observer import Details, Observer, ObserverSet
from asyncguard.observability.trace import Trace, read_trace
from asyncguard.observability.trace_file import TraceFile

WALL = 1_700_000_000.0


class Story:
    """One thread of a fake engine: sets the clock, folds events, notifies observers."""

    def __init__(
        self,
        *observers: Observer,
        thread: str = "t1",
        thread_id: str = "",
        agent: str = "",
        start: float = 100.0,
    ) -> None:
        self.ledger = Ledger()
        self.observers = ObserverSet(observers)
        self.thread, self.agent, self.start = thread, agent, start
        self.thread_id = thread_id
        self.now = start
        self.told: list[Details] = []

    def wall(self) -> float:
        return WALL + (self.now - self.start)

    def at(self, seconds: float) -> "Story":
        self.now = self.start + seconds
        return self

    def tell(self, kind: type[ev.Event], **values: Any) -> Details:
        event = kind(n=self.ledger.n + 1, at=self.now, **values)
        self.ledger.apply(event)
        details = Details.from_event(
            event, self.ledger, thread=self.thread, agent=self.agent, thread_id=self.thread_id
        )
        self.told.append(details)
        self.observers.notify(details)
        return details

    def begin(self, run: str = "r1", epoch: str = "e1", **tasks: str) -> None:
        self.tell(ev.RunStarted, run=run, epoch=epoch)
        for task, goal in tasks.items():
            self.tell(ev.TaskOpened, task=task, goal=goal)

    def turn(self, *calls: tuple[str, str] | tuple[str, str, Mapping[str, Any]]) -> list[str]:
        """A model turn with calls given as (task, tool[, arguments]); returns their keys."""
        number = self.ledger.turns + 1
        message = f"m{self.ledger.n}"
        self.tell(ev.TurnTaken, turn=number, message_id=message, calls=len(calls))
        return [self._propose(message, position, *call) for position, call in enumerate(calls)]

    def _propose(
        self,
        message: str,
        position: int,
        task: str,
        tool: str,
        arguments: Mapping[str, Any] | None = None,
    ) -> str:
        values = dict(arguments or {})
        call = Call(
            key=call_key(self.agent, self.thread, message, position),
            sequence=len(self.ledger),
            task=task,
            tool=tool,
            ordinal=self.ledger.next_ordinal(task, tool),
            arguments=values,
            call_id=f"call_{len(self.ledger)}",
            message_id=message,
            footprint=Footprint(
                reads=frozenset({f"{tool}:{value}" for value in values.values()}), writes=None
            ),
            fingerprint=fingerprint(tool, values),
        )
        self.tell(ev.CallProposed, call=call)
        return call.key

    def start_calls(self, *keys: str) -> None:
        for key in keys:
            released = self.ledger.record(key).state.value in ("deferred", "held")
            if self.ledger.record(key).state.value != "queued":
                self.tell(ev.CallAdmitted, key=key, released=released)
            record = self.ledger.record(key)
            self.tell(
                ev.CallStarted, key=key, attempt=record.attempts + 1, tool=record.tool, epoch="e1"
            )

    def defer(self, key: str, *on: str, guard: str = "dependency") -> None:
        self.tell(ev.CallDeferred, key=key, guard=guard, reason="its operand is pending", on=on)

    def reject(self, key: str, guard: str = "grounding") -> None:
        self.tell(ev.CallRejected, key=key, guard=guard, reason="the value is found nowhere")
        self.deliver(key)

    def recover(
        self,
        key: str,
        action: ev.RecoveryAction = ev.RecoveryAction.RETRY,
        tool: str = "",
        error: str = "TimeoutError",
    ) -> None:
        attempt = self.ledger.record(key).attempts
        self.tell(
            ev.CallRecovered,
            key=key,
            action=action,
            attempt=attempt,
            error=error,
            reason="x",
            tool=tool,
        )

    def retire(self, key: str, outcome: ev.Outcome = ev.Outcome.DONE, content: Any = "ok") -> None:
        error = None if outcome is ev.Outcome.DONE else "ValueError"
        self.tell(
            ev.CallRetired,
            key=key,
            outcome=outcome,
            content=content,
            size=len(str(content)),
            error=error,
        )

    def deliver(self, *keys: str, placeholders: Iterable[str] = ()) -> None:
        self.tell(ev.CallsDelivered, keys=keys, placeholders=tuple(placeholders))

    def end(self, reason: str = "complete") -> None:
        for task in self.ledger.open_tasks():
            self.tell(ev.TaskEnded, task=task.task.id, state=TaskState.CLOSED)
        self.tell(ev.RunEnded, reason=reason, turns=self.ledger.turns)


def trip(story: Story) -> Story:
    """Two tasks: a deferred booking, a rejected payment, a retry, a fallback and a squashed call."""
    story.at(0.0).begin(flights="fly to Rome", hotel="sleep in Rome")
    search, book, rooms = story.at(0.2).turn(
        ("flights", "search_flights"), ("flights", "book_flight"), ("hotel", "find_rooms")
    )
    story.start_calls(search)
    story.defer(book, search)
    story.start_calls(rooms)
    story.at(0.21).deliver(placeholders=(search, book, rooms))
    story.at(0.6).recover(rooms)
    story.at(0.8).start_calls(rooms)
    story.at(1.0).retire(search)
    story.start_calls(book)
    story.deliver(search)
    (pay,) = story.at(1.2).turn(("flights", "pay"))
    story.reject(pay)
    story.at(1.3).retire(rooms, ev.Outcome.FAILED)
    story.at(1.5).deliver(rooms)
    ask, hold = story.at(1.7).turn(("hotel", "ask_desk"), ("hotel", "hold_room"))
    story.start_calls(ask)
    story.defer(hold, ask)
    story.deliver(placeholders=(ask, hold))
    story.at(1.8).recover(ask, ev.RecoveryAction.FALLBACK, "ask_portal")
    story.at(1.9).start_calls(ask)
    story.at(2.0).retire(book)
    story.at(2.1).retire(ask, ev.Outcome.IN_DOUBT)
    story.tell(ev.CallSquashed, key=hold, reason="ask_desk#1 is in doubt", on=(ask,))
    story.deliver(book, ask, hold)
    story.at(2.3).turn()
    story.tell(ev.CompletionJudged, verdict=ev.CompletionVerdict.END, reason="nothing is open")
    story.end()
    return story


def questions(story: Story) -> Story:
    """A tool asks a person, fails with the answer, and asks again on its retry."""
    story.at(0.0).begin(hotel="sleep in Rome")
    (book,) = story.at(0.2).turn(("hotel", "book_room"))
    story.start_calls(book)
    story.at(0.6).recover(book, error="interrupt")
    story.at(1.0).start_calls(book)
    story.at(1.2).recover(book)
    story.at(1.3).start_calls(book)
    story.at(1.4).recover(book, error="interrupt")
    story.at(1.8).start_calls(book)
    story.at(2.0).retire(book)
    story.deliver(book)
    story.end()
    return story


def trip_file(path: Path, **options: Any) -> Path:
    """Writes the trip to a trace file."""
    story = Story()
    with TraceFile(path, wall=story.wall, **options) as file:
        file.write_head({"grounding": True}, version="0.1.0")
        story.observers = ObserverSet([file])
        trip(story)
    return path


def trip_trace(folder: Path) -> Trace:
    """The trip as it is read back."""
    return read_trace(trip_file(folder / "trip.jsonl"))


def every_kind(story: Story) -> Story:
    """A run with at least one event of every kind."""
    trip(story)
    story.at(3.0).begin("r2", hotel="sleep in Rome")
    risky, slow = story.at(3.1).turn(("hotel", "cancel_all"), ("hotel", "mail"))
    story.tell(
        ev.CallObjected,
        key=slow,
        guard="grounding",
        objection=ev.Objection.REJECT,
        reason="a guess",
        on=(risky,),
    )
    story.tell(ev.CallHeld, key=risky, guard="trust", reason="it destroys")
    story.tell(ev.CallEdited, key=risky, call=story.ledger.record(risky).call)
    story.tell(ev.CallHeld, key=risky, guard="trust", reason="it destroys")
    story.start_calls(slow)
    story.tell(ev.RunParked, keys=(slow,))
    story.tell(
        ev.CallFound, key=slow, aim=ev.Aim.ANSWER, tool="mail", content={"error": "E"}, error="E"
    )
    story.tell(
        ev.CallDiagnosed,
        key=slow,
        tool="mail",
        attempt=1,
        symptom=("E",),
        hazard=HazardKind.EXECUTION,
        rule="transient",
        confidence=0.9,
        evidence=("its class says so",),
    )
    story.tell(ev.CircuitMoved, tool="mail", state=CircuitState.OPEN, failures=5)
    story.at(3.5).recover(slow)
    story.tell(ev.CallCancelled, key=slow, reason="the user left")
    story.end()
    return story
