"""Types of the arguments of tools, and the JSON schemas that annotated types stand for.

`Annotated` says what the type does not: a text is the description, a mapping holds more keywords of JSON Schema. The
keywords of a schema come in the order in which they are written: models are shown schemas as text, and recorded runs
must not depend on the version of a library that writes them.
"""

from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

WIDEST = 1_000_000_000_000_000
"""Bound of numbers, either side of zero: beyond it a float no longer tells cents apart."""


def within(least: int, most: int = WIDEST) -> dict[str, Any]:
    """Return the keywords of a number between two bounds, themselves allowed."""
    return {"minimum": least, "maximum": most}


def one_of(words: Iterable[str]) -> dict[str, Any]:
    """Return the keyword of a text that is one of several words."""
    return {"enum": list(words)}


Item = TypeVar("Item")
Text = Annotated[str, {"minLength": 1}]
Count = Annotated[int, {"minimum": 1}]
Amount = Annotated[float, {"exclusiveMinimum": 0}]
"""An amount of money, or of another quantity, above zero."""
Number = Annotated[float, within(-WIDEST)]
Several = Annotated[list[Item], {"minItems": 1, "maxItems": 200}]
Few = Annotated[list[Item], {"minItems": 1, "maxItems": 50}]
Distinct = Annotated[list[Item], {"minItems": 1, "uniqueItems": True}]
"""A list without repetition."""
ISO_DAY = {"pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}

_TYPES = {str: "string", int: "integer", float: "number", dict: "object"}


def schema_of(annotation: Any) -> dict[str, Any]:
    """Return the JSON schema of a value that is annotated so.

    Raises:
        ValueError: the annotation is of a kind that no tool uses.
    """
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        schema = schema_of(inner[0])
        for said in inner[1:]:
            schema |= said if isinstance(said, Mapping) else {"description": said}
        return schema
    if origin is Literal:
        return {"type": "string", **one_of(inner)}
    if origin is list:
        return {"type": "array", "items": schema_of(inner[0])}
    if origin is UnionType:
        return {"type": [_TYPES[each] for each in inner]}
    kind = _TYPES.get(origin or annotation)
    if kind is None:
        raise ValueError(f"{annotation!r} stands for no JSON schema")
    return {"type": kind}
