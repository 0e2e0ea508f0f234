"""Stream of a run that has the lock of its thread, or of one that goes on."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from types import AsyncGeneratorType
from typing import Any

from langgraph.errors import EmptyInputError

from asyncguard.adapters.run_input import NO_RUN
from asyncguard.adapters.threads.run_lock import RunLock
from asyncguard.errors import CallerError


class LockedStream(AsyncGenerator[Any, None]):
    """LangGraph's generator, begun once the lock is taken.

    Not a second generator: of two, one around the other, a loop closes both when a client drops the
    stream, and the outer one then closes the inner one while it is being closed.
    """

    def __init__(
        self,
        begin: Callable[[], Coroutine[Any, Any, AsyncGeneratorType[Any, None]]],
        lock: RunLock | None,
        *,
        goes_on: bool,
    ) -> None:
        """Store the parts; nothing is begun before the first part is asked for.

        Args:
            begin: Takes the lock, and returns the generator.
            lock: Released when the generator ends, if LangGraph's run has not released it before;
                None for a run that stores nothing.
            goes_on: True if the input is None.
        """
        self._begin: Callable[[], Coroutine[Any, Any, AsyncGeneratorType[Any, None]]] | None = begin
        self._lock = lock
        self._goes_on = goes_on
        self._parts: AsyncGeneratorType[Any, None] | None = None

    def __del__(self) -> None:
        """Release the lock of a stream that was dropped: its first node may never have run.

        LangGraph may still be ending the run, for which the first node of the next one waits.
        """
        self._release()

    async def asend(self, value: None) -> Any:
        """See PEP 525."""
        if self._begin is not None:
            # What it refers to may refer to this stream, which then would live on in a cycle.
            begin, self._begin = self._begin, None
            try:
                self._parts = await begin()
            except BaseException:
                self._release()
                raise
        if self._parts is None:
            raise StopAsyncIteration
        parts = self._parts
        return await self._step(parts, lambda: parts.asend(value))

    async def athrow(self, *given: Any) -> Any:
        """See PEP 525."""
        if self._parts is None:
            await self.aclose()
            raise given[0]
        parts = self._parts
        return await self._step(parts, lambda: parts.athrow(*given))

    async def aclose(self) -> None:
        """See PEP 525."""
        self._begin = None
        try:
            if self._parts is not None:
                await self._parts.aclose()
        finally:
            self._release()

    async def _step(
        self, parts: AsyncGeneratorType[Any, None], step: Callable[[], Awaitable[Any]]
    ) -> Any:
        try:
            return await step()
        except BaseException as error:
            if parts.ag_frame is None:  # else two tasks read one stream, and it goes on
                self._release(completed=isinstance(error, StopAsyncIteration))
            if self._goes_on and isinstance(error, EmptyInputError):
                raise CallerError(NO_RUN) from error
            raise

    def _release(self, *, completed: bool = False) -> None:
        if self._lock is not None:
            self._lock.release(completed=completed)
