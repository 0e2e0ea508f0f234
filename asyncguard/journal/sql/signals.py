"""Signals in the database (table ``mail``): added under rising ids, removed with the call."""

import hashlib
import logging

from asyncguard.core.calls import CallState
from asyncguard.errors import CallerError, JournalError, UnknownTokenError
from asyncguard.journal.codec import plain
from asyncguard.journal.port import DELIVERED_BY, Signal, SignalKind
from asyncguard.journal.sql.rows import SIGNAL, signal_of
from asyncguard.journal.sql.store import Store

RESOLUTIONS = frozenset({SignalKind.HAPPENED, SignalKind.NOT_HAPPENED, SignalKind.RETRY})
"""Kinds of signals that resolve a call in doubt."""
_WAITING = frozenset({CallState.PENDING, CallState.IN_DOUBT})
_log = logging.getLogger("asyncguard.journal")


def token_hash(token: str) -> str:
    """Return the hash under which a token is stored: a reader of the database cannot deliver."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def send(
    store: Store, *, kind: SignalKind, key: str, number: int, content: str, sender: str
) -> None:
    """Add a signal to the thread of a call.

    Args:
        store: The database.
        kind: Kind of the signal.
        key: Key of the call.
        number: Number of the attempt.
        content: JSON text.
        sender: Name of the sender.
    """
    now = store.now()
    # The thread comes from the call's row: an operator knows the key alone.
    store.execute(
        "INSERT INTO mail (session, key, number, kind, content, sender, sent_at) "
        "SELECT session, key, ?, ?, ?, ?, ? FROM calls WHERE key = ?",
        (number, kind.value, content, plain(sender), now, key),
    )
    store.execute(
        "UPDATE calls SET resolution = ?, updated_at = ? WHERE key = ?", (kind.value, now, key)
    )
    store.notify()


def deliver(store: Store, token: str, content: str) -> None:
    """Store a delivery, and mark all tokens of the attempt as used.

    Raises:
        UnknownTokenError: The token was never issued here, or was used before.
        CallerError: The call was resolved or has ended, so its thread would drop the delivery.
    """
    rows = store.execute(
        "SELECT t.key, t.number, t.used_at, c.label, c.state, c.resolution "
        "FROM tokens t JOIN calls c ON c.key = t.key WHERE t.hash = ?",
        (token_hash(token),),
    )
    if not rows or rows[0][2] is not None:
        raise UnknownTokenError
    key, number, _, label, state, resolution = rows[0]
    if state not in _WAITING or resolution not in ("", SignalKind.RETRY):
        why = f"was answered before ({resolution})" if resolution else f"has ended ({state})"
        raise CallerError(
            f"The result was not stored: call {key} ({label}) {why}. If the agent needs the "
            "result, tell it in a message."
        )
    # All of them: work that was started a second time after a crash has a token of each start.
    store.execute(
        "UPDATE tokens SET used_at = ? WHERE key = ? AND number = ?", (store.now(), key, number)
    )
    # As the answer to the retry that was asked for: the next attempt gets it, and does not begin.
    kind = SignalKind.HAPPENED if resolution else SignalKind.DELIVERY
    send(
        store,
        kind=kind,
        key=key,
        number=number,
        content=content,
        sender=DELIVERED_BY if resolution else "",
    )


def signals_of_call(store: Store, key: str) -> tuple[Signal, ...]:
    """Return all signals of a call, in order.

    Raises:
        JournalError: One of them cannot be read.
    """
    return tuple(
        signal_of(row)
        for row in store.execute(
            f"SELECT {SIGNAL} FROM mail m WHERE m.key = ? ORDER BY m.id", (key,)
        )
    )


def threads_with_signals(store: Store, *, after: int) -> list[tuple[str, int]]:
    """Return the threads with signals above an id, each with its highest id, in that order."""
    return [
        (str(session), newest)
        for session, newest in store.execute(
            "SELECT session, MAX(id) FROM mail WHERE id > ? GROUP BY session ORDER BY MAX(id)",
            (after,),
        )
    ]


def signals_after(store: Store, session: str, after: int) -> tuple[list[Signal], int]:
    """Return the signals of a thread above an id, in order, and the highest id among them.

    One that cannot be read is skipped and logged, so that it does not block the thread.
    """
    rows = store.execute(
        f"SELECT m.id, {SIGNAL} FROM mail m WHERE m.session = ? AND m.id > ? ORDER BY m.id",
        (plain(session), after),
    )
    found = []
    for number, *row in rows:
        after = number
        try:
            found.append(signal_of(tuple(row)))
        except JournalError as error:
            _log.error("signal %s was skipped: %s", number, error)
    return found, after
