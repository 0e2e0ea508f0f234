"""Pauses between looks, in virtual time."""

import asyncio

import pytest

from asyncguard.runtime.clock import Backoff, LoopClock, Pause
from asyncguard.testing import run_virtual


async def looked(backoff: Backoff) -> list[float]:
    """Return the times of the looks until the patience is over, at most ten."""
    now = asyncio.get_running_loop().time
    began, times = now(), list[float]()
    while len(times) < 10:
        times.append(round(now() - began, 6))
        if backoff.over:
            break
        await backoff.pause()
    return times


def test_pauses_double_up_to_the_longest() -> None:
    """The first look is made at once, and later ones no further apart than agreed."""

    async def wait() -> list[float]:
        return await looked(Backoff(first=0.1, longest=0.5, patience=2.0))

    assert run_virtual(wait()).result == [0.0, 0.1, 0.3, 0.7, 1.2, 1.7, 2.2]


def test_one_look_is_made_after_the_patience() -> None:
    """A last look follows the end of the patience; a pause of the longest length is not doubled."""

    async def wait() -> list[float]:
        return await looked(Backoff(first=0.4, longest=0.4, patience=1.0))

    assert run_virtual(wait()).result == [0.0, 0.4, 0.8, 1.2]


def test_without_patience_it_is_never_over() -> None:
    """Without a limit the pauses never end."""

    async def wait() -> list[float]:
        return await looked(Backoff(first=0.001, longest=3600.0))

    assert len(run_virtual(wait()).result) == 10


def test_the_clock_that_is_given_times_it() -> None:
    """Pauses and patience go by one clock, which need not be the loop's."""

    class Turns:
        def __init__(self) -> None:
            self.time = 0.0

        def now(self) -> float:
            return self.time

        async def sleep(self, seconds: float) -> None:
            self.time += seconds

        async def wait(self, event: asyncio.Event, timeout: float | None) -> bool:
            raise AssertionError("no event is waited for")

    async def wait() -> tuple[int, float]:
        clock, looks = Turns(), 1
        backoff = Backoff(first=1.0, longest=4.0, patience=10.0, clock=clock)
        while not backoff.over:
            await backoff.pause()
            looks += 1
        return looks, clock.time

    run = run_virtual(wait())
    assert run.result == (5, 11.0)
    assert run.elapsed == 0


def test_a_pause_that_is_ended_is_over_at_once() -> None:
    """It may be ended before it begins, while it lasts and afterwards; the task goes on."""

    async def main() -> list[float]:
        now, times = asyncio.get_running_loop().time, list[float]()
        for at in (0.0, 2.0, 9.0):
            pause, began = Pause(), now()
            if not at:
                pause.end()
            else:
                asyncio.get_running_loop().call_later(at, pause.end)
            await pause.sleep(LoopClock(), 5.0)
            await asyncio.sleep(0)
            times.append(now() - began)
        await asyncio.sleep(20.0)
        return times

    assert run_virtual(main()).result == [0.0, 2.0, 5.0]


@pytest.mark.parametrize("ended", ["never", "before", "after"])
def test_a_cancelled_pause_cancels_its_task(ended: str) -> None:
    """Also if it is ended in the same moment."""

    async def main() -> bool:
        pause = Pause()
        sleeper = asyncio.create_task(pause.sleep(LoopClock(), 5.0))
        await asyncio.sleep(1.0)
        if ended == "before":
            pause.end()
        sleeper.cancel()
        if ended == "after":
            pause.end()
        await asyncio.gather(sleeper, return_exceptions=True)
        return sleeper.cancelled()

    assert run_virtual(main()).result
