"""A quick yes: arguments that surely fit a plain schema, which nearly all arguments do.

Most schemas of tools are made of types, names and choices. For those a few closures say *surely fits* in a twentieth
of the time that a validator needs. They never say no: whatever is not surely right goes to the validator, which decides
and explains. Operands need no mention here, because they only ever make more arguments fit.
"""

from collections.abc import Callable, Mapping
from typing import Any

Fits = Callable[[Any], bool]
"""Whether a value surely fits; ``False`` says nothing."""

_ANNOTATIONS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$defs"}
)
"""Keywords that assert nothing."""


def surely_fits(schema: Any) -> Fits | None:
    """The quick check of a schema, or ``None`` where it has keywords that are not understood here.

    Args:
        schema: Valid JSON Schema, draft 2020-12.
    """
    if schema is True:
        return _anything
    if not isinstance(schema, Mapping):
        return None
    asserted = schema.keys() - _ANNOTATIONS
    if not asserted:
        return _anything
    if asserted == {"anyOf"}:
        return _any_of([fits for branch in schema["anyOf"] if (fits := surely_fits(branch)) is not None])
    if asserted <= {"type", "enum"} and "enum" in asserted:
        return _choice(schema)
    return _typed(schema, asserted)


def _typed(schema: Mapping[str, Any], asserted: set[str]) -> Fits | None:
    match schema.get("type"):
        case "object" if asserted <= {"type", "properties", "required", "additionalProperties"}:
            return _object(schema)
        case "array" if asserted <= {"type", "items"}:
            return _array(surely_fits(schema.get("items", True)))
        case str(name) if asserted == {"type"}:
            return _SCALARS.get(name)
        case _:
            return None


def _anything(_: Any) -> bool:
    return True


def _any_of(branches: list[Fits]) -> Fits | None:
    if not branches:
        return None
    return lambda value: any(fits(value) for fits in branches)


def _choice(schema: Mapping[str, Any]) -> Fits | None:
    # Equal values of other types (1, 1.0 and True) are the validator's business.
    if schema.get("type", "string") != "string":
        return None
    choices = frozenset(item for item in schema["enum"] if isinstance(item, str))
    return lambda value: isinstance(value, str) and value in choices


def _array(item: Fits | None) -> Fits | None:
    if item is None:
        return None
    return lambda value: isinstance(value, list) and all(map(item, value))


def _object(schema: Mapping[str, Any]) -> Fits | None:
    known = {name: surely_fits(inner) for name, inner in schema.get("properties", {}).items()}
    others = surely_fits(schema.get("additionalProperties", True))
    required = frozenset(schema.get("required", ()))

    def fits(value: Any) -> bool:
        if not isinstance(value, dict) or not required <= value.keys():
            return False
        for name, item in value.items():
            check = known.get(name, others)
            if check is None or not check(item):
                return False
        return True

    return fits


_SCALARS: Mapping[str, Fits] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
