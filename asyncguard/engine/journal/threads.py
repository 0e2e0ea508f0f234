"""Which process carries a thread on.

A thread is taken on entering it, and kept by being entered again or renewed. A process that lives and renews is not
disturbed; one that is gone, or was stopped for longer than the lease, loses the thread to the next that comes.
"""

from collections.abc import Collection

from asyncguard.engine.journal.content import plain
from asyncguard.engine.journal.processes import has_ended, is_alive, where
from asyncguard.engine.journal.store import Store
from asyncguard.errors import JournalError, ThreadBusyError

LEASE = 15.0
"""Seconds for which a thread is kept without a sign of its process."""
RENEWAL = 5.0
"""Seconds between two signs of a process that holds threads."""


def take(store: Store, session: str, thread: str) -> None:
    """Take a thread for this process.

    Raises:
        ThreadBusyError: A process that is alive is at work on it.
        JournalError: This process was declared dead.
    """
    if has_ended(store, store.epoch):
        raise JournalError("This process was taken for dead and its calls were given to others; start it anew.")
    now = store.now()
    # Also under another session: a run whose beginning was never stored is begun anew, and gets another one.
    rows = store.execute(
        "SELECT epoch, seen_at FROM threads WHERE (session = ? OR (thread = ? AND thread <> '')) AND epoch <> ?",
        (plain(session), plain(thread), store.epoch),
    )
    for epoch, seen_at in rows:
        # A clock that was set back makes a sign come from the future: beyond the lease that is no sign, either.
        if abs(now - seen_at) < LEASE and is_alive(store, epoch):
            raise ThreadBusyError(
                f"Thread {thread or session} is carried on by {where(store, epoch)}; "
                "wait until its run ends, or stop it."
            )
    if thread:
        store.execute(
            "UPDATE threads SET epoch = '' WHERE thread = ? AND session <> ? AND epoch <> ?",
            (plain(thread), plain(session), store.epoch),
        )
    store.execute(
        "INSERT INTO threads (session, thread, epoch, seen_at) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (session) DO UPDATE SET thread = excluded.thread, epoch = excluded.epoch, "
        "seen_at = excluded.seen_at",
        (plain(session), plain(thread), store.epoch, now),
    )


def holder(store: Store, session: str) -> str:
    """Epoch of the process that took a thread last, empty if none did."""
    rows = store.execute("SELECT epoch FROM threads WHERE session = ?", (plain(session),))
    return str(rows[0][0]) if rows else ""


def standing(store: Store, session: str) -> tuple[bool, str]:
    """Whether the end of this process is written down, and the epoch that took a thread last, empty if none did."""
    rows = store.execute(
        "SELECT p.ended_at, (SELECT t.epoch FROM threads t WHERE t.session = ?) FROM processes p WHERE p.epoch = ?",
        (plain(session), store.epoch),
    )
    if not rows:
        return True, ""
    ended_at, epoch = rows[0]
    return ended_at is not None, epoch or ""


def release(store: Store, session: str) -> None:
    """Let anybody take a thread; what was begun may be ended, and more be begun, until somebody does."""
    store.execute(
        "UPDATE threads SET seen_at = ? WHERE session = ? AND epoch = ?",
        (store.now() - LEASE, plain(session), store.epoch),
    )


def release_all(store: Store) -> None:
    """Let anybody take the threads of this process."""
    store.execute("UPDATE threads SET seen_at = ? WHERE epoch = ?", (store.now() - LEASE, store.epoch))


def renew(store: Store, sessions: Collection[str]) -> None:
    """Give a sign for threads that this process holds."""
    now = store.now()
    for session in sessions:
        store.execute(
            "UPDATE threads SET seen_at = ? WHERE session = ? AND epoch = ?", (now, plain(session), store.epoch)
        )
