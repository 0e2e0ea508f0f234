"""The session: what one thread has in memory, that is ledger, completion queue and unstored events.

The graph state is authoritative on the past, the session on what is running now. They are joined
whenever a node is entered (:meth:`Session.attach`). If the state is where the session left it,
nothing is to do. Otherwise (a killed process, writes lost with a cancelled run, a fork, time
travel) the ledger is rebuilt from the state, and the session adds what it knows about calls that
are open in the state.

Completions and signals arrive from any OS thread, are queued, and are applied only when the run of
the thread drains them. All else belongs to the run's own thread.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import ref

from asyncguard.core import events as ev
from asyncguard.core import stored_specs
from asyncguard.core.calls import OPEN_STATES, CallState
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
from asyncguard.runtime.clock import running_loop
from asyncguard.runtime.engine import Engine
from asyncguard.runtime.executors.port import Completion
from asyncguard.runtime.session.lease import Lease
from asyncguard.runtime.session.live_calls import LiveCalls
from asyncguard.runtime.session.outbox import Outbox, StoredCheckpoints
from asyncguard.runtime.session.recorder import Recorder

_LIVE = OPEN_STATES - {CallState.HELD}
"""States of open calls of which the state of the graph does not tell everything.

Of a held call it does, and one that no person ever answers must not stay in memory.
"""


def journal_of(epoch: str) -> str:
    """Return the id of the journal that a process id names, ``""`` if the process had none."""
    return epoch.partition("/")[0] if "/" in epoch else ""


class Session:
    """In-memory state of one thread of one agent."""

    def __init__(self, engine: Engine, thread: str, namespace: str = "") -> None:
        """Make an empty session.

        Args:
            engine: Engine of all sessions of the agent.
            thread: Id of the thread; part of every idempotency key.
            namespace: Path of the agent among agents, without task ids.
        """
        self.engine = engine
        self.thread = thread
        self.namespace = namespace
        # The caller's name of the thread, known once a run has joined; for people only.
        self.thread_id = ""
        # Number of the LangGraph run whose end observers are going to be told, 0 if there is none.
        self.followed = 0
        # LangGraph's run that uses the session. Weak: of an abandoned one nothing tells the end.
        self._run: ref[object] | None = None
        self.live = LiveCalls()
        self.board = self._new_board()
        self.record = Recorder(engine, self.ledger, recorded=self._recorded)
        self._observers = engine.observers
        # Told each event as it is recorded; for the stream of the run that is under way.
        self._listener: Callable[[ev.Event], None] | None = None
        self._outbox = Outbox()
        # Filled from any OS thread; drained by the run alone.
        self._completions: deque[Completion] = deque()
        self._signals: deque[Signal] = deque()
        # Signals that were drained since the lease was acquired; another branch needs them again.
        self._drained_signals: list[Signal] = []
        self.lease = Lease(engine, self)
        # Put back: they are about attempts that the ledger does not have yet.
        self._deferred_signals: list[Signal] = []
        # Put back: own ends of attempts about which a probe is queued and has not started.
        self._postponed: list[Completion] = []
        # True until the open calls of a rebuilt ledger are reconciled.
        self._reconcile_due = False
        # Set once the cache has dropped this session: returns the one that receives in its place.
        self._successor: Callable[[Session], Session] | None = None
        self.stored = StoredCheckpoints()
        # Calls queued in the state and here, so certainly not issued; they are not lost.
        self._unissued: set[str] = set()
        # With its loop, as an event is set on its own loop alone. Several tasks may wait: in the
        # middleware each wrapper of a message does.
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        # Guards the waiters; the deques are thread-safe by themselves.
        self._lock = threading.Lock()

    @property
    def ledger(self) -> Ledger:
        """The ledger of the thread."""
        return self.board.ledger

    def identify(self, thread_id: str) -> None:
        """Take the caller's name of the thread."""
        self.thread_id = thread_id

    def follow(self, run: int) -> None:
        """Take the number of the LangGraph run whose end observers are told; 0 if it has ended."""
        self.followed = run

    def use_in(self, run: object) -> Callable[[], None] | None:
        """Note LangGraph's run that uses the session now.

        Returns:
            Function to be called at its end; ``None`` if the run was noted before.
        """
        if self._run is not None and self._run() is run:
            return None
        noted = self._run = ref(run)

        def ended() -> None:
            if self._run is noted:
                self._run = None

        return ended

    @property
    def in_use(self) -> bool:
        """True while a run uses the session, also if nothing of it is live."""
        return self._run is not None and self._run() is not None

    def listen(self, listener: Callable[[ev.Event], None] | None) -> None:
        """Tell a function of each event from now on, in place of the one before.

        It is called where the event is recorded, so inside the run of the thread.

        Args:
            listener: ``None`` for no function.
        """
        self._listener = listener

    def _new_board(self) -> Scoreboard:
        engine = self.engine
        return Scoreboard(
            config=engine.config,
            specs=engine.specs,
            validators=engine.validators,
            outside=self.live.delivery_tokens,
        )

    # -- events ------------------------------------------------------------------------------------

    def _recorded(self, event: ev.Event) -> None:
        """Keep an event for the state, and pass it on to the journal and the observers."""
        self._outbox.add(event)
        if self.lease.acquired and isinstance(event, ev.CallRetired | ev.CallCancelled):
            self._record_end(self.ledger.record(event.key))
        if self._listener is not None:
            self._listener(event)
        if self._observers:
            details = Details.from_event(
                event,
                self.ledger,
                thread=self.thread,
                agent=self.namespace,
                thread_id=self.thread_id,
            )
            self._observers.notify(details)

    def _record_end(self, record: CallRecord) -> None:
        """Record the end of a call in the journal."""
        if record.error in (ErrorCode.JOURNAL_REFUSED, ErrorCode.JOURNAL_UNAVAILABLE):
            return  # no attempt began here; the journal's entry of the call stands
        if record.answer_attempts and self.board.spec(record.answer_tool).written_down:
            known, journal = self.lease.begun_before.get(record.key), self.lease.journal
            left = known is not None and (known.number, known.state) == (
                record.last_answer_attempt,
                AttemptState.INTENT,
            )
            if left and record.succeeded:
                # A process that has ended began it; the next one may resume from before this end is
                # stored, so it needs the result from the journal.
                journal.end_soon(
                    record.key, record.last_answer_attempt, Success(content=record.content)
                )
            journal.record_final_state(record.key, record.state, record.error or "")

    def drain_events(self) -> list[dict[str, Any]]:
        """Take the new events as plain JSON for the state, without contents that messages hold."""
        return self._outbox.take(self.ledger, self.lease.fencing_token)

    # -- joining the state -------------------------------------------------------------------------

    def attach(self, stored: Sequence[Mapping[str, Any]]) -> bool:
        """Join the session with the events of the graph state.

        Returns:
            True if the ledger was rebuilt; the caller has to collect evidence from the messages
            again.

        Raises:
            CallerError: The state differs from the session's, and a run is under way: two runs use
                the thread at once.
        """
        self.board.all_met = self.engine.all_met
        if self._outbox.follows(stored):
            return False
        self.lease.claim()  # raises; nothing may have changed by then
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
        """True if open calls of a lost process may not have been reconciled yet."""
        return self._reconcile_due

    def demand_reconcile(self) -> None:
        """Request that the open calls are reconciled when the thread is entered next."""
        self._reconcile_due = True

    def reconciled(self) -> None:
        """Note that the open calls of a lost process are reconciled."""
        self._reconcile_due = False

    def declare(self, tool: str) -> dict[str, Mapping[str, Any]] | None:
        """Return the declarations of a tool and its helpers that the thread does not keep yet.

        An open call that was made under another declaration continues under the more cautious of
        the two. Until it ends, that one is in force for new calls of the tool, too.
        """
        spec = self.engine.specs.get(tool)
        if spec is None:
            return None
        new: dict[str, Mapping[str, Any]] = {}
        for name in (tool, *spec.asks, *(item.tool for item in spec.fallbacks)):
            in_use = name in self.board.kept and any(
                name in (record.tool, record.call.tool)
                for task in self.ledger.tasks()
                for record in self.ledger.open_of(task.task.id)
            )
            if not in_use:
                self.board.kept.pop(name, None)
            declared = self.engine.declaration(name)
            if name in self.board.kept:
                declared = stored_specs.to_json(self.board.spec(name))
            if declared is not None and self.ledger.declared.get(name) != declared:
                new[name] = declared
        return new or None

    @property
    def casebook(self) -> Casebook:
        """Casebook of the recovery policy, with the declarations in force for this thread."""
        kept = self.board.kept
        if not kept:
            return self.engine.casebook
        specs = self.engine.specs | {name: self.board.spec(name) for name in kept}
        return replace(self.engine.casebook, specs=specs)

    def _adopt(self, old: Ledger) -> None:
        """Bring the open calls of a rebuilt ledger up to date with the old one."""
        self._unissued.clear()
        self._deferred_signals.clear()
        # Another branch may not have applied the signals that this one has.
        self._signals.extendleft(reversed(self._drained_signals))
        self._drained_signals.clear()
        current: set[str] = set()
        for record in list(self.ledger.calls()):
            known = old.find(record.key)
            if known is not None and record.open and self._catch_up(record, known):
                current.add(record.key)
                if record.state is CallState.QUEUED and known.state is CallState.QUEUED:
                    self._unissued.add(record.key)
            elif known is not None and record.state is CallState.IN_DOUBT:
                self._resolve_again(record, known)
        self.live.ledger_folded(current)

    def _catch_up(self, record: CallRecord, known: CallRecord) -> bool:
        """Repeat the events of a call that the state lacks.

        Returns:
            True if the history in the state is a prefix of the one known here.
        """
        stored = record.history
        if list(map(_step_of, stored)) != list(map(_step_of, known.history[: len(stored)])):
            return False
        if record.state not in (CallState.QUEUED, CallState.PENDING):
            # Admitted here since. Issuing it again finds the attempt that was begun.
            return True
        if known.state is CallState.DONE and known.content is None:
            # The old ledger was read from a state, which leaves out contents that messages hold.
            # Another attempt or the journal may supply the result again.
            pure = self.board.spec(record.tool).effect is EffectClass.PURE
            process = record.begun_by if record.state is CallState.PENDING else self.ledger.epoch
            journal = self.engine.journal
            if pure or (journal is not None and journal_of(process) == journal.id):
                return False
        for event in known.history[len(stored) :]:
            self.record.repeated(event)
        return True

    def _resolve_again(self, record: CallRecord, known: CallRecord) -> None:
        """Repeat the end of a doubt that the state lacks: the step that recorded it was dropped.

        An attempt reports its own end once. Signals come again by themselves, so a call that an
        operator queued again is left to them.
        """
        stored = record.history
        if list(map(_step_of, stored)) != list(map(_step_of, known.history[: len(stored)])):
            return
        match known.history[len(stored) :]:
            case [ev.CallRetired() as end] if known.content is not None:
                self.record.repeated(end)

    def lost(self, *, queued: bool) -> list[CallRecord]:
        """Return the calls that are started in the state and unknown to this process.

        Args:
            queued: True to include admitted calls: the node that issues them was entered again.
        """
        live, running = self.live, set(self.engine.executor.pending())
        ended = {(completion.key, completion.attempt) for completion in list(self._completions)}
        states = (CallState.PENDING, CallState.QUEUED) if queued else (CallState.PENDING,)
        return [
            record
            for record in self.ledger.in_state(*states)
            if record.key not in running
            and record.key not in live.recoveries
            and record.key not in live.delivery_tokens
            if record.key not in live.to_replay
            if (record.key, record.attempts) not in ended and record.key not in self._unissued
        ]

    def runs_calls(self) -> bool:
        """Return True if this process runs an attempt of the thread's calls."""
        running = set(self.engine.executor.pending())
        return any(record.key in running for record in self.ledger.in_state(CallState.PENDING))

    # -- completions -------------------------------------------------------------------------------

    def completed(self, completion: Completion) -> None:
        """Queue a completion; called by executors and the inbox, from any OS thread."""
        live = self._live()
        live._completions.append(completion)  # noqa: SLF001 - of the same thread
        live.wake()

    def receive(self, signal: Signal) -> None:
        """Queue a signal; called by the journal and the inbox, from any OS thread."""
        live = self._live()
        live._signals.append(signal)  # noqa: SLF001 - of the same thread
        live.wake()

    def _live(self) -> "Session":
        """Return the current session of the thread; this one, unless it was dropped."""
        return self if self._successor is None else self._successor(self)

    def succeed(self, successor: "Callable[[Session], Session]") -> None:
        """Forward late completions and signals to the thread's current session from now on.

        Args:
            successor: Returns the current session of the thread.
        """
        self._successor = successor

    def revive(self) -> None:
        """Become the current session of the thread again."""
        self._successor = None

    def drain_signals(self) -> list[Signal]:
        """Take the deferred signals, and those that arrived since the last call, in order."""
        drained, self._deferred_signals = self._deferred_signals, []
        while self._signals:
            signal = self._signals.popleft()
            drained.append(signal)
            self._drained_signals.append(signal)
        return drained

    def defer_signal(self, signal: Signal) -> None:
        """Put a signal back: it is about an attempt that the state does not have yet."""
        self._deferred_signals.append(signal)

    def drain_completions(self) -> list[Completion]:
        """Take the postponed completions, and those that arrived since the last call, in order."""
        drained, self._postponed = self._postponed, []
        while self._completions:
            drained.append(self._completions.popleft())
        return drained

    def put_back(self, completions: Iterable[Completion]) -> None:
        """Put drained completions back, before those that have arrived since."""
        self._completions.extendleft(reversed(list(completions)))

    def postpone(self, completion: Completion) -> None:
        """Put a completion back until its call has caught up with it."""
        self._postponed.append(completion)

    def drop_fenced(self) -> None:
        """Drop attempts refused while another process held the thread; they are issued again."""
        # Rotated in place: executors may append at any moment.
        for _ in range(len(self._completions)):
            completion = self._completions.popleft()
            result = completion.result
            if isinstance(result, Failure) and result.symptom.error == ErrorCode.TAKEN_OVER:
                self.demand_reconcile()
            else:
                self._completions.append(completion)

    def lease_released(self) -> None:
        """Forget the drained signals: the journal sends them again at the next acquisition."""
        self._drained_signals.clear()

    @property
    def has_completions(self) -> bool:
        """True if a completion or a signal waits to be drained."""
        return bool(self._completions or self._signals)

    def wake(self) -> None:
        """Wake all tasks that wait for a change; may be called from any OS thread."""
        # Read without the lock: a waiter that is added now looks for completions before it waits.
        if not self._waiters:
            return
        with self._lock:
            waiters, self._waiters = self._waiters, []
        here = running_loop()
        for loop, event in waiters:
            if loop is here:
                event.set()
            elif not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    async def wait_changed(self, timeout: float | None) -> bool:
        """Wait for a completion, a signal or :meth:`wake`; return False on timeout.

        Args:
            timeout: Seconds; ``None`` waits without limit.
        """
        event = asyncio.Event()
        entry = (asyncio.get_running_loop(), event)
        with self._lock:
            self._waiters.append(entry)
        try:
            if self.has_completions:  # came before the waiter was there to be woken
                return True
            return await self.engine.clock.wait(event, timeout)
        finally:
            with self._lock:
                if entry in self._waiters:
                    self._waiters.remove(entry)

    @property
    def idle(self) -> bool:
        """True if nothing of this session is live, so it can be rebuilt from the state any time."""
        return not (
            self.ledger.count(*_LIVE)
            or (self.live and self.ledger.any_open())
            or self._outbox.events
            or self.has_completions
            or self._waiters
        )


def _step_of(event: ev.CallEvent) -> tuple[Any, ...]:
    """Return the identity of an event in a call's history, without contents.

    Contents may change their form in the state.
    """
    names = ("attempt", "tool", "epoch", "aim", "action", "outcome")
    return (event.kind, *(getattr(event, name, None) for name in names))
