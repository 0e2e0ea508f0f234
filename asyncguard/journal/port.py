"""The journal port: an intent before the effect, an outcome behind it, and the mail of a thread.

Promises, which ``asyncguard.testing.check_journal`` holds every implementation to:

- :meth:`Journal.begin` answers :class:`Fresh` at most once for an attempt whose effect must not be repeated, in all
  processes together, and only after the intent is on disk.
- One key stands for one call: another fingerprint under the same key and attempt is refused.
- While a call that must not be repeated is in doubt, an equal call of the same thread and task is refused.
- A process that was declared dead, or whose thread was taken over, begins nothing any more.
- What :meth:`Journal.end` wrote is what every later ``begin`` of the attempt answers.
- A delivery or a resolution that returned reaches whoever holds the thread, now or at its next entry.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from asyncguard.core.calls import CallState
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Result
from asyncguard.journal.intent import Intent


class AttemptState(StrEnum):
    """Where an attempt stands in the journal."""

    INTENT = "intent"
    """Written down; the effect may have begun."""
    ENDED = "ended"
    """Its outcome is written down, too: a result or a failure."""
    ASKED = "asked"
    """Its tool asked a person; it is run anew with the answer."""
    STARTED = "started"
    """Work outside was started; its result comes by a delivery."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fresh:
    """The intent is on disk and nobody else has the attempt: begin it now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """The attempt ended before, or its work outside was started; this is what came of it."""

    result: Result
    """Never an escape: a question to a person is asked anew."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """A process that is gone had begun the attempt, it must not be repeated, and nothing is known of its end."""

    process_id: str
    """The process."""
    other: bool = False
    """Whether it was begun with another tool or other arguments, so that nobody can be asked with these."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Running:
    """Another process that is alive has begun the attempt: ask again later."""

    process_id: str
    """The process."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """The attempt must not begin, and nothing was written."""

    reason: str
    """A sentence for the model."""
    fenced: bool = False
    """Whether this process may begin nothing at all any more: it was declared dead, or its thread taken over."""


Verdict = Fresh | Known | Lost | Running | Refused


class SignalKind(StrEnum):
    """What a thread is told from outside."""

    DELIVERY = "delivery"
    """The result of an external call."""
    HAPPENED = "happened"
    """Somebody found that an effect in doubt happened; the content is its result, or ``None``."""
    NOT_HAPPENED = "not_happened"
    """Somebody found that an effect in doubt did not happen."""
    RETRY = "retry"
    """Somebody found that it did not happen, and wants it made again under the same key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Signal:
    """One thing that was told from outside, for one call."""

    kind: SignalKind
    """What."""
    key: str
    """Key of the call."""
    attempt: int
    """The attempt that it is about."""
    content: Any
    """Text, content blocks or ``None``."""
    by: str = ""
    """Who says so: a name, for the log."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One attempt as the journal knows it."""

    number: int
    """From 1."""
    tool: str
    """Its tool."""
    fingerprint: str
    """Hash of tool and canonical arguments."""
    state: AttemptState
    """Where it stands."""
    process_id: str
    """The process that began it."""
    begun_at: float
    """Unix time in seconds; for people, nothing is decided by it."""
    ended_at: float | None
    """The same."""
    deadline: float | None
    """The same: when it was to be given up."""
    result: Result | None
    """How it ended, ``None`` while that is not known."""
    arguments: Mapping[str, Any] | None = None
    """With which arguments, where :meth:`Journal.enter` tells of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One call as the journal knows it: what ``asyncguard ledger show`` prints."""

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
    """How people and models name it."""
    tool: str
    """Tool of the first attempt."""
    effect: EffectClass
    """Of the latest attempt's tool."""
    state: CallState
    """``PENDING`` until its thread settles it."""
    error: str
    """Class of the failure, empty without one."""
    arguments: Mapping[str, Any]
    """Of the latest attempt."""
    created_at: float
    """Unix time in seconds."""
    updated_at: float
    """The same."""
    attempts: tuple[Attempt, ...]
    """In order."""
    signals: tuple[Signal, ...]
    """What was told from outside about it, in order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseGrant:
    """A thread as this process has taken it."""

    attempts: Mapping[str, Attempt]
    """The latest attempt of those calls that have one."""
    fencing_token: int
    """Rises with each process that takes the thread, so that what an earlier one stores late is known by it."""
    previous_token: int
    """The number before; the same if this process had the thread last, 0 if nobody had."""
    stolen: bool
    """Whether the process that had the thread lives and never gave it free: it was stopped, and may go on."""
    final_checkpoint: str
    """What :meth:`Journal.leave` was told of a last step, if that was just now and its process lives; else empty."""


class Journal(Protocol):
    """Where intents and outcomes are kept. Methods are safe to use from any thread and any event loop."""

    @property
    def id(self) -> str:
        """Identity of the database, minted when it was made; a thread that was begun under another one knows better."""
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
    ) -> LeaseGrant:
        """Take a thread for this process, and its mail.

        ``receive`` gets all mail of the thread that there is before this returns, and what comes later from whatever
        thread learns of it, until :meth:`leave`.

        Args:
            session: Id of the thread in its state.
            thread: The caller's thread id, empty if there is none; for people.
            keys: Calls to look up.
            receive: Takes mail; quick, and never raises.
            known: The number that the thread's state tells; the journal may have forgotten it, and goes beyond it.

        Returns:
            How the thread was taken, and the latest attempts of the calls.

        Raises:
            ThreadBusyError: Another process that is alive is at work on the thread, or on another one that has the
                caller's id: it was begun at the same time, or its beginning was never stored.
            JournalError: The database cannot be read or written.
        """
        ...

    async def unfinished(self, session: str) -> Collection[str]:
        """Keys of the thread's calls that were begun and never settled, or resolved and not settled since.

        They run, or were settled by a process that ended before that was written; the same of calls that succeeded and
        whose outcome was never written.
        """
        ...

    def release(self, session: str, *, ending: str = "") -> None:
        """Give the thread free; written soon, and not waited for.

        Args:
            session: The thread.
            ending: The checkpoint behind which the last step of the run is stored now, empty if there is none.
        """
        ...

    def keep_alive(self, session: str) -> None:
        """A run of the thread waits inside, maybe for long: keep the thread for this process meanwhile."""
        ...

    def stop_keep_alive(self, session: str) -> None:
        """The run that :meth:`hold` was told of goes on, or ended."""
        ...

    async def holds(self, session: str) -> bool:
        """Whether calls of a thread are this process's to begin: it took the thread last, and was not declared dead.

        Asked before a call is handed to a worker, whose own question cannot tell: a worker begins calls of threads
        that it does not hold.

        Raises:
            JournalError: The database cannot be read.
        """
        ...

    async def begin(self, intent: Intent) -> Verdict:
        """Ask whether an attempt may begin; the intent is on disk when the answer is :class:`Fresh`.

        If the asker is cancelled, an attempt that might have begun is concluded as one that has not.

        Raises:
            JournalError: The database cannot be written; nothing may begin.
        """
        ...

    async def end(self, key: str, attempt: int, result: Result) -> None:
        """Write down how an attempt ended; on disk when this returns.

        Raises:
            JournalError: The database cannot be written; the attempt stays an intent.
        """
        ...

    def end_soon(self, key: str, attempt: int, result: Result) -> None:
        """Write down how an attempt ended, not waited for: before whatever is asked of the journal later.

        A journal that cannot be written loses nothing of a process that lives: it says so in the log, and tries again.
        """
        ...

    async def flush(self) -> None:
        """Wait until the outcomes that were told, and that threads were left, is on disk or could not be written."""
        ...

    def conclude(self, key: str, attempt: int, result: Result) -> None:
        """Write down how an attempt of this process ended, soon and not waited for: its task was cancelled.

        An attempt that this process has not begun, or not any more, stays as it is.
        """
        ...

    def record_final_state(
        self, key: str, state: CallState, error: str = "", *, stored: bool = False
    ) -> None:
        """Note what the thread made of a call (done, failed, in doubt, resolved); written soon, and not waited for.

        Args:
            key: The call.
            state: What it came to.
            error: Why it failed, or is in doubt.
            stored: Whether the thread's checkpoints have it so. Then an attempt of a process that is gone, whose
                outcome was never written, has ended for good; before, its result would be lost with the next process.
        """
        ...

    def deliver(self, token: str, content: Any) -> None:
        """Deliver the result of an external call; on disk when this returns. Blocks: not for event loops.

        Args:
            token: The token that the tool received.
            content: Text, content blocks, or any JSON value.

        Raises:
            UnknownTokenError: The token was never issued here, or was used before.
            CallerError: The content is no JSON; nothing was delivered.
            JournalError: The database cannot be written.
        """
        ...

    def resolve(self, key: str, kind: SignalKind, content: Any = None, *, by: str = "") -> Entry:
        """Tell what became of a call in doubt; on disk when this returns. Blocks: not for event loops.

        Args:
            key: Key of the call, or a beginning of it that fits one call only.
            kind: ``HAPPENED``, ``NOT_HAPPENED`` or ``RETRY``.
            content: Its result, for ``HAPPENED``.
            by: Who says so.

        Raises:
            CallerError: There is no such call, or it is not in doubt: ended, resolved before, or running in a process
                that is alive.
            JournalError: The database cannot be written.
        """
        ...

    def entries(
        self, *, states: Collection[CallState] = (), session: str = "", key: str = ""
    ) -> Sequence[Entry]:
        """Calls, oldest first; all filters have to fit. Blocks: not for event loops.

        A pending call whose process is gone is listed as in doubt, if its effect must not be repeated.

        Args:
            states: Only calls in one of these, empty for all.
            session: Only calls of this thread, by either of its ids.
            key: Only calls whose key begins with this.
        """
        ...

    def gone(self, process_ids: Collection[str]) -> Collection[str]:
        """Which of these processes are gone, those the journal never heard of among them. Blocks: not for event loops.

        They are taken for dead from now on: one that was only stopped begins nothing any more.

        Args:
            process_ids: Identities of processes, as :attr:`process_id` gives them.

        Raises:
            JournalError: The database cannot be read or written.
        """
        ...

    def prune(self, older_than: float) -> int:
        """Remove ended calls, their mail and tokens that have not changed for some seconds; how many calls."""
        ...

    def close(self) -> None:
        """Write what waits to be written, give all threads free, and end; for this process nothing begins any more."""
        ...
