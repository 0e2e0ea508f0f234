"""One thread's live half: the ledger in memory, the completion queue, and what has not been stored yet.

The graph state is the truth about history, the session about what is running now. They are joined whenever a node is
entered (:meth:`Session.attach`): if the state is where the session left it, nothing is to do; otherwise (a killed
process, writes that were lost with a cancelled run, a fork, time travel) the ledger is folded anew from the state, and
the session contributes what it knows about calls that the state believes open.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core import kept_specs
from asyncguard.core.calls import CallState
from asyncguard.core.error_codes import ErrorCode
from asyncguard.core.event_json import from_json
from asyncguard.core.evidence import EvidenceBook
from asyncguard.core.footprints import EffectClass
from asyncguard.core.hazards import HazardKind
from asyncguard.core.ledger import Ledger
from asyncguard.core.records import CallRecord
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.engine.engine import Engine
from asyncguard.engine.executors.port import Completion, Failure, Success
from asyncguard.engine.journal.port import Attempt, AttemptState, Journal, Mail
from asyncguard.engine.outbox import Outbox
from asyncguard.engine.recorder import Recorder
from asyncguard.errors import CallerError
from asyncguard.observability.details import Details
from asyncguard.recovery.case import Casebook, Seen
from asyncguard.recovery.decisions import Recovery


def journal_of(epoch: str) -> str:
    """The journal in the name of a process, empty if it had none."""
    return epoch.partition("/")[0] if "/" in epoch else ""


class _Inside:
    """Counts who is inside a ``with`` block; one for all of them, as a turn enters several."""

    def __init__(self, session: "Session") -> None:
        self.count = 0
        self._session = session

    def __enter__(self) -> None:
        self.count += 1
        if self.count == 1 and self._session.entered:
            self._session.journal.hold(self._session.thread)

    def __exit__(self, *_: object) -> None:
        self.count -= 1
        if not self.count and self._session.entered:
            self._session.journal.unhold(self._session.thread)


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
        self.raw: dict[str, Any] = {}
        self.seen: dict[str, Seen] = {}
        self.hazards: dict[str, HazardKind] = {}
        self.recoveries: dict[str, Recovery] = {}
        self.escapes: dict[str, BaseException] = {}
        self.stopped: set[str] = set()
        self.barred: dict[str, str] = {}
        self.replays: dict[str, int] = {}
        self.tokens: dict[str, str] = {}
        self.again: set[str] = set()
        self.early: list[Mail] = []
        self.late: list[Completion] = []
        self.entered = False
        self.entering: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None
        self.held_at = 0.0
        self.number = 0
        self.unsettled = False
        self.successor: Callable[[Session], Session] | None = None
        self.begun_before: Mapping[str, Attempt] = {}
        self.stored_at: dict[str, str] = {}
        self._observers = engine.observers
        self._outbox = Outbox()
        self._completions: deque[Completion] = deque()
        self._mail: deque[Mail] = deque()
        self._told: list[Mail] = []
        self._unissued: set[str] = set()
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self._lock = threading.Lock()
        self._inside = _Inside(self)
        self._bodies = 0
        self._failed = False

    @property
    def ledger(self) -> Ledger:
        """The ledger of the thread."""
        return self.board.ledger

    @property
    def journal(self) -> Journal:
        """The journal of a thread that was entered."""
        assert self.engine.journal is not None  # only with one is a thread entered
        return self.engine.journal

    def leave(self, ending: str = "") -> None:
        """Give the thread free for other processes: its run ended, or rests until somebody resumes it.

        Args:
            ending: The checkpoint behind which the last step of the run is stored now, empty if there is none.
        """
        if self.entered:
            self.entered = False
            self._told.clear()  # whoever enters is told all of it again
            self.journal.leave(self.thread, ending=ending)

    @contextmanager
    def leaving_on_error(self) -> Iterator[None]:
        """Give the thread free if the block, or another one that is run beside it, raises: the run ends there."""
        self._bodies += 1
        try:
            yield
        except BaseException:
            self._failed = True
            raise
        finally:
            self._bodies -= 1
            if self._failed and not self._bodies:
                self._failed = False
                self.leave()

    def inside(self) -> AbstractContextManager[None]:
        """Mark that a run of the thread waits inside; whoever else enters the thread meanwhile is refused."""
        return self._inside

    def claim(self) -> None:
        """Begin a run on the thread.

        Raises:
            CallerError: Another run of the thread waits for its model or its tools in this process.
        """
        if self._inside.count:
            raise CallerError(
                f"Another run of thread {self.thread!r} is under way in this process; wait for it, or cancel it first."
            )

    def _new_board(self) -> Scoreboard:
        engine = self.engine
        return Scoreboard(config=engine.config, specs=engine.specs, validators=engine.validators)

    # -- events ----------------------------------------------------------------------------------------------------

    def _recorded(self, event: ev.Event) -> None:
        """Keep an event for the state; tell the journal of the end of a call, and the observers of everything."""
        self._outbox.add(event)
        if self.entered and isinstance(event, ev.CallRetired | ev.CallCancelled):
            self._tell_journal(self.ledger.record(event.key))
        if self._observers:
            details = Details.of(event, self.ledger, thread=self.thread, agent=self.namespace)
            self._observers.notify(details)

    def _tell_journal(self, record: CallRecord) -> None:
        if record.error in (ErrorCode.JOURNAL_REFUSED, ErrorCode.JOURNAL_UNAVAILABLE):
            return  # nothing was begun here; what the journal knows of the call stands
        if record.tries and self.board.spec(record.answering).written_down:
            known = self.begun_before.get(record.key)
            left = known is not None and (known.number, known.state) == (record.latest, AttemptState.INTENT)
            if left and record.succeeded:
                # A process that is gone began it, and another one may have to go on from before this is stored.
                self.journal.end_soon(record.key, record.latest, Success(content=record.content))
            self.journal.settle(record.key, record.state, record.error or "")

    def take_events(self) -> list[dict[str, Any]]:
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
        self.claim()
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
                self.board.kept[tool] = kept_specs.from_json(tool, data)
        self._adopt(old)
        return True

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
                told = kept_specs.to_json(self.board.spec(name))
            if told is not None and self.ledger.declared.get(name) != told:
                new[name] = told
        return new or None

    def _in_use(self, tool: str) -> bool:
        open_calls = (record for task in self.ledger.tasks() for record in self.ledger.open_of(task.task.id))
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
        self.again.clear()
        self.early.clear()
        # Another branch may know nothing yet of what this one was told.
        self._mail.extendleft(reversed(self._told))
        self._told.clear()
        self.seen.clear()
        self.hazards.clear()
        current: set[str] = set()
        for record in list(self.ledger.calls()):
            known = old.find(record.key)
            if known is not None and record.open and self._catch_up(record, known):
                current.add(record.key)
                if record.state is CallState.QUEUED and known.state is CallState.QUEUED:
                    self._unissued.add(record.key)
        # What was decided about a call is void where the state knows another story of it, or none.
        self.recoveries = {key: decided for key, decided in self.recoveries.items() if key in current}
        self.escapes = {key: error for key, error in self.escapes.items() if key in current}

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
        epoch = record.epoch if record.state is CallState.PENDING else self.ledger.epoch
        return self.engine.journal is not None and journal_of(epoch) == self.engine.journal.id

    def lost(self, *, queued: bool) -> list[CallRecord]:
        """Calls that the state believes started, or about to be, and of which this process knows nothing.

        Args:
            queued: Whether admitted calls count: they do where the node that issues them was entered again.
        """
        running = set(self.engine.executor.pending())
        ended = {(completion.key, completion.attempt) for completion in list(self._completions)}
        states = (CallState.PENDING, CallState.QUEUED) if queued else (CallState.PENDING,)
        return [
            record
            for state in states
            for record in self.ledger.in_state(state)
            if record.key not in running and record.key not in self.recoveries and record.key not in self.tokens
            if record.key not in self.again
            if (record.key, record.attempts) not in ended and record.key not in self._unissued
        ]

    # -- completions -----------------------------------------------------------------------------------------------

    def completed(self, completion: Completion) -> None:
        """Take a completion; called by executors and the inbox, from any thread."""
        live = self._live()
        live._completions.append(completion)  # noqa: SLF001 - of the same thread
        live.wake()

    def receive(self, mail: Mail) -> None:
        """Take mail from outside; called by the journal and the inbox, from any thread."""
        live = self._live()
        live._mail.append(mail)  # noqa: SLF001 - of the same thread
        live.wake()

    def _live(self) -> "Session":
        """The session that the thread has now: what comes for one that was forgotten is for that one."""
        return self if self.successor is None else self.successor(self)

    def take_mail(self) -> list[Mail]:
        """Mail since the last call, in order."""
        taken: list[Mail] = []
        while self._mail:
            taken.append(self._mail.popleft())
        self._told += taken
        return taken

    @property
    def has_mail(self) -> bool:
        """Whether mail waits to be taken."""
        return bool(self._mail)

    def take_completions(self) -> list[Completion]:
        """Completions since the last call, in order of arrival."""
        taken, self.late = self.late, []
        while self._completions:
            taken.append(self._completions.popleft())
        return taken

    def drop_fenced(self) -> None:
        """Forget attempts that did not begin while another process had the thread: they are lost, and made again."""
        for _ in range(len(self._completions)):
            completion = self._completions.popleft()
            result = completion.result
            if isinstance(result, Failure) and result.symptom.error == ErrorCode.TAKEN_OVER:
                self.unsettled = True
            else:
                self._completions.append(completion)

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
        return not (self.ledger.any_open() or self._outbox.events or self.has_completions or self._waiters)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _step_of(event: ev.CallEvent) -> tuple[Any, ...]:
    """What tells a step of a call's story from another one; contents may have changed their form in the state."""
    names = ("attempt", "tool", "epoch", "aim", "action", "outcome")
    return (event.kind, *(getattr(event, name, None) for name in names))
