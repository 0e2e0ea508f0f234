"""The journal port: an intent before the effect, an outcome after it, and the signals of a thread.

Guarantees, which ``asyncguard.testing.check_journal`` checks for every implementation:

- :meth:`Journal.begin` answers :class:`Fresh` at most once for an attempt whose effect must not be
  repeated, in all processes together, and only after the intent is on disk.
- One key stands for one call: another fingerprint under the same key and attempt is refused.
- While a call that must not be repeated is in doubt, an equal call of the same thread and task is
  refused.
- A process that was declared dead, or whose thread another process acquired, begins nothing more.
- Every later ``begin`` of an attempt answers the outcome that :meth:`Journal.end` wrote.
- A delivery or a resolution that returned reaches the process that holds the thread, now or at its
  next acquisition. Of both about one doubt, the first is accepted and the other refused; only a
  retry that has not begun gives way to a result.
- While an attempt may still run, its call is not resolved as not happened.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from asyncguard.core.calls import CallState
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Result
from asyncguard.journal.intent import Intent


class AttemptState(StrEnum):
    """State of an attempt in the journal."""

    INTENT = "intent"
    """Written down; the effect may have begun."""
    ENDED = "ended"
    """Its outcome is written down, too: a result or a failure."""
    ASKED = "asked"
    """Its tool asked a person; it runs again with the answer."""
    STARTED = "started"
    """Work outside was started; its result comes by a delivery."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fresh:
    """The intent is on disk and no other process has the attempt: begin it now."""

    again: bool = False
    """True if a process that has ended had begun it, so that its effect may have happened."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """The attempt ended before, or its work outside was started."""

    result: Result
    """Recorded result; never an interrupt, as a question to a person is asked again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """An ended process began the attempt; its outcome is unknown, and it must not be repeated."""

    process_id: str
    """Id of the process."""
    other: bool = False
    """True if it was begun with another tool or arguments, so a probe with these is useless."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Running:
    """A process that is alive has begun the attempt: ask again later."""

    process_id: str
    """Id of the process."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """The attempt must not begin, and nothing was written."""

    reason: str
    """Sentence for the model."""
    fenced: bool = False
    """True if the process may begin nothing more: it was declared dead, or lost its thread."""


Verdict = Fresh | Known | Lost | Running | Refused


class SignalKind(StrEnum):
    """Kind of a message from outside to a thread."""

    DELIVERY = "delivery"
    """The result of an external call."""
    HAPPENED = "happened"
    """An effect in doubt happened; the content is its result, or ``None``."""
    NOT_HAPPENED = "not_happened"
    """An effect in doubt did not happen."""
    RETRY = "retry"
    """An effect in doubt did not happen, and is to be attempted again under the same key."""


DELIVERED_BY = "a delivery"
"""Name of the sender of a delivery that ends a call which is to be repeated."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Signal:
    """One message from outside about one call."""

    kind: SignalKind
    """Kind of the message."""
    key: str
    """Key of the call."""
    attempt: int
    """Number of the attempt that it is about."""
    content: Any
    """Text, content blocks or ``None``."""
    by: str = ""
    """Name of the sender, for the log."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Begin:
    """A begin of an attempt whose process ended without an outcome, before another took it over."""

    process_id: str
    """Id of the process."""
    begun_at: float
    """Unix time in seconds; for display only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One attempt as recorded in the journal."""

    number: int
    """Number of the attempt, from 1."""
    tool: str
    """Tool of the attempt."""
    fingerprint: str
    """Hash of tool and canonical arguments."""
    state: AttemptState
    """State of the attempt."""
    process_id: str
    """Id of the process that began it."""
    begun_at: float
    """Unix time of the begin in seconds; for display only."""
    ended_at: float | None
    """Unix time of the end in seconds; for display only."""
    deadline: float | None
    """Unix time at which it is given up, in seconds; for display only."""
    result: Result | None
    """Result of the attempt, ``None`` while it is unknown."""
    arguments: Mapping[str, Any] | None = None
    """Arguments of the attempt; set only by :meth:`Journal.acquire`."""
    begun_before: tuple[Begin, ...] = ()
    """Earlier begins of the same attempt, in order; each may have had the effect."""
    late: Result | None = None
    """Result that came after ``result``, ``None`` without one."""
    running_in: str = ""
    """Pid and host of the process in which it runs, or may still run after it was given up; empty
    if it has ended, or a new call may do the same again. Set only in an :class:`Entry`."""
    earlier: "tuple[Attempt, ...]" = ()
    """Attempts of the call before it, in order; set only by :meth:`Journal.acquire`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One call as recorded in the journal; ``asyncguard ledger show`` prints it."""

    key: str
    """Key of the call."""
    session: str
    """Id of its thread in the state."""
    thread: str
    """The caller's thread id, empty if there is none."""
    namespace: str
    """Path of the agent among agents."""
    task: str
    """Task of the call."""
    label: str
    """Name of the call in texts for people and models."""
    tool: str
    """Tool of the first attempt."""
    effect: EffectClass
    """Effect class of the latest attempt's tool."""
    state: CallState
    """State of the call; ``PENDING`` until its thread records the final state."""
    error: str
    """Class of the failure, empty without one."""
    arguments: Mapping[str, Any]
    """Arguments of the latest attempt."""
    created_at: float
    """Unix time of the first attempt in seconds."""
    updated_at: float
    """Unix time of the last change in seconds."""
    attempts: tuple[Attempt, ...]
    """Attempts in order."""
    signals: tuple[Signal, ...]
    """Signals about the call, in order."""
    resolution: SignalKind | None = None
    """Signal that ends the call or its doubt, and that its thread has not applied yet."""

    @property
    def delivered(self) -> bool:
        """True if that is a result from outside: after a retry it counts as what happened."""
        if self.resolution is SignalKind.HAPPENED:
            return bool(self.signals) and self.signals[-1].by == DELIVERED_BY
        return self.resolution is SignalKind.DELIVERY


