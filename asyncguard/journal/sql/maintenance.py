"""Maintenance on the writer thread between requests, for the threads that this process holds.

It passes signals on, renews leases, withdraws intents whose commit is uncertain, and retries
outcomes that could not be written.
"""

import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from asyncguard.core.calls import CallState
from asyncguard.errors import CallerError
from asyncguard.journal.port import Signal
from asyncguard.journal.sql.attempts import Outcome, end, withdraw
from asyncguard.journal.sql.leases import RENEWAL, renew
from asyncguard.journal.sql.signals import signals_after
from asyncguard.journal.sql.store import Store

LOOK = 0.25
"""Seconds between two polls for signals that other processes wrote."""
Receive = Callable[[Signal], None]
_log = logging.getLogger("asyncguard.journal")


@dataclass(kw_only=True, slots=True)
class _Entered:
    receive: Receive
    """Callback for signals."""
    seen: int
    """Highest id of a signal that was passed on."""
    sign: float
    """Time of the last renewal, on the monotonic clock."""


class Maintenance:
    """Maintenance of one journal.

    All methods run on the writer thread but :meth:`hold`, :meth:`unhold` and :meth:`unsure`.
    """

    def __init__(self, pulse: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without threads.

        Args:
            pulse: Seconds between two rounds if there is nothing to do; ``None`` for no rounds.
            clock: Monotonic clock in seconds.
        """
        self._pulse = pulse
        self._clock = clock
        self._entered: dict[str, _Entered] = {}
        self._held: set[str] = set()
        # Intents whose commit may or may not have happened; their attempts did not begin.
        self._unsure: list[tuple[str, int]] = []
        self._unwritten: list[Outcome] = []
        # True if this process wrote signals since the last poll; they are passed on at once.
        self._own_signals = False
        self._looked = -LOOK

    def pause(self) -> float | None:
        """Return seconds until the next round, ``None`` if none is needed."""
        return LOOK if self._entered or self._unsure or self._unwritten else self._pulse

    def work(self, store: Store) -> None:
        """Run one round."""
        self._withdraw_unsure(store)
        self._retry_outcomes(store)
        now = self._clock()
        due = [
            name
            for name, entered in self._entered.items()
            if name in self._held and now - entered.sign >= RENEWAL
        ]
        if due:
            with_transaction(store, lambda: renew(store, due))
            for session in due:
                self._entered[session].sign = now
        if not self._entered and self._pulse is None:
            return
        if not self._own_signals and now - self._looked < LOOK:
            return  # a round follows each transaction, and each poll costs one
        self._looked = now
        if store.has_new_signals() or self._own_signals:
            self._own_signals = False
            for session in tuple(self._entered):
                self._pass_signals(store, session)

    # -- threads -----------------------------------------------------------------------------------

    def seen_by(self, session: str, receive: Receive) -> int:
        """Return the highest id of a signal that a receiver got, 0 for a new receiver."""
        entered = self._entered.get(session)
        return entered.seen if entered is not None and entered.receive == receive else 0

    def entered(self, session: str, receive: Receive, mail: list[Signal], seen: int) -> None:
        """Start maintenance of an acquired thread, and pass its signals on.

        Args:
            session: The thread.
            receive: Callback for signals.
            mail: Present signals.
            seen: Their highest id.
        """
        self._entered[session] = _Entered(receive=receive, seen=seen, sign=self._clock())
        for item in mail:
            _give(receive, item)

    def left(self, session: str) -> None:
        """Stop maintenance of a released thread."""
        self._entered.pop(session, None)

    def hold(self, session: str) -> None:
        """Renew the lease of a thread from now on; called from any OS thread."""
        self._held.add(session)

    def unhold(self, session: str) -> None:
        """Stop renewing the lease of a thread; called from any OS thread."""
        self._held.discard(session)

    def mail_was_sent(self) -> None:
        """Note that this process wrote signals, so that the next round passes them on."""
        self._own_signals = True

    def _pass_signals(self, store: Store, session: str) -> None:
        entered = self._entered[session]
        mail, entered.seen = signals_after(store, session, entered.seen)
        for item in mail:
            _give(entered.receive, item)

    # -- intents that broke off --------------------------------------------------------------------

    def unsure(self, key: str, attempt: int) -> None:
        """Schedule the withdrawal of an intent that may have been written; it did not begin."""
        self._unsure.append((key, attempt))

    def _withdraw_unsure(self, store: Store) -> None:
        if self._unsure:
            unsure = tuple(self._unsure)
            with_transaction(store, lambda: withdraw(store, unsure))
            del self._unsure[: len(unsure)]  # more may have come

    # -- outcomes that were not written ------------------------------------------------------------

    def unwritten(self, outcome: Outcome) -> None:
        """Schedule another write of an outcome, after a full disk or a lost server."""
        self._unwritten.append(outcome)

    def _retry_outcomes(self, store: Store) -> None:
        while self._unwritten:
            with contextlib.suppress(CallerError):  # the attempt was removed meanwhile
                with_transaction(store, lambda: self._write_outcome(store, self._unwritten[0]))
            del self._unwritten[0]

    def _write_outcome(self, store: Store, outcome: Outcome) -> None:
        self._own_signals = end(store, outcome) or self._own_signals


def with_transaction(store: Store, work: Callable[[], object]) -> None:
    """Run something in a transaction of its own.

    Raises:
        JournalError: It was not committed.
    """
    try:
        store.begin()
        work()
        store.commit()
    except BaseException:
        store.rollback()
        raise


def _give(receive: Receive, mail: Signal) -> None:
    try:
        receive(mail)
    except Exception:  # noqa: BLE001 - the other receivers must get their signals
        _log.exception("the receiver of a signal for call %s raised", mail.key)


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

    Pending calls and calls in doubt stay: without their entries they would be made again.

    Args:
        store: The database.
        older_than: Seconds without a change.

    Returns:
        Number of the removed calls.
    """
    before = store.now() - older_than
    states = ", ".join("?" * len(_ENDED))
    ended = f"SELECT key FROM calls WHERE updated_at < ? AND state IN ({states})"
    values = (before, *(state.value for state in _ENDED))
    count = int(store.execute(f"SELECT count(*) FROM ({ended}) AS ended", values)[0][0])
    if count:
        for table in ("attempts", "tokens", "mail", "calls"):
            store.execute(f"DELETE FROM {table} WHERE key IN ({ended})", values)
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
