"""The checks of the ports pass what ships and catch what is broken."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncguard.core.faults import Symptom
from asyncguard.core.results import Failure
from asyncguard.observability.log import console_logger, log_events
from asyncguard.observability.observer import Details
from asyncguard.observability.trace_file import TraceFile
from asyncguard.runtime.clock import LoopClock
from asyncguard.runtime.executors.local import LocalExecutor
from asyncguard.runtime.executors.port import Completion, Health, Job
from asyncguard.testing import run_virtual
from asyncguard.testing.conformance import check_clock, check_executor, check_observer


def local() -> LocalExecutor:
    """The executor that ships."""
    return LocalExecutor(LoopClock())


def test_the_local_executor_keeps_the_contract_in_virtual_time() -> None:
    """All rules of the executor hold in virtual time."""
    run_virtual(check_executor(local))


async def test_the_local_executor_keeps_the_contract_in_real_time() -> None:
    """All rules of the executor hold on a real loop."""
    await check_executor(local)


def test_the_loop_clock_keeps_the_contract_in_virtual_time() -> None:
    """All rules of the clock hold in virtual time."""
    run_virtual(check_clock(LoopClock))


async def test_the_loop_clock_keeps_the_contract_in_real_time() -> None:
    """All rules of the clock hold on a real loop."""
    await check_clock(LoopClock)


class Forgetful(LocalExecutor):
    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        super().start(job, (lambda _: None) if job.key == "job 7" else done)


class Twice(LocalExecutor):
    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        def both(completion: Completion) -> None:
            done(completion)
            done(completion)

        super().start(job, both)


class Hasty(LocalExecutor):
    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        job = replace(job, delay=0.0)
        super().start(job, done)


class Untimed(LocalExecutor):
    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        job = replace(job, timeout=None)
        super().start(job, done)


class Uncancelled(LocalExecutor):
    def cancel(self, key: str) -> bool:
        return key in self.pending()


class Boastful(LocalExecutor):
    def cancel(self, key: str) -> bool:
        super().cancel(key)
        return True


class Innocent(LocalExecutor):
    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        def claimed(completion: Completion) -> None:
            if isinstance(completion.result, Failure):
                symptom = Symptom(error=completion.result.symptom.error, message="", started=False)
                completion = Completion(
                    key=job.key, attempt=job.attempt, result=Failure(symptom=symptom)
                )
            done(completion)

        super().start(job, claimed)


class Confused(LocalExecutor):
    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        super().start(job, lambda end: done(Completion(key=end.key, attempt=1, result=end.result)))


class Hoarding(LocalExecutor):
    def __init__(self) -> None:
        super().__init__(LoopClock())
        self._seen: list[str] = []

    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        self._seen.append(job.key)
        super().start(job, done)

    def pending(self) -> list[str]:
        return self._seen


class Unclosed(LocalExecutor):
    def close(self) -> None:
        """Continues as before."""


class Deaf(LocalExecutor):
    """Lets what waits begin after all."""

    def close(self) -> None:
        self._closed = True


class Rosy(LocalExecutor):
    def health(self) -> Health:
        return Health(alive=True, pending=0)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (Forgetful, "999 jobs completed and then nothing"),
        (Twice, "completed 2 times"),
        (Hasty, "before its delay"),
        (Untimed, "ends_at_the_timeout"),
        (Uncancelled, "cancels_what_runs"),
        (Boastful, "unknown job"),
        (Innocent, "started"),
        (Confused, "expected"),
        (Hoarding, "pending"),
        (Unclosed, "closed"),
        (Deaf, "began after close"),
        (Rosy, "health"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_broken_executor_is_caught(broken: Callable[..., LocalExecutor], said: str) -> None:
    """Each breach is named; what never completes runs out of patience."""
    make = Hoarding if broken is Hoarding else lambda: broken(LoopClock())
    with pytest.raises(AssertionError, match=said):
        run_virtual(check_executor(make))


class Stopped(LoopClock):
    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class Backwards(LoopClock):
    def now(self) -> float:
        return -super().now()


class Impatient(LoopClock):
    async def wait(self, event: asyncio.Event, timeout: float | None) -> bool:
        return event.is_set()


class Optimistic(LoopClock):
    async def wait(self, event: asyncio.Event, timeout: float | None) -> bool:
        await super().wait(event, timeout)
        return True


class Queueing(LoopClock):
    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def sleep(self, seconds: float) -> None:
        async with self._lock:
            await super().sleep(seconds)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (Stopped, "sleep"),
        (Backwards, "went back"),
        (Impatient, "has to be True"),
        (Optimistic, "has to be False"),
        (Queueing, "one after the other"),
    ],
)
def test_a_broken_clock_is_caught(broken: Callable[[], LoopClock], said: str) -> None:
    """Each breach is named."""
    with pytest.raises(AssertionError, match=said):
        run_virtual(check_clock(broken))


def test_the_observers_that_ship_keep_the_contract(tmp_path: Path) -> None:
    """Logging and trace files take every event."""
    check_observer(lambda: log_events(console_logger()))
    check_observer(lambda: TraceFile(tmp_path / "run.jsonl"))


async def _coroutine(_: Details) -> None:
    """No observer."""


def _raising(details: Details) -> None:
    raise KeyError(details.event.kind)


def _later(_: Details) -> Any:
    return asyncio.sleep(0)


def test_a_broken_observer_is_caught() -> None:
    """An observer is refused that is not callable, has to be awaited, or raises."""
    for broken, said in (
        (7, "not callable"),
        (_coroutine, "plain function"),
        (_raising, "must not raise"),
    ):
        with pytest.raises(AssertionError, match=said):
            check_observer(lambda chosen=broken: chosen)  # type: ignore[misc]
