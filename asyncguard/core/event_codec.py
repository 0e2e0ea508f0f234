"""Encoding of events as plain JSON values, and decoding."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import StrEnum
from operator import attrgetter
from typing import Any

from asyncguard.core.calls import Call
from asyncguard.core.events import (
    EVENT_TYPES,
    Aim,
    CompletionVerdict,
    Event,
    Objection,
    Outcome,
    RecoveryAction,
)
from asyncguard.core.faults import CircuitState, HazardKind
from asyncguard.core.footprints import Footprint
from asyncguard.core.lifecycle import TaskState
from asyncguard.errors import CallerError

_BY_KIND = {event.kind: event for event in EVENT_TYPES}
# A new field of an enum or tuple type has to be listed in these two tables; one that is not is read
# back as plain JSON.
_ENUMS: Mapping[tuple[str, str], type[StrEnum]] = {
    ("task_ended", "state"): TaskState,
    ("call_retired", "outcome"): Outcome,
    ("call_recovered", "action"): RecoveryAction,
    ("call_recovered", "aim"): Aim,
    ("call_found", "aim"): Aim,
    ("call_diagnosed", "hazard"): HazardKind,
    ("circuit_moved", "state"): CircuitState,
    ("call_objected", "objection"): Objection,
    ("completion_judged", "verdict"): CompletionVerdict,
}
_TUPLES = frozenset(
    {"on", "also", "keys", "placeholders", "passed_over", "tasks", "symptom", "evidence", "changes"}
)
_NAMES = {event: tuple(item.name for item in fields(event)) for event in EVENT_TYPES}
_CALL_NAMES = tuple(item.name for item in fields(Call))
_values_of_call = attrgetter(*_CALL_NAMES)


def _call_to_json(call: Call) -> dict[str, Any]:
    data = dict(zip(_CALL_NAMES, _values_of_call(call), strict=True))
    # Stored states have to survive savers that know no other mappings than dict.
    data["arguments"] = dict(call.arguments)
    reads, writes = call.footprint.reads, call.footprint.writes
    # Sorted, because the order of a set of texts differs from one process to the next.
    data["footprint"] = [None if side is None else sorted(side) for side in (reads, writes)]
    return data


def _with_lists(content: Any) -> Any:
    """Return a finding with lists for tuples, as savers and JSON would silently change them."""
    if not isinstance(content, dict):
        return content
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in content.items()
    }


def _converter(kind: str, name: str) -> Callable[[Any], Any] | None:
    """Return the function that encodes a field, ``None`` if its values are plain JSON already."""
    if (kind, name) in _ENUMS:
        return str
    if (kind, name) == ("call_found", "content"):
        return _with_lists
    if name in _TUPLES:
        return list
    if name == "arguments":
        return lambda given: None if given is None else dict(given)
    return _call_to_json if name == "call" else None


# Looked up once: an event is written for every move of every call.
_VALUES: Mapping[type[Event], Callable[[Event], tuple[Any, ...]]] = {
    event: attrgetter("kind", *names) for event, names in _NAMES.items()
}
_CONVERTED = {
    event: tuple(
        (name, convert) for name in names if (convert := _converter(event.kind, name)) is not None
    )
    for event, names in _NAMES.items()
}


def to_json(event: Event) -> dict[str, Any]:
    """Return an event as plain JSON values (str, int, float, bool, None, list, dict)."""
    cls = type(event)
    data = dict(zip(("kind", *_NAMES[cls]), _VALUES[cls](event), strict=True))
    for name, convert in _CONVERTED[cls]:
        data[name] = convert(data[name])
    return data


def from_json(data: Mapping[str, Any]) -> Event:
    """Return the event that :func:`to_json` wrote.

    Raises:
        CallerError: The kind is unknown or a field is missing.
    """
    kind = str(data.get("kind"))
    cls = _BY_KIND.get(kind)
    if cls is None:
        raise CallerError(f"Unknown event kind {kind!r}; the file may come from a newer version.")
    values: dict[str, Any] = {}
    for name in _NAMES[cls]:
        # Fields that an older version did not write get their defaults; unknown ones are ignored.
        if name not in data:
            continue
        value = data[name]
        if (kind, name) in _ENUMS:
            value = _ENUMS[kind, name](value)
        elif name in _TUPLES:
            value = tuple(value)
        elif name == "call":
            sides = (None if side is None else frozenset(side) for side in value["footprint"])
            reads, writes = sides
            value = Call(**{**value, "footprint": Footprint(reads=reads, writes=writes)})
        values[name] = value
    try:
        return cls(**values)
    except TypeError as error:
        raise CallerError(f"Event {kind!r} is incomplete: {error}.") from error
