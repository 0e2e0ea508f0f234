"""The writer thread: it takes what is queued and commits it in one transaction.

One thread does all reading and writing, so that no event loop waits for a disk, a connection is never shared, and the
commits of calls that come together cost one flush. A request that fails is undone alone. If the commit of several
fails, each is tried in a transaction of its own, so that none suffers for another (one that fills the disk, say).
A request is a function of the store; it may be run more than once, and must not change anything else.
"""

import logging
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from asyncguard.engine.journal.store import ConnectionLostError, Store
from asyncguard.errors import AsyncguardError, JournalError

_T = TypeVar("_T")
_MOST = 256
"""Requests in one transaction."""
_PATIENCE = 10.0
"""Seconds that :meth:`Writer.stop` waits for what is queued."""
_CLOSED = "The journal was closed; open it anew."
_log = logging.getLogger("asyncguard.journal")


def nothing(_: Any) -> None:
    """What is done after the commit where nothing is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rounds:
    """What the writer thread does unasked."""

    pause: Callable[[], float | None]
    """Seconds until the next round, ``None`` if there is nothing to look after."""
    work: Callable[[Store], None]
    """One round, outside of any transaction; may raise :class:`JournalError`."""


@dataclass(kw_only=True, slots=True)
class _Request:
    work: Callable[[Store], Any]
    future: Future[Any]
    then: Callable[[Any], None]
    answer: Any = None
    error: BaseException | None = None


class Writer:
    """Runs requests on a thread of its own, in order."""

    def __init__(self, store: Store, rounds: Rounds) -> None:
        """Make a writer; :meth:`start` opens the store.

        Args:
            store: Used on the thread only.
            rounds: What is done between requests.
        """
        self._store = store
        self._rounds = rounds
        self._queue: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._later: list[_Request] = []
        self._gate = threading.Lock()
        """Nothing is queued behind the end."""
        self._pid = os.getpid()
        self._stopped = False
        self._ailing = False
        # A daemon: an interpreter that exits stops it by the finalizer of its journal, and must not wait for it before.
        self._thread = threading.Thread(target=self._run, name="asyncguard journal", daemon=True)
        self._opened: Future[None] = Future()

    def start(self) -> None:
        """Open the store and take requests.

        Raises:
            JournalError: The store cannot be opened.
        """
        self._thread.start()
        self._opened.result()

    def submit(self, work: Callable[[Store], _T], then: Callable[[_T], None] = nothing) -> "Future[_T]":
        """Queue a request; the future is done when its transaction is on disk.

        Args:
            work: Runs in the transaction.
            then: Takes its answer on the writer thread, after the commit and before the future is done.

        Raises:
            JournalError: The journal was closed, or opened by the process that this one was forked from.
        """
        if os.getpid() != self._pid:
            raise JournalError("The journal was opened before this process was forked; open it anew in this process.")
        future: Future[_T] = Future()
        with self._gate:
            if self._stopped:
                raise JournalError(_CLOSED)
            self._queue.put(_Request(work=work, future=future, then=then))
        return future

    def soon(self, work: Callable[[Store], None], then: Callable[[None], None] = nothing) -> "Future[None]":
        """Queue what nobody waits for: it goes into the next transaction, or the next round, whichever comes first.

        Args:
            work: Runs in the transaction, before what was submitted after it.
            then: As for :meth:`submit`.

        Raises:
            JournalError: As for :meth:`submit`.
        """
        if self._rounds.pause() is None:
            return self.submit(work, then)  # no round would come
        request = _Request(work=work, future=Future(), then=then)
        with self._gate:
            if self._stopped:
                raise JournalError(_CLOSED)
            self._later.append(request)
        return request.future

    def stop(self, last: Callable[[Store], None]) -> None:
        """Do what is queued and one thing more, and end the thread; at most once, and from any thread.

        Args:
            last: Runs in the last transaction; a failure is logged.
        """
        if os.getpid() != self._pid:
            return
        with self._gate:
            if self._stopped:
                return
            self._stopped = True
            self._queue.put(_Request(work=last, future=Future(), then=nothing))
            self._queue.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(_PATIENCE)

    def _run(self) -> None:
        try:
            self._store.open()
        except BaseException as error:  # noqa: BLE001 - whoever opens the journal gets it
            self._stopped = True
            self._opened.set_exception(error)
            return
        self._opened.set_result(None)
        try:
            while self._serve():
                pass
        finally:
            with self._gate:
                self._stopped = True
            self._store.close()
            self._refuse_the_rest()

    def _serve(self) -> bool:
        """One batch, or one round; whether there is more to come."""
        try:
            batch = [self._queue.get(timeout=self._rounds.pause())]
        except queue.Empty:
            batch = []
        while batch and batch[-1] is not None and len(batch) < _MOST and not self._queue.empty():
            batch.append(self._queue.get())
        with self._gate:
            later, self._later = self._later, []
        wanted = (item for item in (*later, *batch) if item is not None)
        requests = [item for item in wanted if item.future.set_running_or_notify_cancel()]
        if requests:
            self._commit(requests)
        self._look_after()
        return not batch or batch[-1] is not None

    def _look_after(self) -> None:
        try:
            self._rounds.work(self._store)
        except JournalError as error:
            if not self._ailing:  # said once, not at every round until it is over
                _log.warning("the journal is not looked after: %s", error)
            self._ailing = True
        else:
            self._ailing = False

    def _commit(self, requests: list[_Request]) -> None:
        error = self._attempt(requests)
        if error is not None and len(requests) > 1 and not isinstance(error, ConnectionLostError):
            for request in requests:
                self._commit([request])
            return
        for request in requests:
            failure = error or request.error
            if failure is None:
                failure = _call(request)
            if failure is None:
                request.future.set_result(request.answer)
            else:
                request.future.set_exception(failure)

    def _attempt(self, requests: list[_Request]) -> AsyncguardError | None:
        """Run requests in one transaction; why none of them lasts, or ``None``."""
        store = self._store
        try:
            store.begin()
            if len(requests) == 1:
                _run_alone(store, requests[0])
            else:
                for request in requests:
                    _run_apart(store, request)
            store.commit()
        except Exception as error:  # noqa: BLE001 - it goes to whoever asked; a thread that ended would answer nobody
            store.rollback()
            return _ours(error)
        return None

    def _refuse_the_rest(self) -> None:
        while not self._queue.empty():
            request = self._queue.get()
            if request is not None and request.future.set_running_or_notify_cancel():
                request.future.set_exception(JournalError(_CLOSED))


def _run_alone(store: Store, request: _Request) -> None:
    """Run the only request of a transaction; what it raises undoes the transaction."""
    request.error = None
    request.answer = request.work(store)


def _run_apart(store: Store, request: _Request) -> None:
    """Run a request among others, so that its failure undoes nothing else."""
    request.error = None
    store.execute("SAVEPOINT request")
    try:
        request.answer = request.work(store)
    except ConnectionLostError:
        raise
    except Exception as error:  # noqa: BLE001 - it goes to whoever asked
        request.error = _ours(error)
        store.execute("ROLLBACK TO SAVEPOINT request")
    store.execute("RELEASE SAVEPOINT request")


def _ours(error: Exception) -> AsyncguardError:
    """An error that says whose fault it is; what nobody foresaw is the journal's."""
    if isinstance(error, AsyncguardError):
        return error
    odd = JournalError(f"The journal could not do what it was asked: {type(error).__name__}: {error}")
    odd.__cause__ = error
    return odd


def _call(request: _Request) -> AsyncguardError | None:
    try:
        request.then(request.answer)
    except Exception as error:  # noqa: BLE001 - it goes to whoever asked
        return _ours(error)
    return None
