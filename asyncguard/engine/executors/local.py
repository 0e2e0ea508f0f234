"""The embedded executor: asyncio tasks on the loop of the run that issued them."""

import asyncio
import threading
from collections.abc import Callable, Collection, Mapping

from asyncguard.core.hazards import Symptom
from asyncguard.engine.clock import Clock
from asyncguard.engine.executors.journaled import begin_in
from asyncguard.engine.executors.port import Completion, Failure, Health, Job, Result
from asyncguard.engine.journal.port import Journal

_NOT_BEGUN = "The call was cancelled before it began."
_CANCELLED = "The call was cancelled while it ran."
_CLOSED = "The executor was closed; nothing begins any more."


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
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._begun: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        """Begin a job on the running loop."""
        box: list[Result] = []
        loop = asyncio.get_running_loop()
        if self._closed:
            closed = Failure(symptom=_symptom("cancelled", _CLOSED, started=False))
            loop.call_soon(done, Completion(key=job.key, attempt=job.attempt, result=closed))
            return
        task = loop.create_task(self._run(job, box), name=f"call {job.key}")
        self._tasks[job.key] = task

        def ended(_: asyncio.Task[None]) -> None:
            # Told here and not in the task: one that is cancelled before its first step never enters its own code.
            if self._tasks.get(job.key) is task:
                del self._tasks[job.key]
            begun = task in self._begun
            self._begun.discard(task)
            text = _CANCELLED if begun else _NOT_BEGUN
            result = box[0] if box else Failure(symptom=_symptom("cancelled", text, started=begun))
            done(Completion(key=job.key, attempt=job.attempt, result=result))

        task.add_done_callback(ended)

    def cancel(self, key: str) -> bool:
        """Cancel the job's task; an effect that had begun is in doubt."""
        task = self._tasks.get(key)
        return task.cancel() if task is not None else False

    def pending(self) -> Collection[str]:
        """Keys of the running jobs."""
        return tuple(self._tasks)

    def poll(self) -> None:
        """Nothing to do: each task reports its own end."""

    async def recover(self, keys: Collection[str]) -> Mapping[str, int]:
        """None: a task ends with its process, and what came of it is the journal's to tell."""
        return {}

    def health(self) -> Health:
        """Alive until it is closed."""
        return Health(alive=not self._closed, pending=len(self._tasks), detail=_CLOSED if self._closed else "")

    def close(self) -> None:
        """Cancel what has not begun, and begin nothing any more; from any thread."""
        self._closed = True
        for task in [task for task in self._tasks.values() if task not in self._begun]:
            loop = task.get_loop()
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._cancel_unbegun, task)

    def _cancel_unbegun(self, task: asyncio.Task[None]) -> None:
        if task not in self._begun:
            task.cancel()

    def _enter(self, job: Job) -> Failure | None:
        """Ask the gate. From here on the tool runs: nothing is awaited between the two."""
        refused = job.gate()
        task = asyncio.current_task()
        if refused is None and task is not None:
            self._begun.add(task)
        return refused

    async def _run(self, job: Job, box: list[Result]) -> None:
        if job.delay > 0:
            await self._clock.sleep(job.delay)
        journal = self.journal if job.intent is not None else None
        # The journal first: the gate may refuse only what has not begun, and that is known there alone.
        if journal is not None and (answer := await begin_in(journal, job, self._clock)) is not None:
            box.append(answer)
            return
        try:
            result = self._enter(job) or await self._timed(job)
        except asyncio.CancelledError:
            box.append(Failure(symptom=_symptom("cancelled", _CANCELLED)))
            if journal is not None:
                journal.conclude(job.key, job.attempt, box[0])
            raise
        except BaseException as error:  # noqa: BLE001 - a tool that ends its interpreter had begun like any that fails
            interrupted = error if isinstance(error, KeyboardInterrupt) else None
            result = Failure(symptom=_symptom(type(error).__name__, f"{type(error).__name__}: {error}"))
        else:
            interrupted = None
        box.append(result)
        if journal is not None:
            journal.end_soon(job.key, job.attempt, result)
        if interrupted is not None and threading.current_thread() is threading.main_thread():
            raise interrupted  # a person pressed Ctrl-C

    async def _timed(self, job: Job) -> Result:
        if job.timeout is None:
            return await job.run()
        try:
            async with asyncio.timeout(job.timeout):
                return await job.run()
        except TimeoutError:
            return Failure(symptom=_symptom("timeout", f"No answer within {job.timeout:g} s."))


def _symptom(error: str, message: str, *, started: bool = True) -> Symptom:
    return Symptom(error=error, message=message, started=started)
