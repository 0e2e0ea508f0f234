"""Which processes there are, and which of them are gone.

A process holds a lock of the operating system or of the server for as long as it lives, however it ends. Whoever finds
that lock free writes the end down in the same transaction in which it acts on it, and what is written down stays: a
process that was declared dead begins nothing any more, even if it was only slow.
"""

import os
import socket
from collections.abc import Collection
from enum import StrEnum

from asyncguard.journal.codec import plain
from asyncguard.journal.sql.store import Store


class ProcessKind(StrEnum):
    """What a process does with the journal; for people and for the reaper of lost workers."""

    AGENT = "agent"
    """Runs agents."""
    WORKER = "worker"
    """Runs calls for agents elsewhere."""
    OPERATOR = "operator"
    """Looks at calls, resolves and delivers."""


def register(store: Store, process_id: str, kind: ProcessKind) -> None:
    """Write down that this process lives; its lock is held already."""
    store.execute(
        "INSERT INTO processes (epoch, kind, host, pid, started_at) VALUES (?, ?, ?, ?, ?)",
        (process_id, kind.value, plain(socket.gethostname()), os.getpid(), store.now()),
    )


def has_ended(store: Store, process_id: str) -> bool:
    """Whether the end of a process is written down; an unknown one has ended long ago."""
    rows = store.execute("SELECT ended_at FROM processes WHERE epoch = ?", (process_id,))
    return not rows or rows[0][0] is not None


def note_end(store: Store, process_id: str) -> None:
    """Write the end of a process down; the first time is kept."""
    store.execute(
        "UPDATE processes SET ended_at = ? WHERE epoch = ? AND ended_at IS NULL",
        (store.now(), process_id),
    )


def is_alive(store: Store, process_id: str) -> bool:
    """Whether a process lives; if it does not, that is written down and final."""
    if has_ended(store, process_id):
        return False
    if store.is_locked(process_id):
        return True
    note_end(store, process_id)
    return False


def gone(store: Store, process_ids: Collection[str]) -> frozenset[str]:
    """Which of some processes do not live; their end is written down now."""
    return frozenset(process_id for process_id in process_ids if not is_alive(store, process_id))


def where(store: Store, process_id: str) -> str:
    """Where a process runs, for messages."""
    rows = store.execute("SELECT host, pid FROM processes WHERE epoch = ?", (process_id,))
    return f"process {rows[0][1]} on {rows[0][0]}" if rows else "an unknown process"


def succeed(store: Store, old: str, new: str) -> None:
    """Carry on under another process id what this process did under one whose lock it lost.

    Nobody has acted on the loss unless the old process id was declared dead; then its threads and attempts are others'.
    """
    if not has_ended(store, old):
        store.execute("UPDATE threads SET epoch = ? WHERE epoch = ?", (new, old))
        store.execute(
            "UPDATE attempts SET epoch = ? WHERE epoch = ? AND state = 'intent'", (new, old)
        )
        note_end(store, old)
