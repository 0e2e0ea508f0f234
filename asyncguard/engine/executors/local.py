"""The embedded executor: asyncio tasks on the loop of the run that issued them."""

import asyncio
from collections.abc import Callable, Collection

from asyncguard.core.hazards import Symptom
from asyncguard.engine.clock import Clock
from asyncguard.engine.executors.journaled import begin_in, note_end
from asyncguard.engine.executors.port import Completion, Failure, Job, Result
from asyncguard.engine.journal.port import Journal

_NOT_BEGUN = "The call was cancelled before it began."


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

    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        """Begin a job on the running loop."""
        box: list[Result] = []
        task = asyncio.get_running_loop().create_task(self._run(job, box), name=f"call {job.key}")
        self._tasks[job.key] = task

        def ended(_: asyncio.Task[None]) -> None:
            # Told here and not in the task: one that is cancelled before its first step never enters its own code.
            if self._tasks.get(job.key) is task:
                del self._tasks[job.key]
            result = box[0] if box else Failure(symptom=_symptom("cancelled", _NOT_BEGUN, started=False))
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

    async def _run(self, job: Job, box: list[Result]) -> None:
        if job.delay > 0:
            await self._clock.sleep(job.delay)
        journal = self.journal if job.intent is not None else None
        # The journal first: the gate may refuse only what has not begun, and that is known there alone.
        if journal is not None and (answer := await begin_in(journal, job, self._clock)) is not None:
            box.append(answer)
            return
        try:
            result = job.gate() or await self._timed(job)
        except asyncio.CancelledError:
            box.append(Failure(symptom=_symptom("cancelled", "The call was cancelled while it ran.")))
            if journal is not None:
                journal.conclude(job.key, job.attempt, box[0])
            raise
        except Exception as error:  # noqa: BLE001 - a job that breaks its promise not to raise is a failure like any
            result = Failure(symptom=_symptom(type(error).__name__, f"{type(error).__name__}: {error}"))
        box.append(result)
        if journal is not None:
            await note_end(journal, job, result)

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
