"""Pauses between two looks at something that tells nothing by itself: a checkpoint, a journal, a run of LangGraph's."""

from asyncguard.runtime.clock import Clock, LoopClock

_LOOP = LoopClock()


class Backoff:
    """Pauses that double up to a longest one, for as long as the patience lasts.

    The first look needs no pause, and one look is made after the patience is over: what came in the last pause counts.
    """

    def __init__(self, *, first: float, longest: float, patience: float | None = None, clock: Clock = _LOOP) -> None:
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
