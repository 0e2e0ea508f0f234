"""Queries of operators on calls, and their resolutions of doubts."""

import logging
import math
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

from asyncguard.core.calls import CallState
from asyncguard.core.footprints import EffectClass
from asyncguard.errors import CallerError, JournalError
from asyncguard.journal.begin_policy import Recorded, in_doubt
from asyncguard.journal.codec import plain
from asyncguard.journal.port import AttemptState, Entry, Signal, SignalKind
from asyncguard.journal.sql.attempts import recorded_of
from asyncguard.journal.sql.processes import uncertain_for, where
from asyncguard.journal.sql.rows import (
    ATTEMPT,
    SIGNAL,
    attempt_of,
    member,
    seconds,
    signal_of,
    text,
    value,
)
from asyncguard.journal.sql.signals import RESOLUTIONS, send
from asyncguard.journal.sql.store import Row, Store

_CALL = (
    "c.key, c.session, t.thread, c.namespace, c.task, c.label, c.tool, c.state, c.resolution, "
    "c.error, c.arguments, c.created_at, c.updated_at"
)
_OPEN = (CallState.PENDING, CallState.IN_DOUBT)
_FROM = "FROM calls c LEFT JOIN threads t ON t.session = c.session"
_log = logging.getLogger("asyncguard.journal")


@dataclass(frozen=True, kw_only=True, slots=True)
class Filters:
    """Filters of calls; a call must match all of them."""

    states: Collection[CallState] = ()
    """Only calls in one of these, empty for all."""
    session: str = ""
    """Only calls of this thread, by either of its ids."""
    key: str = ""
    """Only calls whose key begins with this."""

    def where(self) -> tuple[str, tuple[Any, ...]]:
        """Return the SQL condition on call ``c`` and thread ``t``, with its values.

        The condition on states admits too many calls; see :func:`entries`.
        """
        terms: list[str] = ["1 = 1"]
        values: list[Any] = []
        if self.session:
            # The thread of an agent that is a tool is the caller's id followed by its namespace.
            terms.append("(c.session = ? OR t.thread = ? OR substr(t.thread, 1, ?) = ?)")
            name = plain(self.session)
            values += [name, name, len(name) + 1, f"{name}|"]
        if self.key:
            terms.append("substr(c.key, 1, ?) = ?")
            values += [len(self.key), plain(self.key)]
        if self.states:
            # A pending call may turn out to be in doubt.
            states = {
                *self.states,
                *({CallState.PENDING} if CallState.IN_DOUBT in self.states else ()),
            }
            terms.append(f"c.state IN ({', '.join('?' * len(states))})")
            values += sorted(state.value for state in states)
        return " AND ".join(terms), tuple(values)


@dataclass(kw_only=True, slots=True)
class _Parts:
    attempts: list[Row] = field(default_factory=list)
    signals: list[Row] = field(default_factory=list)


def entries(store: Store, filters: Filters) -> list[Entry]:
    """Return calls, oldest first; one that cannot be read is skipped and logged.

    Raises:
        JournalError: Calls were found, and none of them can be read.
    """
    found, unreadable = [], None
    for row, parts in _rows(store, filters):
        try:
            entry, _, _ = _entry(store, row, parts)
        except JournalError as error:
            _log.error("a call was skipped: %s", error)
            unreadable = error
            continue
        # Asked again: a pending call may have turned out to be in doubt.
        if not filters.states or entry.state in filters.states:
            found.append(entry)
    if unreadable is not None and not found:
        raise unreadable
    return found


def _rows(store: Store, filters: Filters) -> list[tuple[Row, _Parts]]:
    where, values = filters.where()
    calls = store.execute(f"SELECT {_CALL} {_FROM} WHERE {where} ORDER BY c.position", values)
    parts: defaultdict[str, _Parts] = defaultdict(_Parts)
    chosen = f"SELECT c.key {_FROM} WHERE {where}"
    for row in store.execute(
        f"SELECT {ATTEMPT} FROM attempts a WHERE a.key IN ({chosen}) ORDER BY a.number", values
    ):
        parts[row[0]].attempts.append(row)
    for row in store.execute(
        f"SELECT {SIGNAL} FROM mail m WHERE m.key IN ({chosen}) ORDER BY m.id", values
    ):
        parts[row[0]].signals.append(row)
    return [(row, parts[row[0]]) for row in calls]


