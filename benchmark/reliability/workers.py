"""Agents that send their calls to workers, and the workers; both die like all the others."""

import asyncio
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import structlog

from asyncguard.adapters.tools.declare import specs_of
from asyncguard.adapters.tools.worker_tools import WorkerTools
from asyncguard.distributed.database_url import database_url
from asyncguard.distributed.executor import DbosExecutor
from asyncguard.distributed.worker import Worker, WorkerSettings
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import Journal
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.runtime.executors.port import Completion, Job
from reliability.cases import Case, Database, Point
from reliability.children import RAISED
from reliability.effectlog import EffectLog
from reliability.killing import Trigger
from reliability.places import Place
from reliability.savers import Steps
from reliability.seams import DyingJournal
from reliability.story import story_of
from reliability.tools import Toolbox, shape_of
from reliability.world import World

_VERSION = "proof"
_POLL = 0.02
_DRAIN = 10.0


def queue_of(case: Case, place: Place) -> str:
    """Return the database of the queue, as DBOS takes it."""
    return database_url(
        place.url if case.database is Database.POSTGRES else place.folder / "queue.sqlite"
    )


class DyingSender(DbosExecutor):
    """Executor that sends calls to workers, and dies when the target's call is queued and not yet taken."""

    def __init__(self, case: Case, place: Place, journal: Journal, trigger: Trigger) -> None:
        """Make an executor."""
        url = queue_of(case, place)
        super().__init__(
            url, journal=journal, application_version=_VERSION, queue=case.name, poll=_POLL
        )
        self._trigger = trigger
        self._watching: asyncio.Task[None] | None = None

    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        """Send a job."""
        super().start(job, done)
        if self._trigger.point is Point.C4 and job.arguments.get("item") == self._trigger.item:
            self._watching = asyncio.get_running_loop().create_task(self._die_when_queued(job.key))

    async def _die_when_queued(self, key: str) -> None:
        while True:  # the queue is in a database and sends no event
            try:
                if await self.recover([key]):
                    self._trigger.at(Point.C4)
            except Exception:  # noqa: BLE001 - say, a locked database: the agent would live on unnoticed
                traceback.print_exc()
            await asyncio.sleep(_POLL)


class ReapingJournal(DyingJournal):
    """Journal of a worker that dies once the reaper knows the processes that are gone, before it takes their calls."""

    def gone(self, process_ids: Collection[str]) -> Collection[str]:
        """Return the processes that are gone, or die if there are any."""
        found = self.journal.gone(process_ids)
        if found:
            self.trigger.at(Point.C15)
        return found


def work(case: Case, place: Place, life: int, point: Point | None) -> None:
    """Be a worker until SIGTERM comes, and end the process.

    Args:
        case: Case to play.
        place: Place of the case.
        life: Number of the process.
        point: Point at which it dies; ``None`` for none.
    """
    code = 0
    try:
        _work(case, place, life, point)
    except BaseException:  # noqa: BLE001 - whatever it is, it is told and the process ends
        traceback.print_exc()
        code = RAISED
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _work(case: Case, place: Place, life: int, point: Point | None) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    log, story = EffectLog(place.effects, life), story_of(case)
    trigger = Trigger(log, point, story.target.item)
    shape = shape_of(case, story)
    toolbox = Toolbox(case, shape, World(log, shape.classes, shape.declines), Steps(trigger), life)
    tools = toolbox.tools()
    specs = specs_of(tools, toolbox.specs())
    with ThreadPoolExecutor(16) as pool:
        settings = WorkerSettings(
            url=queue_of(case, place),
            queue=case.name,
            application_version=_VERSION,
            poll=_POLL,
            drain_timeout=_DRAIN,
        )
        opened = open_journal(place.journal(case), kind=ProcessKind.WORKER)
        journal = cast(Journal, ReapingJournal(opened, trigger, case.broken))
        Worker(settings, journal, WorkerTools(tools, specs, pool), _logger()).run(stop)
        opened.close()


def _logger() -> Any:
    return structlog.wrap_logger(
        structlog.WriteLogger(sys.stderr),
        processors=[structlog.processors.add_log_level, structlog.processors.JSONRenderer()],
    )
