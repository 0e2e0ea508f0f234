"""Rows of the database as values. What somebody else wrote there is an error that names its call, and nothing more."""

import json
from enum import StrEnum
from math import isfinite
from typing import Any, TypeVar

from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Result
from asyncguard.errors import CallerError, JournalError
from asyncguard.journal.codec import result_from_json
from asyncguard.journal.port import Attempt, AttemptState, Signal, SignalKind
from asyncguard.journal.sql.store import Row

_Enum = TypeVar("_Enum", bound=StrEnum)

ATTEMPT = (
    "a.key, a.number, a.tool, a.effect, a.fingerprint, a.state, a.epoch, "
    "a.begun_at, a.ended_at, a.deadline, a.result"
)
"""Columns of :func:`attempt_of`."""
MAIL = "m.key, m.number, m.kind, m.content, m.sender"
"""Columns of :func:`mail_of`."""


def attempt_of(row: Row) -> tuple[Attempt, EffectClass]:
    """An attempt, and what may be repeated of it.

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
    )
    return attempt, member(EffectClass, effect, key)


def mail_of(row: Row) -> Signal:
    """A piece of mail.

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
    """A member of an enum by its value; :class:`JournalError` if there is none."""
    try:
        return enum(given)
    except ValueError as error:
        raise _forged(key, f"{given!r:.40} is no {enum.__name__}") from error


def value(given: Any, key: object) -> Any:
    """What a JSON text says; :class:`JournalError` if it is none."""
    try:
        return json.loads(given)
    except (TypeError, ValueError, RecursionError) as error:
        raise _forged(key, "a text is no JSON") from error


def seconds(number: Any, key: object) -> float | None:
    """A time, or none; :class:`JournalError` if it is neither."""
    if number is None or (isinstance(number, int | float) and isfinite(number)):
        return number
    raise _forged(key, "a time is no number")


def text(given: Any, key: object) -> str:
    """A text; :class:`JournalError` if it is none, as bytes are that somebody wrote there."""
    if isinstance(given, str):
        return given
    raise _forged(key, "a text is none")


def whole(number: Any, key: object) -> int:
    """A whole number; :class:`JournalError` if it is none."""
    if isinstance(number, int):
        return number
    raise _forged(key, "a count is no whole number")


def _result(given: Any, key: object) -> Result:
    data = value(given, key)
    if not isinstance(data, dict):
        raise _forged(key, "a result is no object")
    try:
        return result_from_json(data)
    except CallerError as error:
        raise _forged(key, str(error)) from error


def _forged(key: object, what: str) -> JournalError:
    return JournalError(
        f"What the journal holds of call {key!s:.64} cannot be read: {what}. It was written by a newer version, "
        "changed by hand, or damaged; restore it from a backup, or remove the call."
    )
