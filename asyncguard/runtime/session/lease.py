"""The hold of this process on a thread that it shares with other processes through the journal."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from typing import Protocol

from asyncguard.core.calls import OPEN_STATES
from asyncguard.core.ledger import Ledger
from asyncguard.errors import CallerError, ThreadBusyError
from asyncguard.journal.port import Attempt, Journal, LeaseGrant, Signal
from asyncguard.journal.sql import leases
from asyncguard.runtime.engine import Engine


class Tenant(Protocol):
    """The part of a session that its lease needs: the calls in memory, and where mail and news of the lease go."""

    @property
    def thread(self) -> str:
        """Id of the thread in its state."""
        ...

    @property
    def namespace(self) -> str:
        """Path of the agent among agents, without task ids."""
        ...

    @property
    def ledger(self) -> Ledger:
        """The calls of the thread; another ledger after each fold of the state."""
        ...

    def receive(self, mail: Signal) -> None:
        """Take mail from outside; called from any OS thread."""
        ...

    def drop_fenced(self) -> None:
        """Forget attempts that did not begin while another process held the thread."""
        ...

    def lease_released(self) -> None:
        """Note that the thread was given free."""
        ...


class _Inside:
    """Counts who is inside a ``with`` block; one for all of them, as a turn enters several."""

    def __init__(self, lease: "Lease") -> None:
        self.count = 0
        self._lease = lease

    def __enter__(self) -> None:
        self.count += 1
        if self.count == 1 and self._lease.acquired:
            self._lease.journal.keep_alive(self._lease.thread)

    def __exit__(self, *_: object) -> None:
        self.count -= 1
        if not self.count and self._lease.acquired:
            self._lease.journal.stop_keep_alive(self._lease.thread)


class Lease:
    """Whether this process holds a thread, since when, and what the journal said when it took it."""

    def __init__(self, engine: Engine, tenant: Tenant) -> None:
        """Make a lease on a thread that is not held.

        Args:
            engine: Supplies journal and clock.
            tenant: The session of the thread.
        """
        self.thread = tenant.thread
        self._engine = engine
        self._tenant = tenant
        self._entered = False
        self._entering: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None
        # Engine time at which the journal last said that this process holds the thread.
        self._confirmed_at = 0.0
        self._number = 0
        self._begun_before: Mapping[str, Attempt] = {}
        self._inside = _Inside(self)
        self._bodies = 0
        self._failed = False

    @property
    def acquired(self) -> bool:
        """Whether this process holds the thread."""
        return self._entered

    @property
    def fencing_token(self) -> int:
        """The fencing number of this process, 0 before it took the thread; see :class:`LeaseGrant`."""
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
    async def acquisition(self, *, again: bool) -> AsyncIterator[bool]:
        """Let one task at a time take the thread; the calls of a message come together, and one asks for them all.

        Args:
            again: Whether to ask where the thread is held already.

        Yields:
            Whether the thread is to be taken in the block; never without a journal.
        """
        if self._engine.journal is None:
            yield False
            return
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

    async def acquire(self, name: str, *, known: int = 0, again: bool = False) -> LeaseGrant | None:
        """Take the thread for this process, and with it the journal's word about its open calls, and its mail.

        Args:
            name: The caller's thread id, empty if there is none.
            known: The number that the thread's state tells, see :class:`~asyncguard.journal.port.LeaseGrant`.
            again: Whether to ask where it is held already: its ledger was folded anew.

        Returns:
            How it was taken, ``None`` if it was held before, or if there is no journal.

        Raises:
            ThreadBusyError: Another process is at work on the thread.
            JournalError: The journal cannot be read or written.
        """
        journal, tenant, held = self._engine.journal, self._tenant, self._entered
        if journal is None or (held and not again):
            return None
        keys = [record.key for record in tenant.ledger.calls() if record.state in OPEN_STATES]
        # An agent that is a tool of another one shares the caller's thread id, and is a thread of its own.
        unique = f"{name}|{tenant.namespace}" if name and tenant.namespace else name
        tenure = await journal.acquire(self.thread, unique, keys, tenant.receive, known=known)
        self._begun_before, self._number = tenure.attempts, tenure.fencing_token
        self._entered, self._confirmed_at = True, self._engine.clock.now()
        if not held:
            tenant.drop_fenced()
        with self.releasing_on_error():
            unsettled = await journal.unfinished(self.thread)
        for key in unsettled:
            record = tenant.ledger.find(key)
            if (
                record is not None and not record.open
            ):  # its process ended before the journal was told
                journal.record_final_state(key, record.state, record.error or "", stored=True)
        return None if held else tenure

    async def ensure_held(self) -> None:
        """End a run whose thread another process has taken meanwhile: what it would store is behind.

        Asked before a step is stored, and of the journal only if the process may have been stopped for long.

        Raises:
            ThreadBusyError: Another process carries the thread on.
        """
        now = self._engine.clock.now()
        if not self._entered or now - self._confirmed_at < leases.RENEWAL:
            return
        if not await self.journal.holds(self.thread):
            raise ThreadBusyError(
                "Another process has taken the thread over while this one gave no sign of life; what was done here "
                "since is in the journal."
            )
        self._confirmed_at = now

    def release(self, ending: str = "") -> None:
        """Give the thread free for other processes: its run ended, or rests until it is resumed.

        Args:
            ending: The checkpoint after which the last step of the run is stored now, empty if there is none.
        """
        if self._entered:
            self._entered = False
            self._tenant.lease_released()
            self.journal.release(self.thread, ending=ending)

    @contextmanager
    def releasing_on_error(self) -> Iterator[None]:
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
                self.release()

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
