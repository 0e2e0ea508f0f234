"""The store port: transactions, locks of processes, and notifications of one database.

All modules above it use one SQL with ``?`` for values; this port hides the differences between
databases. All methods but the constructor are called on the writer thread.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from asyncguard.errors import JournalError

Row = tuple[Any, ...]


class ConnectionLostError(JournalError):
    """The connection to the journal's database broke; the next transaction reconnects."""


class IdleTransactionError(ConnectionLostError):
    """The server ended a session that was idle in a transaction; nothing was committed."""


class Store(Protocol):
    """One connection to the database, and the lock of this process in it."""

    @property
    def id(self) -> str:
        """Identity of the database, once it is open."""
        ...

    @property
    def process_id(self) -> str:
        """Identity of this process while its lock is held; a new one after the lock was lost."""
        ...

    @property
    def poll_interval(self) -> float | None:
        """Seconds between idle calls of :meth:`has_new_signals`; ``None`` if none are needed."""
        ...

    @property
    def reconnect_time(self) -> float:
        """Seconds that a process which lives may need to lock again what it lost.

        0 if only its end frees the lock.
        """
        ...

    def is_lost(self) -> bool:
        """Return True if the server has ended the session; it is not asked, by any OS thread."""
        ...

    def open(self) -> None:
        """Connect, prepare the schema, and register this process.

        Raises:
            JournalError: It cannot be done; nothing was left open.
        """
        ...

    def close(self) -> None:
        """Release the lock and disconnect; never raises."""
        ...

    def begin(self) -> None:
        """Begin a transaction that excludes all other writers.

        Raises:
            JournalError: The database cannot be written, or the lock was lost.
        """
        ...

    def commit(self) -> None:
        """Commit the transaction; it is on disk when this returns.

        Raises:
            JournalError: It was not committed.
        """
        ...

    def rollback(self) -> None:
        """Undo the transaction; never raises."""
        ...

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run one statement.

        Args:
            sql: Statement with ``?`` for values, and no other question mark.
            values: One value for each ``?``.

        Raises:
            JournalError: It failed.
        """
        ...

    def tables(self) -> set[str]:
        """Return the names of the journal's tables that exist."""
        ...

    def now(self) -> float:
        """Return Unix time in seconds, the same for all processes."""
        ...

    def is_locked(self, process_id: str) -> bool:
        """Return True if a process holds the lock of this process id, and therefore lives.

        Also if all locks were lost so recently that a process may not have locked again yet.
        """
        ...

    def notify(self) -> None:
        """Notify other processes, on commit, that this transaction wrote signals."""
        ...

    def has_new_signals(self) -> bool:
        """Return True if another process may have written signals since the last call; quick."""
        ...
