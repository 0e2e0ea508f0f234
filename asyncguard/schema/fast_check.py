"""Fast checks that accept the values that surely fit a schema, as nearly all of them do.

A schema becomes a few closures that answer *surely fits* in a twentieth of the time that a
validator needs. They never reject: a value that is not surely right goes to the validator, which
decides and explains. Operands need no case here, because they only ever make more arguments fit.
"""

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from types import MappingProxyType
from typing import Any

Fits = Callable[[Any], bool]
"""Predicate that is true for values that surely fit; ``False`` means unknown."""

_SILENT = frozenset(
    {
        "title",
        "description",
        "default",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
        "$comment",
        "$defs",
    }
    | {"definitions", "unit", "aliases"}
)
"""Keywords that assert nothing.

``$schema`` is not among them: inside a schema it may change the meaning of the others.
"""
_OF_OBJECTS = frozenset({"properties", "required", "additionalProperties"})
_FULL_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def compile_fast_check(schema: Any) -> Fits | None:
    """Return the fast check of a schema, or ``None`` if it has keywords without a maker here.

    Args:
        schema: Valid JSON Schema, draft 2020-12.
    """
    if schema is True:
        return _anything
    if not isinstance(schema, Mapping):
        return None
    asserted = {keyword: wanted for keyword, wanted in schema.items() if keyword not in _SILENT}
    checks: list[Fits] = []
    if not _OF_OBJECTS.isdisjoint(asserted):
        # Without the type these keywords say nothing about values that are not objects.
        if asserted.pop("type", None) != "object":
            return None
        checks.append(_object(schema))
    for keyword, wanted in asserted.items():
        if keyword in _OF_OBJECTS:
            continue
        if (make := _MAKERS.get(keyword)) is None or (check := make(wanted)) is None:
            return None
        checks.append(check)
    match checks:
        case []:
            return _anything
        case [check]:
            return check
        case _:
            return _all_of(tuple(checks))


def is_finite(value: Any) -> bool:
    """Return True if a value is not a float, or a finite one."""
    return not isinstance(value, float) or math.isfinite(value)


def is_date(text: Any) -> bool:
    """Return True if a text is a full date of ISO 8601, or the value is not a text."""
    if not isinstance(text, str):
        return True
    try:
        return _FULL_DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def is_date_time(text: Any) -> bool:
    """Return True if a text is a date and time of ISO 8601, or the value is not a text."""
    if not isinstance(text, str):
        return True
    try:
        return (
            len(text) > len("2000-01-01")
            and is_date(text[:10])
            and bool(datetime.fromisoformat(text))
        )
    except ValueError:
        return False


FORMATS: Mapping[str, Fits] = MappingProxyType({"date": is_date, "date-time": is_date_time})
"""Formats that are asserted; others are ignored."""


def _anything(_: Any) -> bool:
    return True


def _all_of(checks: tuple[Fits, ...]) -> Fits:
    def fits(value: Any) -> bool:
        for check in checks:  # noqa: SIM110 - `all` with a generator takes twice the time
            if not check(value):
                return False
        return True

    return fits


def _number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))


# Exact types: a bool is an int in Python and not in JSON. That 1.0 is an integer in JSON Schema is
# left to the validator.
_TYPES: Mapping[str, Fits] = MappingProxyType(
    {
        "string": lambda value: isinstance(value, str),
        "integer": lambda value: type(value) is int,
        "number": _number,
        "boolean": lambda value: isinstance(value, bool),
        "null": lambda value: value is None,
        "object": lambda value: isinstance(value, dict),
        "array": lambda value: isinstance(value, list),
    }
)


def _type(wanted: Any) -> Fits | None:
    if isinstance(wanted, str):
        return _TYPES.get(wanted)
    # A type that is not in the table can only make more values fit.
    checks = tuple(_TYPES[name] for name in wanted if name in _TYPES)
    return lambda value: any(check(value) for check in checks)


def _choice(wanted: Any) -> Fits:
    # Only texts: 1, 1.0 and True are equal in Python, and the validator tells them apart.
    choices = frozenset(item for item in wanted if isinstance(item, str))
    return lambda value: isinstance(value, str) and value in choices


def _pattern(wanted: str) -> Fits | None:
    try:
        search = re.compile(wanted).search
    except re.error:  # a pattern of another dialect, which JSON Schema allows
        return None
    return lambda value: isinstance(value, str) and search(value) is not None


def _any_of(wanted: Any) -> Fits | None:
    # A branch without a fast check can only make more values fit; the validator decides on it.
    branches = [fits for branch in wanted if (fits := compile_fast_check(branch)) is not None]
    return (lambda value: any(fits(value) for fits in branches)) if branches else None


def _items(wanted: Any) -> Fits | None:
    if (item := compile_fast_check(wanted)) is None:
        return None
    return lambda value: isinstance(value, list) and all(map(item, value))


def _object(schema: Mapping[str, Any]) -> Fits:
    known = {
        name: compile_fast_check(inner) for name, inner in schema.get("properties", {}).items()
    }
    others = compile_fast_check(schema.get("additionalProperties", True))
    required = frozenset(schema.get("required", ()))

    def fits(value: Any) -> bool:
        if not isinstance(value, dict) or not required <= value.keys():
            return False
        for name, item in value.items():
            check = known.get(name, others)
            # No fast check for this field: only the validator can tell.
            if check is None or not check(item):
                return False
        return True

    return fits


_MAKERS: Mapping[str, Callable[[Any], Fits | None]] = MappingProxyType(
    {
        "type": _type,
        "enum": _choice,
        "const": lambda wanted: _choice([wanted]),
        "pattern": _pattern,
        "format": FORMATS.get,
        "anyOf": _any_of,
        "items": _items,
        "minimum": lambda limit: lambda value: _number(value) and value >= limit,
        "maximum": lambda limit: lambda value: _number(value) and value <= limit,
        "exclusiveMinimum": lambda limit: lambda value: _number(value) and value > limit,
        "exclusiveMaximum": lambda limit: lambda value: _number(value) and value < limit,
        "minLength": lambda limit: lambda value: isinstance(value, str) and len(value) >= limit,
        "maxLength": lambda limit: lambda value: isinstance(value, str) and len(value) <= limit,
        "minItems": lambda limit: lambda value: isinstance(value, list) and len(value) >= limit,
        "maxItems": lambda limit: lambda value: isinstance(value, list) and len(value) <= limit,
    }
)
