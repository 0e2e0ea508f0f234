"""The executor port: a job in, a completion out, through a callback.

A completion callback and one queue cost the same per call with ten thousand pending calls as with
ten; waiting on all tasks at once does not.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from asyncguard.core.results import Failure, Result
from asyncguard.journal.intent import Intent
from asyncguard.runtime.clock import Clock, Pause


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """The end of one attempt."""

    key: str
    """Key of the call."""
    attempt: int
    """Number of the attempt that ended."""
    result: Result
    """Result of the attempt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One attempt of one call."""

    key: str
    """Key of the call."""
    attempt: int
    """Number of the attempt, from 1."""
    tool: str
    """Tool of this attempt."""
    task: str
    """Task of the call."""
    call_id: str
    """The provider's id of the call."""
    arguments: Any
    """Arguments as issued, without injected ones."""
    run: Callable[[], Awaitable[Result]]
    """Function that runs the tool; it raises nothing but cancellation."""
    delay: float = 0.0
    """Seconds to wait before it starts: the back-off of a retry."""
    pause: Pause | None = None
    """Sleeps the delay, and can end it early if the user has spoken; an executor may ignore it."""
    timeout: float | None = None
    """Seconds until it is given up: its completion comes then, even if the tool has not ended."""
    stoppable: bool = True
    """True if the tool is cancelled when its time is over. A tool whose effect must not be repeated
    continues instead: only its own end says what became of the effect."""
    late: Callable[[Completion], None] = lambda _: None
    """Callback for the own end of a given-up attempt; called at most once, after ``done``."""
    gate: Callable[[], Failure | None] = lambda: None
    """Last check, in the executor's process, after the delay; a failure ends the job unstarted."""
    intent: Intent | None = None
    """Entry for the journal, which decides if the job may begin; ``None`` for a repeatable job."""
    unapproved: bool = False
    """True if no person has approved the call, as the tool is declared to need no approval."""

    async def wait(self, clock: Clock) -> None:
        """Wait for the delay."""
        if self.delay > 0:
            await (self.pause or Pause()).sleep(clock, self.delay)


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """Health of an executor, for operators and process monitors."""

    alive: bool
    """True if a job that is started now would begin."""
    pending: int
    """Number of jobs that were started and have not completed."""
    detail: str = ""
    """Problem and remedy, empty if all is well; contains no argument and no result."""


class Executor(Protocol):
    """Runs jobs. Implementations are held to ``asyncguard.testing.check_executor``."""

    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        """Begin a job; call ``done`` once for it, from any OS thread, unless the process dies."""
        ...

    def cancel(self, key: str) -> bool:
        """Request that a running job stops, and return True if there was one.

        The completion says if the job was stopped.
        """
        ...

    def pending(self) -> Collection[str]:
        """Return the keys of the jobs that were started and have not completed."""
        ...

    def poll(self) -> None:
        """Report completions that are not pushed; the engine calls it before it collects."""
        ...

    def health(self) -> Health:
        """Return the health of the executor, as far as it is known without waiting."""
        ...

    def close(self) -> None:
        """Stop beginning jobs; return at once. May be called again.

        Jobs that have not begun complete as cancelled, ``started=False``, and so does every job
        that is started later. Jobs that run in this process continue and complete. Jobs that run
        elsewhere continue.
        """
        ...


@runtime_checkable
class RemoteExecutor(Protocol):
    """Executor that runs jobs elsewhere."""

    @property
    def local(self) -> Collection[str]:
        """Names of the tools that run in this process."""
        ...


@runtime_checkable
class KeepingExecutor(Protocol):
    """Executor that keeps jobs which have not begun, and may begin them without their process."""

    async def take_back(self, keys: Collection[str]) -> Mapping[str, int]:
        """Keep the jobs of some calls from beginning, but those that are about to begin.

        Args:
            keys: Keys of calls, none of them pending here.

        Returns:
            The latest attempt, by key, of the calls that are about to begin, or have begun.

        Raises:
            JournalError: It cannot be known.
        """
        ...
