"""The hold of this process on a thread that it shares with other processes through the journal."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager

from asyncguard.engine.engine import Engine
from asyncguard.engine.journal.port import Attempt, Journal, Tenure
from asyncguard.errors import CallerError


class _Inside:
    """Counts who is inside a ``with`` block; one for all of them, as a turn enters several."""

    def __init__(self, lease: "Lease") -> None:
        self.count = 0
        self._lease = lease

    def __enter__(self) -> None:
        self.count += 1
        if self.count == 1 and self._lease.entered:
            self._lease.journal.hold(self._lease.thread)

    def __exit__(self, *_: object) -> None:
        self.count -= 1
        if not self.count and self._lease.entered:
            self._lease.journal.unhold(self._lease.thread)


class Lease:
    """Whether this process holds a thread, since when, and what the journal said when it took it."""

    def __init__(self, engine: Engine, thread: str, *, left: Callable[[], None]) -> None:
        """Make a lease on a thread that is not held.

        Args:
            engine: Supplies journal and clock.
            thread: Id of the thread.
            left: Called when the thread is given free.
        """
        self.thread = thread
        self._engine = engine
        self._left = left
        self._entered = False
        self._entering: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None
        self._confirmed_at = 0.0
        self._number = 0
        self._begun_before: Mapping[str, Attempt] = {}
        self._inside = _Inside(self)
        self._bodies = 0
        self._failed = False

    @property
    def entered(self) -> bool:
        """Whether this process holds the thread."""
        return self._entered

    @property
    def number(self) -> int:
        """The fencing number of this process, 0 before it took the thread; see :class:`Tenure`."""
        return self._number

    @property
    def begun_before(self) -> Mapping[str, Attempt]:
        """The latest attempts of the open calls that the journal had when the thread was taken, by key."""
        return self._begun_before

    @property
    def journal(self) -> Journal:
        """The journal of a thread that was entered."""
        assert self._engine.journal is not None  # only with one is a thread entered
        return self._engine.journal

    @asynccontextmanager
    async def entering(self, *, again: bool) -> AsyncIterator[bool]:
        """Let one task at a time take the thread; the calls of a message come together, and one asks for them all.

        Args:
            again: Whether to ask where the thread is held already.

        Yields:
            Whether the thread is to be taken in the block.
        """
        loop = asyncio.get_running_loop()
        while self._entering is not None and self._entering[0] is loop:
            await self._entering[1].wait()
        if self._entered and not again:
            yield False
            return
        self._entering = own = (loop, asyncio.Event())
        try:
            yield True
        finally:
            if self._entering is own:
                self._entering = None
            own[1].set()

    def taken(self, tenure: Tenure) -> None:
        """Note that the journal gave the thread to this process."""
        self._begun_before, self._number = tenure.attempts, tenure.number
        self._entered = True
        self.confirmed(self._engine.clock.now())

    @property
    def confirmed_at(self) -> float:
        """Engine time at which the thread was last known to be this process's."""
        return self._confirmed_at

    def confirmed(self, at: float) -> None:
        """Note that the thread was still this process's at an engine time."""
        self._confirmed_at = at

    def leave(self, ending: str = "") -> None:
        """Give the thread free for other processes: its run ended, or rests until it is resumed.

        Args:
            ending: The checkpoint after which the last step of the run is stored now, empty if there is none.
        """
        if self._entered:
            self._entered = False
            self._left()
            self.journal.leave(self.thread, ending=ending)

    @contextmanager
    def leaving_on_error(self) -> Iterator[None]:
        """Give the thread free if the block, or another one that is run beside it, raises: the run ends there."""
        self._bodies += 1
        try:
            yield
        except BaseException:
            self._failed = True
            raise
        finally:
            self._bodies -= 1
            if self._failed and not self._bodies:
                self._failed = False
                self.leave()

    def inside(self) -> AbstractContextManager[None]:
        """Mark that a run of the thread waits inside; any other run that enters meanwhile is refused."""
        return self._inside

    def claim(self) -> None:
        """Begin a run on the thread.

        Raises:
            CallerError: Another run of the thread waits for its model or its tools in this process.
        """
        if self._inside.count:
            raise CallerError(
                f"Another run of thread {self.thread!r} is under way in this process; wait for it, or cancel it first."
            )
