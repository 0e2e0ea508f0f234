"""Executor of calls on workers: a job becomes an order in a DBOS queue that a worker process runs.

The queue lies on SQLite or PostgreSQL. The worker decides with the journal what may begin, and
records there what came of it. The queue only carries orders: one that is delivered twice, or to a
worker that died, is checked with the journal again.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy.exc
import structlog
from dbos import error as dbos_error

from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.results import CANCELLED_BEFORE_START, Failure, Result
from asyncguard.distributed.database_url import database_url
from asyncguard.distributed.protocol import RemoteJob, answer_from_json, order_of, order_to_json
from asyncguard.distributed.queue_client import QueueClient, Told
from asyncguard.distributed.queue_tables import CANCELLED, SUCCESS, Ended, JobTables
from asyncguard.distributed.reaper import Reaper
from asyncguard.errors import AsyncguardError, CallerError, JournalError
from asyncguard.journal.port import Journal
from asyncguard.runtime.clock import Backoff, LoopClock
from asyncguard.runtime.executors.local import LocalExecutor
from asyncguard.runtime.executors.port import Completion, Health, Job

DEFAULT_QUEUE = "asyncguard"
_log = structlog.wrap_logger(
    logging.getLogger("asyncguard.executor"), processors=[structlog.stdlib.render_to_log_kwargs]
)
_NOT_OURS = "The conversation is run by another process now; this one begins nothing more."
_UNASKED = (ErrorCode.JOURNAL_UNAVAILABLE, ErrorCode.REFUSED_BY_WORKER)
"""Answers of a worker that did not learn from the journal what was begun."""
_UNKNOWN = "A worker that had taken the call may have begun it; the next one could not find out."
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0
_PATIENCE = 30.0
"""Seconds that a run waits for a queue in which calls of its thread may lie."""
_CLOSED = "The executor was closed; nothing begins any more."
_WITHOUT_ANSWER = (ErrorCode.UNREADABLE_ANSWER, ErrorCode.WORKERS_GAVE_UP)
"""Errors of orders that ended and whose answer is not in the queue."""


@dataclass(kw_only=True, eq=False)
class _Carried:
    """A job on its way to a worker and back."""

    job: Job
    order: RemoteJob
    done: Callable[[Completion], None]
    loop: asyncio.AbstractEventLoop
    task: asyncio.Task[None] | None = None
    """Task that waits for the delay and posts the order then."""
    posted: bool = False
    """True once the queue client has the order; before, cancelling the task is enough."""


class DbosExecutor:
    """Executor that sends jobs to workers (``asyncguard worker``).

    The jobs of the tools named in ``local`` run in this process.
    """

    def __init__(
        self,
        database: str | Path,
        *,
        journal: Journal,
        application_version: str,
        local: Collection[str] = (),
        queue: str = DEFAULT_QUEUE,
        poll: float = 0.02,
    ) -> None:
        """Create an executor; the database is not queried yet.

        Args:
            database: The workers' queue: ``postgresql://...``, ``sqlite:///path`` or the path of a
                SQLite file.
            journal: The agent's journal; the workers must have the same one.
            application_version: Version of the workers that may run the jobs. A worker that is
                started without one has that of its list of tools:
                ``asyncguard.application_version(tools)``.
            local: Names of the tools that run in this process: those that use something of the
                graph, ask a person, or only start external work.
            queue: Name of the queue.
            poll: Seconds between two looks for results.

        Raises:
            CallerError: The database cannot be used for a queue, or a value is unusable.
        """
        if not application_version.strip():
            raise CallerError("application_version is empty; give the one that the workers have.")
        if poll <= 0:
            raise CallerError(f"poll must be > 0 seconds, not {poll}; give 0.02, for example.")
        # The queue is real, so virtual time has no meaning here, and no clock is passed in.
        self._clock = LoopClock()
        self._journal = journal
        self._local = LocalExecutor(self._clock, journal)
        self._local_tools = frozenset(local)
        self._queue, self._version = queue, application_version
        self._tables = JobTables(database_url(database))
        self._client = QueueClient(
            self._tables,
            queue=queue,
            version=application_version,
            poll=poll,
            tell=self._ended,
            refusal=self._refusal,
        )
        self._lock = threading.Lock()
        """Guards the next three: the queue client completes jobs on its own OS thread."""
        self._carried: dict[str, _Carried] = {}
        """Jobs that have not completed, by name of their order."""
        self._latest: dict[str, str] = {}
        """Name of the latest order, by key of its call."""
        self._closed = False
        self._journal_trouble = ""
        """Class of the journal's last error, empty while it answers."""

    @property
    def local(self) -> frozenset[str]:
        """Names of the tools that run in this process."""
        return self._local_tools

    def start(self, job: Job, done: Callable[[Completion], None]) -> None:
        """Send a job to a worker after its delay and its gate, or start it here."""
        if job.tool in self._local_tools:
            self._local.start(job, done)
            return
        loop = asyncio.get_running_loop()
        try:
            order, text = self._written(job)
        except CallerError as error:
            refused = _failure(
                ErrorCode.CANCELLED if self._closed else ErrorCode.NOT_FOR_WORKERS, str(error)
            )
            # Not at once: as for any other job, the completion comes after this method returned.
            loop.call_soon(done, Completion(key=job.key, attempt=job.attempt, result=refused))
            return
        carried = _Carried(job=job, order=order, done=done, loop=loop)
        with self._lock:
            self._carried[order.id] = carried
            self._latest[job.key] = order.id
        carried.task = loop.create_task(self._send(carried, text), name=f"call {job.key}")
        carried.task.add_done_callback(lambda task: self._withdrawn(carried, task))

    def cancel(self, key: str) -> bool:
        """Cancel a job; a job that no worker has claimed has not begun.

        Any other job is in doubt, and its worker is asked to stop it.
        """
        with self._lock:
            name = self._latest.get(key)
            carried = self._carried.get(name) if name is not None else None
            # Posted under the same lock: it is withdrawn here or cancelled there, never neither.
            posted = carried is not None and carried.posted
        if carried is None:
            return self._local.cancel(key)
        if posted:
            self._client.cancel(carried.order.id)
        else:
            self._stop(carried)
        return True

    def pending(self) -> Collection[str]:
        """Keys of the jobs that have not completed, here or on workers."""
        with self._lock:
            return (*self._latest, *self._local.pending())

    def poll(self) -> None:
        """Do nothing: results are delivered as they come."""

    async def recover(self, keys: Collection[str]) -> Mapping[str, int]:
        """Return the latest attempt of the calls that the queue carries, by key, of any sender.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: The database does not answer.
        """

        def look() -> Mapping[str, int]:
            self._tables.prepare()
            return self._tables.latest(keys)

        return await asyncio.to_thread(look)

    async def take_back(self, keys: Collection[str]) -> Mapping[str, int]:
        """See :class:`~asyncguard.runtime.executors.port.KeepingExecutor`.

        A queue that does not answer is waited for, as when an order is sent.
        """
        reaper = Reaper(self._tables, self._journal, _log)

        def take() -> Mapping[str, int]:
            self._tables.prepare()
            taken = self._tables.take_back(keys)
            # What a dead worker has claimed waits, too, and perhaps no worker is there to say so.
            return self._tables.take_back(taken) if taken and reaper.reap() else taken

        backoff = Backoff(
            first=_FIRST_PAUSE, longest=_LONGEST_PAUSE, patience=_PATIENCE, clock=self._clock
        )
        while True:
            try:
                return await asyncio.to_thread(take)
            except (sqlalchemy.exc.SQLAlchemyError, dbos_error.DBOSException) as error:
                if backoff.over:
                    raise JournalError(
                        f"The workers' queue does not answer ({type(error).__name__}), and calls "
                        "of the thread may wait there; check it, and run the thread again."
                    ) from error
            await backoff.pause()

    def health(self) -> Health:
        """Return the health: alive while it is open and the database answers.

        Its detail names calls that wait for workers of an unknown version.
        """
        if self._closed:
            return Health(alive=False, pending=len(self.pending()), detail=_CLOSED)
        # A database that is away hides what the last look noticed.
        trouble, detail = self._client.trouble or self._journal_trouble, self._client.notice
        if trouble:
            detail = (
                f"The database of queue or journal does not answer ({trouble}); "
                "calls are kept until it does."
            )
        return Health(alive=not trouble, pending=len(self.pending()), detail=detail)

    def close(self) -> None:
        """Cancel jobs that no worker has claimed; those that run continue, and are not reported."""
        with self._lock:
            self._closed = True
            unposted = [carried for carried in self._carried.values() if not carried.posted]
        self._local.close()
        for carried in unposted:
            self._stop(carried)
        self._client.close()

    def _written(self, job: Job) -> tuple[RemoteJob, str]:
        if self._closed:
            raise CallerError(_CLOSED)
        if job.intent is not None and job.intent.token is not None:
            raise CallerError(
                f"{job.tool!r} starts external work and needs its token in this process; "
                "name the tool in local=."
            )
        order = order_of(job, self._journal.id)
        return order, order_to_json(order)

    async def _send(self, carried: _Carried, text: str) -> None:
        await carried.job.wait(self._clock)
        # The gate is asked last: what it finds must still hold when the order is posted.
        refused = await self._taken_over(carried) or carried.job.gate()
        if refused is not None:
            self._complete(carried.order.id, refused)
            return
        # close() looks for unposted jobs under the lock, so none is posted after it.
        with self._lock:
            if self._closed:
                refused = _failure(ErrorCode.CANCELLED, _CLOSED)
            else:
                carried.posted = True
                self._client.post(carried.order.id, text)
        if refused is not None:
            self._complete(carried.order.id, refused)

    async def _taken_over(self, carried: _Carried) -> Failure | None:
        """Return the failure of a job whose thread another process acquired, else ``None``.

        No worker can know that. A journal that does not answer is waited for, as the queue is.
        """
        intent = carried.job.intent
        backoff = Backoff(first=_FIRST_PAUSE, longest=_LONGEST_PAUSE, clock=self._clock)
        while intent is not None:
            try:
                held = await self._journal.holds(intent.session)
            except JournalError as error:
                self._journal_trouble = type(error).__name__
                await backoff.pause()
                continue
            self._journal_trouble = ""
            return None if held else _failure(ErrorCode.TAKEN_OVER, _NOT_OURS)
        return None

    def _refusal(self, name: str) -> Failure | None:
        """Return the failure of an order whose thread another process has acquired; blocks."""
        carried = self._carried.get(name)
        intent = carried.job.intent if carried is not None else None
        if intent is None or asyncio.run(self._journal.holds(intent.session)):
            return None
        return _failure(ErrorCode.TAKEN_OVER, _NOT_OURS)

    def _stop(self, carried: _Carried) -> None:
        # Another OS thread may close the executor, even after the agent's loop has ended.
        if carried.task is not None and not carried.loop.is_closed():
            carried.loop.call_soon_threadsafe(carried.task.cancel)

    def _withdrawn(self, carried: _Carried, task: asyncio.Task[None]) -> None:
        """Complete a job that was cancelled before it was posted, or whose gate raised.

        Neither has begun.
        """
        if task.cancelled():
            self._complete(carried.order.id, _failure(ErrorCode.CANCELLED, CANCELLED_BEFORE_START))
        elif (error := task.exception()) is not None:
            self._complete(
                carried.order.id, _failure(type(error).__name__, f"{type(error).__name__}: {error}")
            )

    def _ended(self, name: str, end: Told) -> None:
        carried = self._carried.get(name)
        if carried is not None:
            result = end if isinstance(end, Failure) else _result(end, carried.order)
            if isinstance(result, Failure) and _tells_nothing(result.symptom):
                result = self._recorded(carried.order) or result
            self._complete(name, result)

    def _recorded(self, order: RemoteJob) -> Result | None:
        """Return what the journal has of an attempt whose answer is not in the queue; blocks."""
        if order.effect is None:
            return None
        try:
            entries = self._journal.entries(key=order.key)
        except AsyncguardError:  # away, or closed meanwhile
            return None
        attempts = (each for entry in entries if entry.key == order.key for each in entry.attempts)
        return next((each.result for each in attempts if each.number == order.attempt), None)

    def _complete(self, name: str, result: Result) -> None:
        # A job may end twice, withdrawn here and cancelled there; the first end is reported.
        with self._lock:
            carried = self._carried.pop(name, None)
            # Its call may have a later attempt by now, which stays.
            if carried is not None and self._latest.get(carried.job.key) == name:
                del self._latest[carried.job.key]
        if carried is not None:
            carried.done(
                Completion(key=carried.job.key, attempt=carried.job.attempt, result=result)
            )


