"""The embedded executor reports a job once, and the own end of a job that it has given up as a late one."""

import asyncio

from asyncguard.core.results import Result, Success
from asyncguard.runtime.clock import LoopClock
from asyncguard.runtime.executors.local import LocalExecutor
from asyncguard.runtime.executors.port import Completion, Job
from asyncguard.testing import run_virtual


def test_only_the_end_of_a_job_that_was_given_up_is_late() -> None:
    """A job in time is never reported late; one over its time is reported then, and late once."""
    done: list[tuple[str, bool]] = []
    late: list[Completion] = []

    async def main() -> None:
        executor = LocalExecutor(LoopClock())
        for key, seconds in (("quick", 1.0), ("slow", 9.0)):

            async def run(seconds: float = seconds) -> Result:
                await asyncio.sleep(seconds)
                return Success(content=seconds)

            job = Job(
                key=key,
                attempt=1,
                call_id=key,
                tool="tool",
                task="task",
                arguments={},
                run=run,
                timeout=5.0,
                stoppable=False,
                late=late.append,
            )
            executor.start(
                job, lambda each: done.append((each.key, isinstance(each.result, Success)))
            )
        await asyncio.sleep(20.0)

    run_virtual(main())
    assert done == [("quick", True), ("slow", False)]
    assert [(each.key, each.result) for each in late] == [("slow", Success(content=9.0))]