def _entry(store: Store, row: Row, parts: _Parts) -> tuple[Entry, str, Recorded | None]:
    (
        key,
        session,
        thread,
        namespace,
        task,
        label,
        tool,
        state,
        resolution,
        error,
        arguments,
        created,
        updated,
    ) = row
    recorded = [recorded_of(store, *attempt_of(attempt)) for attempt in parts.attempts]
    latest = recorded[-1] if recorded else None
    signals = tuple(signal_of(item) for item in parts.signals)
    known = member(CallState, state, key)
    resolution = resolution or _delivered(signals, latest)
    named = value(arguments, key)
    if not isinstance(named, dict):
        raise JournalError(
            f"The journal's entry of call {key!s:.64} cannot be read: its arguments must be a JSON "
            "object; restore it from a backup, or remove the call."
        )
    entry = Entry(
        key=text(key, key),
        session=text(session, key),
        thread=text(thread or "", key),
        namespace=text(namespace, key),
        task=text(task, key),
        label=text(label, key),
        tool=text(tool, key),
        effect=latest.effect if latest is not None else EffectClass.AT_MOST_ONCE,
        state=CallState.IN_DOUBT if in_doubt(known, resolution, latest) else known,
        error=text(error, key),
        arguments=named,
        created_at=seconds(created, key) or 0.0,
        updated_at=seconds(updated, key) or 0.0,
        attempts=tuple(
            replace(item.attempt, running_in=where(store, item.attempt.process_id))
            if item.running
            else item.attempt
            for item in recorded
        ),
        signals=signals,
        resolution=member(SignalKind, resolution, key) if resolution and known in _OPEN else None,
    )
    return entry, resolution, latest


def _delivered(signals: tuple[Signal, ...], latest: Recorded | None) -> str:
    """Return the resolution by a delivery that an older version stored without it."""
    waits = latest is not None and any(
        signal.kind is SignalKind.DELIVERY and signal.attempt >= latest.attempt.number
        for signal in signals
    )
    return SignalKind.DELIVERY.value if waits else ""


# -- resolutions ----------------------------------------------------------------------------------


def resolve(
    store: Store, key: str, kind: SignalKind, content: str, by: str, *, ended: bool = False
) -> Entry:
    """Resolve a call in doubt.

    Args:
        store: The database.
        key: Beginning of the call's key.
        kind: Kind of the resolution.
        content: Its result as JSON text.
        by: Name of the person or program that resolves it.
        ended: True if no attempt that was given up runs any more.

    Raises:
        CallerError: No call, or more than one, begins with the key, or it is not in doubt.
    """
    if kind not in RESOLUTIONS:
        names = ", ".join(sorted(item.value for item in RESOLUTIONS))
        raise CallerError(
            f"kind must be one of {names}, not {kind.value}; results of external calls are "
            "delivered by their token."
        )
    row, parts = _one(store, key)
    entry, resolution, latest = _entry(store, row, parts)
    if not in_doubt(CallState(row[7]), resolution, latest):
        raise CallerError(
            f"Call {entry.key} ({entry.label}) is not in doubt: {_why(entry, resolution, latest)}."
        )
    running = [attempt for attempt in entry.attempts if attempt.running_in]
    # A second attempt under the same key is the same effect.
    safe = (
        ended
        or kind is SignalKind.HAPPENED
        or (kind is SignalKind.RETRY and entry.effect.repeatable)
    )
    if running and not safe:
        raise CallerError(
            f"Call {entry.key} ({entry.label}) may still take effect: attempt {running[0].number} "
            f"was given up, and may still run in {running[0].running_in}. Wait for its own end (a "
            "result resolves the doubt by itself), or end that process; then answer again. If you "
            "know that it has stopped, say so: --ended, in Python ended=True."
        )
    for attempt in entry.attempts:
        seconds_left = uncertain_for(store, attempt.process_id)
        if seconds_left and not safe:
            raise CallerError(
                f"Call {entry.key} ({entry.label}) may still take effect: the journal lost sight "
                f"of {where(store, attempt.process_id)} just now, which has ended, or reconnects "
                f"and continues attempt {attempt.number}; answer again in "
                f"{math.ceil(seconds_left)} s. If you know that it has stopped, say so: --ended, "
                "in Python ended=True."
            )
    number = entry.attempts[-1].number if entry.attempts else 1
    send(store, kind=kind, key=entry.key, number=number, content=content, sender=by)
    # Read again: the resolution and its signal belong to the answer.
    row, parts = _one(store, entry.key)
    return _entry(store, row, parts)[0]


def _one(store: Store, key: str) -> tuple[Row, _Parts]:
    found = _rows(store, Filters(key=key)) if key else []
    # One key may begin another: a full key always means its own call.
    exact = [item for item in found if item[0][0] == key]
    if exact:
        return exact[0]
    if len(found) == 1:
        return found[0]
    if not found:
        raise CallerError(
            f"No call has a key that begins with {key!r}; `asyncguard ledger list` shows the keys."
        )
    raise CallerError(f"{len(found)} calls have keys that begin with {key!r}; give more of it.")


def _why(entry: Entry, resolution: str, latest: Recorded | None) -> str:
    if entry.delivered:
        return (
            "its result was delivered, and waits for its thread; run the thread again, or send its "
            "next message"
        )
    if resolution:
        return f"it was resolved before ({resolution})"
    if entry.state is not CallState.PENDING or latest is None:
        return f"it is {entry.state.value}"
    if latest.attempt.state is not AttemptState.INTENT:
        return (
            f"attempt {latest.attempt.number} is {latest.attempt.state.value}; "
            "resume its thread to continue with that"
        )
    if latest.alive:
        return "it is running in a process that is alive"
    return f"it is {latest.effect.value}; resume its thread to make it again"
