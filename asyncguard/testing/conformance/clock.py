"""The contract of a clock."""

import asyncio
from collections.abc import Callable

from asyncguard.runtime.clock import Clock

_PATIENCE = 10.0
_STEP = 0.02
"""Seconds of one wait: long enough to be distinguished from none, short enough for a real clock."""


async def check_clock(make: Callable[[], Clock]) -> None:
    """Check a clock on the running loop; it takes about a tenth of a second of its time.

    Args:
        make: Function that makes a clock; called once for each rule.

    Raises:
        AssertionError: It breaks a rule; the text says which.
    """
    for rule in (
        _never_goes_back,
        _sleeps,
        _sleeps_no_time_for_nothing,
        _tells_events,
        _gives_up,
        _is_shared,
    ):
        try:
            async with asyncio.timeout(_PATIENCE):
                await rule(make())
        except TimeoutError as error:
            raise AssertionError(
                f"A wait did not end within {_PATIENCE:g} s ({rule.__name__.strip('_')})."
            ) from error


async def _never_goes_back(clock: Clock) -> None:
    before = clock.now()
    await clock.sleep(_STEP)
    assert clock.now() >= before, "now() went back"


async def _sleeps(clock: Clock) -> None:
    before = clock.now()
    await clock.sleep(_STEP)
    # Timers of a real loop may fire up to their resolution early.
    assert clock.now() - before >= _STEP * 0.9, (
        f"sleep({_STEP}) took {clock.now() - before:g} s of the clock's own time"
    )


async def _sleeps_no_time_for_nothing(clock: Clock) -> None:
    event = asyncio.Event()
    assert not await clock.wait(event, 0.0), (
        "wait() on an event that is not set has to be False with timeout 0"
    )
    event.set()
    assert await clock.wait(event, 0.0), (
        "wait() on an event that is set has to be True with timeout 0"
    )
    assert await clock.wait(event, None), (
        "wait() on an event that is set has to be True without a timeout"
    )


async def _tells_events(clock: Clock) -> None:
    for timeout in (None, 1000.0):
        event = asyncio.Event()
        waiting = asyncio.ensure_future(clock.wait(event, timeout))
        await asyncio.sleep(0)
        event.set()
        assert await waiting, (
            f"wait(timeout={timeout}) has to be True when the event is set while it waits"
        )


async def _gives_up(clock: Clock) -> None:
    before = clock.now()
    assert not await clock.wait(asyncio.Event(), _STEP), (
        "wait() has to be False when its time is over"
    )
    assert clock.now() - before >= _STEP * 0.9, "wait() gave up before its time was over"


async def _is_shared(clock: Clock) -> None:
    """Sleeps run beside each other, and one that is cancelled disturbs no other."""
    sleeps = [asyncio.ensure_future(clock.sleep(_STEP)) for _ in range(20)]
    victim = asyncio.ensure_future(clock.sleep(1000.0))
    await asyncio.sleep(0)
    assert victim.cancel(), "a sleep of 1,000 s was over at once"
    before = clock.now()
    await asyncio.gather(*sleeps)
    assert clock.now() - before < _STEP * 10, (
        "20 sleeps at once took as long as one after the other"
    )
    assert victim.cancelled(), "a sleep cannot be cancelled"
