"""Leases: which process may run a thread.

A process acquires a thread when it enters it, and keeps it by entering it again or by renewing. A
process that lives and renews cannot lose it. A process that has ended, or was suspended for longer
than the lease, loses the thread to the next process that acquires it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from asyncguard.errors import JournalError, ThreadBusyError
from asyncguard.journal.codec import plain
from asyncguard.journal.sql.processes import has_ended, in_this_interpreter, is_alive, where
from asyncguard.journal.sql.store import Row, Store

LEASE = 15.0
"""Seconds for which a thread is kept without a renewal."""
RENEWAL = 5.0
"""Seconds between two renewals by a process that holds threads."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Acquired:
    """The acquired lease of a thread; see :class:`~asyncguard.journal.port.LeaseGrant`."""

    fencing_token: int
    """Number of this lease; it rises with each process that acquires the thread."""
    previous_token: int
    """Token before; the same if this process held the thread last, 0 if no process ever did."""
    stolen: bool
    """True if the previous process lives and never released the thread; it may continue."""
    released_on: str
    """Checkpoint that the last run to release the thread stood on, empty if it is not known."""
    acquired_on: str
    """Checkpoint that the last run acquired it on, empty if it has released it or none is known."""
    ends: bool
    """True if a living process may still be storing its last step, after ``released_on``."""


def acquire(
    store: Store, session: str, thread: str, known: int = 0, stands_on: str = ""
) -> Acquired:
    """Acquire a thread for this process.

    Args:
        store: The database.
        session: Id of the thread in its state.
        thread: The caller's thread id, empty if there is none.
        known: Fencing token in the thread's state; the database may have lost it.
        stands_on: Checkpoint that the run stands on, empty if it stores none or goes back in time.

    Raises:
        ThreadBusyError: A process that is alive holds the thread.
        JournalError: This process was declared dead.
    """
    if has_ended(store, store.process_id):
        raise JournalError(
            "This process was declared dead and other processes may run its calls; restart it."
        )
    now = store.now()
    # Also rows with the caller's thread id alone: the session id is minted in a thread's first
    # step, so two processes that begin one thread at once, or again after the first step was lost,
    # have different ones.
    rows = store.execute(
        "SELECT session, epoch, seen_at, number, left_at, ending, ends, acquired_on FROM threads "
        "WHERE session = ? OR (thread = ? AND thread <> '')",
        (plain(session), plain(thread)),
    )
    beside = _beside(store, thread, {row[1] for row in rows})
    rows = [row for row in rows if row[0] == plain(session) or row[1] not in beside]
    stolen = _stolen(store, rows, now, thread or session)
    last = max(rows, key=lambda row: row[3], default=("", "", 0.0, 0, None, "", 0, ""))
    # Agents that run side by side in nodes of one name share the caller's id within their process:
    # another's newer lease does not mean that this one was lost.
    elsewhere = max((row[3] for row in rows if row[1] != store.process_id), default=0)
    mine = next((r for r in rows if (r[0], r[1]) == (plain(session), store.process_id)), None)
    if mine is not None and mine[3] > elsewhere:
        last = mine
    previous = last[3]
    # A run that goes back in time, or stores nothing before its end, leaves no line that is known.
    released_on = last[5] if stands_on else ""
    # A state with a higher token was stored under another journal, or before this one was restored
    # from a backup; the new token must exceed both.
    number = previous if mine and not stolen and known <= previous else max(previous, known) + 1
    if thread:
        # Without a holder, other processes with the same caller's id are fenced.
        spared = (store.process_id, *beside)
        store.execute(
            "UPDATE threads SET epoch = '' WHERE thread = ? AND session <> ? "
            f"AND epoch NOT IN ({', '.join('?' * len(spared))})",
            (plain(thread), plain(session), *spared),
        )
    store.execute(
        "INSERT INTO threads (session, thread, epoch, seen_at, number, ending, acquired_on) "
        "VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (session) DO UPDATE SET thread = excluded.thread, epoch = excluded.epoch, "
        "seen_at = excluded.seen_at, number = excluded.number, left_at = NULL, "
        "ending = excluded.ending, ends = 0, acquired_on = excluded.acquired_on",
        (plain(session), plain(thread), store.process_id, now, number, released_on, stands_on),
    )
    return Acquired(
        fencing_token=number,
        previous_token=previous,
        stolen=stolen,
        released_on=last[5],
        acquired_on=last[7],
        ends=bool(last[6]) and _just_left(store, now, last[1], last[4]),
    )


