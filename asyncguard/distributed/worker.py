"""A worker process: takes orders, looks after lost workers and cancelled calls, tells its health, and drains."""

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

from asyncguard.distributed.dbos_runtime import DbosRuntime, ToStructlog
from asyncguard.distributed.job_runner import JobRunner, Toolbox
from asyncguard.distributed.protocol import RemoteJob
from asyncguard.distributed.queue_tables import JobTables
from asyncguard.distributed.reaper import Reaper
from asyncguard.errors import CallerError, JournalError
from asyncguard.journal.port import Journal
from asyncguard.runtime.clock import LoopClock

_LOOK = 0.25
"""Seconds between two looks after lost workers and cancelled calls."""
_REPORT = 5.0
"""Seconds between two looks at orders that no worker of this version will take."""
_PRUNE, _KEPT = 3600.0, 30 * 86400.0
_MARGIN = 30.0
_LOGGER = "dbos"


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerSettings:
    """How a worker works."""

    url: str
    """The queue's database, as ``database_url`` makes it."""
    queue: str
    """Name of the queue."""
    application_version: str
    """Only orders of this version are taken."""
    concurrency: int = 8
    """Calls at once. It belongs to the queue: the worker that was started last sets it for all of them."""
    poll: float = 0.02
    """Seconds between two looks for orders; of the queue, too."""
    drain_timeout: float = 30.0
    """Seconds that running calls are waited for at the end."""
    health_file: Path | None = None
    """Where its state is written each second, as JSON; ``None`` for nowhere."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if self.concurrency < 1:
            raise CallerError(f"concurrency={self.concurrency} runs no call; give at least 1.")
        if self.poll <= 0 or self.drain_timeout < 0:
            raise CallerError(
                f"poll={self.poll} and drain_timeout={self.drain_timeout} have to be seconds > 0."
            )


class Worker:
    """One worker; a process has one at most."""

    def __init__(
        self, settings: WorkerSettings, journal: Journal, tools: Toolbox, log: Any
    ) -> None:
        """Make a worker; nothing is connected yet.

        Args:
            settings: How it works.
            journal: The journal that the agents have, too.
            tools: What it runs.
            log: A structlog logger.
        """
        self._settings, self._journal, self._log = settings, journal, log
        self._serving = JobRunner(journal, tools, LoopClock(), log)
        self._tables = JobTables(settings.url)
        self._reaper = Reaper(self._tables, journal, log)
        self._owner = journal.process_id
        self._state = "starting"
        self._away = False
        self._reported: dict[str, int] = {}
        self._next: dict[str, float] = {}

    def run(self, stop: threading.Event) -> Collection[RemoteJob]:
        """Work until ``stop`` is set, then drain. Blocks.

        Args:
            stop: Set by whoever wants the worker to end, from any thread.

        Returns:
            The orders whose tools still ran when the time to drain was over; ending the process hands them on.

        Raises:
            CallerError: The database cannot be reached or prepared.
        """
        dbos_log, handler = logging.getLogger(_LOGGER), ToStructlog(self._log)
        propagated, dbos_log.propagate = dbos_log.propagate, False
        dbos_log.addHandler(handler)
        try:
            self._prepare()
            carrier = self._launch()
            while not stop.wait(_LOOK):
                self._tend(carrier)
            return self._drain(carrier)
        finally:
            dbos_log.removeHandler(handler)
            dbos_log.propagate = propagated
            self._tables.close()

    def _launch(self) -> DbosRuntime:
        settings = self._settings
        carrier = DbosRuntime(
            settings.url,
            queue=settings.queue,
            version=settings.application_version,
            owner=self._owner,
            serve=self._serving.serve,
        )
        carrier.launch()
        self._state = "serving"
        self._log.info("worker ready", **self._names(), concurrency=settings.concurrency)
        return carrier

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
                f"The queue's database cannot be used ({reason}); see --database-url and whether it can be written."
            ) from error

    def _drain(self, carrier: DbosRuntime) -> Collection[RemoteJob]:
        self._state = "draining"
        running = len(self._serving.accepted())
        self._log.info(
            "worker drains", **self._names(), running=running, seconds=self._settings.drain_timeout
        )
        until = time.monotonic() + self._settings.drain_timeout
        # DBOS would cancel at its own time-out, and leave unsaid what was cancelled: here is decided when it is over.
        ending = carrier.stop(self._settings.drain_timeout + _MARGIN)
        while ending.is_alive() and (time.monotonic() < until or not self._serving.accepted()):
            ending.join(_LOOK)
            self._tend(carrier)
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
        """One look at all that is not an order. A database that is away is waited for."""
        try:
            self._keep_name(carrier)
            self._reaper.reap()
            self._stop_cancelled()
            if self._due("report", _REPORT):
                self._report_others()
            if self._due("prune", _PRUNE):
                self._tables.prune(_KEPT)
        except (sqlalchemy.exc.SQLAlchemyError, JournalError) as error:
            self._reaper.hold()
            if not self._away:
                self._log.warning("database away", error=type(error).__name__)
            self._away = True
        else:
            if self._away:
                self._log.info("database back", **self._names())
            self._away = False
        if self._due("health", 1.0):
            self._write_health()

    def _keep_name(self, carrier: DbosRuntime) -> None:
        """Go on under the journal's new name for this process, if it lost its lock with its connection."""
        process_id = self._journal.process_id
        if process_id == self._owner:
            return
        self._reaper.hold()
        carrier.rename(process_id)
        names = [order.id for order in self._serving.accepted()]
        kept = self._tables.adopt(names, old=self._owner, new=process_id) if names else 0
        self._log.warning("worker renamed", before=self._owner, after=process_id, orders=kept)
        self._owner = process_id

    def _stop_cancelled(self) -> None:
        names = [order.id for order in self._serving.accepted()]
        for name in self._tables.cancelled(names) if names else ():
            self._serving.cancel(name)

    def _report_others(self) -> None:
        """Say which orders wait for another version than this one, whenever that changes."""
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
            "database": "away" if self._away else "ok",
            "running": len(self._serving.accepted()),
            "orders_for_other_versions": self._reported,
            "pid": os.getpid(),
            "at": round(time.time(), 3),
            **self._names(),
        }
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            beside.write_text(json.dumps(state) + "\n", encoding="utf-8")
            beside.replace(path)  # whoever reads it never sees half of it
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
