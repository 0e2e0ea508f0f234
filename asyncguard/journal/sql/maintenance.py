"""Maintenance on the writer thread between requests, for the threads that this process holds.

It passes signals on, renews leases, withdraws intents whose commit is uncertain, and retries
outcomes and final states that could not be written.
"""

import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from asyncguard.core.calls import CallState
from asyncguard.errors import CallerError
from asyncguard.journal.codec import plain
from asyncguard.journal.port import Signal
from asyncguard.journal.sql.attempts import Outcome, end, withdraw
from asyncguard.journal.sql.leases import RENEWAL, holds_call, renew
from asyncguard.journal.sql.signals import signals_after, threads_with_signals
from asyncguard.journal.sql.store import Store

LOOK = 0.25
"""Seconds between two polls for signals that other processes wrote."""
Receive = Callable[[Signal], None]
_T = TypeVar("_T")
_log = logging.getLogger("asyncguard.journal")


@dataclass(kw_only=True, slots=True)
class _AcquiredThread:
    receive: Receive
    """Callback for signals."""
    seen: int
    """Highest id of a signal that was passed on."""
    renewed_at: float
    """Time of the last renewal, on the monotonic clock."""


class Maintenance:
    """Maintenance of one journal.

    All methods run on the writer thread but :meth:`start_renewing`, :meth:`stop_renewing` and
    :meth:`unsure`.
    """

    def __init__(
        self, poll_interval: float | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start without threads.

        Args:
            poll_interval: Seconds between two rounds if there is nothing to do; ``None`` for none.
            clock: Monotonic clock in seconds.
        """
        self._poll_interval = poll_interval
        self._clock = clock
        # By session id; changed on the writer thread alone.
        self._threads: dict[str, _AcquiredThread] = {}
        # Threads in which this process is at work. One that rests is not renewed, so that another
        # process may acquire it. Changed from any OS thread, by single operations without a lock.
        self._renewed: set[str] = set()
        # Intents whose commit may or may not have happened; their attempts did not begin. Appended
        # from any OS thread, removed on the writer thread.
        self._unsure: list[tuple[str, int]] = []
        # In the order in which they were to be written; the first one stays until it is on disk.
        self._unwritten: list[Outcome] = []
        # The last final state of each call that could not be written, by key.
        self._states: dict[str, Callable[[Store], bool]] = {}
        # True if this process wrote signals since the last poll; they are passed on at once.
        self._own_signals = False
        # Time of the last poll; so early that the first round polls, also on a clock that begins
        # at 0.
        self._polled_at = -LOOK
        # Time of the last look for leases to renew, and id of the newest signal that was seen.
        self._renewed_at = -LOOK
        self._looked_up_to = 0

    def pause(self) -> float | None:
        """Return seconds until the next round, ``None`` if none is needed."""
        waiting = self._threads or self._unsure or self._unwritten or self._states
        return LOOK if waiting else self._poll_interval

    def work(self, store: Store) -> None:
        """Run one round."""
        self._retry_writes(store)
        now = self._clock()
        self._renew(store, now)
        self._poll(store, now)
        self._retry_states(store)  # last: nothing waits for them

    def _renew(self, store: Store, now: float) -> None:
        """Renew the leases that are due."""
        if now - self._renewed_at < LOOK:
            return  # a round follows each transaction, and there may be thousands of threads
        self._renewed_at = now
        due = [
            name
            for name, thread in self._threads.items()
            if name in self._renewed and now - thread.renewed_at >= RENEWAL
        ]
        if due:
            with_transaction(store, lambda: renew(store, due))
            for session in due:
                self._threads[session].renewed_at = now

    def _poll(self, store: Store, now: float) -> None:
        """Pass on the signals that were written since the last poll."""
        if not self._threads and self._poll_interval is None:
            return
        if not self._own_signals and now - self._polled_at < LOOK:
            return  # a round follows each transaction, and each poll costs one
        self._polled_at = now
        if store.has_new_signals() or self._own_signals:
            self._own_signals = False
            # Not one query a thread: each commit of another process may have brought signals.
            found = threads_with_signals(store, after=self._looked_up_to)
            threads = {plain(session): each for session, each in self._threads.items() if found}
            for session, newest in found:
                if (thread := threads.get(session)) is not None:
                    signals, thread.seen = signals_after(store, session, thread.seen)
                    for signal in signals:
                        _give(thread.receive, signal)
                self._looked_up_to = newest

    # -- threads -----------------------------------------------------------------------------------

    def last_signal(self, session: str, receive: Receive) -> int:
        """Return the highest id of a signal that a receiver got, 0 for a new receiver."""
        thread = self._threads.get(session)
        return thread.seen if thread is not None and thread.receive == receive else 0

    def thread_acquired(
        self, session: str, receive: Receive, signals: list[Signal], seen: int
    ) -> None:
        """Start maintenance of an acquired thread, and pass its signals on.

        Args:
            session: The thread.
            receive: Callback for signals.
            signals: Present signals.
            seen: Their highest id.
        """
        self._threads[session] = _AcquiredThread(
            receive=receive, seen=seen, renewed_at=self._clock()
        )
        for signal in signals:
            _give(receive, signal)

    def thread_released(self, session: str) -> None:
        """Stop maintenance of a released thread."""
        self._threads.pop(session, None)

    def start_renewing(self, session: str) -> None:
        """Renew the lease of a thread from now on; called from any OS thread."""
        self._renewed.add(session)

    def stop_renewing(self, session: str) -> None:
        """Stop renewing the lease of a thread; called from any OS thread."""
        self._renewed.discard(session)

    def signals_were_sent(self) -> None:
        """Note that this process wrote signals, so that the next round passes them on."""
        self._own_signals = True

    # -- writes that failed ------------------------------------------------------------------------

    def unsure(self, key: str, attempt: int) -> None:
        """Schedule the withdrawal of an intent that may have been written; it did not begin."""
        self._unsure.append((key, attempt))

    def unwritten(self, outcome: Outcome) -> None:
        """Schedule another write of an outcome, after a full disk or a lost server."""
        self._unwritten.append(outcome)

    def state_unwritten(self, key: str, write: Callable[[Store], bool]) -> None:
        """Schedule another write of a call's final state; it returns True if it sent a signal."""
        self._states[key] = write

    def state_overtaken(self, key: str) -> None:
        """Drop such a state: a later one was written, or the call began again."""
        self._states.pop(key, None)

    def _retry_writes(self, store: Store) -> None:
        """Withdraw the uncertain intents, then write the outcomes, one transaction each."""
        if self._unsure:
            unsure = tuple(self._unsure)
            with_transaction(store, lambda: withdraw(store, unsure))
            del self._unsure[: len(unsure)]  # more may have come
        while self._unwritten:
            with contextlib.suppress(CallerError):  # the attempt was removed meanwhile
                sent = with_transaction(store, lambda: end(store, self._unwritten[0]))
                self._own_signals = sent or self._own_signals
            del self._unwritten[0]

    def _retry_states(self, store: Store) -> None:
        """Write the final states that failed, of calls that no other process has taken over."""
        for key, write in tuple(self._states.items()):
            sent = with_transaction(store, partial(_write_held, store, key, write))
            self._own_signals = sent or self._own_signals
            del self._states[key]


def _write_held(store: Store, key: str, write: Callable[[Store], bool]) -> bool:
    return holds_call(store, key) and write(store)


def with_transaction(store: Store, work: Callable[[], _T]) -> _T:
    """Run something in a transaction of its own, and return its result.

    Raises:
        JournalError: It was not committed.
    """
    try:
        store.begin()
        result = work()
        store.commit()
    except BaseException:
        store.rollback()
        raise
    return result


def _give(receive: Receive, signal: Signal) -> None:
    try:
        receive(signal)
    except Exception:  # noqa: BLE001 - the other receivers must get their signals
        _log.exception("the receiver of a signal for call %s raised", signal.key)


KEPT = 30 * 86_400.0
"""Seconds for which an ended call is kept by the automatic pruning."""
_BETWEEN = 86_400.0
"""Seconds between two automatic prunings by any of the processes."""
_ENDED = (
    CallState.DONE,
    CallState.FAILED,
    CallState.RESOLVED,
    CallState.REJECTED,
    CallState.SQUASHED,
    CallState.CANCELLED,
)


def prune(store: Store, older_than: float) -> int:
    """Remove ended calls with attempts, signals and tokens, and unused processes and threads.

    Pending calls and calls in doubt stay: without their entries they would be made again. So do the
    ended calls of a thread whose last run has not ended: it waits for a person or died, and no
    checkpoint may hold their results.

    Args:
        store: The database.
        older_than: Seconds without a change.

    Returns:
        Number of the removed calls.
    """
    before = store.now() - older_than
    states = ", ".join("?" * len(_ENDED))
    ended = (
        f"SELECT key FROM calls WHERE updated_at < ? AND state IN ({states}) AND NOT EXISTS "
        "(SELECT 1 FROM threads t WHERE t.session = calls.session AND t.ends = 0)"
    )
    values = (before, *(state.value for state in _ENDED))
    # Asked first: the store reports no number of changed rows.
    count = int(store.execute(f"SELECT count(*) FROM ({ended}) AS ended", values)[0][0])
    if count:
        for table in ("attempts", "tokens", "mail", "calls"):  # calls last: the others ask for them
            store.execute(f"DELETE FROM {table} WHERE key IN ({ended})", values)
    # A process without a row counts as ended (has_ended), so nothing changes for its calls.
    store.execute(
        "DELETE FROM processes WHERE ended_at < ? AND epoch NOT IN "
        "(SELECT a.epoch FROM attempts a WHERE a.state = 'intent')",
        (before,),
    )
    store.execute(
        "DELETE FROM threads WHERE seen_at < ? AND NOT EXISTS "
        "(SELECT 1 FROM calls c WHERE c.session = threads.session)",
        (before,),
    )
    return count


def prune_daily(store: Store) -> None:
    """Prune what ended long ago, unless a process did so within a day."""
    rows = store.execute("SELECT value FROM meta WHERE name = 'pruned_at'")
    now = store.now()
    # Written here as a whole number; anything else, or a time in the future, counts as never.
    last = int(rows[0][0]) if rows and str(rows[0][0]).isdecimal() else 0
    if 0 <= now - last < _BETWEEN:
        return
    prune(store, KEPT)
    store.execute("DELETE FROM meta WHERE name = 'pruned_at'")
    store.execute("INSERT INTO meta (name, value) VALUES ('pruned_at', ?)", (str(int(now)),))
