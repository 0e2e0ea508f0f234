"""What a database has to offer for the journal: transactions, locks of processes, and word of news.

Everything above speaks one SQL with ``?`` for values; what differs between databases is behind this port. All methods
but the constructor are called on the writer thread.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from asyncguard.errors import JournalError

Row = tuple[Any, ...]


class ConnectionLostError(JournalError):
    """The connection to the journal's database broke; it is made anew with the next transaction."""


class Store(Protocol):
    """One connection to the database, and the lock of this process in it."""

    @property
    def id(self) -> str:
        """Identity of the database, once it is open."""
        ...

    @property
    def process_id(self) -> str:
        """Identity of this process while its lock is held; another one after the lock was lost."""
        ...

    @property
    def poll_interval(self) -> float | None:
        """Seconds after which :meth:`has_news` wants to be asked though nobody waits for mail; ``None`` if never."""
        ...

    def open(self) -> None:
        """Connect, prepare the schema, and register this process.

        Raises:
            JournalError: It cannot be done; nothing was left open.
        """
        ...

    def close(self) -> None:
        """Give the lock back and disconnect; never raises."""
        ...

    def begin(self) -> None:
        """Begin a transaction that no other writer runs beside.

        Raises:
            JournalError: The database cannot be written, or the lock was lost.
        """
        ...

    def commit(self) -> None:
        """Make the transaction last; on disk when this returns.

        Raises:
            JournalError: It did not last.
        """
        ...

    def rollback(self) -> None:
        """Undo the transaction; never raises."""
        ...

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run one statement.

        Args:
            sql: With ``?`` for values, and no other question mark.
            values: As many.

        Raises:
            JournalError: It failed.
        """
        ...

    def tables(self) -> set[str]:
        """Names of the tables that are there."""
        ...

    def now(self) -> float:
        """Unix time in seconds, the same for all processes."""
        ...

    def is_locked(self, process_id: str) -> bool:
        """Whether a process holds the lock of this epoch, and therefore lives."""
        ...

    def notify(self) -> None:
        """Mail was written in this transaction: other processes are to look."""
        ...

    def has_new_signals(self) -> bool:
        """Whether another process may have written mail since the last time this was asked; quick."""
        ...
