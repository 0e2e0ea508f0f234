"""Orders of dead workers: DBOS does not notice that another process died, the journal does.

Each look finds who holds orders, asks the journal which of them are gone, and puts their orders back into the queue,
where the next free worker finds them. Every worker looks, and none has to wait for another: putting back is one
conditional statement (:meth:`JobTables.give_back`), so that what one reaper did another cannot do again.

DBOS's own ``resume_workflows`` is not used: it would also take orders from a worker that lives, and forget how often
they were taken, which is what ends the rounds of an order that kills each of its workers.
"""

import time
from typing import Any

from asyncguard.distributed.queue_tables import JobTables
from asyncguard.journal.port import Journal

_TRUCE = 3.0
"""Seconds after a loss of the database in which nobody is taken for dead: the others come back, too."""


class Reaper:
    """Takes orders from the dead."""

    def __init__(self, tables: JobTables, journal: Journal, log: Any) -> None:
        """Make a reaper.

        Args:
            tables: The orders.
            journal: Knows who is gone.
            log: A structlog logger.
        """
        self._tables, self._journal, self._log = tables, journal, log
        self._not_before = 0.0

    def hold(self) -> None:
        """Take nobody for dead for a while: the database was away, and with it everybody's sign of life."""
        self._not_before = time.monotonic() + _TRUCE

    def reap(self) -> int:
        """Look once; how many orders went back into the queue.

        Raises:
            JournalError: The journal cannot be asked.
            sqlalchemy.exc.SQLAlchemyError: The orders cannot be asked.
        """
        if time.monotonic() < self._not_before:
            return 0
        process_id = self._journal.process_id
        owners = self._tables.owners() - {process_id}
        if not owners:
            return 0
        # Asked for nobody first: if the server came back just now, everybody's lock is free, and ours is another.
        self._journal.gone(())
        if self._journal.process_id != process_id:
            self.hold()
            return 0
        gone = self._journal.gone(owners)
        if not gone:
            return 0
        count = self._tables.give_back(gone)
        if count:
            self._log.warning("orders of lost workers put back", orders=count, workers=sorted(gone))
        return count
