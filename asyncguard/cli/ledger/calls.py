"""Calls of the journal as an operator sees them, and their rows for export.

A call may wait for a person, or for its thread to run.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from asyncguard.core.calls import CallState
from asyncguard.core.results import Failure, Success
from asyncguard.errors import CallerError
from asyncguard.journal.port import Attempt, AttemptState, Entry, Journal, SignalKind

_OPEN = frozenset({CallState.PENDING, CallState.IN_DOUBT})
_BROKEN_OFF = frozenset({AttemptState.INTENT, AttemptState.ENDED})
"""States that no process continues once the attempt's own is gone, before the thread runs again.

A started attempt is not among them: it waits for a delivery.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """A call, and what follows from it for an operator."""

    entry: Entry
    """The call."""
    gone: bool
    """True if the process of its latest attempt is gone."""

    @property
    def latest(self) -> Attempt | None:
        """The attempt that counts."""
        return self.entry.attempts[-1] if self.entry.attempts else None

    @property
    def answer(self) -> SignalKind | None:
        """Answer of a person, a delivery or a late result, until the thread has applied it."""
        return SignalKind.DELIVERY if self.entry.delivered else self.entry.resolution

    @property
    def in_doubt(self) -> bool:
        """True if an operator has to find out what became of it."""
        return self.entry.state is CallState.IN_DOUBT and self.answer is None

    @property
    def running_in(self) -> str:
        """Process in which an attempt may still have its effect, empty if in none."""
        found = [attempt.running_in for attempt in self.entry.attempts if attempt.running_in]
        return found[-1] if found else ""

    @property
    def broken_off(self) -> bool:
        """True if it continues by itself, but not before its thread is run."""
        if self.entry.state is not CallState.PENDING or self.answer is not None:
            return False
        return self.latest is not None and self.gone and self.latest.state in _BROKEN_OFF


def listed(journal: Journal, entries: Sequence[Entry]) -> list[Listed]:
    """Return the calls, with what is known of their processes.

    Args:
        journal: Journal that holds them.
        entries: The calls.

    Raises:
        JournalError: The journal cannot be read or written.
    """
    process_ids = {process_id for entry in entries if (process_id := _carrier(entry))}
    gone = set(journal.gone(process_ids)) if process_ids else set()
    return [Listed(entry=entry, gone=_carrier(entry) in gone) for entry in entries]


def _carrier(entry: Entry) -> str:
    """Return the process id of the latest attempt, empty if the call has ended.

    Nothing depends on the process of an ended call any more.
    """
    return entry.attempts[-1].process_id if entry.attempts and entry.state in _OPEN else ""


def the_call(journal: Journal, key: str) -> Listed:
    """Return the call with this key, or the only one whose key begins so.

    Raises:
        CallerError: There is none, or more than one.
    """
    found = journal.entries(key=key) if key else []
    exact = [entry for entry in found if entry.key == key] or list(found)
    if not exact:
        raise CallerError(
            f"No call has a key that begins with {key!r}; "
            "`asyncguard ledger list --all` shows the keys."
        )
    if len(exact) > 1:
        some = ", ".join(f"{entry.key} ({entry.label})" for entry in exact[:5])
        more = f" and {len(exact) - 5} more" if len(exact) > 5 else ""
        raise CallerError(
            f"{len(exact)} calls have keys that begin with {key!r}: {some}{more}; "
            "give more of the key."
        )
    return listed(journal, exact)[0]


# -- rows ------------------------------------------------------------------------------------------

