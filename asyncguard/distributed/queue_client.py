"""Client of the queue: the one OS thread of an executor that posts, cancels and watches orders.

Orders that come while it writes are written together in the next transaction, so that many cost
little more than one. While the database does not answer nothing is lost: orders are kept and posted
when it is back.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import sqlalchemy.exc
from dbos import error as dbos_error

from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.results import Failure
from asyncguard.distributed.queue_tables import Ended, JobTables, Waiting

_IDLE = 5.0
"""Seconds after which an idle OS thread ends; the next order starts another."""
_CHECK_EVERY = 5.0
_LONG_WAIT = 30.0
"""Seconds after which waiting calls are reported, even if workers of their version were seen."""
_LONGEST_PAUSE = 2.0
_FRESH = 0.1
"""Seconds after which it is asked once more whether an order may be sent."""
_AWAY = (
    sqlalchemy.exc.OperationalError,
    sqlalchemy.exc.InterfaceError,
    sqlalchemy.exc.TimeoutError,
)
_log = logging.getLogger("asyncguard.executor")
Told = Ended | Failure


@dataclass(frozen=True, kw_only=True, slots=True)
class _QueueOperation:
    """An order to post or to cancel."""

    name: str
    text: str | None = None
    """Order to post; without one, the order of this name is cancelled."""
    begun: bool = True
    """True if it is cancelled even if a worker has claimed it."""
    asked_at: float = field(default_factory=time.monotonic)
    """Time at which it was asked for."""


class _RefusedError(Exception):
    """Some of the orders must not be sent any more."""

    def __init__(self, refused: Mapping[str, Failure]) -> None:
        self.refused = refused
        """Their failures, by name."""


class QueueClient:
    """Client that carries orders to the queue and reports their ends on its own OS thread."""

    def __init__(
        self,
        tables: JobTables,
        *,
        queue: str,
        version: str,
        poll: float,
        tell: Callable[[str, Told], None],
        refusal: Callable[[str], Failure | None] = lambda _: None,
    ) -> None:
        """Create a client; its OS thread starts with the first order.

        Args:
            tables: Database of the queue.
            queue: Name of the queue.
            version: Version of the workers that may claim the orders.
            poll: Seconds between two looks for ended orders.
            tell: Function that gets the name of an order and its end, once for each; it must not
                raise.
            refusal: Function that returns the failure of an order that must not be sent any more,
                ``None`` if it may be. It is asked about orders that could not be sent at once.
        """
        self._tables = tables
        self._queue, self._version, self._poll = queue, version, poll
        self._tell, self._refusal = tell, refusal
        self._changed = threading.Condition()
        """Guards operations, OS thread and closing; all else belongs to the OS thread alone."""
        self._operations: deque[_QueueOperation] = deque()
        self._sending: frozenset[str] = frozenset()
        """Names of the orders of the last batch; guarded, too."""
        # An order is in one of the two: in an operation until it is posted, awaited afterwards.
        self._awaited: set[str] = set()
        """Names of the orders that were posted and whose end was not reported."""
        self._thread: threading.Thread | None = None
        self._tried: set[str] = set()
        """Names of orders whose transaction began and whose commit was not confirmed."""
        self._closing = False
        self._trouble = ""
        self._notice = ""
        self._reported: tuple[str, ...] = ()
        """Causes of the last warning, so that it is logged again only when they change."""
        self._checked_at = -_CHECK_EVERY

    @property
    def trouble(self) -> str:
        """Class of the database's error, empty while it answers."""
        return self._trouble

    @property
    def notice(self) -> str:
        """Reason why orders are not claimed, in a sentence; empty if none is known."""
        return self._notice

    def post(self, name: str, text: str) -> None:
        """Put an order into the queue, or wait for the existing one of this name."""
        self._run(_QueueOperation(name=name, text=text))

    def cancel(self, name: str) -> None:
        """Cancel an order; a worker that runs it is asked to stop."""
        self._run(_QueueOperation(name=name))

    def close(self) -> None:
        """Cancel the orders that no worker has claimed, and end; return at once.

        If the database does not answer, orders that reached it stay in the queue, and the others
        are reported as cancelled.
        """
        with self._changed:
            if self._closing:
                return
            self._closing = True
            posted = {
                operation.name for operation in self._operations if operation.text is not None
            }
            # Those that are being sent right now are cancelled once that has ended.
            names = self._awaited | self._sending | posted
            self._operations.extend(
                _QueueOperation(name=name, begun=False) for name in sorted(names)
            )
            self._start()
            self._changed.notify()

    def _run(self, operation: _QueueOperation) -> None:
        with self._changed:
            self._operations.append(operation)
            self._start()
            self._changed.notify()

    def _start(self) -> None:
        if self._thread is None:
            # A daemon: a process that ends does not wait for calls that workers run.
            self._thread = threading.Thread(
                target=self._serve, name="asyncguard-queue", daemon=True
            )
            self._thread.start()

    def _serve(self) -> None:
        pause = self._poll
        while self._rest(pause):
            # The database is asked without the lock, so that no caller of post() waits for it.
            with self._changed:
                batch = list(self._operations)
                self._operations.clear()
                self._sending = frozenset(each.name for each in batch if each.text is not None)
            began = time.monotonic()
            try:
                self._tables.prepare()
                self._send(batch)
                self._look()
            except Exception as error:  # noqa: BLE001 - if this thread died, all calls would wait for ever
                self._fail(error)
                pause = min(max(2 * pause, 0.1), _LONGEST_PAUSE)
                with self._changed:
                    self._operations.extendleft(reversed(batch))  # posting is idempotent by name
            else:
                self._trouble = ""
                # Spends at most a fifth of the time in the database, however many orders there are.
                pause = max(self._poll, 4 * (time.monotonic() - began))
        if self._closing:
            self._tell_unsent()
        self._tables.close()

    def _rest(self, pause: float) -> bool:
        """Wait for something to do; return ``False`` if the OS thread is to end."""
        with self._changed:
            if self._trouble:
                if self._closing:
                    return self._over()
                self._changed.wait_for(lambda: self._closing, pause)
            elif not self._operations:
                # Closing has put its operations in first, so all that could be cancelled is.
                if self._closing:
                    return self._over()
                self._changed.wait(pause if self._awaited else _IDLE)
            return bool(self._operations or self._awaited) or self._over()

    def _over(self) -> bool:
        self._thread = None
        return False

    def _tell_unsent(self) -> None:
        """Report the orders that a closed executor could not post."""
        message = "The executor was closed before the call could be sent to a worker."
        for operation in self._operations:
            if operation.text is not None:
                # A transaction whose end was not confirmed may have been committed.
                started = operation.name in self._tried
                symptom = Symptom(error=ErrorCode.CANCELLED, message=message, started=started)
                self._tell(operation.name, Failure(symptom=symptom))
        self._operations.clear()

    def _send(self, batch: list[_QueueOperation]) -> None:
        """Post and cancel; what is done leaves the batch, of which the rest is tried again."""
        posts = [each for each in batch if each.text is not None]
        try:
            self._post(posts)
        except _AWAY:
            raise
        except _RefusedError as error:
            for each in posts:
                if each.name in error.refused:
                    batch.remove(each)
                    self._tried.discard(each.name)
                    self._tell(each.name, error.refused[each.name])
            self._send(batch)
            return
        except (sqlalchemy.exc.SQLAlchemyError, dbos_error.DBOSException):
            # The database works, and one of the orders has made the transaction fail.
            for each in posts:
                self._post_alone(each)
                batch.remove(each)
        batch[:] = [each for each in batch if each.text is None]
        while batch:
            self._tables.cancel(batch[0].name, begun=batch[0].begun)
            del batch[0]

    def _post(self, posts: list[_QueueOperation]) -> None:
        if not posts:
            return
        names = {each.name for each in posts}
        # Before the transaction: if the answer to its commit is lost, the orders may be there.
        new = names - self._tried
        self._tried |= names
        orders = [(each.name, each.text) for each in posts if each.text is not None]
        try:
            self._tables.post(
                orders,
                queue=self._queue,
                version=self._version,
                check=lambda: self._check_late(posts),
            )
        except _AWAY:
            raise
        except (sqlalchemy.exc.SQLAlchemyError, dbos_error.DBOSException):
            self._tried -= new  # refused as a whole: nothing of this transaction was committed
            raise
        self._tried -= names
        self._awaited |= names

    def _check_late(self, posts: list[_QueueOperation]) -> None:
        """Ask about orders that come late: their thread may be another process's by now."""
        until = time.monotonic() - _FRESH
        late = [each.name for each in posts if each.asked_at < until]
        found = {name: failure for name in late if (failure := self._refusal(name)) is not None}
        if found:
            raise _RefusedError(found)

    def _post_alone(self, order: _QueueOperation) -> None:
        """Post one order of a refused batch: one bad order must not keep the others back."""
        try:
            self._post([order])
        except _AWAY:
            raise
        except (sqlalchemy.exc.SQLAlchemyError, dbos_error.DBOSException) as error:
            if getattr(error, "connection_invalidated", False):
                raise  # the server ended the session, which says nothing about the order
            self._tables.check_writable()  # all are refused alike, and kept until it takes them
            if order.name in self._tried:
                # An earlier transaction may have been committed: it is waited for, or found lost.
                self._tried.discard(order.name)
                self._awaited.add(order.name)
                return
            message = (
                f"The call could not be sent to a worker ({type(error).__name__}); "
                "it was not begun."
            )
            symptom = Symptom(
                error=ErrorCode.ORDER_REFUSED, message=message, transient=False, started=False
            )
            self._tell(order.name, Failure(symptom=symptom))

    def _look(self) -> None:
        for ended in self._tables.ended(self._awaited):
            self._awaited.discard(ended.id)
            self._tell(ended.id, ended)
        now = time.monotonic()
        if now - self._checked_at >= _CHECK_EVERY:
            self._checked_at = now
            self._check()

    def _check(self) -> None:
        """Check for what the answers do not show: lost orders, and workers that are missing."""
        for name in self._awaited - self._tables.present(self._awaited):
            self._awaited.discard(name)
            message = (
                "The call was sent to a worker, "
                "and its order was removed from the queue before it ended."
            )
            self._tell(name, Failure(symptom=Symptom(error=ErrorCode.ORDER_LOST, message=message)))
        waiting = self._tables.waiting(self._queue).get(self._version) if self._awaited else None
        reason = "" if waiting is None else self._reason(waiting)
        # A thread that began before a deployment may wait for an order under the former version.
        others = self._tables.misaddressed(self._awaited, self._version)
        parts = []
        if waiting is not None and reason:
            age = f", the oldest for {waiting.longest:.0f} s; {reason}."
            parts.append(self._sentence(waiting.orders, self._version) + age)
        parts += [
            f"{self._sentence(count, version)}: sent by an agent of that version, while this one "
            f"is of version {self._version!r}. Keep a worker of that version until the call is "
            "made, or, if the present tools can make it, start one with "
            f"--application-version {version}."
            for version, count in sorted(others.items())
        ]
        self._notice = " ".join(parts)
        causes = (reason, *sorted(others)) if parts else ()
        if parts and causes != self._reported:
            _log.warning("%s", self._notice)
        self._reported = causes

    def _reason(self, waiting: Waiting) -> str:
        """Return why orders wait and what to do, as far as the tables show it.

        The text is empty if it is too early to say.
        """
        versions = self._tables.versions()
        if self._version in versions:
            if waiting.longest < _LONG_WAIT:
                return ""
            return "see whether one runs (`asyncguard worker`), and has room for more"
        others = "there was none at all"
        if versions:
            others = f"there were workers of {', '.join(map(repr, versions))}"
        return (
            f"{others}. Start workers with the agent's list of tools, "
            "or give both the same application version"
        )

    def _sentence(self, count: int, version: str) -> str:
        what = "1 call waits" if count == 1 else f"{count} calls wait"
        return f"{what} in queue {self._queue!r} for workers of version {version!r}"

    def _fail(self, error: Exception) -> None:
        if not self._trouble:  # logged once, however often it is tried meanwhile
            _log.warning(
                "the queue's database cannot be asked (%s); calls are kept until it can",
                type(error).__name__,
            )
        self._trouble = type(error).__name__
        self._tables.forget()
