"""Time as a port, so that a benchmark can count turns and a test can jump."""

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What the engine asks of time. Seconds throughout, on a clock that never goes back."""

    def now(self) -> float:
        """The current time."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after some seconds."""
        ...

    async def wait(self, event: asyncio.Event, timeout: float | None) -> bool:
        """Wait until the event is set; whether it was set in time."""
        ...


class LoopClock:
    """The running event loop's own time; a loop with virtual time makes everything virtual."""

    def now(self) -> float:
        """Time of the running loop, or the machine's monotonic clock outside of one."""
        try:
            return asyncio.get_running_loop().time()
        except RuntimeError:
            return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Sleep on the running loop."""
        await asyncio.sleep(seconds)

    async def wait(self, event: asyncio.Event, timeout: float | None) -> bool:
        """Wait on the running loop."""
        if event.is_set():
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


class Backoff:
    """Pauses that double up to a longest one, for as long as the patience lasts.

    The first look needs no pause, and one look is made after the patience is over: what came in the last pause counts.
    """

    def __init__(
        self, *, first: float, longest: float, patience: float | None = None, clock: Clock = _LOOP
    ) -> None:
        """Begin to wait.

        Args:
            first: Seconds of the first pause.
            longest: Seconds of the longest pause.
            patience: Seconds from now after which it is over; ``None`` for never.
            clock: Times the pauses; by default the running loop, whose time may be virtual.
        """
        self._clock, self._next, self._longest = clock, first, longest
        self._until = None if patience is None else clock.now() + patience

    @property
    def over(self) -> bool:
        """Whether the patience is over."""
        return self._until is not None and self._clock.now() > self._until

    async def pause(self) -> None:
        """Sleep until the next look is due."""
        seconds, self._next = self._next, min(2 * self._next, self._longest)
        await self._clock.sleep(seconds)
