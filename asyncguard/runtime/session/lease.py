"""The lease of this process on a thread that it shares with other processes through the journal."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Protocol

from asyncguard.core.calls import OPEN_STATES
from asyncguard.core.ledger import Ledger
from asyncguard.errors import CallerError, ThreadBusyError
from asyncguard.journal.port import Attempt, Journal, LeaseGrant, Signal
from asyncguard.journal.sql import leases
from asyncguard.runtime.engine import Engine


class Tenant(Protocol):
    """The part of a session that its lease needs: its calls and receivers of signals."""

    @property
    def thread(self) -> str:
        """Id of the thread in its state."""
        ...

    @property
    def thread_id(self) -> str:
        """The caller's id of the thread, empty if there is none; for messages to people."""
        ...

    @property
    def namespace(self) -> str:
        """Path of the agent among agents, without task ids."""
        ...

    @property
    def ledger(self) -> Ledger:
        """The calls of the thread; another ledger after each fold of the state."""
        ...

    def receive(self, signal: Signal) -> None:
        """Receive a signal from outside; called from any OS thread."""
        ...

    def drop_fenced(self) -> None:
        """Forget attempts that were refused while another process held the thread."""
        ...

    def lease_released(self) -> None:
        """Note that the thread was released."""
        ...


class _Inside:
    """Counter of the ``with`` blocks that are entered; a turn enters several, one in another."""

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


class _Releasing:
    """Counter of the blocks that are entered; the last to end releases, if any has raised."""

    def __init__(self, lease: "Lease") -> None:
        self._lease = lease
        self._count = 0
        self._failed = False

    def __enter__(self) -> None:
        self._count += 1

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        self._count -= 1
        self._failed = self._failed or error is not None
        if self._failed and not self._count:
            self._failed = False
            self._lease.release()


