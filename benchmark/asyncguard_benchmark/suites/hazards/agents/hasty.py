"""Reading of a hasty reader: the value at its place, or else the first one that looks like it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from asyncguard_benchmark.harness.pointers import PointerError, leaves, resolve

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_WORD = re.compile(r"[\w-]*\w")
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def json_types(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the JSON types that a schema allows; all of them if it names none."""
    named = schema.get("type")
    if named is not None:
        return frozenset([named] if isinstance(named, str) else named)
    branches = [json_types(each) for key in ("anyOf", "oneOf") for each in schema.get(key, ())]
    return frozenset().union(*branches) if branches else frozenset(_TYPES)


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return True if a value has a JSON type that a schema allows."""
    if isinstance(value, bool):
        return "boolean" in json_types(schema)
    return any(isinstance(value, _TYPES[name]) for name in json_types(schema))


def read_hastily(value: Any, pointer: str, schema: Mapping[str, Any]) -> Any:
    """Return the value at a place, or the one that a hasty reader takes for it.

    Args:
        value: The answer, or the text of one that is not JSON.
        pointer: Place where the value should be.
        schema: Of the argument that it is for; only its type is looked at.

    Raises:
        PointerError: nothing in the answer has a fitting type.
    """
    try:
        there = resolve(value, pointer)
    except PointerError:
        there = value
    if fits(there, schema) and (there is not value or not isinstance(there, str | list | dict)):
        return there
    found = next((each for part in (there, value) for each in _candidates(part, schema)), None)
    if found is None:
        raise PointerError(f"nothing in the answer looks like the value at {pointer!r}")
    return found


def _candidates(value: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    scalars = [leaf for _, leaf in leaves(value) if _is_scalar(leaf)]
    if not isinstance(value, str):
        yield from (leaf for leaf in scalars if fits(leaf, schema))
    for text in (leaf for leaf in scalars if isinstance(leaf, str)):
        yield from _said(text, json_types(schema))


def _said(text: str, types: frozenset[str]) -> Iterator[Any]:
    """Yield numbers and words that a text says."""
    if types & {"number", "integer"}:
        for found in _NUMBER.findall(text):
            number = float(found)
            if "number" in types or number.is_integer():
                yield int(number) if "." not in found or "number" not in types else number
    if "string" in types:
        yield from _WORD.findall(text)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)
