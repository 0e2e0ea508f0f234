"""The embedded executor: asyncio tasks on the loop of the run that issued them."""

import asyncio
from collections.abc import Callable, Collection

from asyncguard.core.hazards import Symptom
from asyncguard.engine.clock import Clock
from asyncguard.engine.executors.port import Completion, Failure, Job, Result


class LocalExecutor:
    """Runs each job as an asyncio task; back-off and timeout are kept here, so that no graph node ever sleeps."""

    def __init__(self, clock: Clock) -> None:
        """Make an executor.

        Args:
            clock: Times the back-offs.
        """
        self._clock = clock
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        """Begin a job on the running loop."""
        self._tasks[job.key] = asyncio.get_running_loop().create_task(self._run(job, done), name=f"call {job.key}")

    def cancel(self, key: str) -> bool:
        """Cancel the job's task; an effect that had begun is in doubt."""
        task = self._tasks.get(key)
        return task.cancel() if task is not None else False

    def pending(self) -> Collection[str]:
        """Keys of the running jobs."""
        return tuple(self._tasks)

    def poll(self) -> None:
        """Nothing to do: each task reports its own end."""

    async def _run(self, job: Job, done: Callable[[Completion], None]) -> None:
        result: Result = Failure(
            symptom=_symptom("cancelled", "The call was cancelled before it began.", started=False)
        )
        begun = False
        try:
            if job.delay > 0:
                await self._clock.sleep(job.delay)
            begun = True
            result = await self._timed(job)
        except asyncio.CancelledError:
            if begun:
                result = Failure(symptom=_symptom("cancelled", "The call was cancelled while it ran."))
            raise
        finally:
            self._tasks.pop(job.key, None)
            done(Completion(key=job.key, attempt=job.attempt, result=result))

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
