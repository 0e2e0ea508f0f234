"""Fast checks of values by their JSON schema, draft 2020-12.

A schema becomes a closure that says *surely fits*, in a fraction of a validator's time. It never refuses:
where it does not say so, jsonschema decides and explains. A schema with a keyword that is unknown here,
or with one that is malformed, has no fast check, so jsonschema sees it in full.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Fits = Callable[[Any], bool]
"""True for values that surely fit; False says nothing."""

_SILENT = frozenset({"title", "description", "default", "unit", "aliases"})
"""Keywords that ask nothing of a value."""
_OBJECT = frozenset({"properties", "required", "additionalProperties"})
"""Keywords that are read together."""
_MOST_EXACT = 2**53
"""Bound of the numbers that Python compares as jsonschema does, whichever type they have."""


class _NoFastCheckError(Exception):
    """The schema asks for something that is left to jsonschema."""


def fast_check(schema: Any) -> Fits | None:
    """Return the fast check of a schema, which is valid then; None for one that is left to jsonschema."""
    try:
        return _check(schema)
    except _NoFastCheckError:
        return None


def _check(schema: Any) -> Fits:
    if schema is True:
        return lambda _: True
    if not isinstance(schema, Mapping):
        raise _NoFastCheckError
    checks = [
        _maker(keyword)(wanted)
        for keyword, wanted in schema.items()
        if keyword not in _SILENT and keyword not in _OBJECT
    ]
    if not _OBJECT.isdisjoint(schema):
        checks.append(_object(schema))
    if len(checks) == 1:
        return checks[0]
    return lambda value: all(check(value) for check in checks)


def _maker(keyword: str) -> Callable[[Any], Fits]:
    if keyword not in _MAKERS:
        raise _NoFastCheckError
    return _MAKERS[keyword]


def _object(schema: Mapping[str, Any]) -> Fits:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not _texts(required):
        raise _NoFastCheckError
    checks = {name: _check(each) for name, each in properties.items()}
    names, further = frozenset(required), schema.get("additionalProperties", True)
    other = None if further is False else _check(further)

    def fits(value: Any) -> bool:
        if type(value) is not dict or not names <= value.keys():
            return False
        for name, item in value.items():
            check = checks.get(name, other)
            if check is None or not check(item):
                return False
        return True

    return fits


_TYPES: Mapping[str, Fits] = {
    "string": lambda value: type(value) is str,
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) is int or type(value) is float,
    "boolean": lambda value: type(value) is bool,
    "null": lambda value: value is None,
    "object": lambda value: type(value) is dict,
    "array": lambda value: type(value) is list,
}


def _type(wanted: Any) -> Fits:
    names = [wanted] if isinstance(wanted, str) else wanted
    if not _texts(names) or not names or not set(names) <= _TYPES.keys():
        raise _NoFastCheckError
    first, *others = (_TYPES[name] for name in names)
    return (
        (lambda value: first(value) or any(is_of(value) for is_of in others)) if others else first
    )


def _enum(wanted: Any) -> Fits:
    if not _texts(wanted) or not wanted:
        raise _NoFastCheckError
    known = frozenset(wanted)
    return lambda value: type(value) is str and value in known


def _any_of(wanted: Any) -> Fits:
    if not isinstance(wanted, list) or not wanted:
        raise _NoFastCheckError
    checks = [_check(each) for each in wanted]
    return lambda value: any(check(value) for check in checks)


def _items(wanted: Any) -> Fits:
    check = _check(wanted)
    return lambda value: type(value) is list and all(map(check, value))


def _pattern(wanted: Any) -> Fits:
    try:
        found = re.compile(wanted).search
    except (TypeError, re.error) as problem:
        raise _NoFastCheckError from problem
    return lambda value: type(value) is str and found(value) is not None


def _unique(wanted: Any) -> Fits:
    if wanted is not True:
        raise _NoFastCheckError
    return lambda value: type(value) is list and _texts(value) and len(set(value)) == len(value)


def _length(
    kind: type[str | list[Any] | dict[str, Any]], fits: Callable[[int, int], bool], wanted: Any
) -> Fits:
    if type(wanted) is not int or wanted < 0:
        raise _NoFastCheckError
    return lambda value: isinstance(value, kind) and fits(len(value), wanted)


def _limit(fits: Callable[[Any, Any], bool], wanted: Any) -> Fits:
    if type(wanted) not in (int, float) or not -_MOST_EXACT <= wanted <= _MOST_EXACT:
        raise _NoFastCheckError
    return lambda value: type(value) in (int, float) and fits(value, wanted)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(type(each) is str for each in value)


_MAKERS: Mapping[str, Callable[[Any], Fits]] = {
    "type": _type,
    "enum": _enum,
    "anyOf": _any_of,
    "items": _items,
    "pattern": _pattern,
    "uniqueItems": _unique,
    "minLength": partial(_length, str, int.__ge__),
    "maxLength": partial(_length, str, int.__le__),
    "minItems": partial(_length, list, int.__ge__),
    "maxItems": partial(_length, list, int.__le__),
    "minProperties": partial(_length, dict, int.__ge__),
    "maxProperties": partial(_length, dict, int.__le__),
    "minimum": partial(_limit, lambda value, least: value >= least),
    "maximum": partial(_limit, lambda value, most: value <= most),
    "exclusiveMinimum": partial(_limit, lambda value, least: value > least),
    "exclusiveMaximum": partial(_limit, lambda value, most: value < most),
}
"""Keyword -> maker of its check; each is exact or says too little, never too much."""
