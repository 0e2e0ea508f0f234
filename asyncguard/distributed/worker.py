"""Worker process.

It claims orders, watches for lost workers and cancelled calls, reports its health, and drains.
"""

import asyncio
import json
import logging
import os
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy.exc
from dbos import error as dbos_error

from asyncguard.distributed.dbos_runtime import DbosRuntime, ToStructlog
from asyncguard.distributed.job_runner import JobRunner, Toolbox
from asyncguard.distributed.protocol import RemoteJob
from asyncguard.distributed.queue_tables import JobTables, ReadOnlyDatabaseError
from asyncguard.distributed.reaper import Reaper
from asyncguard.distributed.unserved import Unserved
from asyncguard.errors import CallerError, JournalError
from asyncguard.journal.port import Journal
from asyncguard.runtime.clock import Backoff, LoopClock

_LOOK = 0.25
"""Seconds between two looks for lost workers and cancelled calls."""
_REPORT = 5.0
"""Seconds between two looks for orders that no worker of this version claims or serves."""
_PRUNE, _KEPT = 3600.0, 30 * 86400.0
_MARGIN = 30.0
_LOGGER = "dbos"
_OK, _READ_ONLY, _AWAY = "ok", "read-only", "away"


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerSettings:
    """Settings of a worker."""

    url: str
    """Database of the queue, as ``database_url`` returns it."""
    queue: str
    """Name of the queue."""
    application_version: str
    """Version of the orders that are claimed."""
    concurrency: int = 8
    """Calls at once. It belongs to the queue: the worker that was started last sets it for all."""
    poll: float = 0.02
    """Seconds between two looks for orders; it belongs to the queue, too."""
    drain_timeout: float = 30.0
    """Seconds to wait for running calls at the end."""
    health_file: Path | None = None
    """File to which its state is written each second, as JSON; ``None`` for none."""

    def __post_init__(self) -> None:
        """Reject settings that cannot work."""
        if self.concurrency < 1:
            raise CallerError(f"concurrency must be at least 1, not {self.concurrency}.")
        if self.poll <= 0 or self.drain_timeout < 0:
            raise CallerError(
                f"poll must be > 0 seconds and drain_timeout >= 0, not {self.poll} and "
                f"{self.drain_timeout}."
            )


