"""Time outside a virtual loop: its source for scripts, and a clock that is moved by hand."""

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


def loop_or_monotonic_time() -> float:
    """Return the running loop's time in seconds, or the machine's monotonic time without a loop."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return time.monotonic()


@dataclass(frozen=True, kw_only=True)
class ScriptTiming:
    """Clock and sleep of a scripted model or tool. Async variants always sleep on their loop.

    `ScriptTiming(clock=clock.time, sleep=clock.sleep)` with a `VirtualClock` keeps sync variants
    from really waiting.
    """

    clock: Callable[[], float] = loop_or_monotonic_time
    """Seconds from an arbitrary start, for the records."""
    sleep: Callable[[float], None] = time.sleep
    """Function by which a sync variant waits for its latency, in seconds."""


def check_seconds(name: str, seconds: object) -> None:
    """Refuse a latency that cannot be waited for.

    Args:
        name: Name of the parameter, for the message.
        seconds: The latency.

    Raises:
        TypeError: It is not a number.
        ValueError: It is negative, or not a number that can be compared (NaN).
    """
    if not isinstance(seconds, int | float):
        raise TypeError(f"{name} must be a number of seconds, not {type(seconds).__name__}.")
    if not seconds >= 0:
        raise ValueError(f"{name} must be >= 0 seconds, not {seconds}.")


class VirtualClock:
    """Clock that moves only when it is moved, for code without a loop.

    It may be read and moved from any OS thread.
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._lock = threading.Lock()

    def time(self) -> float:
        """Return the time in seconds."""
        with self._lock:
            return self._now

    def sleep(self, seconds: float) -> None:
        """Move the clock forward by `seconds` and return at once.

        Raises:
            ValueError: `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError(f"a clock does not run backwards: {seconds}")
        with self._lock:
            self._now += seconds
