"""The writer thread: runs queued requests, and commits them in one transaction.

One thread does all reading and writing. So no event loop waits for a disk, a connection is never
shared, and the commits of calls that come together cost one flush. If a request or the commit
fails, each request is tried in a transaction of its own, so that one of them (one that fills the
disk, say) does not fail the others. A request is a function of the store; it may be run more than
once, and must not change anything else.
"""

import asyncio
import contextlib
import logging
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Protocol, TypeVar
from weakref import WeakSet

from asyncguard.errors import AsyncguardError, JournalError, JournalLockedError
from asyncguard.journal.sql.store import ConnectionLostError, IdleTransactionError, Store

_T = TypeVar("_T")
_MOST = 256
"""Maximal number of requests in one transaction."""
_PATIENCE = 10.0
"""Seconds that :meth:`WriterThread.stop` waits for queued requests."""
_THREADS: "WeakSet[threading.Thread]" = WeakSet()
"""Threads of all writers of this process."""
_CLOSED = "The journal was closed; open it again."
_log = logging.getLogger("asyncguard.journal")


def nothing(_: Any) -> None:
    """Do nothing; the default for callbacks after a commit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rounds:
    """Periodic work of the writer thread between requests."""

    pause: Callable[[], float | None]
    """Returns seconds until the next round, ``None`` if none is needed."""
    work: Callable[[Store], None]
    """Runs one round, outside of any transaction; may raise :class:`JournalError`."""


class _Reply(Protocol):
    """Receiver of the answer to a request; called by the writer thread."""

    def wanted(self) -> bool:
        """Return True if the caller still waits; called once, before the request is run."""
        ...

    def give(self, answer: Any) -> None:
        """Pass the answer on; its transaction is on disk."""
        ...

    def fail(self, error: AsyncguardError) -> None:
        """Pass the error on; no change of the request was committed."""
        ...


@dataclass(frozen=True, slots=True)
class _ToThread:
    """Reply to an OS thread that blocks."""

    future: Future[Any]

    def wanted(self) -> bool:
        return self.future.set_running_or_notify_cancel()

    def give(self, answer: Any) -> None:
        self.future.set_result(answer)

    def fail(self, error: AsyncguardError) -> None:
        self.future.set_exception(error)


@dataclass(frozen=True, slots=True)
class _ToLoop:
    """Reply to a coroutine; dropped if it was cancelled, or its loop closed."""

    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]

    def wanted(self) -> bool:
        return not self.future.cancelled()

    def give(self, answer: Any) -> None:
        self._set(self.future.set_result, answer)

    def fail(self, error: AsyncguardError) -> None:
        self._set(self.future.set_exception, error)

    def _set(self, set_: Callable[[Any], None], value: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed
            self.loop.call_soon_threadsafe(lambda: None if self.future.cancelled() else set_(value))


@dataclass(frozen=True, slots=True)
class _ToLog:
    """Reply to a request without a waiting caller; failures are logged."""

    what: str
    failed: Callable[[AsyncguardError], None]

    def wanted(self) -> bool:
        return True

    def give(self, answer: Any) -> None:
        pass

    def fail(self, error: AsyncguardError) -> None:
        _log.warning("%s was not written: %s", self.what, error)
        self.failed(error)


@dataclass(kw_only=True, slots=True)
class _Request:
    work: Callable[[Store], Any]
    then: Callable[[Any], None]
    reply: _Reply
    number: int = 0
    """Position among all requests, from 1."""
    answer: Any = None


class WriterThread:
    """OS thread that runs requests in order."""

    def __init__(self, store: Store, rounds: Rounds) -> None:
        """Make a writer; :meth:`start` opens the store.

        Args:
            store: Used on the thread only.
            rounds: What is done between requests.
        """
        self._store = store
        self._rounds = rounds
        self._queue: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        # Requests that wait for the next transaction, by rising number; guarded by the gate.
        self._later: list[_Request] = []
        # Reentrant: garbage collection while it is held may close this very journal.
        self._gate = threading.RLock()
        """No request is queued after the end, and numbers follow the order of the queue."""
        # Numbers of the last request, of the last posted one, and of the last one on disk.
        self._asked = 0
        self._posted = 0
        self._done = 0
        # Flushes that wait, each for the posted request with its number; guarded by the gate.
        self._flushes: list[tuple[int, _Reply]] = []
        # A fork copies the queue and not the thread: no request of the child would be answered.
        self._pid = os.getpid()
        # Read under the gate, so that nothing is queued after the end.
        self._stopped = False
        # True if the last round failed; only the first failure of several is logged.
        self._ailing = False
        # True if another process kept the database locked during the last batch.
        self._locked = False
        # A daemon: an interpreter that exits stops it by the finalizer of its journal, and must not
        # wait for it before.
        self._thread = threading.Thread(target=self._run, name="asyncguard journal", daemon=True)
        _THREADS.add(self._thread)
        # Done when the store is open, or cannot be opened; start waits for it.
        self._opened: Future[None] = Future()

    def start(self) -> None:
        """Open the store and start serving requests.

        Raises:
            JournalError: The store cannot be opened.
        """
        self._thread.start()
        self._opened.result()

    def submit(
        self, work: Callable[[Store], _T], then: Callable[[_T], None] = nothing
    ) -> "Future[_T]":
        """Queue a request of a blocking OS thread; its future is done once it is on disk.

        Args:
            work: Runs in the transaction.
            then: Receives the answer on the writer thread, after the commit and before the future
                is done.

        Raises:
            JournalError: The journal was closed, or opened by the process that this one was forked
                from.
        """
        future: Future[_T] = Future()
        self._put(_Request(work=work, then=then, reply=_ToThread(future)))
        return future

    def ask(
        self, work: Callable[[Store], _T], then: Callable[[_T], None] = nothing
    ) -> "asyncio.Future[_T]":
        """Queue a request of a coroutine; its future is done once it is on disk.

        Args:
            work: Runs in the transaction; not at all if the future is cancelled before.
            then: As for :meth:`submit`.

        Raises:
            JournalError: As for :meth:`submit`.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()
        self._put(_Request(work=work, then=then, reply=_ToLoop(loop, future)))
        return future

    def post(
        self,
        what: str,
        work: Callable[[Store], _T],
        then: Callable[[_T], None] = nothing,
        *,
        failed: Callable[[AsyncguardError], None] = nothing,
    ) -> None:
        """Queue a request that only :meth:`flush` waits for; a failure is logged.

        Args:
            what: Name of the written thing in the log.
            work: Runs in the transaction, before requests that are queued later.
            then: As for :meth:`submit`.
            failed: Called with a failure, on the writer thread, or on this one if the request
                cannot be queued.
        """
        self._post(_Request(work=work, then=then, reply=_ToLog(what, failed)), self._queue_posted)

    def post_later(
        self,
        what: str,
        work: Callable[[Store], _T],
        then: Callable[[_T], None] = nothing,
        *,
        failed: Callable[[AsyncguardError], None] = nothing,
    ) -> None:
        """Add a request to the next transaction or round, without one of its own.

        The parameters are those of :meth:`post`.
        """
        if self._rounds.pause() is None:
            self.post(what, work, then, failed=failed)  # no round would come
            return
        self._post(_Request(work=work, then=then, reply=_ToLog(what, failed)), self._later.append)
        if self._rounds.pause() is None:  # what there was to look after ended in between
            self.post("a wake-up", nothing)

    async def flush(self) -> None:
        """Wait until each posted request is on disk, or has failed.

        It makes no request, which would have a transaction of its own: a second flush of the disk,
        if final states wait for the next transaction.
        """
        if self._done >= self._posted or os.getpid() != self._pid:
            return
        loop = asyncio.get_running_loop()
        reached = loop.create_future()
        with self._gate:
            if self._done >= self._posted:
                return
            self._flushes.append((self._posted, _ToLoop(loop, reached)))
        await reached

    def _post(self, request: _Request, queue_it: Callable[[_Request], None]) -> None:
        try:
            self._number(request, queue_it)
        except JournalError as error:
            request.reply.fail(error)

    def _queue_posted(self, request: _Request) -> None:
        self._posted = request.number
        self._queue.put(request)

    def _put(self, request: _Request) -> None:
        self._number(request, self._queue.put)

    def _number(self, request: _Request, queue_it: Callable[[_Request], None]) -> None:
        if os.getpid() != self._pid:
            raise JournalError(
                "The journal was opened before this process was forked; "
                "open it again in this process."
            )
        with self._gate:
            if self._stopped:
                raise JournalError(_CLOSED)
            self._asked += 1
            request.number = self._asked
            queue_it(request)

    def stop(self, last: Callable[[Store], None]) -> None:
        """Run the queued requests and a last one, and end the thread; only the first call counts.

        May be called from any OS thread.

        Args:
            last: Runs in the last transaction; a failure is logged.
        """
        if os.getpid() != self._pid:
            return
        with self._gate:
            if self._stopped:
                return
            self._stopped = True
            goodbye = _Request(
                work=last, then=nothing, reply=_ToLog("the end", nothing), number=self._asked + 1
            )
            self._queue.put(goodbye)
            self._queue.put(None)
        # The finalizer of a journal may run on a writer thread: its own, or one that has begun the
        # transaction for which this end has to wait.
        if threading.current_thread() not in _THREADS:
            self._thread.join(_PATIENCE)

    def _run(self) -> None:
        try:
            self._store.open()
        except BaseException as error:  # noqa: BLE001 - raised again by start
            self._stopped = True
            self._opened.set_exception(_ours(error) if isinstance(error, Exception) else error)
            return
        self._opened.set_result(None)
        try:
            while self._serve():
                pass
        finally:
            with self._gate:
                self._stopped = True
            self._store.close()
            self._reached(self._asked)  # no flush waits for requests that are never run
            while not self._queue.empty():
                request = self._queue.get()
                if request is not None and request.reply.wanted():
                    request.reply.fail(JournalError(_CLOSED))

    def _serve(self) -> bool:
        """Run one batch, or one round; return False at the end."""
        try:
            batch = [self._queue.get(timeout=self._rounds.pause())]
        except queue.Empty:
            batch = []
        asked, ended = self._take(batch)
        requests = [request for request in asked if request.reply.wanted()]
        self._locked = False
        if requests:
            self._commit(requests)
            self._reached(requests[-1].number)
        # A round would wait for the other process's lock as long again, and the requests with it.
        if not self._locked:
            try:
                self._rounds.work(self._store)
            except Exception as error:  # noqa: BLE001 - a damaged row must not end the thread
                if not self._ailing:  # logged once, not in every round
                    _log.warning("the maintenance of the journal failed: %s", _ours(error))
                self._ailing = True
            else:
                self._ailing = False
        return not ended

    def _take(self, batch: list[_Request | None]) -> tuple[list[_Request], bool]:
        """Take the requests of a batch in order, with the postponed ones before them.

        Returns:
            The requests, and True if the end was reached.
        """
        with self._gate:  # so that no request overtakes another
            while len(batch) < _MOST and not self._queue.empty():
                batch.append(self._queue.get())
            asked = [request for request in batch if request is not None]
            last = asked[-1].number if asked and not self._queue.empty() else self._asked + 1
            later = [request for request in self._later if request.number < last]
            del self._later[: len(later)]
        return sorted((*later, *asked), key=attrgetter("number")), len(asked) < len(batch)

    def _commit(self, requests: list[_Request]) -> None:
        error = self._attempt(requests)
        # Each request alone would wait for the lock as long again.
        self._locked = isinstance(error, JournalLockedError)
        if (
            error is not None
            and len(requests) > 1
            and not (self._locked or isinstance(error, ConnectionLostError))
        ):
            for request in requests:
                self._commit([request])
            return
        for request in requests:
            failure = error
            if failure is None:
                try:
                    request.then(request.answer)
                except Exception as raised:  # noqa: BLE001 - passed to the caller
                    failure = _ours(raised)
            # Before the reply, as the caller may flush at once.
            self._reached(request.number - 1)
            if failure is None:
                request.reply.give(request.answer)
            else:
                request.reply.fail(failure)

    def _reached(self, number: int) -> None:
        """Note that the requests up to a number are on disk or have failed, and end flushes."""
        with self._gate:  # so that no flush begins to wait for them afterwards
            self._done = number
            ended = [reply for last, reply in self._flushes if last <= number]
            del self._flushes[: len(ended)]
        for reply in ended:
            reply.give(None)

    def _attempt(
        self, requests: list[_Request], *, once_more: bool = True
    ) -> AsyncguardError | None:
        """Run requests in one transaction; return the error that rolled it back, or ``None``.

        A transaction that lost its server before the commit has changed nothing, so it is run once
        more: a process that is suspended for seconds loses its session to the server's limit for
        idle transactions.
        """
        store, began = self._store, False
        try:
            store.begin()
            began = True
            for request in requests:
                request.answer = request.work(store)
            # From here on a lost server may have committed, unless it says that the session was
            # idle: running the requests again could, for instance, answer Running to the process
            # that was just permitted to begin.
            began = False
            store.commit()
        except Exception as error:  # noqa: BLE001 - passed to the callers; the thread must go on
            store.rollback()
            lost = IdleTransactionError if not began else ConnectionLostError
            if once_more and isinstance(error, lost):
                return self._attempt(requests, once_more=False)
            return _ours(error)
        return None


def _ours(error: Exception) -> AsyncguardError:
    """Return an error of this library; an unforeseen one becomes the journal's."""
    if isinstance(error, AsyncguardError):
        return error
    odd = JournalError(
        f"The journal could not do what it was asked: {type(error).__name__}: {error}"
    )
    odd.__cause__ = error
    return odd