class Worker:
    """One worker; a process has at most one."""

    def __init__(
        self, settings: WorkerSettings, journal: Journal, tools: Toolbox, log: Any
    ) -> None:
        """Create a worker; nothing is connected yet.

        Args:
            settings: Its settings.
            journal: The journal that the agents have, too.
            tools: The tools that it runs.
            log: A structlog logger.
        """
        self._settings, self._journal, self._log = settings, journal, log
        # Runs on DBOS's event loop, while all else here runs on the OS thread that called run().
        self._serving = JobRunner(journal, tools, LoopClock(), log, has_claimed=self._has_claimed)
        self._tables = JobTables(settings.url)
        self._reaper = Reaper(self._tables, journal, log)
        self._unserved = Unserved(self._tables, log)
        self._owner = journal.process_id
        """Id under which orders are claimed; follows the journal's, which may change."""
        self._owners = [self._owner]
        """All such ids so far: an order may be served long after it was claimed."""
        self._state = "starting"
        self._database = _OK
        """What the database was at the last look: it takes writes, refuses them, or is away."""
        self._reported: dict[str, int] = {}
        """Number of orders for other versions at the last look, by version."""
        self._next: dict[str, float] = {}
        """Monotonic time of each periodic duty's next turn."""

    def run(self, stop: threading.Event) -> Collection[RemoteJob]:
        """Work until ``stop`` is set, then drain. Blocks.

        Args:
            stop: Event that ends the worker; it may be set from any OS thread.

        Returns:
            The orders whose tools still ran when the time to drain was over; ending the process
            hands them on.

        Raises:
            CallerError: The database cannot be reached or prepared.
        """
        dbos_log, handler = logging.getLogger(_LOGGER), ToStructlog(self._log)
        # Else the root logger of the user's tools would write each record once more.
        propagated, dbos_log.propagate = dbos_log.propagate, False
        dbos_log.addHandler(handler)
        try:
            self._prepare()
            settings = self._settings
            carrier = DbosRuntime(
                settings.url,
                queue=settings.queue,
                version=settings.application_version,
                owner=self._owner,
                serve=self._serve,
            )
            carrier.launch()
            self._state = "serving"
            self._log.info("worker ready", **self._names(), concurrency=settings.concurrency)
            while not stop.wait(_LOOK):
                self._tend(carrier)
            return self._drain(carrier)
        finally:
            dbos_log.removeHandler(handler)
            dbos_log.propagate = propagated
            self._tables.close()

    async def _serve(self, text: str) -> str:
        answer = await self._serving.serve(text, tuple(self._owners))
        # DBOS writes the answer once: it repeats what a lost connection fails, not what is refused.
        while self._database == _READ_ONLY:  # noqa: ASYNC110 - another OS thread changes it
            await asyncio.sleep(_LOOK)
        return answer

    async def _has_claimed(self, name: str, ids: Collection[str]) -> bool:
        """Return True if an order is claimed under one of the ids; False if that stays unknown."""
        backoff = Backoff(first=_LOOK, longest=2.0, patience=60.0)
        while not backoff.over:
            try:
                return await asyncio.to_thread(self._tables.claimant, name) in ids
            except (sqlalchemy.exc.SQLAlchemyError, dbos_error.DBOSException):
                await backoff.pause()
        return False

    def _prepare(self) -> None:
        settings = self._settings
        try:
            self._tables.prepare()
            self._tables.register_queue(
                settings.queue, concurrency=settings.concurrency, poll=settings.poll
            )
        except (sqlalchemy.exc.SQLAlchemyError, OSError) as error:
            reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
            raise CallerError(
                f"The queue's database cannot be used ({reason}); "
                "check --database-url and whether the database can be written."
            ) from error

    def _drain(self, carrier: DbosRuntime) -> Collection[RemoteJob]:
        self._state = "draining"
        running = len(self._serving.accepted())
        self._log.info(
            "worker drains", **self._names(), running=running, seconds=self._settings.drain_timeout
        )
        until = time.monotonic() + self._settings.drain_timeout
        # At its own time-out DBOS would cancel orders without a report. It gets a longer one, and
        # the loop below decides when the time is over.
        ending = carrier.stop(self._settings.drain_timeout + _MARGIN)
        while ending.is_alive() and (time.monotonic() < until or not self._serving.accepted()):
            ending.join(_LOOK)
            self._tend(carrier)
        # DBOS's event loop has ended, and with it what would have written them.
        while self._serving.unwritten() and time.monotonic() < until:
            asyncio.run(self._serving.write_rest())
            self._tend(carrier)
            time.sleep(_LOOK)
        left = self._serving.accepted()
        for order in left:
            self._log.warning(
                "call left running", key=order.key, attempt=order.attempt, tool=order.tool
            )
        self._state = "ended"
        self._write_health()
        self._log.info("worker ended", **self._names(), left=len(left))
        return left

    def _tend(self, carrier: DbosRuntime) -> None:
        """Do once all duties besides the orders; a database that does not serve is waited for."""
        reason: dict[str, str] = {}
        try:
            self._look_after(carrier)
            found = _OK
        except ReadOnlyDatabaseError:
            found = _READ_ONLY
        except (sqlalchemy.exc.SQLAlchemyError, dbos_error.DBOSException, JournalError) as error:
            found, reason = _AWAY, {"error": type(error).__name__}
        if found != _OK:
            # Other workers may seem dead only because they lost the same database.
            self._reaper.hold()
            self._unserved.hold()
        if found != self._database:
            if found == _OK:
                self._log.info("database back", **self._names())
            else:
                self._log.warning(f"database {found}", **reason)
            self._database = found
        if self._due("health", 1.0):
            self._write_health()

    def _look_after(self, carrier: DbosRuntime) -> None:
        self._tables.check_writable()
        # The name first: to the reaper, orders under a lost id are those of a dead worker.
        self._keep_name(carrier)
        self._reaper.reap()
        for name in self._tables.cancelled(self._accepted()):
            self._serving.cancel(name)
        if self._due("report", _REPORT):
            self._report_others()
            self._unserved.look(self._owner, self._accepted)
        if self._due("prune", _PRUNE):
            self._tables.prune(_KEPT)

    def _keep_name(self, carrier: DbosRuntime) -> None:
        """Continue under the journal's new id for this process.

        The id changes if the process's lock was lost with its connection.
        """
        process_id = self._journal.process_id
        if process_id == self._owner:
            return
        # The server has restarted, perhaps; the others need time to get their new ids, too.
        self._reaper.hold()
        self._owners.append(process_id)
        # Before the transfer: at most a look that is under way claims under the old id after it.
        carrier.rename(process_id)
        names = self._accepted()
        kept = self._tables.adopt(names, old=self._owner, new=process_id) if names else 0
        self._log.warning("worker renamed", before=self._owner, after=process_id, orders=kept)
        self._owner = process_id

    def _accepted(self) -> list[str]:
        return [order.id for order in self._serving.accepted()]

    def _report_others(self) -> None:
        """Log which orders wait for another version than this one, whenever that changes."""
        waiting = self._tables.waiting(self._settings.queue)
        own = self._settings.application_version
        others = {version: found.orders for version, found in waiting.items() if version != own}
        if others.keys() != self._reported.keys():
            for version in sorted(others.keys() - self._reported.keys()):
                self._log.warning(
                    "orders for another version", version=version, orders=others[version]
                )
        self._reported = others

    def _write_health(self) -> None:
        path = self._settings.health_file
        if path is None:
            return
        state = {
            "state": self._state,
            "database": self._database,
            "running": len(self._serving.accepted()),
            "orders_for_other_versions": self._reported,
            "pid": os.getpid(),
            "at": round(time.time(), 3),
            **self._names(),
        }
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            beside.write_text(json.dumps(state) + "\n", encoding="utf-8")
            beside.replace(path)  # atomic, so that a reader never sees half of the file
        except OSError as error:
            self._log.error("health file not written", path=str(path), error=str(error))

    def _due(self, what: str, every: float) -> bool:
        now = time.monotonic()
        if now < self._next.get(what, 0.0):
            return False
        self._next[what] = now + every
        return True

    def _names(self) -> dict[str, str]:
        return {
            "worker": self._owner,
            "queue": self._settings.queue,
            "application_version": self._settings.application_version,
        }