def _beside(store: Store, thread: str, process_ids: Collection[str]) -> frozenset[str]:
    """Return which of some processes are journals of other agents in this interpreter.

    Agents within another graph are named by the path to them. Several that run side by side, as
    tools of one message do, have one name, and threads of their own.
    """
    if "|" not in thread:
        return frozenset()
    others = in_this_interpreter().intersection(process_ids) - {store.process_id}
    return frozenset(each for each in others if is_alive(store, each))


def _stolen(store: Store, rows: Sequence[Row], now: float, named: str) -> bool:
    """Return True if a process that lives, and did not release the thread, loses it now.

    Raises:
        ThreadBusyError: It has renewed its lease.
    """
    stolen = False
    for _, process_id, seen_at, _, left_at, *_ in rows:
        if process_id in ("", store.process_id):
            continue
        # The distance, and not the order: after the clock was set back a renewal lies in the
        # future, and would otherwise keep the thread busy until the clock has caught up with it.
        renewed = abs(now - seen_at) < LEASE
        released = left_at is not None
        if (released and not renewed) or not is_alive(store, process_id):
            continue
        if renewed:
            raise ThreadBusyError(
                f"Thread {named} is being run by {where(store, process_id)}; "
                "wait until its run ends, or stop it."
            )
        # Alive and silent for longer than a lease: suspended, or its writer waits for the database.
        stolen = True
    return stolen


def _just_left(store: Store, now: float, process_id: str, left_at: float | None) -> bool:
    """Return True if a process that released a thread may still be storing its last step.

    The runtime releases in the last node; LangGraph stores that step afterwards.
    """
    if left_at is None or abs(now - left_at) >= LEASE:
        return False
    return process_id == store.process_id or (process_id != "" and is_alive(store, process_id))


def holder(store: Store, session: str) -> str:
    """Return the id of the process that acquired a thread last, empty if none did."""
    rows = store.execute("SELECT epoch FROM threads WHERE session = ?", (plain(session),))
    return str(rows[0][0]) if rows else ""


def holds_call(store: Store, key: str) -> bool:
    """Return True if a call is pending, and no other process has acquired its thread since."""
    rows = store.execute(
        "SELECT 1 FROM calls c JOIN threads t ON t.session = c.session "
        "WHERE c.key = ? AND c.state = 'pending' AND t.epoch = ?",
        (key, store.process_id),
    )
    return bool(rows)


def standing(store: Store, session: str) -> tuple[bool, str]:
    """Return if this process was declared dead, and the process that acquired a thread last."""
    rows = store.execute(
        "SELECT p.ended_at, (SELECT t.epoch FROM threads t WHERE t.session = ?) "
        "FROM processes p WHERE p.epoch = ?",
        (plain(session), store.process_id),
    )
    if not rows:
        return True, ""
    ended_at, process_id = rows[0]
    return ended_at is not None, process_id or ""


def release(
    store: Store, session: str, stands_on: str | None = None, *, ends: bool = False
) -> None:
    """Release a thread.

    Until another process acquires it, this one may still end its attempts and begin others.

    Args:
        store: The database.
        session: Id of the thread in its state.
        stands_on: Checkpoint that the run stands on, empty if it stores none or goes back in time;
            ``None`` to keep that of the last release.
        ends: True if a last step is being stored after that checkpoint.
    """
    now = store.now()
    # The holder stays in the row (see above); seen a lease ago, it does not count as renewed.
    store.execute(
        "UPDATE threads SET seen_at = ?, left_at = ?, ending = COALESCE(?, ending), ends = ?, "
        "acquired_on = '' WHERE session = ? AND epoch = ?",
        (now - LEASE, now, stands_on, int(ends), plain(session), store.process_id),
    )


def release_all(store: Store) -> None:
    """Release all threads of this process."""
    now = store.now()
    store.execute(
        "UPDATE threads SET seen_at = ?, left_at = ? WHERE epoch = ?",
        (now - LEASE, now, store.process_id),
    )


def renew(store: Store, sessions: Collection[str]) -> None:
    """Renew the leases of threads that this process holds."""
    now = store.now()
    for session in sessions:
        store.execute(
            "UPDATE threads SET seen_at = ? WHERE session = ? AND epoch = ?",
            (now, plain(session), store.process_id),
        )
