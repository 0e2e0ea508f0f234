"""Where scripted models and tools read the time and how their sync variants wait."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass


def loop_or_monotonic_time() -> float:
    """Tells the running loop's time in seconds, or the machine's monotonic time where no loop runs."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return time.monotonic()


@dataclass(frozen=True, kw_only=True)
class Timing:
    """The time of a scripted model or tool. Async variants always sleep on their loop.

    `Timing(clock=clock.time, sleep=clock.sleep)` with a `VirtualClock` keeps sync variants from really waiting.
    """

    clock: Callable[[], float] = loop_or_monotonic_time
    """Seconds from an arbitrary start, for the records."""
    sleep: Callable[[float], None] = time.sleep
    """How a sync variant waits for its latency, in seconds."""
