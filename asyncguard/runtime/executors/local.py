"""The embedded executor: asyncio tasks on the loop of the run that issued them.

Python can request that a task stops and cannot enforce it; an OS thread does not even see the
request. So an attempt is *given up*: its completion is reported when its time is over, and its own
end is reported later through :attr:`Job.late`. A tool that ignores its cancellation cannot block a
run.

Each job is reported through ``done`` exactly once: by its own end (:meth:`LocalExecutor._run`, or
:meth:`LocalExecutor._ended` if its code did not end itself) or when it is given up
(:meth:`LocalExecutor._give_up`), whichever comes first.
"""

import asyncio
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial

from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.results import CANCELLED_BEFORE_START, Failure, Result
from asyncguard.journal.port import Fresh, Journal
from asyncguard.runtime.clock import Clock
from asyncguard.runtime.executors.journal_gate import begin_in, told_of
from asyncguard.runtime.executors.port import Completion, Health, Job

_CANCELLED = "The call was cancelled while it ran."
_CLOSED = "The executor was closed; nothing begins any more."
_TO_STOP = 1.0
"""Seconds that a cancelled tool may take to end before it is given up."""


@dataclass(kw_only=True, eq=False)
class _Running:
    """One job under way."""

    job: Job
    done: Callable[[Completion], None]
    begun: bool = False
    """True if the tool was entered."""
    reported: bool = False
    """True if the completion was reported; it never is a second time."""
    result: Result | None = None
    """Own end of the tool; ``None`` while it runs, and if it was cancelled."""
    timer: asyncio.TimerHandle | None = None
    """Timer that gives the attempt up at its deadline."""
    task: asyncio.Task[None] | None = None

    def completion(self, result: Result) -> Completion:
        return Completion(key=self.job.key, attempt=self.job.attempt, result=result)


class LocalExecutor:
    """Executor that runs each job as an asyncio task, its back-off included."""

    def __init__(self, clock: Clock, journal: Journal | None = None) -> None:
        """Make an executor.

        Args:
            clock: Times the back-offs.
            journal: Asked before a job with an intent begins; without one, all jobs begin.
        """
        self._clock = clock
        self.journal = journal
        # The latest job of each call that was not reported; by key, as only one attempt runs.
        self._running: dict[str, _Running] = {}
        # Reported jobs whose tools still run; the loop itself holds tasks weakly.
        self._given_up: set[_Running] = set()
        # Set from any OS thread; a job that is started after it is refused.
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
        # Reported by a callback, too: a task that is cancelled before its first step never enters
        # its own code.
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
        """Return the keys of the running jobs."""
        return tuple(self._running)

    def poll(self) -> None:
        """Do nothing: each task reports its own end."""

    def health(self) -> Health:
        """Return the health: alive until closed."""
        return Health(
            alive=not self._closed,
            pending=len(self._running),
            detail=_CLOSED if self._closed else "",
        )

    def close(self) -> None:
        """Cancel the jobs that have not begun, and begin no others; called from any OS thread."""
        self._closed = True
        for run in list(self._running.values()):
            loop = None if run.begun or run.task is None else run.task.get_loop()
            if loop is not None and not loop.is_closed():
                loop.call_soon_threadsafe(self._cancel_unbegun, run)

    def _cancel_unbegun(self, run: _Running) -> None:
        # Checked again on the loop: the tool may have been entered since.
        if not run.begun and run.task is not None:
            run.task.cancel()

    # -- one job -----------------------------------------------------------------------------------

    async def _run(self, run: _Running) -> None:
        job = run.job
        await job.wait(self._clock)
        journal = self._journal_of(job)
        # The journal before the gate: the gate may refuse only what has not begun, and only the
        # journal knows that.
        permission = Fresh() if journal is None else await begin_in(journal, job, self._clock)
        if not isinstance(permission, Fresh):
            run.result = permission
            return
        interrupted = None
        try:
            run.result = self._enter(run) or await job.run()
        except asyncio.CancelledError:
            if journal is not None and not run.reported:
                journal.conclude(job.key, job.attempt, told_of(permission, _cancelled(run)))
            raise
        except BaseException as error:  # noqa: BLE001 - a SystemExit of a tool is a failure of it
            interrupted = error if isinstance(error, KeyboardInterrupt) else None
            run.result = Failure(
                symptom=_symptom(type(error).__name__, f"{type(error).__name__}: {error}")
            )
        run.result = told_of(permission, run.result)
        if journal is not None and not run.reported:
            journal.end_soon(job.key, job.attempt, run.result)
        if interrupted is not None and threading.current_thread() is threading.main_thread():
            raise interrupted  # a person pressed Ctrl-C
        if not run.reported:  # here, as the callback comes one turn of the loop later
            self._report(run, run.result)

    def _enter(self, run: _Running) -> Failure | None:
        """Ask the gate, and mark the job as begun if it may begin.

        The caller must not await between this and the tool: the gate's answer holds only now.
        """
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
        """Report a job whose tool has not ended; the tool's own end is reported later."""
        if run.reported or run.result is not None or run.task is None or run.task.done():
            return  # its own end came just before, and counts
        if run.job.stoppable:
            run.task.cancel()
        self._given_up.add(run)
        journal = self._journal_of(run.job)
        if journal is not None:
            journal.end_soon(run.job.key, run.job.attempt, failure)
        self._report(run, failure)

    def _ended(self, run: _Running, _: asyncio.Task[None]) -> None:
        if run.timer is not None:
            run.timer.cancel()
        if not run.reported:
            self._report(run, _cancelled(run) if run.result is None else run.result)
        elif run in self._given_up:
            self._given_up.discard(run)
            if run.result is not None:
                run.job.late(run.completion(run.result))

    def _report(self, run: _Running, result: Result) -> None:
        run.reported = True
        if self._running.get(run.job.key) is run:
            del self._running[run.job.key]
        run.done(run.completion(result))

    def _journal_of(self, job: Job) -> Journal | None:
        return self.journal if job.intent is not None else None


def _cancelled(run: _Running) -> Failure:
    """Return the failure of a cancelled task; an OS thread that it started may still run."""
    text = _CANCELLED if run.begun else CANCELLED_BEFORE_START
    return Failure(
        symptom=_symptom(ErrorCode.CANCELLED, text, started=run.begun, running=run.begun)
    )


def _symptom(error: str, message: str, *, started: bool = True, running: bool = False) -> Symptom:
    return Symptom(error=error, message=message, started=started, running=running)