def _tells_nothing(symptom: Symptom) -> bool:
    """Return whether the journal may know more than the worker that answered, or did not."""
    return symptom.error in _WITHOUT_ANSWER or (symptom.error in _UNASKED and symptom.started)


def _result(ended: Ended, order: RemoteJob) -> Result:
    if ended.state == SUCCESS and ended.answer is not None:
        try:
            result = answer_from_json(ended.answer, order.fingerprint)
        except CallerError as error:
            return _failure(ErrorCode.UNREADABLE_ANSWER, str(error), started=True)
        if isinstance(result, Failure) and result.symptom.error in _UNASKED and ended.claims > 1:
            # An earlier worker may have begun it; this one could not ask the journal for that.
            return _failure(result.symptom.error, _UNKNOWN, started=True)
        return result
    if ended.state == SUCCESS:
        return _failure(
            ErrorCode.UNREADABLE_ANSWER, "The worker's answer cannot be read.", started=True
        )
    # Claims are counted when a worker takes an order: without one nothing can have begun.
    if ended.state == CANCELLED and not ended.claims:
        return _failure(ErrorCode.CANCELLED, CANCELLED_BEFORE_START)
    if ended.state == CANCELLED:
        return _failure(
            ErrorCode.CANCELLED,
            "The call was cancelled while a worker ran it.",
            started=True,
            running=True,
        )
    message = (
        f"The workers gave the call up ({ended.state}) after it was taken {ended.claims} times."
    )
    return _failure(ErrorCode.WORKERS_GAVE_UP, message, started=bool(ended.claims))


def _failure(error: str, message: str, *, started: bool = False, running: bool = False) -> Failure:
    symptom = Symptom(
        error=error, message=message, transient=False, started=started, running=running
    )
    return Failure(symptom=symptom)
