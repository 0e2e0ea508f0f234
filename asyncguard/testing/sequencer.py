"""Numbered turns that make tasks run in one exact order."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class SequencerError(RuntimeError):
    """The turns of a `Sequencer` cannot be taken as they are numbered.

    Number the turns 0, 1, 2, ... without gaps and use each number once.

    Attributes:
        turn: The turn at which this was noticed.
    """

    def __init__(self, message: str, *, turn: int) -> None:
        self.turn = turn
        super().__init__(message)


class Sequencer:
    """Numbered turns that tasks take in order, whichever arrives first.

    `async with seq(2):` waits until the block of turn 1 was left. A block that raises passes the
    turn on all the same, so that one failure is reported as itself and not as that of every task. A
    turn that is cancelled while it waits, or waits too long, breaks the sequence: every task that
    waits or comes later gets a `SequencerError`; none waits for ever.

    Args:
        patience: Seconds of the loop's time that a turn may wait; None waits without limit. On a
            `VirtualTimeLoop` these are virtual seconds, so raise it where the blocks themselves
            sleep for long.
    """

    def __init__(self, *, patience: float | None = 60.0) -> None:
        self._patience = patience
        self._taken: set[int] = set()
        self._finished: list[int] = []
        # Made by the turn that waits, or by the end of the one before it, whichever comes first.
        self._gates: dict[int, asyncio.Event] = {}
        # Reason why the sequence broke; every later turn raises it.
        self._broken: str | None = None

    @property
    def finished(self) -> tuple[int, ...]:
        """Turns whose blocks were left, in that order."""
        return tuple(self._finished)

    @contextlib.asynccontextmanager
    async def __call__(self, turn: int) -> AsyncIterator[None]:
        """Hold turn number `turn`, counted from 0, while the block runs.

        Raises:
            SequencerError: The number is negative or was used before, or the sequence is broken.
        """
        if turn < 0:
            raise SequencerError(f"Turn {turn}: turns are counted from 0.", turn=turn)
        if turn in self._taken:
            raise SequencerError(f"Turn {turn} is taken for the second time.", turn=turn)
        self._taken.add(turn)
        await self._wait(turn)
        try:
            yield
        finally:
            self._finished.append(turn)
            self._gate(turn + 1).set()

    async def _wait(self, turn: int) -> None:
        if turn > 0:
            try:
                async with asyncio.timeout(self._patience):
                    await self._gate(turn).wait()
            except TimeoutError:
                late = next(earlier for earlier in range(turn) if earlier not in self._finished)
                why = "was taken, but its block was not left"
                if late not in self._taken:
                    why = "was never taken"
                self._break(f"Turn {turn} waited {self._patience:g} s: turn {late} {why}.")
            except asyncio.CancelledError:
                self._break(f"Turn {turn} was cancelled while it waited for its turn.")
                raise
        if self._broken is not None:
            raise SequencerError(f"{self._broken} (seen by turn {turn})", turn=turn)

    def _break(self, reason: str) -> None:
        # The first reason is the cause; the turns that fail after it only follow from it.
        self._broken = self._broken or reason
        for gate in self._gates.values():
            gate.set()

    def _gate(self, turn: int) -> asyncio.Event:
        return self._gates.setdefault(turn, asyncio.Event())
