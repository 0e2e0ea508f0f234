"""Rows of the database as values; a row that the journal did not write raises an error.

The error names the call and quotes none of its content.
"""

import json
from collections.abc import Iterable
from enum import StrEnum
from math import isfinite
from typing import Any, TypeVar

from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Result, Success
from asyncguard.errors import CallerError, JournalError
from asyncguard.journal.codec import result_from_json
from asyncguard.journal.port import Attempt, AttemptState, Begin, Signal, SignalKind
from asyncguard.journal.sql.store import Row

_Enum = TypeVar("_Enum", bound=StrEnum)

ATTEMPT = (
    "a.key, a.number, a.tool, a.effect, a.fingerprint, a.state, a.epoch, "
    "a.begun_at, a.ended_at, a.deadline, a.result, a.begun_before, a.late"
)
"""Columns that :func:`attempt_of` reads."""
SIGNAL = "m.key, m.number, m.kind, m.content, m.sender"
"""Columns that :func:`signal_of` reads."""


def attempt_of(row: Row) -> tuple[Attempt, EffectClass]:
    """Return the attempt in a row, and its effect class.

    Raises:
        JournalError: The row is not one that the journal writes.
    """
    (
        key,
        number,
        tool,
        effect,
        fingerprint,
        state,
        process_id,
        begun_at,
        ended_at,
        deadline,
        result,
        begun_before,
        late,
    ) = row
    attempt = Attempt(
        number=whole(number, key),
        tool=str(tool),
        fingerprint=str(fingerprint),
        state=member(AttemptState, state, key),
        process_id=str(process_id),
        begun_at=seconds(begun_at, key) or 0.0,
        ended_at=seconds(ended_at, key),
        deadline=seconds(deadline, key),
        result=None if result is None or state == AttemptState.ASKED else _result(result, key),
        begun_before=() if begun_before is None else _begins(begun_before, key),
        late=None if late is None else Success(content=value(late, key)),
    )
    return attempt, member(EffectClass, effect, key)


def signal_of(row: Row) -> Signal:
    """Return the signal in a row.

    Raises:
        JournalError: The row is not one that the journal writes.
    """
    key, number, kind, content, sender = row
    return Signal(
        kind=member(SignalKind, kind, key),
        key=str(key),
        attempt=whole(number, key),
        content=value(content, key),
        by=str(sender),
    )


def member(enum: type[_Enum], given: Any, key: object) -> _Enum:
    """Return the member of an enum with a value; raise :class:`JournalError` if there is none."""
    try:
        return enum(given)
    except ValueError as error:
        raise _unreadable(key, f"{given!r:.40} is not a value of {enum.__name__}") from error


def value(given: Any, key: object) -> Any:
    """Return the value of a JSON text; raise :class:`JournalError` if it is not JSON."""
    try:
        return json.loads(given)
    except (TypeError, ValueError, RecursionError) as error:
        raise _unreadable(key, "a text is not JSON") from error


def seconds(number: Any, key: object) -> float | None:
    """Return a time or ``None``; raise :class:`JournalError` for anything else."""
    if number is None or (isinstance(number, int | float) and isfinite(number)):
        return number
    raise _unreadable(key, "a time is not a number")


def text(given: Any, key: object) -> str:
    """Return a text; raise :class:`JournalError` for anything else, such as bytes."""
    if isinstance(given, str):
        return given
    raise _unreadable(key, "a text column holds another type")


def whole(number: Any, key: object) -> int:
    """Return a whole number; raise :class:`JournalError` for anything else."""
    if isinstance(number, int):
        return number
    raise _unreadable(key, "a count is not a whole number")


def _result(given: Any, key: object) -> Result:
    data = value(given, key)
    if not isinstance(data, dict):
        raise _unreadable(key, "a result is not a JSON object")
    try:
        return result_from_json(data)
    except CallerError as error:
        raise _unreadable(key, str(error)) from error


def begins_to_json(begins: Iterable[Begin]) -> str:
    """Return the text in which :func:`attempt_of` reads the earlier begins of an attempt."""
    return json.dumps([(each.process_id, each.begun_at) for each in begins])


def _begins(given: Any, key: object) -> tuple[Begin, ...]:
    try:
        return tuple(
            Begin(process_id=text(process_id, key), begun_at=seconds(begun_at, key) or 0.0)
            for process_id, begun_at in value(given, key)
        )
    except (TypeError, ValueError) as error:
        raise _unreadable(key, "earlier begins are not pairs") from error


def _unreadable(key: object, what: str) -> JournalError:
    return JournalError(
        f"The journal's entry of call {key!s:.64} cannot be read: {what}. It was written by a "
        "newer version, changed by hand, or damaged; restore it from a backup, or remove the call."
    )