def _never() -> bool:
    return False


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseGrant:
    """The grant of a thread's lease to this process."""

    attempts: Mapping[str, Attempt]
    """Latest attempts of the calls that were asked about, by key; calls without one are missing."""
    fencing_token: int
    """Number that rises with each process that acquires the thread; checkpoints with a lower one
    were stored late by an earlier process."""
    previous_token: int
    """Token before; the same if this process held the thread last, 0 if no process ever did."""
    stolen: bool
    """True if the previous process lives and never released the thread; it may continue."""
    released_on: str
    """``stands_on`` of the last :meth:`Journal.release`, empty if there was none."""
    acquired_on: str
    """``stands_on`` of the last :meth:`Journal.acquire`, empty if it was released since."""
    ends: bool
    """True if that release had ``ends``, was just now, and its process lives."""
    has_lapsed: Callable[[], bool] = field(default=_never, compare=False)
    """Returns True, without asking the journal, if this process may have lost the lease since."""


class Journal(Protocol):
    """Durable record of intents and outcomes; safe to use from any OS thread and any event loop."""

    @property
    def id(self) -> str:
        """Identity of the database, set when it was made; threads name it in their process ids."""
        ...

    @property
    def process_id(self) -> str:
        """Identity of this process in the journal."""
        ...

    async def acquire(
        self,
        session: str,
        thread: str,
        keys: Collection[str],
        receive: Callable[[Signal], None],
        *,
        known: int = 0,
        stands_on: str = "",
    ) -> LeaseGrant:
        """Acquire the lease of a thread for this process, and subscribe to its signals.

        ``receive`` gets all present signals of the thread before this returns, and later ones from
        any OS thread until :meth:`release`.

        Args:
            session: Id of the thread in its state.
            thread: The caller's thread id, empty if there is none; for people.
            keys: Calls to look up.
            receive: Callback for signals; it must be quick and must not raise.
            known: Fencing token in the thread's state; the new token is higher, even if the
                journal has lost this one.
            stands_on: Checkpoint that the run stands on, empty if it stores none or goes back in
                time.

        Returns:
            The grant, with the latest attempts of the calls.

        Raises:
            ThreadBusyError: A process that is alive holds the thread, or another thread with the
                caller's id: that one was begun at the same time, or its begin was never stored.
            JournalError: The database cannot be read or written.
        """
        ...

    async def unfinished(self, session: str) -> Collection[str]:
        """Return keys of the thread's calls whose final state the journal may lack.

        These are calls that were begun, or resolved, without a final state since, and calls that
        succeeded without a recorded outcome or the word of a person. They run, or their process
        ended before it recorded the end.
        """
        ...

    def release(self, session: str, *, stands_on: str | None = None, ends: bool = False) -> None:
        """Release the lease of a thread; written soon, and not waited for.

        Args:
            session: The thread.
            stands_on: Checkpoint that the run stands on, empty if it stores none or goes back in
                time; ``None`` to keep that of the release before.
            ends: True if the last step of the run is being stored after that checkpoint.
        """
        ...

    def keep_alive(self, session: str) -> None:
        """Renew the lease of a thread from now on: a run of it may wait for long."""
        ...

    def stop_keep_alive(self, session: str) -> None:
        """Stop renewing the lease of a thread; see :meth:`keep_alive`."""
        ...

    async def holds(self, session: str) -> bool:
        """Return True if this process acquired the thread last and was not declared dead.

        Asked before a call is handed to a worker. The worker's own :meth:`begin` cannot check it: a
        worker begins calls of threads that it does not hold.

        Raises:
            JournalError: The database cannot be read.
        """
        ...

    async def begin(self, intent: Intent) -> Verdict:
        """Judge whether an attempt may begin; on :class:`Fresh` its intent is on disk.

        If the caller is cancelled, an intent that was written is concluded as not begun.

        Raises:
            JournalError: The database cannot be written; nothing may begin.
        """
        ...

    async def end(self, key: str, attempt: int, result: Result) -> None:
        """Write the outcome of an attempt; it is on disk when this returns.

        Raises:
            JournalError: The database cannot be written; the attempt stays an intent.
        """
        ...

    def end_soon(self, key: str, attempt: int, result: Result) -> None:
        """Write the outcome of an attempt without waiting, but before any later request.

        If the database cannot be written, the failure is logged and the outcome kept in memory, and
        writing is tried again.
        """
        ...

    async def flush(self) -> None:
        """Wait until each posted outcome and release is on disk, or has failed."""
        ...

    def conclude(self, key: str, attempt: int, result: Result) -> None:
        """Write the outcome of a cancelled attempt of this process, without waiting.

        An attempt that is not an intent of this process stays as it is.
        """
        ...

    def record_final_state(
        self, key: str, state: CallState, error: str = "", *, stored: bool = False
    ) -> None:
        """Record the state of a call in its thread; written soon, and not waited for.

        Args:
            key: The call.
            state: State of the call in its thread.
            error: Class of the failure or doubt.
            stored: True if a checkpoint has that state. Only then an attempt of an ended process
                without an outcome is closed: before, the next process would lose its result.
        """
        ...

    def deliver(self, token: str, content: Any) -> None:
        """Deliver the result of an external call; on disk when this returns.

        Blocks: not for event loops.

        Args:
            token: The token that the tool received.
            content: Text, content blocks, or any JSON value.

        Raises:
            UnknownTokenError: The token was never issued here, or was used before.
            CallerError: The content is not JSON, or the call was resolved or has ended; nothing was
                delivered.
            JournalError: The database cannot be written.
        """
        ...

    def resolve(
        self,
        key: str,
        kind: SignalKind,
        content: Any = None,
        *,
        by: str = "",
        ended: bool = False,
    ) -> Entry:
        """Resolve a call in doubt; on disk when this returns. Blocks: not for event loops.

        Args:
            key: Key of the call, or a prefix of it that fits one call only.
            kind: ``HAPPENED``, ``NOT_HAPPENED`` or ``RETRY``, or its name as text.
            content: Its result, for ``HAPPENED``.
            by: Name of the person or program that resolves it.
            ended: True if that person knows that no attempt of it runs any more, where the journal
                does not, as after a cancelled coroutine, which may have left an OS thread.

        Raises:
            CallerError: There is no such call, or it is not in doubt: ended, resolved or delivered
                before, or running in a process that is alive. Or an attempt that was given up may
                still run there, ``ended`` is not given, and the call cannot be resolved as not
                happened (a keyed one may be retried). So for seconds after a process was first
                found gone, where it may have lost its connection alone.
            JournalError: The database cannot be written.
        """
        ...

    def entries(
        self, *, states: Collection[CallState] = (), session: str = "", key: str = ""
    ) -> Sequence[Entry]:
        """Return calls, oldest first, that match all filters. Blocks: not for event loops.

        A pending call whose process has ended is listed as in doubt, if its effect must not be
        repeated.

        Args:
            states: Only calls in one of these, empty for all; names as text will do.
            session: Only calls of this thread, by either of its ids.
            key: Only calls whose key begins with this.

        Raises:
            CallerError: A filter is of another type.
        """
        ...

    def gone(self, process_ids: Collection[str]) -> Collection[str]:
        """Return which of some processes have ended or are unknown. Blocks: not for event loops.

        They are declared dead: one that was only suspended begins nothing more.

        Args:
            process_ids: Identities of processes, as :attr:`process_id` gives them.

        Raises:
            JournalError: The database cannot be read or written.
        """
        ...

    def prune(self, older_than: float) -> int:
        """Remove ended calls that have not changed for some seconds; return their number.

        Their attempts, signals and tokens are removed with them. Those of a thread whose last run
        has not ended stay: the thread may not hold their results.

        Args:
            older_than: Seconds since the last change.
        """
        ...

    def close(self) -> None:
        """Write what is queued, release all threads, and end; this process begins nothing more."""
        ...
