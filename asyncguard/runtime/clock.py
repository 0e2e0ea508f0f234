"""Time as a port, so that a benchmark can count turns and a test can skip waits."""

import asyncio
import contextlib
import time
from typing import Any, Protocol


class Clock(Protocol):
    """Monotonic time in seconds, as the engine needs it."""

    def now(self) -> float:
        """Return the current time."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after some seconds."""
        ...

    async def wait(self, event: asyncio.Event, timeout: float | None) -> bool:
        """Wait until the event is set, and return True if it was set in time."""
        ...


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop that runs this code, ``None`` if no loop does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class LoopClock:
    """Time of the running event loop; on a loop with virtual time, all time is virtual."""

    def now(self) -> float:
        """Return the time of the running loop, or the monotonic clock outside of a loop."""
        loop = running_loop()
        return time.monotonic() if loop is None else loop.time()

    async def sleep(self, seconds: float) -> None:
        """Sleep on the running loop."""
        await asyncio.sleep(seconds)

    async def wait(self, event: asyncio.Event, timeout: float | None) -> bool:
        """Wait on the running loop."""
        if event.is_set():  # also with no time left
            return True
        if timeout is None:
            return await event.wait()
        if timeout <= 0:
            return False
        try:
            async with asyncio.timeout(timeout):
                await event.wait()
        except TimeoutError:
            return False
        return True


_LOOP = LoopClock()


class Pause:
    """One sleep of a task, which can be ended early; a task that is cancelled meanwhile is."""

    def __init__(self) -> None:
        """Make a pause that has not begun."""
        self._ended = self._woken = False
        self._sleeper: asyncio.Task[Any] | None = None

    async def sleep(self, clock: Clock, seconds: float) -> None:
        """Sleep until the time is over or the pause is ended; at once if it was."""
        task = asyncio.current_task()
        assert task is not None, "only a task awaits"
        self._sleeper = task  # first: who ends the pause looks for it afterwards
        if self._ended:
            self._sleeper = None
            return
        try:
            await clock.sleep(seconds)
        except asyncio.CancelledError:
            # The cancellation may be that of `_wake`, another's, or both.
            if not self._woken or task.uncancel() > 0:
                raise
        finally:
            self._sleeper = None

    def end(self) -> None:
        """End the pause, also before it begins; called from any OS thread."""
        self._ended = True
        if (task := self._sleeper) is not None:
            with contextlib.suppress(RuntimeError):  # its loop was closed
                task.get_loop().call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self._sleeper is not None and not self._woken:
            self._woken = True
            self._sleeper.cancel()


class Backoff:
    """Exponential back-off between polls, with an optional time limit.

    The first poll needs no pause, and one poll is made after the limit: a change during the last
    pause counts.
    """

    def __init__(
        self, *, first: float, longest: float, patience: float | None = None, clock: Clock = _LOOP
    ) -> None:
        """Start the time limit now.

        Args:
            first: Seconds of the first pause.
            longest: Seconds of the longest pause; each pause is twice the one before it.
            patience: Time limit in seconds from now; ``None`` for no limit.
            clock: Times the pauses; by default the running loop, whose time may be virtual.
        """
        self._clock, self._next, self._longest = clock, first, longest
        self._until = None if patience is None else clock.now() + patience

    @property
    def over(self) -> bool:
        """True if the time limit has passed."""
        return self._until is not None and self._clock.now() > self._until

    async def pause(self) -> None:
        """Sleep until the next poll is due."""
        seconds, self._next = self._next, min(2 * self._next, self._longest)
        await self._clock.sleep(seconds)
