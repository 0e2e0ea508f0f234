"""What the writer thread looks after between requests, for the threads that this process has
entered.

Mail that came is handed over, held threads get their sign of life, and intents whose commit broke
off are taken back.
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
"""Seconds between two looks for mail that other processes wrote."""
Receive = Callable[[Signal], None]
_log = logging.getLogger("asyncguard.journal")


@dataclass(kw_only=True, slots=True)
class _Entered:
    receive: Receive
    """Takes the mail."""
    seen: int
    """Highest id of mail that was handed over."""
    sign: float
    """When the thread was last kept, on the monotonic clock."""


class Maintenance:
    """State of the writer thread; only :meth:`hold`, :meth:`unhold` and :meth:`unsure` are called from others."""

    def __init__(self, pulse: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        """Look after nothing yet.

        Args:
            pulse: Seconds between two looks at the store if nothing is looked after.
            clock: Seconds that never go back.
        """
        self._pulse = pulse
        self._clock = clock
        self._entered: dict[str, _Entered] = {}
        self._held: set[str] = set()
        self._unsure: list[tuple[str, int]] = []
        self._unwritten: list[Outcome] = []
        self._own_mail = False
        self._looked = -LOOK

    def pause(self) -> float | None:
        """Seconds until the next round, ``None`` if there is nothing to look after."""
        return LOOK if self._entered or self._unsure or self._unwritten else self._pulse

    def work(self, store: Store) -> None:
        """One round."""
        self._take_back(store)
        self._write_again(store)
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
        if not self._own_mail and now - self._looked < LOOK:
            return  # a round follows every transaction, and each look costs one
        self._looked = now
        if store.has_new_signals() or self._own_mail:
            self._own_mail = False
            for session in tuple(self._entered):
                self._hand_over(store, session)

    # -- threads -----------------------------------------------------------------------------------

    def seen_by(self, session: str, receive: Receive) -> int:
        """Highest id of mail that a receiver got already, 0 for a new one."""
        entered = self._entered.get(session)
        return entered.seen if entered is not None and entered.receive == receive else 0

    def entered(self, session: str, receive: Receive, mail: list[Signal], seen: int) -> None:
        """A thread was taken: hand over its mail, and what comes later.

        Args:
            session: The thread.
            receive: Takes mail.
            mail: What there is.
            seen: Its highest id.
        """
        self._entered[session] = _Entered(receive=receive, seen=seen, sign=self._clock())
        for item in mail:
            _give(receive, item)

    def left(self, session: str) -> None:
        """A thread was given free."""
        self._entered.pop(session, None)

    def hold(self, session: str) -> None:
        """Keep a thread; from any thread."""
        self._held.add(session)

    def unhold(self, session: str) -> None:
        """Let the lease of a thread run; from any thread."""
        self._held.discard(session)

    def mail_was_sent(self) -> None:
        """Mail of this process is in the database: hand it over at once."""
        self._own_mail = True

    def _hand_over(self, store: Store, session: str) -> None:
        entered = self._entered[session]
        mail, entered.seen = signals_after(store, session, entered.seen)
        for item in mail:
            _give(entered.receive, item)

    # -- intents that broke off --------------------------------------------------------------------

    def unsure(self, key: str, attempt: int) -> None:
        """An intent failed in a way that leaves open whether it was written; its attempt did not begin."""
        self._unsure.append((key, attempt))

    def _take_back(self, store: Store) -> None:
        if self._unsure:
            unsure = tuple(self._unsure)
            with_transaction(store, lambda: withdraw(store, unsure))
            del self._unsure[: len(unsure)]  # more may have come

    # -- outcomes that were not written ------------------------------------------------------------

    def unwritten(self, outcome: Outcome) -> None:
        """An outcome that could not be written, though its effect has happened: the disk was full, or a server gone."""
        self._unwritten.append(outcome)

    def _write_again(self, store: Store) -> None:
        while self._unwritten:
            with contextlib.suppress(CallerError):  # nobody knows the attempt any more
                with_transaction(store, lambda: self._end(store, self._unwritten[0]))
            del self._unwritten[0]

    def _end(self, store: Store, outcome: Outcome) -> None:
        self._own_mail = end(store, outcome) or self._own_mail


def with_transaction(store: Store, work: Callable[[], object]) -> None:
    """Run something in a transaction of its own.

    Raises:
        JournalError: It did not last.
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
    except Exception:  # noqa: BLE001 - it breaks its promise, and the others must get their mail
        _log.exception("the receiver of mail for call %s raised", mail.key)


KEPT = 30 * 86_400.0
"""Seconds for which an ended call is kept unless somebody prunes."""
_BETWEEN = 86_400.0
"""Seconds between two automatic prunings, of whatever process."""
_ENDED = (
    CallState.DONE,
    CallState.FAILED,
    CallState.RESOLVED,
    CallState.REJECTED,
    CallState.SQUASHED,
    CallState.CANCELLED,
    CallState.EXPIRED,
)


def prune(store: Store, older_than: float) -> int:
    """Remove ended calls with attempts, mail and tokens; also processes and threads that nothing
    refers to any more.

    What is pending or in doubt stays: without it the call would be made again.

    Args:
        store: The database.
        older_than: Seconds without a change.

    Returns:
        How many calls were removed.
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
    """Remove what ended long ago, unless some process did so lately."""
    rows = store.execute("SELECT value FROM meta WHERE name = 'pruned_at'")
    now = store.now()
    # Written by us as a whole number; anything else, or a time in the future, is as good as never.
    last = int(rows[0][0]) if rows and str(rows[0][0]).isdecimal() else 0
    if 0 <= now - last < _BETWEEN:
        return
    prune(store, KEPT)
    store.execute("DELETE FROM meta WHERE name = 'pruned_at'")
    store.execute("INSERT INTO meta (name, value) VALUES ('pruned_at', ?)", (str(int(now)),))