FIELDS = {
    "key": "key of the call, unique in the journal",
    "session": "id of its thread in the state",
    "thread": "the caller's thread id, empty without one",
    "namespace": "path of the agent among agents",
    "task": "task of the call",
    "label": "its name for people and models",
    "tool": "tool of the latest attempt",
    "effect": "what may be repeated",
    "state": "state of the call",
    "answer": "what a person, a late result or a delivery said while its thread has not taken that "
    "up: happened, not_happened, retry or delivery",
    "process_gone": "whether the process of a pending call, or of one in doubt, is gone",
    "error": "class of the failure, empty without one",
    "attempt": "number of the latest attempt, 0 without one",
    "attempt_state": "intent, ended, asked or started",
    "created_at": "ISO 8601, UTC",
    "updated_at": "the same; changes when the call begins, ends or is answered",
    "running_in": "pid and host of the process in which an attempt runs, or may still run after it "
    "was given up; empty if in none",
}
"""Stable names of a row's fields, with their meaning.

JSON adds ``attempts`` and ``mail``, ``--payload`` the rest.
"""
PAYLOADS = {
    "arguments": "arguments of the latest attempt",
    "result": "what the latest attempt that succeeded answered",
}
"""Fields that ``--payload`` adds to a row."""


def rows(calls: Iterable[Listed], *, payload: bool, nested: bool) -> Iterator[dict[str, Any]]:
    """Yield the calls as plain JSON values.

    Args:
        calls: The calls.
        payload: True to add texts of users, models and tools.
        nested: True to add the attempts and the signals.
    """
    for call in calls:
        row = _flat(call)
        if payload:
            row["arguments"] = dict(call.entry.arguments)
            results = [attempt.result for attempt in call.entry.attempts]
            answers = [result.content for result in results if isinstance(result, Success)]
            row["result"] = answers[-1] if answers else None
        if nested:
            row["attempts"] = [
                _attempt(attempt, payload=payload) for attempt in call.entry.attempts
            ]
            # The name of the field is part of the stable format.
            row["mail"] = [
                {"kind": signal.kind.value, "attempt": signal.attempt, "by": signal.by}
                | ({"content": signal.content} if payload else {})
                for signal in call.entry.signals
            ]
        yield row


def _flat(call: Listed) -> dict[str, Any]:
    entry, latest = call.entry, call.latest
    return {
        "key": entry.key,
        "session": entry.session,
        "thread": entry.thread,
        "namespace": entry.namespace,
        "task": entry.task,
        "label": entry.label,
        "tool": latest.tool if latest else entry.tool,
        "effect": entry.effect.value,
        "state": entry.state.value,
        "answer": call.answer.value if call.answer else "",
        "process_gone": call.gone,
        "error": entry.error,
        "attempt": latest.number if latest else 0,
        "attempt_state": latest.state.value if latest else "",
        "created_at": moment(entry.created_at),
        "updated_at": moment(entry.updated_at),
        "running_in": call.running_in,
    }


def _attempt(attempt: Attempt, *, payload: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "number": attempt.number,
        "tool": attempt.tool,
        "state": attempt.state.value,
        "process": attempt.process_id,
        "begun_before": [
            {"process": begin.process_id, "begun_at": moment(begin.begun_at)}
            for begin in attempt.begun_before
        ],
        "begun_at": moment(attempt.begun_at),
        "ended_at": moment(attempt.ended_at),
        "deadline": moment(attempt.deadline),
        "outcome": outcome_of(attempt),
        "late_result": attempt.late is not None,
        "running_in": attempt.running_in,
    }
    if payload and isinstance(attempt.late, Success):
        row["late_content"] = attempt.late.content
    if payload and isinstance(attempt.result, Success):
        row["content"] = attempt.result.content
    if payload and isinstance(attempt.result, Failure):
        row["message"] = attempt.result.symptom.message
    return row


def outcome_of(attempt: Attempt) -> str:
    """Return how an attempt ended: ``success``, the class of its failure, or empty if unknown."""
    match attempt.result:
        case Success():
            return "success"
        case Failure(symptom=symptom):
            return symptom.error
        case _:
            return ""


def moment(seconds: float | None) -> str | None:
    """Return a time in ISO 8601, or ``None``."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return str(seconds)  # outside of the calendar: a wrong clock, or a value changed by hand
