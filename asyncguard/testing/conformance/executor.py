"""The contract of an executor."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace

from asyncguard.core.faults import ErrorCode
from asyncguard.core.results import Failure, Result, Success
from asyncguard.runtime.executors.port import Completion, Executor, Job

_PATIENCE = 30.0
_STEP = 0.02
_LONG = 1000.0
Run = Callable[[], Awaitable[Result]]


async def check_executor(make: Callable[[], Executor], *, latency: float = 0.0) -> None:
    """Check an executor on the running loop; with virtual time at once, else within seconds.

    Args:
        make: Function that makes an executor; called once for each rule. It is closed at the end of
            the rule.
        latency: Seconds that the executor may take to begin a job, where it hands jobs on to other
            processes.

    Raises:
        AssertionError: It breaks a rule; the text says which.
    """
    for rule in _RULES:
        bench = _Bench(make(), latency)
        try:
            async with asyncio.timeout(_PATIENCE):
                await rule(bench)
        except TimeoutError as error:
            running = ", ".join(sorted(bench.executor.pending())[:5]) or "none"
            raise AssertionError(
                f"{len(bench.completions)} jobs completed and then nothing for {_PATIENCE:g} s "
                f"({rule.__name__.strip('_')}); every job completes. Pending: {running}."
            ) from error
        finally:
            bench.executor.close()


class _Bench:
    """An executor and its completions, which may come from any OS thread."""

    def __init__(self, executor: Executor, latency: float) -> None:
        self.executor = executor
        self.latency = latency
        self.completions: list[Completion] = []
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    def start(
        self,
        key: str,
        run: Run,
        *,
        attempt: int = 1,
        delay: float = 0.0,
        timeout: float | None = None,
    ) -> None:
        job = replace(_JOB, key=key, attempt=attempt, run=run, delay=delay, timeout=timeout)
        self.executor.start(job, self.done)

    def done(self, completion: Completion) -> None:
        self.completions.append(completion)
        self._loop.call_soon_threadsafe(self._changed.set)

    async def completed(self, count: int) -> None:
        while len(self.completions) < count:
            self.executor.poll()
            self._changed.clear()
            if len(self.completions) < count:
                # In steps: an executor without callbacks of its own completes in poll().
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), _STEP)
        await asyncio.sleep(_STEP)  # a completion too many would come now
        self.executor.poll()
        found = Counter((item.key, item.attempt) for item in self.completions)
        twice = [key for key, times in found.items() if times > 1]
        assert not twice, (
            f"{twice[0]} was completed {found[twice[0]]} times; each attempt completes once"
        )
        assert len(self.completions) == count, (
            f"{len(self.completions)} completions for {count} jobs"
        )

    def only(self) -> Result:
        return self.completions[0].result


async def _quick() -> Result:
    return Success(content="done")


_JOB = Job(key="k", attempt=1, call_id="c", tool="tool", task="task", arguments={}, run=_quick)


async def _endless() -> Result:
    await asyncio.sleep(_LONG)
    return Success(content="too late")


async def _hands_results_on(bench: _Bench) -> None:
    bench.start("k", _quick, attempt=3)
    await bench.completed(1)
    expected = Completion(key="k", attempt=3, result=Success(content="done"))
    assert bench.completions == [expected], f"expected {expected}, got {bench.completions[0]}"
    assert not bench.executor.pending(), "pending() names a job that has completed"


async def _runs_many_at_once(bench: _Bench) -> None:
    gate = asyncio.Event()

    async def run() -> Result:
        await gate.wait()
        return Success(content="done")

    keys = {f"job {number}" for number in range(1000)}
    for key in keys:
        bench.start(key, run)
    assert set(bench.executor.pending()) == keys, "pending() has to name every job that was started"
    gate.set()  # no job can end before all of them run
    await bench.completed(1000)
    assert {item.key for item in bench.completions} == keys, (
        "a job was completed under another's key"
    )
    assert not bench.executor.pending(), "pending() names jobs that have completed"


async def _keeps_the_delay(bench: _Bench) -> None:
    loop = asyncio.get_running_loop()
    began: dict[str, float] = {}

    def run(key: str) -> Run:
        async def note() -> Result:
            began[key] = loop.time()
            return Success(content="done")

        return note

    start = loop.time()
    delay = _STEP * 3 + bench.latency
    bench.start("later", run("later"), delay=delay)
    bench.start("now", run("now"))
    await bench.completed(2)
    # Timers of a real loop may fire up to their resolution early.
    assert began["later"] - start >= delay * 0.9, "a job began before its delay was over"
    assert began["now"] - start < delay * 0.9, "the delay of one job held up another"


async def _ends_at_the_timeout(bench: _Bench) -> None:
    start = asyncio.get_running_loop().time()
    bench.start("k", _endless, delay=_STEP * 2, timeout=_STEP)
    await bench.completed(1)
    result = bench.only()
    assert isinstance(result, Failure), f"a job that runs out of time ended with {result}"
    assert result.symptom.error == ErrorCode.TIMEOUT, (
        f"a timeout was reported as {result.symptom.error!r}"
    )
    assert result.symptom.started, (
        "a timeout leaves open whether the effect began, so started has to be True"
    )
    took = asyncio.get_running_loop().time() - start
    assert took >= _STEP * 2.7, "the delay was counted against the timeout"


async def _lets_a_quick_job_pass_its_timeout(bench: _Bench) -> None:
    bench.start("k", _quick, timeout=_LONG)
    await bench.completed(1)
    assert bench.only() == Success(content="done"), (
        "a job within its time has to hand its result on"
    )


async def _cancels_what_runs(bench: _Bench) -> None:
    begun = asyncio.Event()

    async def run() -> Result:
        begun.set()
        return await _endless()

    bench.start("k", run)
    bench.start("other", _quick)
    await begun.wait()
    assert bench.executor.cancel("k"), "cancel() has to be True for a running job"
    await bench.completed(2)
    results = {item.key: item.result for item in bench.completions}
    result = results["k"]
    assert isinstance(result, Failure), f"a cancelled job ended with {result}"
    assert result.symptom.started, (
        "a job that was cancelled while it ran may have had its effect (started)"
    )
    assert results["other"] == Success(content="done"), "cancelling one job disturbed another"


async def _cancels_what_waits(bench: _Bench) -> None:
    ran: list[str] = []

    async def run() -> Result:
        ran.append("k")
        return Success(content="done")

    bench.start("k", run, delay=_LONG)
    await asyncio.sleep(_STEP)
    assert bench.executor.cancel("k"), "cancel() has to be True for a job that waits for its delay"
    await bench.completed(1)
    result = bench.only()
    assert isinstance(result, Failure), f"a cancelled job ended with {result}"
    assert not result.symptom.started, "a job that was cancelled during its delay has not begun"
    assert not ran, "a job ran after it was cancelled"


async def _completes_what_is_cancelled_at_once(bench: _Bench) -> None:
    bench.start("k", _quick)
    # Before the loop has run once: an asyncio task that is cancelled now never enters its code.
    bench.executor.cancel("k")
    await bench.completed(1)
    assert not bench.executor.pending(), "pending() names a job that was cancelled at once"


async def _knows_nothing_of_other_jobs(bench: _Bench) -> None:
    assert not bench.executor.cancel("unknown"), "cancel() has to be False for an unknown job"
    bench.start("k", _quick)
    await bench.completed(1)
    assert not bench.executor.cancel("k"), "cancel() has to be False for a job that has completed"
    await bench.completed(1)  # and cancel() has added none


async def _reports_what_raises(bench: _Bench) -> None:
    async def run() -> Result:
        raise RuntimeError("broken")

    bench.start("k", run)
    await bench.completed(1)
    result = bench.only()
    assert isinstance(result, Failure), f"a job that raised ended with {result}"
    assert result.symptom.started, "a job that raised may have had its effect (started)"


async def _may_be_started_again_from_its_end(bench: _Bench) -> None:
    jobs = [replace(_JOB, attempt=number) for number in (1, 2)]
    loop = asyncio.get_running_loop()

    def again(completion: Completion) -> None:
        bench.done(completion)
        # done() may be called in any OS thread, and start() only on the loop.
        loop.call_soon_threadsafe(bench.executor.start, jobs[1], bench.done)

    bench.executor.start(jobs[0], again)
    await bench.completed(2)
    assert [item.attempt for item in bench.completions] == [1, 2], (
        "a second attempt of one call has to complete, too"
    )
    assert not bench.executor.pending(), "pending() names a job that has completed"


async def _tells_its_health(bench: _Bench) -> None:
    assert bench.executor.health().alive, "health() has to be alive before close()"
    bench.start("k", _quick, delay=_STEP)  # so that it cannot have ended below
    assert bench.executor.health().pending == 1, (
        "health() has to count the jobs that have not completed"
    )
    await bench.completed(1)
    assert bench.executor.health().pending == 0, "health() counts a job that has completed"


async def _begins_nothing_once_closed(bench: _Bench) -> None:
    ran: list[str] = []

    def run(key: str) -> Run:
        async def note() -> Result:
            ran.append(key)
            return Success(content="done")

        return note

    bench.start("waits", run("waits"), delay=_STEP * 3)
    await asyncio.sleep(0)  # so that it waits, and on a machine that stands still it has not begun
    bench.executor.close()
    bench.executor.close()  # a second time does nothing
    assert not bench.executor.health().alive, "health() has to say that the executor is closed"
    bench.start("late", run("late"))
    await bench.completed(2)
    await asyncio.sleep(_STEP * 4)  # a job that was forgotten in its delay would begin by now
    assert not ran, f"the job {ran[0]!r} began after close()"
    for completion in bench.completions:
        result = completion.result
        assert isinstance(result, Failure), (
            f"a job that close() kept from beginning ended with {result}"
        )
        assert not result.symptom.started, (
            "a job that close() kept from beginning has not begun (started)"
        )
    assert not bench.executor.pending(), "pending() names jobs of an executor that was closed"


_RULES: tuple[Callable[[_Bench], Awaitable[None]], ...] = (
    _hands_results_on,
    _runs_many_at_once,
    _keeps_the_delay,
    _ends_at_the_timeout,
    _lets_a_quick_job_pass_its_timeout,
    _cancels_what_runs,
    _cancels_what_waits,
    _completes_what_is_cancelled_at_once,
    _knows_nothing_of_other_jobs,
    _reports_what_raises,
    _may_be_started_again_from_its_end,
    _tells_its_health,
    _begins_nothing_once_closed,
)
