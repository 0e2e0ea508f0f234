"""Orders that were answered and whose answer the database refused.

DBOS writes an answer, and repeats that for as long as the connection fails. What fails otherwise (the
database is read-only, a statement took too long, a disk of SQLite is full) is not repeated: the order
stays claimed by a worker that lives, and its agent would wait for it without end. Such orders go back
into the queue; whoever claims one answers it with what the journal knows.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from asyncguard.distributed.queue_tables import JobTables

_PATIENCE = 120.0
"""Seconds for an answer to be written. DBOS tries again after 90 at the latest."""


class Unrecorded:
    """Return of a worker's orders whose answer was not written."""

    def __init__(
        self,
        tables: JobTables,
        log: Any,
        *,
        patience: float = _PATIENCE,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Create one for a worker.

        Args:
            tables: Tables of the queue.
            log: A structlog logger.
            patience: Seconds for an answer to be written, while the database takes writes.
            now: Clock in seconds.
        """
        self._tables, self._log = tables, log
        self._patience, self._now = patience, now
        self._answered: deque[tuple[float, str]] = deque()
        """Names of orders, each with the time at which its answer should be written."""
        self._not_before = 0.0

    def hold(self) -> None:
        """Give the answers their whole time again: the database did not serve."""
        self._not_before = self._now() + self._patience

    def look(self, answered: Iterable[str], owner: str) -> int:
        """Put orders back that should be ended and are still claimed; return how many.

        Args:
            answered: Names of the orders that were answered since the last look.
            owner: Id under which this worker claims orders.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: The database does not answer; the next look goes on.
        """
        now = self._now()
        self._answered.extend((now + self._patience, name) for name in answered)
        if now < self._not_before:
            return 0
        due = [name for until, name in self._answered if until <= now]
        if not due:
            return 0
        count = self._tables.give_back([owner], names=due)
        for _ in due:
            self._answered.popleft()
        if count:
            self._log.warning("answers not written, orders put back", orders=count)
        return count
