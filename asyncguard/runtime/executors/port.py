"""The executor port: a job in, a completion out, through a callback.

A completion callback and one queue cost the same per call with ten thousand pending calls as with ten; waiting on all
of them at once does not.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from asyncguard.core.results import Failure, Result
from asyncguard.journal.intent import Intent


def _open_gate() -> Failure | None:
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """The end of one attempt."""

    key: str
    """Key of the call."""
    attempt: int
    """The attempt that ended."""
    result: Result
    """How."""


def _not_heard(_: Completion) -> None:
    """Take what an attempt comes to after it was given up, for jobs of which that does not matter."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One attempt of one call."""

    key: str
    """Key of the call."""
    attempt: int
    """From 1."""
    tool: str
    """Tool of this attempt."""
    task: str
    """Task of the call."""
    call_id: str
    """The provider's id of the call."""
    arguments: Any
    """Arguments as issued, without injected ones."""
    run: Callable[[], Awaitable[Result]]
    """Runs the tool; never raises but for cancellation."""
    delay: float = 0.0
    """Seconds to wait before it starts: the back-off of a retry."""
    timeout: float | None = None
    """Seconds before it is given up: its completion comes then, whether the tool has ended or not."""
    stoppable: bool = True
    """Whether the tool is cancelled when its time is over. One whose effect must not be repeated goes on instead: its
    own end is the only thing that tells what became of the effect."""
    late: Callable[[Completion], None] = _not_heard
    """Told, at most once, what the attempt came to by itself after its completion had said that it was given up."""
    gate: Callable[[], Failure | None] = _open_gate
    """Asked where the executor lives when the job is about to begin, after its delay: a failure ends it unstarted."""
    intent: Intent | None = None
    """What the journal is asked before the job begins; ``None`` for what may be repeated without asking anybody."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """How an executor is, for people and for whoever watches a process."""

    alive: bool
    """Whether a job that is started now would begin."""
    pending: int
    """Jobs that were started and have not completed."""
    detail: str = ""
    """What is wrong and what to do, empty if nothing is; names no argument and no result."""


class Executor(Protocol):
    """Runs jobs. Implementations are held to ``asyncguard.testing.check_executor``."""

    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        """Begin a job; ``done`` is called exactly once for it, from any thread, unless the process dies."""
        ...

    def cancel(self, key: str) -> bool:
        """Ask a running job to stop; whether there was one. Its completion says whether it did."""
        ...

    def pending(self) -> Collection[str]:
        """Keys of the jobs that were started and have not completed."""
        ...

    def poll(self) -> None:
        """Report completions that nobody pushes; called whenever the engine looks for completions."""
        ...

    async def recover(self, keys: Collection[str]) -> Mapping[str, int]:
        """Which of these calls are carried from before this process: their latest attempt, by key.

        Such an attempt waits, runs or has ended where the executor keeps it. Starting a job of that key and attempt
        again makes nothing run twice: it completes with what the carried one comes to.

        Args:
            keys: Keys of calls.
        """
        ...

    def health(self) -> Health:
        """How the executor is, as far as it knows without waiting for anything."""
        ...

    def close(self) -> None:
        """End: nothing begins any more. Returns at once, and may be called again.

        Jobs that have not begun complete as cancelled, ``started=False``, and so does every job that is started later.
        What runs in this process goes on and completes; what runs elsewhere goes on, and :meth:`recover` of a later
        process knows it.
        """
        ...


@runtime_checkable
class RemoteExecutor(Protocol):
    """What an executor has, beside the port, that runs jobs elsewhere."""

    @property
    def local(self) -> Collection[str]:
        """Names of the tools that run in this process."""
        ...
