"""Registry of the processes that use the journal, and of their ends.

A process holds a lock of the operating system or of the server for as long as it lives; it is freed
however the process ends. A process that finds the lock of another one free declares that one dead,
in the same transaction in which it acts on it. This is final: a process that was declared dead
begins nothing more, even if it was only slow.
"""

import os
import socket
import threading
from collections.abc import Collection
from enum import StrEnum
from weakref import WeakKeyDictionary

from asyncguard.journal.codec import plain
from asyncguard.journal.sql.store import Store

_OPENED: WeakKeyDictionary[Store, int] = WeakKeyDictionary()
"""Stores that were opened in this interpreter, with the pid: a fork copies them."""
_LOCK = threading.RLock()
"""Guards the stores; reentrant, as garbage collection may come between."""


class ProcessKind(StrEnum):
    """Role of a process; for people and for the reaper of lost workers."""

    AGENT = "agent"
    """The process runs agents."""
    WORKER = "worker"
    """The process runs calls for agents elsewhere."""
    OPERATOR = "operator"
    """The process lists calls, resolves doubts and delivers results."""


def register(store: Store, process_id: str, kind: ProcessKind) -> None:
    """Register this process, whose lock is held already."""
    store.execute(
        "INSERT INTO processes (epoch, kind, host, pid, started_at) VALUES (?, ?, ?, ?, ?)",
        (process_id, kind.value, plain(socket.gethostname()), os.getpid(), store.now()),
    )
    with _LOCK:
        _OPENED[store] = os.getpid()


def has_ended(store: Store, process_id: str) -> bool:
    """Return True if a process was declared dead, or was removed as it ended long ago."""
    rows = store.execute("SELECT ended_at FROM processes WHERE epoch = ?", (process_id,))
    return not rows or rows[0][0] is not None


def note_end(store: Store, process_id: str, certain_in: float = 0.0) -> None:
    """Record the end of a process; the time of the first record is kept.

    Args:
        store: The database.
        process_id: The process.
        certain_in: Seconds until it is certain that it runs nothing any more.
    """
    store.execute(
        "UPDATE processes SET ended_at = ? WHERE epoch = ? AND ended_at IS NULL",
        (store.now() + certain_in, process_id),
    )


def uncertain_for(store: Store, process_id: str) -> float:
    """Return seconds until the end of a process is certain, 0 if it is, or if no end is known."""
    rows = store.execute(
        "SELECT ended_at FROM processes WHERE epoch = ? AND ended_at IS NOT NULL", (process_id,)
    )
    # Not longer than that: the clock may have been set back since.
    return max(0.0, min(rows[0][0] - store.now(), store.reconnect_time)) if rows else 0.0


def is_alive(store: Store, process_id: str) -> bool:
    """Return True if a process lives; otherwise declare it dead."""
    if has_ended(store, process_id):
        return False
    if store.is_locked(process_id):
        return True
    # Fenced at once. But if it has lost its connection alone, its tools run on.
    note_end(store, process_id, store.reconnect_time)
    return False


def gone(store: Store, process_ids: Collection[str]) -> frozenset[str]:
    """Return which of some processes do not live; declare them dead."""
    return frozenset(process_id for process_id in process_ids if not is_alive(store, process_id))


def where(store: Store, process_id: str) -> str:
    """Return pid and host of a process, for messages."""
    rows = store.execute("SELECT host, pid FROM processes WHERE epoch = ?", (process_id,))
    return f"process {rows[0][1]} on {rows[0][0]}" if rows else "an unknown process"


def in_this_interpreter() -> frozenset[str]:
    """Return the process ids of the journals that were opened here, and not in a parent process."""
    # Not by host and pid: two containers may have the same.
    with _LOCK:
        return frozenset(each.process_id for each, pid in _OPENED.items() if pid == os.getpid())


def succeed(store: Store, old: str, new: str) -> None:
    """Move threads and attempts of this process from an id whose lock it lost to a new id.

    If the old id was declared dead meanwhile, other processes may have acted on it: its threads
    are not moved.
    """
    if not has_ended(store, old):
        store.execute("UPDATE threads SET epoch = ? WHERE epoch = ?", (new, old))
        note_end(store, old)
    # In any case: what no other process has taken over runs here, and must not count as ended.
    # Also attempts that were given up while their tools still run. A text that only looks like it
    # may come along: an id of this process is right for all its attempts.
    store.execute(
        "UPDATE attempts SET epoch = ? WHERE epoch = ? AND (state = 'intent' OR result LIKE ?)",
        (new, old, '%"running"%true%'),
    )
