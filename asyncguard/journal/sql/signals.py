"""Mail in the database: what was told from outside. It is only added to, under rising ids, and goes with its call."""

import hashlib
import logging

from asyncguard.errors import JournalError, UnknownTokenError
from asyncguard.journal.codec import plain
from asyncguard.journal.port import Signal, SignalKind
from asyncguard.journal.sql.rows import MAIL, mail_of
from asyncguard.journal.sql.store import Store

RESOLUTIONS = frozenset({SignalKind.HAPPENED, SignalKind.NOT_HAPPENED, SignalKind.RETRY})
"""Mail that says what became of a call in doubt."""
_log = logging.getLogger("asyncguard.journal")


def token_hash(token: str) -> str:
    """What is kept of a token: who reads the database cannot deliver."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def send(
    store: Store, *, kind: SignalKind, key: str, number: int, content: str, sender: str
) -> None:
    """Add mail to the thread of a call.

    Args:
        store: The database.
        kind: What it says.
        key: The call.
        number: The attempt.
        content: JSON text.
        sender: Who says so.
    """
    now = store.now()
    store.execute(
        "INSERT INTO mail (session, key, number, kind, content, sender, sent_at) "
        "SELECT session, key, ?, ?, ?, ?, ? FROM calls WHERE key = ?",
        (number, kind.value, content, plain(sender), now, key),
    )
    if kind in RESOLUTIONS:
        store.execute(
            "UPDATE calls SET resolution = ?, updated_at = ? WHERE key = ?", (kind.value, now, key)
        )
    store.notify()


def deliver(store: Store, token: str, content: str) -> None:
    """Take a delivery; with it all tokens of the attempt are used up.

    Raises:
        UnknownTokenError: The token was never issued here, or was used before.
    """
    rows = store.execute(
        "SELECT key, number, used_at FROM tokens WHERE hash = ?", (token_hash(token),)
    )
    if not rows or rows[0][2] is not None:
        raise UnknownTokenError
    key, number, _ = rows[0]
    store.execute(
        "UPDATE tokens SET used_at = ? WHERE key = ? AND number = ?", (store.now(), key, number)
    )
    send(store, kind=SignalKind.DELIVERY, key=key, number=number, content=content, sender="")


def mail_of_call(store: Store, key: str) -> tuple[Signal, ...]:
    """All mail of a call, in order.

    Raises:
        JournalError: Some of it cannot be read.
    """
    return tuple(
        mail_of(row)
        for row in store.execute(f"SELECT {MAIL} FROM mail m WHERE m.key = ? ORDER BY m.id", (key,))
    )


def signals_after(store: Store, session: str, after: int) -> tuple[list[Signal], int]:
    """Mail of a thread above an id, in order, and the highest id that was seen.

    What cannot be read is passed over and logged: the rest of the thread goes on.
    """
    rows = store.execute(
        f"SELECT m.id, {MAIL} FROM mail m WHERE m.session = ? AND m.id > ? ORDER BY m.id",
        (plain(session), after),
    )
    found = []
    for number, *row in rows:
        after = number
        try:
            found.append(mail_of(tuple(row)))
        except JournalError as error:
            _log.error("mail %s was passed over: %s", number, error)
    return found, after
