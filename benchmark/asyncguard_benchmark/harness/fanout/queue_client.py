"""The queue as a runner sees it: parcels go out, and each comes back as a future's result."""

import asyncio
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

try:
    import sqlalchemy.exc
    from dbos import DBOSClient, DBOSPortableJSONSerializer
    from dbos import error as dbos_error
except ImportError as error:
    raise ImportError(
        "Workers need DBOS; install it with: pip install 'asyncguard[dbos]'"
    ) from error

from asyncguard import DbosExecutor, application_version, open_journal
from asyncguard.core.results import Result, Success
from asyncguard.distributed.database_url import database_url, journal_beside
from asyncguard.distributed.protocol import order_id
from asyncguard.errors import AsyncguardError
from asyncguard.runtime.executors.port import Completion, Job
from asyncguard_benchmark.errors import WorkersError
from asyncguard_benchmark.harness.fanout import tools
from asyncguard_benchmark.harness.fanout.play import play_episodes

_TOGETHER = 50
"""Parcels that are removed from the queue at once when they are over: their results are large."""
_PATIENCE = 5.0
"""Seconds that the end of a run waits for what it withdraws."""
_AWAY = (sqlalchemy.exc.SQLAlchemyError, dbos_error.DBOSException, OSError)


class QueueClient:
    """One queue. Methods may be called from any thread."""

    def __init__(self, database: str, queue: str) -> None:
        """Connect, and make what the database lacks.

        Args:
            database: ``postgresql://...`` or the path of a SQLite file.
            queue: Name of the queue.

        Raises:
            WorkersError: the database cannot be used.
        """
        self._changed = threading.Condition()
        self._under_way: dict[str, Future[str]] = {}
        self._over: list[str] = []
        self._failed: WorkersError | None = None
        self._loop = asyncio.new_event_loop()
        self.heard_at = time.monotonic()
        """Time of the last answer, or of the start."""
        try:
            url = database_url(database)
            self._journal = open_journal(journal_beside(url))
        except AsyncguardError as problem:
            self._loop.close()
            raise WorkersError(str(problem)) from problem
        version = application_version(tools)
        self._executor = DbosExecutor(
            url, journal=self._journal, application_version=version, queue=queue
        )
        self._client = DBOSClient(
            system_database_url=url,
            serializer=DBOSPortableJSONSerializer(),
            lazy=True,
            retry_connection_errors=False,
        )
        self._thread = threading.Thread(target=self._loop.run_forever, name="queue", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._executor.recover(()), self._loop).result()
        except _AWAY as problem:
            self.close()
            raise WorkersError(
                f"the workers' database cannot be used: {_reason(problem)}"
            ) from problem

    def send(self, key: str, arguments: Mapping[str, Any]) -> "Future[str]":
        """Send a parcel; the answer of the worker.

        Args:
            key: A name that no other parcel has.
            arguments: Those of the tool.

        Raises:
            WorkersError: no worker will answer any more.
        """
        future: Future[str] = Future()
        with self._changed:
            if self._failed is not None:
                raise self._failed
            self._under_way[key] = future
        job = Job(
            key=key,
            attempt=1,
            tool=play_episodes.__name__,
            task="",
            call_id=key,
            arguments=arguments,
            run=_elsewhere,
        )
        self._loop.call_soon_threadsafe(self._executor.start, job, self._came)
        return future

    def fail(self, error: WorkersError) -> None:
        """End the wait for everything, now and from now on."""
        with self._changed:
            self._failed = self._failed or error
            for future in self._under_way.values():
                if not future.done():
                    future.set_exception(self._failed)

    def trouble(self) -> str:
        """Return reasons why answers may not come, in sentences; empty if none is known."""
        return self._executor.health().detail

    def tidy(self, least: int = _TOGETHER) -> None:
        """Remove parcels that are over from the queue, if there are so many of them."""
        with self._changed:
            names = self._over if len(self._over) >= least else []
            if names:
                self._over = []
        if not names:
            return
        try:
            self._client.delete_workflows(names)
        except _AWAY:
            with self._changed:
                self._over += names  # the next time, or by the workers after a month

    def close(self) -> None:
        """Withdraw what is under way, and disconnect."""
        self.fail(WorkersError("the run is over"))
        with self._changed:
            for key in self._under_way:
                self._executor.cancel(key)
            self._changed.wait_for(lambda: not self._under_way, timeout=_PATIENCE)
        self._executor.close()
        self.tidy(least=1)
        self._client.destroy()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._journal.close()

    def _came(self, completion: Completion) -> None:
        self.heard_at = time.monotonic()
        with self._changed:
            future = self._under_way.pop(completion.key)
            self._changed.notify_all()
            if not _begun_and_cancelled(completion.result):
                self._over.append(order_id(completion.key, completion.attempt))
            if future.done():  # no caller waits for it any more
                return
            match completion.result:
                case Success(content=str(text)):
                    future.set_result(text)
                case result:
                    future.set_exception(WorkersError(_told(result)))


def _begun_and_cancelled(result: Result) -> bool:
    """Return True if a worker still plays a job that was withdrawn: it has to find its order when it is done."""
    symptom = getattr(result, "symptom", None)
    return symptom is not None and symptom.error == "cancelled" and symptom.started


def _told(result: Result) -> str:
    symptom = getattr(result, "symptom", None)
    return f"a worker did not play what it was sent: {symptom.message if symptom is not None else result}"


def _reason(problem: Exception) -> str:
    return str(getattr(problem, "orig", None) or problem).strip().splitlines()[0]


async def _elsewhere() -> Result:
    raise AssertionError("a worker plays, and not the runner")
