"""The one thread of an executor that talks to the queue: it posts orders, cancels them, and looks which are over.

Orders that come while it writes are written together in the next transaction, so that many cost little more than one.
A database that is away loses nothing: what was to be posted is kept and posted when it is back.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import sqlalchemy.exc
from dbos import error as dbos_error

from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.results import Failure
from asyncguard.distributed.queue_tables import Ended, JobTables, Waiting

_IDLE = 5.0
"""Seconds after which a thread with nothing to wait for ends; the next order starts another."""
_CHECK_EVERY = 5.0
_LONG_WAIT = 30.0
"""Seconds after which it is said that calls wait, though workers of their version were there."""
_LONGEST_PAUSE = 2.0
_AWAY = (
    sqlalchemy.exc.OperationalError,
    sqlalchemy.exc.InterfaceError,
    sqlalchemy.exc.TimeoutError,
)
_log = logging.getLogger("asyncguard.executor")
Told = Ended | Failure


@dataclass(frozen=True, kw_only=True, slots=True)
class _QueueOperation:
    name: str
    text: str | None = None
    """The order to post; without one, the order of this name is cancelled."""
    begun: bool = True
    """Whether it is cancelled even if a worker has taken it."""


class QueueClient:
    """Carries orders to the queue and tells, on its own thread, what became of them."""

    def __init__(
        self,
        tables: JobTables,
        *,
        queue: str,
        version: str,
        poll: float,
        tell: Callable[[str, Told], None],
    ) -> None:
        """Make a courier; its thread starts with the first order.

        Args:
            tables: The queue's database.
            queue: Where the orders wait.
            version: Which workers may take them.
            poll: Seconds between two looks at what is over.
            tell: Takes the name of an order and what became of it, once for each; must not raise.
        """
        self._tables = tables
        self._queue, self._version, self._poll = queue, version, poll
        self._tell = tell
        self._changed = threading.Condition()
        self._errands: deque[_QueueOperation] = deque()
        self._awaited: set[str] = set()
        self._thread: threading.Thread | None = None
        self._tried: set[str] = set()
        self._closing = False
        self._trouble = ""
        self._notice = ""
        self._reported: tuple[str, ...] = ()
        self._checked_at = -_CHECK_EVERY

    @property
    def trouble(self) -> str:
        """What keeps the database from being asked, empty while it answers."""
        return self._trouble

    @property
    def notice(self) -> str:
        """What keeps orders from being taken, in a sentence; empty if nothing is known to."""
        return self._notice

    def post(self, name: str, text: str) -> None:
        """Put an order into the queue, or wait for the one of this name that is there."""
        self._run(_QueueOperation(name=name, text=text))

    def cancel(self, name: str) -> None:
        """Cancel an order; a worker that runs it is asked to stop."""
        self._run(_QueueOperation(name=name))

    def close(self) -> None:
        """Cancel the orders that no worker has taken, and end; returns at once.

        If the database is away, those that reached it stay in the queue, and the others are told as cancelled.
        """
        with self._changed:
            if self._closing:
                return
            self._closing = True
            posted = {errand.name for errand in self._errands if errand.text is not None}
            self._errands.extend(
                _QueueOperation(name=name, begun=False) for name in sorted(self._awaited | posted)
            )
            self._start()
            self._changed.notify()

    def _run(self, errand: _QueueOperation) -> None:
        with self._changed:
            self._errands.append(errand)
            self._start()
            self._changed.notify()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._serve, name="asyncguard-courier", daemon=True
            )
            self._thread.start()

    def _serve(self) -> None:
        pause = self._poll
        while self._rest(pause):
            with self._changed:
                batch = list(self._errands)
                self._errands.clear()
            began = time.monotonic()
            try:
                self._tables.prepare()
                self._send(batch)
                self._look()
            except Exception as error:  # noqa: BLE001 - if this thread died, every call would wait and nobody would know
                self._fail(error)
                pause = min(max(2 * pause, 0.1), _LONGEST_PAUSE)
                with self._changed:
                    self._errands.extendleft(reversed(batch))  # posting twice posts once
            else:
                self._trouble = ""
                pause = max(
                    self._poll, 4 * (time.monotonic() - began)
                )  # many orders are looked at less often
        if self._closing:
            self._tell_unsent()
        self._tables.close()

    def _rest(self, pause: float) -> bool:
        """Wait for something to do; ``False`` if there is nothing any more."""
        with self._changed:
            if self._trouble:
                if self._closing:
                    return self._over()
                self._changed.wait_for(lambda: self._closing, pause)
            elif not self._errands:
                if self._closing:
                    return self._over()
                self._changed.wait(pause if self._awaited else _IDLE)
            return bool(self._errands or self._awaited) or self._over()

    def _over(self) -> bool:
        self._thread = None
        return False

    def _tell_unsent(self) -> None:
        """What was to be posted when the executor was closed and the database away."""
        for errand in self._errands:
            if errand.text is not None:
                # A transaction whose end was not heard of may have lasted.
                started = errand.name in self._tried
                message = "The executor was closed before the call could be sent to a worker."
                self._tell(
                    errand.name,
                    Failure(
                        symptom=Symptom(error=ErrorCode.CANCELLED, message=message, started=started)
                    ),
                )
        self._errands.clear()

    def _send(self, batch: list[_QueueOperation]) -> None:
        orders = [(errand.name, errand.text) for errand in batch if errand.text is not None]
        try:
            self._post(orders)
        except _AWAY:
            raise
        except (sqlalchemy.exc.SQLAlchemyError, dbos_error.DBOSException):
            for order in orders:
                self._post_alone(*order)
        for errand in batch:
            if errand.text is None:
                self._tables.cancel(errand.name, begun=errand.begun)

    def _post(self, orders: list[tuple[str, str]]) -> None:
        if orders:
            names = {name for name, _ in orders}
            self._tried |= names
            self._tables.post(orders, queue=self._queue, version=self._version)
            self._tried -= names
            self._awaited |= names

    def _post_alone(self, name: str, text: str) -> None:
        """Post one of a batch that the database refused: the others must not suffer for it."""
        try:
            self._post([(name, text)])
        except _AWAY:
            raise
        except (sqlalchemy.exc.SQLAlchemyError, dbos_error.DBOSException) as error:
            message = f"The call could not be sent to a worker ({type(error).__name__}); it was not begun."
            symptom = Symptom(
                error=ErrorCode.ORDER_REFUSED, message=message, transient=False, started=False
            )
            self._tell(name, Failure(symptom=symptom))

    def _look(self) -> None:
        for ended in self._tables.ended(self._awaited):
            self._awaited.discard(ended.id)
            self._tell(ended.id, ended)
        now = time.monotonic()
        if now - self._checked_at >= _CHECK_EVERY:
            self._checked_at = now
            self._check()

    def _check(self) -> None:
        """Look for what the answers do not tell: orders that are gone, and workers that do not come."""
        for name in self._awaited - self._tables.present(self._awaited):
            self._awaited.discard(name)
            message = "The call was sent to a worker, and its order was removed from the queue before it ended."
            self._tell(name, Failure(symptom=Symptom(error=ErrorCode.ORDER_LOST, message=message)))
        waiting = self._tables.waiting(self._queue).get(self._version) if self._awaited else None
        reason = "" if waiting is None else self._reason(waiting)
        # A thread that was begun before a deploy waits for the order that was posted then, under the version of then.
        others = self._tables.misaddressed(self._awaited, self._version)
        parts = [] if waiting is None or not reason else [self._sentence(waiting, reason)]
        parts += [
            self._sentence_of_other(version, count) for version, count in sorted(others.items())
        ]
        self._notice = " ".join(parts)
        causes = (reason, *sorted(others)) if parts else ()
        if parts and causes != self._reported:
            _log.warning("%s", self._notice)
        self._reported = causes

    def _reason(self, waiting: Waiting) -> str:
        """Why orders wait and what to do, as far as the tables show it; empty if it is too early to say."""
        versions = self._tables.versions()
        if self._version in versions:
            long = waiting.longest >= _LONG_WAIT
            return (
                "see whether one runs (`asyncguard worker`), and has room for more" if long else ""
            )
        others = (
            f"there were workers of {', '.join(map(repr, versions))}"
            if versions
            else "there was none at all"
        )
        return f"{others}. Start workers with the agent's list of tools, or give both the same application version"

    def _sentence(self, waiting: Waiting, reason: str) -> str:
        what = "1 call waits" if waiting.orders == 1 else f"{waiting.orders} calls wait"
        return (
            f"{what} in queue {self._queue!r} for workers of version {self._version!r}, "
            f"the oldest for {waiting.longest:.0f} s; {reason}."
        )

    def _sentence_of_other(self, version: str, count: int) -> str:
        what = "1 call waits" if count == 1 else f"{count} calls wait"
        return (
            f"{what} in queue {self._queue!r} for workers of version {version!r}: sent by an agent of that version, "
            f"while this one is of version {self._version!r}. Keep a worker of that version until the call is made, "
            f"or, if the present tools can make it, start one with --application-version {version}."
        )

    def _fail(self, error: Exception) -> None:
        if not self._trouble:
            _log.warning(
                "the queue's database cannot be asked (%s); calls are kept until it can",
                type(error).__name__,
            )
        self._trouble = type(error).__name__
        self._tables.forget()
