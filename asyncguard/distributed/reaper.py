"""Reaper of orders whose worker died.

DBOS does not notice the death of a process, the journal does. Each look finds which processes hold
orders, asks the journal which of them are gone, and puts their orders back into the queue, where
the next free worker finds them. Every worker looks, and none has to wait for another: putting back
is one conditional statement (:meth:`JobTables.give_back`), so that what one reaper did another
cannot do again.
"""

import time
from typing import Any

from asyncguard.distributed.queue_tables import JobTables
from asyncguard.journal.port import Journal

_TRUCE = 3.0
"""Seconds after a loss of the database in which no process is declared dead.

The other processes need them to reconnect.
"""


class Reaper:
    """Recovery of orders from dead workers."""

    def __init__(self, tables: JobTables, journal: Journal, log: Any) -> None:
        """Create a reaper.

        Args:
            tables: Tables of the queue.
            journal: Journal that knows which processes are gone.
            log: A structlog logger.
        """
        self._tables, self._journal, self._log = tables, journal, log
        self._not_before = 0.0
        """Monotonic time before which no process is declared dead."""

    def hold(self) -> None:
        """Declare no process dead for a while.

        The database was away, and with it every process's sign of life.
        """
        self._not_before = time.monotonic() + _TRUCE

    def reap(self) -> int:
        """Look once; return how many orders went back into the queue.

        Raises:
            JournalError: The journal does not answer.
            sqlalchemy.exc.SQLAlchemyError: The queue's database does not answer.
        """
        if time.monotonic() < self._not_before:
            return 0
        process_id = self._journal.process_id
        owners = self._tables.owners() - {process_id}
        if not owners:
            return 0
        # An empty question first: if the server restarted just now, every process has lost its lock
        # and seems gone. This process then has a new id, too, and must wait.
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
