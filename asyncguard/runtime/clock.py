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