class Lease:
    """The lease of this process on one thread, with the journal's answer when it was acquired.

    The journal is the authority. It fences: a process that lost the thread begins nothing more,
    even if it still believes that it holds the lease.
    """

    def __init__(self, engine: Engine, tenant: Tenant) -> None:
        """Make a lease on a thread that is not held.

        Args:
            engine: Supplies journal and clock.
            tenant: The session of the thread.
        """
        self.thread = tenant.thread
        self._engine = engine
        self._tenant = tenant
        self._acquired = False
        # The acquisition under way, and the loop of its task. Tasks of other loops do not wait for
        # it: an event wakes tasks of its own loop only, and the journal serves both.
        self._acquiring: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None
        # Engine time at which the journal last confirmed that this process holds the thread.
        self._confirmed_at = 0.0
        # Id of this process then: it has another one once the server has ended its session.
        self._confirmed_as = ""
        self._has_lapsed: Callable[[], bool] = lambda: False
        self._fencing_token = 0
        self._stands_on: str | None = None
        self._shared_step = ""
        self._begun_before: Mapping[str, Attempt] = {}
        self._watched = 0
        self._inside = _Inside(self)
        self._releasing = _Releasing(self)

    @property
    def acquired(self) -> bool:
        """True if this process holds the thread."""
        return self._acquired

    @property
    def watched(self) -> int:
        """Number of the LangGraph run at whose end the thread is released, 0 if there is none."""
        return self._watched

    def watch(self, run: int) -> None:
        """Take such a number, 0 when the run has ended."""
        self._watched = run

    @property
    def _named(self) -> str:
        """Name of the thread in messages: the caller's, as only that one is known outside."""
        return self._tenant.thread_id or self.thread

    @property
    def fencing_token(self) -> int:
        """Fencing token of this process, 0 before the acquisition; see :class:`LeaseGrant`."""
        return self._fencing_token

    @property
    def stands_on(self) -> str | None:
        """Checkpoint that the thread continues from after a release, empty if it is not known.

        ``None`` from an acquisition on until :meth:`stand_on`: the thread continues from where it
        was released before, as the head that this run has read may be a stale one.
        """
        return self._stands_on

    @property
    def shared_step(self) -> str:
        """Checkpoint whose step the holder before may still store, empty if there is none."""
        return self._shared_step

    def share_step(self, checkpoint: str) -> None:
        """Note such a checkpoint; empty if there is none."""
        self._shared_step = checkpoint

    @property
    def begun_before(self) -> Mapping[str, Attempt]:
        """Latest attempts in the journal of the calls that were open or untold then, by key."""
        return self._begun_before

    @property
    def journal(self) -> Journal:
        """The journal of an acquired thread."""
        assert self._engine.journal is not None  # a thread is acquired only with a journal
        return self._engine.journal

    def wanted(self, *, again: bool) -> bool:
        """Return False if :meth:`acquisition` would neither wait nor have anything acquired.

        Args:
            again: True to acquire the thread even if it is held already.
        """
        if self._engine.journal is None:
            return False
        return again or not self._acquired or self._acquiring is not None

    @asynccontextmanager
    async def acquisition(self, *, again: bool) -> AsyncIterator[bool]:
        """Let one task at a time acquire the thread.

        The calls of a message start together; one of their tasks acquires the thread for them all.

        Args:
            again: True to acquire it even if it is held already.

        Yields:
            True if the block has to acquire the thread; never without a journal.
        """
        if self._engine.journal is None:
            yield False
            return
        loop = asyncio.get_running_loop()
        while self._acquiring is not None and self._acquiring[0] is loop:
            await self._acquiring[1].wait()
        if self._acquired and not again:
            yield False
            return
        self._acquiring = own = (loop, asyncio.Event())
        try:
            yield True
        finally:
            if self._acquiring is own:  # a task of another loop may have set its own
                self._acquiring = None
            own[1].set()

    async def acquire(
        self, name: str, *, known: int = 0, stands_on: str = "", again: bool = False
    ) -> LeaseGrant | None:
        """Acquire the thread for this process, and load its signals and the attempts of open calls.

        Args:
            name: The caller's thread id, empty if there is none.
            known: Fencing token in the thread's state, see
                :class:`~asyncguard.journal.port.LeaseGrant`.
            stands_on: Checkpoint that the run stands on, empty if no head is fenced.
            again: True to ask the journal even if the thread is held: its ledger was rebuilt.

        Returns:
            The grant; ``None`` if this process held the thread all along, or without a journal.

        Raises:
            ThreadBusyError: Another process runs the thread.
            JournalError: The journal cannot be read or written.
        """
        journal, tenant, held = self._engine.journal, self._tenant, self._acquired
        if journal is None or (held and not again):
            return None
        keys = [
            record.key
            for record in tenant.ledger.calls()
            if record.state in OPEN_STATES or (record.succeeded and not record.delivered)
        ]
        # An agent that is a tool of another one shares the caller's thread id, and is a thread of
        # its own.
        unique = f"{name}|{tenant.namespace}" if name and tenant.namespace else name
        grant = await journal.acquire(
            self.thread, unique, keys, tenant.receive, known=known, stands_on=stands_on
        )
        # Lost in between: the run may stand on a stale head, as if it had not been held.
        held = held and grant.fencing_token == self._fencing_token
        if not held:
            self._stands_on, self._shared_step = None, ""
        self._begun_before, self._fencing_token = grant.attempts, grant.fencing_token
        self._acquired, self._has_lapsed = True, grant.has_lapsed
        self._confirmed_at, self._confirmed_as = self._engine.clock.now(), journal.process_id
        if not held:
            tenant.drop_fenced()
        # Acquired from here on: a failure to read must not leave the thread to a run that ends.
        with self.releasing_on_error():
            unfinished = await journal.unfinished(self.thread)
        for key in unfinished:
            record = tenant.ledger.find(key)
            # Ended in the state: its process stopped before the end reached the journal.
            if record is not None and not record.open:
                journal.record_final_state(key, record.state, record.error or "", stored=True)
        return None if held else grant

    async def ensure_held(self) -> None:
        """Stop a run before it stores a step, if another process has acquired its thread since.

        The journal is asked only if the last confirmation is older than the renewal interval, that
        is, if this process may have been suspended; or if it has lost its connection, or has
        another id since, as others could take it for dead. A step that is stored late comes among
        those of a process that has gone on.

        Raises:
            ThreadBusyError: Another process runs the thread.
        """
        if not self._acquired:
            return
        now, lives = self._engine.clock.now(), self.journal.process_id == self._confirmed_as
        if now - self._confirmed_at < leases.RENEWAL and lives and not self._has_lapsed():
            return
        if not await self.journal.holds(self.thread):
            raise self._lost()
        # Not that of before: to answer, a journal connects again.
        self._confirmed_at, self._confirmed_as = now, self.journal.process_id

    async def ask_again(self, name: str) -> None:
        """Load the signals and the attempts of open calls of a held thread once more.

        Args:
            name: The caller's thread id, empty if there is none.

        Raises:
            ThreadBusyError: Another process has run the thread since.
            JournalError: The journal cannot be read or written.
        """
        held, stands_on = self._acquired, self._stands_on or ""
        grant = await self.acquire(name, stands_on=stands_on, again=True)
        if held and grant is not None:
            raise self._lost()

    def _lost(self) -> ThreadBusyError:
        return ThreadBusyError(
            f"Another process acquired thread {self._named!r} because this one did not renew its "
            "lease in time, or lost its connection; the calls made here since are in the journal. "
            "Run the thread with None to continue from the other process's state; look whether it "
            "holds this run's input before you give that again."
        )

    def stand_on(self, checkpoint: str) -> None:
        """Note the checkpoint that the thread continues from after a release.

        Args:
            checkpoint: That of the node that is run; where a run begins, the one before its input.
        """
        self._stands_on = checkpoint

    def release(self, *, ends: bool = False) -> None:
        """Release the thread for other processes: its run ended, or is parked.

        Args:
            ends: True if the last step of the run is being stored after :attr:`stands_on`.
        """
        if self._acquired:
            self._acquired = False
            self._tenant.lease_released()
            self.journal.release(self.thread, stands_on=self._stands_on, ends=ends)

    async def written(self) -> None:
        """Wait until a release is in the journal, so that another process finds the thread free."""
        if self._engine.journal is not None:
            await self._engine.journal.flush()

    def releasing_on_error(self) -> AbstractContextManager[None]:
        """Release the thread if the block or a concurrent one raises, as that ends the run.

        The last of the concurrent blocks to end releases it.
        """
        return self._releasing

    def inside(self) -> AbstractContextManager[None]:
        """Mark that a run of the thread is under way; :meth:`claim` refuses others meanwhile."""
        return self._inside

    def claim(self) -> None:
        """Begin a run on the thread.

        Raises:
            CallerError: Another run of the thread is under way in this process.
        """
        if self._inside.count:
            raise CallerError(
                f"Another run of thread {self._named!r} is under way in this process; "
                "wait for it, or cancel it first."
            )
