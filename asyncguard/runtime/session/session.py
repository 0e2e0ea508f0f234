"""One thread's live half: the ledger in memory, the completion queue, and what has not been stored yet.

The graph state is the truth about history, the session about what is running now. They are joined whenever a node is
entered (:meth:`Session.attach`): if the state is where the session left it, nothing is to do; otherwise (a killed
process, writes that were lost with a cancelled run, a fork, time travel) the ledger is folded anew from the state, and
the session contributes what it knows about calls that the state believes open.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core import stored_specs
from asyncguard.core.calls import CallState
from asyncguard.core.event_codec import from_json
from asyncguard.core.evidence import EvidenceBook
from asyncguard.core.faults import ErrorCode
from asyncguard.core.footprints import EffectClass
from asyncguard.core.ledger import Ledger
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Failure, Success
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.journal.port import AttemptState, Signal
from asyncguard.observability.observer import Details
from asyncguard.recovery.failure_case import Casebook
from asyncguard.runtime.engine import Engine
from asyncguard.runtime.executors.port import Completion
from asyncguard.runtime.session.lease import Lease
from asyncguard.runtime.session.live_calls import LiveCalls
from asyncguard.runtime.session.outbox import Outbox, StoredCheckpoints
from asyncguard.runtime.session.recorder import Recorder


def journal_of(epoch: str) -> str:
    """The journal in the name of a process, empty if it had none."""
    return epoch.partition("/")[0] if "/" in epoch else ""


class Session:
    """What one thread of one agent has in memory."""

    def __init__(self, engine: Engine, thread: str, namespace: str = "") -> None:
        """Make an empty session.

        Args:
            engine: What all sessions share.
            thread: Id of the thread; part of every idempotency key.
            namespace: Path of the agent among agents, without task ids.
        """
        self.engine = engine
        self.thread = thread
        self.namespace = namespace
        self.board = self._new_board()
        self.record = Recorder(engine, self.ledger, recorded=self._recorded)
        self.live = LiveCalls()
        self._observers = engine.observers
        self._outbox = Outbox()
        self._completions: deque[Completion] = deque()
        self._mail: deque[Signal] = deque()
        self._told: list[Signal] = []
        self.lease = Lease(engine, self)
        self._early: list[Signal] = []
        self._put_off: list[Completion] = []
        self._reconcile_due = False
        self._successor: Callable[[Session], Session] | None = None
        self.stored = StoredCheckpoints()
        self._unissued: set[str] = set()
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._lock = threading.Lock()

    @property
    def ledger(self) -> Ledger:
        """The ledger of the thread."""
        return self.board.ledger

    def _new_board(self) -> Scoreboard:
        engine = self.engine
        return Scoreboard(config=engine.config, specs=engine.specs, validators=engine.validators)

    # -- events ----------------------------------------------------------------------------------------------------

    def _recorded(self, event: ev.Event) -> None:
        """Keep an event for the state; tell the journal of the end of a call, and the observers of everything."""
        self._outbox.add(event)
        if self.lease.acquired and isinstance(event, ev.CallRetired | ev.CallCancelled):
            self._tell_journal(self.ledger.record(event.key))
        if self._observers:
            details = Details.from_event(
                event, self.ledger, thread=self.thread, agent=self.namespace
            )
            self._observers.notify(details)

    def _tell_journal(self, record: CallRecord) -> None:
        if record.error in (ErrorCode.JOURNAL_REFUSED, ErrorCode.JOURNAL_UNAVAILABLE):
            return  # nothing was begun here; what the journal knows of the call stands
        if record.answer_attempts and self.board.spec(record.answer_tool).written_down:
            known, journal = self.lease.begun_before.get(record.key), self.lease.journal
            left = known is not None and (known.number, known.state) == (
                record.last_answer_attempt,
                AttemptState.INTENT,
            )
            if left and record.succeeded:
                # A process that is gone began it, and another one may have to go on from before this is stored.
                journal.end_soon(
                    record.key, record.last_answer_attempt, Success(content=record.content)
                )
            journal.record_final_state(record.key, record.state, record.error or "")

    def drain_events(self) -> list[dict[str, Any]]:
        """The events since the last call as plain JSON, for the state; contents that stand in messages are left out."""
        return self._outbox.take(self.ledger)

    # -- joining the state -----------------------------------------------------------------------------------------

    def attach(self, stored: Sequence[Mapping[str, Any]]) -> bool:
        """Join the session with the events of the graph state.

        Returns:
            Whether the ledger was folded anew; evidence has then to be collected again from the messages.

        Raises:
            CallerError: The state is another than the session's, and a run is inside: two runs share the thread.
        """
        self.board.all_met = self.engine.all_met
        if self._outbox.follows(stored):
            return False
        self.lease.claim()
        old, starting = self.ledger, self.board.starting
        self.board = self._new_board()
        self.board.starting = starting
        self.board.evidence = EvidenceBook()
        self.record.go_on(self.ledger)
        self._outbox.clear()
        for data in stored:
            self.ledger.apply(from_json(data))
        self._outbox.begin_after(stored)
        self.board.all_met = self.engine.all_met
        for tool, data in self.ledger.declared.items():
            if self.engine.declaration(tool) != data:
                self.board.kept[tool] = stored_specs.from_json(tool, data)
        self._reconcile_due = True
        self._adopt(old)
        return True

    @property
    def reconcile_due(self) -> bool:
        """Whether calls of a lost process may be open about which nothing was decided yet."""
        return self._reconcile_due

    def demand_reconcile(self) -> None:
        """Have the open calls decided about when the thread is entered next."""
        self._reconcile_due = True

    def reconciled(self) -> None:
        """Note that the open calls of a lost process are decided about."""
        self._reconcile_due = False

    def declare(self, tool: str) -> dict[str, Mapping[str, Any]] | None:
        """Declarations of a tool and its helpers that the thread does not keep yet, for a call that is made now.

        A call that was made under another declaration and is open goes on under the more cautious of the two; until it
        has ended, that counts for new calls of the tool, too.
        """
        spec = self.engine.specs.get(tool)
        if spec is None:
            return None
        new: dict[str, Mapping[str, Any]] = {}
        for name in (tool, *spec.asks, *(item.tool for item in spec.fallbacks)):
            if name in self.board.kept and not self._in_use(name):
                del self.board.kept[name]
            told = self.engine.declaration(name)
            if name in self.board.kept:
                told = stored_specs.to_json(self.board.spec(name))
            if told is not None and self.ledger.declared.get(name) != told:
                new[name] = told
        return new or None

    def _in_use(self, tool: str) -> bool:
        open_calls = (
            record for task in self.ledger.tasks() for record in self.ledger.open_of(task.task.id)
        )
        return any(tool in (record.tool, record.call.tool) for record in open_calls)

    @property
    def casebook(self) -> Casebook:
        """What recovery is asked with: the declarations that count for this thread's calls."""
        kept = self.board.kept
        if not kept:
            return self.engine.casebook
        specs = self.engine.specs | {name: self.board.spec(name) for name in kept}
        return replace(self.engine.casebook, specs=specs)

    def _adopt(self, old: Ledger) -> None:
        """Tell the new ledger what the old one knows about calls that the state believes open."""
        self._unissued.clear()
        self._early.clear()
        # Another branch may know nothing yet of what this one was told.
        self._mail.extendleft(reversed(self._told))
        self._told.clear()
        current: set[str] = set()
        for record in list(self.ledger.calls()):
            known = old.find(record.key)
            if known is not None and record.open and self._catch_up(record, known):
                current.add(record.key)
                if record.state is CallState.QUEUED and known.state is CallState.QUEUED:
                    self._unissued.add(record.key)
        self.live.ledger_folded(current)

    def _catch_up(self, record: CallRecord, known: CallRecord) -> bool:
        """Tell again, event by event, what happened to a call; whether the state's story is the beginning of ours."""
        told = list(record.history)
        if list(map(_step_of, told)) != list(map(_step_of, known.history[: len(told)])):
            return False
        if record.state not in (CallState.QUEUED, CallState.PENDING):
            return True  # admitted meanwhile, in our story: whoever issues it again meets the attempt that was begun
        if known.state is CallState.DONE and known.content is None and self._can_answer(record):
            return False  # our story was read from a state, which leaves out what stands in its messages
        for event in known.history[len(told) :]:
            self.record.repeated(event)
        return True

    def _can_answer(self, record: CallRecord) -> bool:
        """Whether a result that is not held can be had: the call is made again, or the journal knows it."""
        if self.board.spec(record.tool).effect is EffectClass.PURE:
            return True
        epoch = record.begun_by if record.state is CallState.PENDING else self.ledger.epoch
        return self.engine.journal is not None and journal_of(epoch) == self.engine.journal.id

    def lost(self, *, queued: bool) -> list[CallRecord]:
        """Calls that the state believes started, or about to be, and of which this process knows nothing.

        Args:
            queued: Whether admitted calls count: they do where the node that issues them was entered again.
        """
        live, running = self.live, set(self.engine.executor.pending())
        ended = {(completion.key, completion.attempt) for completion in list(self._completions)}
        states = (CallState.PENDING, CallState.QUEUED) if queued else (CallState.PENDING,)
        return [
            record
            for state in states
            for record in self.ledger.in_state(state)
            if record.key not in running
            and record.key not in live.recoveries
            and record.key not in live.delivery_tokens
            if record.key not in live.to_replay
            if (record.key, record.attempts) not in ended and record.key not in self._unissued
        ]

    # -- completions -----------------------------------------------------------------------------------------------

    def completed(self, completion: Completion) -> None:
        """Take a completion; called by executors and the inbox, from any thread."""
        live = self._live()
        live._completions.append(completion)  # noqa: SLF001 - of the same thread
        live.wake()

    def receive(self, mail: Signal) -> None:
        """Take mail from outside; called by the journal and the inbox, from any thread."""
        live = self._live()
        live._mail.append(mail)  # noqa: SLF001 - of the same thread
        live.wake()

    def _live(self) -> "Session":
        """The session that the thread has now: what comes for one that was forgotten is for that one."""
        return self if self._successor is None else self._successor(self)

    def succeed(self, successor: "Callable[[Session], Session]") -> None:
        """Pass on what comes late: the session was forgotten, and the thread may have another one.

        Args:
            successor: Returns the session that the thread has now.
        """
        self._successor = successor

    def revive(self) -> None:
        """Be the session of the thread again."""
        self._successor = None

    def drain_signals(self) -> list[Signal]:
        """Take the mail since the last call, in order, after what was put back then."""
        taken, self._early = self._early, []
        while self._mail:
            mail = self._mail.popleft()
            taken.append(mail)
            self._told.append(mail)
        return taken

    def defer_signal(self, mail: Signal) -> None:
        """Look at mail again with the next one: it is about an attempt that the state does not tell of yet."""
        self._early.append(mail)

    def drain_completions(self) -> list[Completion]:
        """Completions since the last call, in order of arrival."""
        taken, self._put_off = self._put_off, []
        while self._completions:
            taken.append(self._completions.popleft())
        return taken

    def postpone(self, completion: Completion) -> None:
        """Look at a completion again with the next ones: its call is not that far yet."""
        self._put_off.append(completion)

    def drop_fenced(self) -> None:
        """Forget attempts that did not begin while another process had the thread: they are lost, and made again."""
        for _ in range(len(self._completions)):
            completion = self._completions.popleft()
            result = completion.result
            if isinstance(result, Failure) and result.symptom.error == ErrorCode.TAKEN_OVER:
                self.demand_reconcile()
            else:
                self._completions.append(completion)

    def lease_released(self) -> None:
        """Forget which mail was taken: the next holder of the thread is told it again, also if that is this process."""
        self._told.clear()

    @property
    def has_completions(self) -> bool:
        """Whether a completion or mail waits to be taken."""
        return bool(self._completions or self._mail)

    def wake(self) -> None:
        """Wake everybody who waits for a change."""
        if not self._waiters:
            return
        with self._lock:
            waiters, self._waiters = self._waiters, []
        here = _running_loop()
        for loop, event in waiters:
            if loop is here:
                event.set()
            elif not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    async def wait_changed(self, timeout: float | None) -> bool:
        """Wait until something completes or somebody wakes the session; whether that happened in time."""
        event = asyncio.Event()
        entry = (asyncio.get_running_loop(), event)
        with self._lock:
            self._waiters.append(entry)
        try:
            if self.has_completions:
                return True
            return await self.engine.clock.wait(event, timeout)
        finally:
            with self._lock:
                if entry in self._waiters:
                    self._waiters.remove(entry)

    @property
    def idle(self) -> bool:
        """Whether nothing of this session is alive, so that it can be folded anew from the state at any time."""
        return not (
            self.ledger.any_open() or self._outbox.events or self.has_completions or self._waiters
        )


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _step_of(event: ev.CallEvent) -> tuple[Any, ...]:
    """What tells a step of a call's story from another one; contents may have changed their form in the state."""
    names = ("attempt", "tool", "epoch", "aim", "action", "outcome")
    return (event.kind, *(getattr(event, name, None) for name in names))
