"""Orders that a live worker has claimed and does not serve.

DBOS claims an order, has it served, and writes the answer. It repeats what fails with the
connection and nothing else. If a claimed order cannot be read, or its answer cannot be written (the
database is read-only, a statement took too long, the disk of SQLite is full), the order stays
claimed by a worker that lives, and its agent would wait for it without end. Such orders go back
into the queue. A worker that claims one that was served answers it with what the journal knows.
"""

import time
from collections.abc import Callable, Collection
from typing import Any

from asyncguard.distributed.queue_tables import JobTables

_PATIENCE = 120.0
"""Seconds that an order may be claimed and not served. DBOS tries again after 90 at the latest."""


class Unserved:
    """Return of a worker's orders that it does not serve."""

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
            patience: Seconds that an order may be claimed and not served.
            now: Clock in seconds.
        """
        self._tables, self._log = tables, log
        self._patience, self._now = patience, now
        self._since: dict[str, float] = {}
        """Orders that were not served at the last look, each with the time since when."""

    def hold(self) -> None:
        """Give all orders their whole time again: the database did not serve."""
        self._since.clear()

    def look(self, owner: str, served: Callable[[], Collection[str]]) -> int:
        """Put orders back that were not served for too long; return how many.

        Args:
            owner: Id under which this worker claims orders.
            served: Returns the names of the orders that it serves.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: The database does not answer; the next look goes on.
        """
        claimed = self._tables.claimed(owner)
        idle = claimed.difference(served())  # asked last: an order may be claimed meanwhile
        now = self._now()
        self._since = {name: self._since.get(name, now) for name in idle}
        due = [name for name, since in self._since.items() if now - since >= self._patience]
        if not due:
            return 0
        count = self._tables.give_back([owner], names=due)
        for name in due:  # this worker may claim it again, and has the whole time then
            del self._since[name]
        if count:
            self._log.warning("orders not served, put back", orders=count)
        return count
