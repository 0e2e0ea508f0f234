"""Which process carries a thread on.

A thread is taken on entering it, and kept by being entered again or renewed. A process that lives and renews is not
disturbed; one that is gone, or was stopped for longer than the lease, loses the thread to the next that comes.
"""

from collections.abc import Collection
from dataclasses import dataclass

from asyncguard.errors import JournalError, ThreadBusyError
from asyncguard.journal.codec import plain
from asyncguard.journal.sql.processes import has_ended, is_alive, where
from asyncguard.journal.sql.store import Store

LEASE = 15.0
"""Seconds for which a thread is kept without a sign of its process."""
RENEWAL = 5.0
"""Seconds between two signs of a process that holds threads."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Acquired:
    """How a thread was taken."""

    fencing_token: int
    """Of this process's time with the thread: it rises with each process that takes it."""
    previous_token: int
    """The number before; the same if this process had the thread last, 0 if nobody had."""
    stolen: bool
    """Whether the process that had it lives and never gave it free: it was stopped, and may go on."""
    final_checkpoint: str
    """The checkpoint behind which a process that gave it free just now stores its last step, empty if there is none."""


def acquire(store: Store, session: str, thread: str, known: int = 0) -> Acquired:
    """Take a thread for this process.

    Args:
        store: The database.
        session: Id of the thread in its state.
        thread: The caller's thread id, empty if there is none.
        known: The number that the thread's state tells; the database may have forgotten it.

    Raises:
        ThreadBusyError: A process that is alive is at work on it.
        JournalError: This process was declared dead.
    """
    if has_ended(store, store.process_id):
        raise JournalError(
            "This process was taken for dead and its calls were given to others; start it anew."
        )
    now = store.now()
    # Also under another session: a run whose beginning was never stored is begun anew, and gets another one.
    rows = store.execute(
        "SELECT session, epoch, seen_at, number, left_at, ending FROM threads "
        "WHERE session = ? OR (thread = ? AND thread <> '')",
        (plain(session), plain(thread)),
    )
    seized = False
    for _, process_id, seen_at, _, left_at, _ in rows:
        if process_id in ("", store.process_id):
            continue
        # A clock that was set back makes a sign come from the future: beyond the lease that is no sign, either.
        signed = abs(now - seen_at) < LEASE
        if not (signed or left_at is None) or not is_alive(store, process_id):
            continue
        if signed:
            raise ThreadBusyError(
                f"Thread {thread or session} is carried on by {where(store, process_id)}; "
                "wait until its run ends, or stop it."
            )
        seized = True
    former = max((row[3] for row in rows), default=0)
    had = any((row[0], row[1]) == (plain(session), store.process_id) for row in rows)
    ending = next((row[5] for row in rows if row[5] and _just_left(store, now, row[1], row[4])), "")
    # A state that tells a higher number was stored by somebody with another journal.
    number = former if had and not seized and known <= former else max(former, known) + 1
    if thread:
        store.execute(
            "UPDATE threads SET epoch = '' WHERE thread = ? AND session <> ? AND epoch <> ?",
            (plain(thread), plain(session), store.process_id),
        )
    store.execute(
        "INSERT INTO threads (session, thread, epoch, seen_at, number) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (session) DO UPDATE SET thread = excluded.thread, epoch = excluded.epoch, "
        "seen_at = excluded.seen_at, number = excluded.number, left_at = NULL, ending = ''",
        (plain(session), plain(thread), store.process_id, now, number),
    )
    return Acquired(
        fencing_token=number, previous_token=former, stolen=seized, final_checkpoint=ending
    )


def _just_left(store: Store, now: float, process_id: str, left_at: float | None) -> bool:
    """Whether a process that gave a thread free may still be about to store its last step."""
    if left_at is None or abs(now - left_at) >= LEASE:
        return False
    return process_id == store.process_id or (process_id != "" and is_alive(store, process_id))


def holder(store: Store, session: str) -> str:
    """Epoch of the process that took a thread last, empty if none did."""
    rows = store.execute("SELECT epoch FROM threads WHERE session = ?", (plain(session),))
    return str(rows[0][0]) if rows else ""


def standing(store: Store, session: str) -> tuple[bool, str]:
    """Whether the end of this process is written down, and the process that took a thread last."""
    rows = store.execute(
        "SELECT p.ended_at, (SELECT t.epoch FROM threads t WHERE t.session = ?) FROM processes p WHERE p.epoch = ?",
        (plain(session), store.process_id),
    )
    if not rows:
        return True, ""
    ended_at, process_id = rows[0]
    return ended_at is not None, process_id or ""


def release(store: Store, session: str, ending: str = "") -> None:
    """Let anybody take a thread; what was begun may be ended, and more be begun, until somebody does."""
    store.execute(
        "UPDATE threads SET seen_at = ?, left_at = ?, ending = ? WHERE session = ? AND epoch = ?",
        ((now := store.now()) - LEASE, now, plain(ending), plain(session), store.process_id),
    )


def release_all(store: Store) -> None:
    """Let anybody take the threads of this process."""
    now = store.now()
    store.execute(
        "UPDATE threads SET seen_at = ?, left_at = ? WHERE epoch = ?",
        (now - LEASE, now, store.process_id),
    )


def renew(store: Store, sessions: Collection[str]) -> None:
    """Give a sign for threads that this process holds."""
    now = store.now()
    for session in sessions:
        store.execute(
            "UPDATE threads SET seen_at = ? WHERE session = ? AND epoch = ?",
            (now, plain(session), store.process_id),
        )
