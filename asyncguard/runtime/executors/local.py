"""The embedded executor: asyncio tasks on the loop of the run that issued them.

Python can ask a task to stop and cannot make it, and a thread cannot even be asked. So an attempt is *given up*: its
completion is told when its time is over, and what it comes to afterwards is told as late. No tool can hold a run by
ignoring its cancellation.
"""

import asyncio
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial

from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.results import CANCELLED_BEFORE_START, Failure, Result
from asyncguard.journal.port import Journal
from asyncguard.runtime.clock import Clock
from asyncguard.runtime.executors.journal_gate import begin_in
from asyncguard.runtime.executors.port import Completion, Health, Job

_CANCELLED = "The call was cancelled while it ran."
_CLOSED = "The executor was closed; nothing begins any more."
_TO_STOP = 1.0
"""Seconds that a cancelled tool has to end before it is given up."""


@dataclass(kw_only=True, eq=False)
class _Running:
    """One job under way."""

    job: Job
    done: Callable[[Completion], None]
    begun: bool = False
    """Whether the tool was entered."""
    told: bool = False
    """Whether the completion was told."""
    result: Result | None = None
    """How the tool ended by itself; ``None`` while it runs, and if it was cancelled."""
    timer: asyncio.TimerHandle | None = None
    """Gives the attempt up when its time is over."""
    task: asyncio.Task[None] | None = None

    def completion(self, result: Result) -> Completion:
        return Completion(key=self.job.key, attempt=self.job.attempt, result=result)


class LocalExecutor:
    """Runs each job as an asyncio task; back-off and timeout are kept here, so that no graph node ever sleeps."""

    def __init__(self, clock: Clock, journal: Journal | None = None) -> None:
        """Make an executor.

        Args:
            clock: Times the back-offs.
            journal: Asked before a job with an intent begins; without one, jobs begin unasked.
        """
        self._clock = clock
        self.journal = journal
        self._running: dict[str, _Running] = {}
        self._given_up: set[_Running] = set()
        self._closed = False

    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        """Begin a job on the running loop."""
        run = _Running(job=job, done=done)
        loop = asyncio.get_running_loop()
        if self._closed:
            closed = Failure(symptom=_symptom(ErrorCode.CANCELLED, _CLOSED, started=False))
            loop.call_soon(done, run.completion(closed))
            return
        run.task = loop.create_task(self._run(run), name=f"call {job.key}")
        self._running[job.key] = run
        # Told here and not in the task: one that is cancelled before its first step never enters its own code.
        run.task.add_done_callback(partial(self._ended, run))

    def cancel(self, key: str) -> bool:
        """Cancel the job's task; an effect that had begun is in doubt."""
        run = self._running.get(key)
        if run is None or run.task is None:
            return False
        loop = run.task.get_loop()
        if run.begun and not loop.is_closed():
            cancelled = Failure(symptom=_symptom(ErrorCode.CANCELLED, _CANCELLED, running=True))
            loop.call_soon_threadsafe(loop.call_later, _TO_STOP, self._give_up, run, cancelled)
        return run.task.cancel()

    def pending(self) -> Collection[str]:
        """Keys of the running jobs."""
        return tuple(self._running)

    def poll(self) -> None:
        """Nothing to do: each task reports its own end."""

    async def recover(self, keys: Collection[str]) -> Mapping[str, int]:
        """None: a task ends with its process, and what came of it is the journal's to tell."""
        return {}

    def health(self) -> Health:
        """Alive until it is closed."""
        return Health(
            alive=not self._closed,
            pending=len(self._running),
            detail=_CLOSED if self._closed else "",
        )

    def close(self) -> None:
        """Cancel what has not begun, and begin nothing any more; from any thread."""
        self._closed = True
        for run in list(self._running.values()):
            loop = None if run.begun or run.task is None else run.task.get_loop()
            if loop is not None and not loop.is_closed():
                loop.call_soon_threadsafe(self._cancel_unbegun, run)

    def _cancel_unbegun(self, run: _Running) -> None:
        if not run.begun and run.task is not None:
            run.task.cancel()

    # -- one job ---------------------------------------------------------------------------------------------------

    async def _run(self, run: _Running) -> None:
        job = run.job
        if job.delay > 0:
            await self._clock.sleep(job.delay)
        journal = self._journal_of(job)
        # The journal first: the gate may refuse only what has not begun, and that is known there alone.
        if (
            journal is not None
            and (answer := await begin_in(journal, job, self._clock)) is not None
        ):
            run.result = answer
            return
        interrupted = None
        try:
            run.result = self._enter(run) or await job.run()
        except asyncio.CancelledError:
            if journal is not None and not run.told:
                journal.conclude(job.key, job.attempt, _cancelled(run))
            raise
        except BaseException as error:  # noqa: BLE001 - a tool that ends its interpreter had begun like any that fails
            interrupted = error if isinstance(error, KeyboardInterrupt) else None
            run.result = Failure(
                symptom=_symptom(type(error).__name__, f"{type(error).__name__}: {error}")
            )
        if journal is not None and not run.told:
            journal.end_soon(job.key, job.attempt, run.result)
        if interrupted is not None and threading.current_thread() is threading.main_thread():
            raise interrupted  # a person pressed Ctrl-C

    def _enter(self, run: _Running) -> Failure | None:
        """Ask the gate. From here on the tool runs: nothing is awaited between the two."""
        refused = run.job.gate()
        if refused is None:
            run.begun = True
            if (timeout := run.job.timeout) is not None:
                late = Failure(
                    symptom=_symptom(
                        ErrorCode.TIMEOUT, f"No answer within {timeout:g} s.", running=True
                    )
                )
                run.timer = asyncio.get_running_loop().call_later(timeout, self._give_up, run, late)
        return refused

    def _give_up(self, run: _Running, failure: Failure) -> None:
        """Complete a job whose tool has not ended; what the tool comes to is told when it ends."""
        if run.told or run.result is not None or run.task is None or run.task.done():
            return
        if run.job.stoppable:
            run.task.cancel()
        self._given_up.add(run)  # the loop itself holds tasks weakly
        journal = self._journal_of(run.job)
        if journal is not None:
            journal.end_soon(run.job.key, run.job.attempt, failure)
        self._tell(run, failure)

    def _ended(self, run: _Running, _: asyncio.Task[None]) -> None:
        if run.timer is not None:
            run.timer.cancel()
        self._given_up.discard(run)
        if not run.told:
            self._tell(run, _cancelled(run) if run.result is None else run.result)
        elif run.result is not None:
            run.job.late(run.completion(run.result))

    def _tell(self, run: _Running, result: Result) -> None:
        run.told = True
        if self._running.get(run.job.key) is run:
            del self._running[run.job.key]
        run.done(run.completion(result))

    def _journal_of(self, job: Job) -> Journal | None:
        return self.journal if job.intent is not None else None


def _cancelled(run: _Running) -> Failure:
    """A cancelled task: that it has ended says nothing about a thread that it had started."""
    text = _CANCELLED if run.begun else CANCELLED_BEFORE_START
    return Failure(
        symptom=_symptom(ErrorCode.CANCELLED, text, started=run.begun, running=run.begun)
    )


def _symptom(error: str, message: str, *, started: bool = True, running: bool = False) -> Symptom:
    return Symptom(error=error, message=message, started=started, running=running)
