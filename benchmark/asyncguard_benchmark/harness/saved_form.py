"""Saved forms of dataclasses: JSON values in, checked values out; every complaint names the place.

pydantic reads the fields. Two things are stricter here than its default: numbers and truth values are not converted,
and a saved object has each field, also those with a default, and no other, so that a file which lost a part is refused.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Annotated, Any, TypeVar

from pydantic import Field, GetCoreSchemaHandler, Strict, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, core_schema, from_json

from asyncguard_benchmark.errors import DataError

Whole = Annotated[int, Strict()]
Truth = Annotated[bool, Strict()]
Real = Annotated[float, Strict()]
Count = Annotated[int, Field(strict=True, ge=0, le=10**12)]
Text = Annotated[str, Field(min_length=1)]
"""A text that is not empty."""
_LONGEST = 100
"""Characters of a wrong value that a complaint quotes."""

_T = TypeVar("_T")
_C = TypeVar("_C", bound=type)


def saved_form(*optional: str) -> Callable[[_C], _C]:
    """Make a dataclass strict about its keys when it is read.

    Args:
        optional: Fields that may be missing, as older files lack them or as they are left out when they say nothing.
    """

    def decorate(cls: _C) -> _C:
        known = frozenset(each.name for each in fields(cls))
        required = known - set(optional)

        def keys_checked(value: Any) -> Any:
            if isinstance(value, Mapping) and not required <= value.keys() <= known:
                if missing := sorted(required - value.keys()):
                    raise ValueError(f"lacks {', '.join(map(repr, missing))}")
                unknown = sorted(map(str, value.keys() - known))
                raise ValueError(f"has the unknown keys {', '.join(map(repr, unknown))}")
            return value

        def schema(_: type, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
            return core_schema.no_info_before_validator_function(keys_checked, handler(source))

        cls.__get_pydantic_core_schema__ = classmethod(schema)  # type: ignore[attr-defined]
        return cls

    return decorate


def parse(adapter: TypeAdapter[_T], value: Any, where: str, context: Any = None) -> _T:
    """Read a value from its saved form.

    Args:
        adapter: Reader of the type.
        value: Plain JSON values.
        where: Name of the source in an error, say the path of the file.
        context: Passed on to validators.

    Raises:
        DataError: a part is missing, unknown or wrong.
    """
    try:
        return adapter.validate_python(value, context=context)
    except ValidationError as problem:
        place, said = _complaint(problem)
        raise DataError(f"{where}{place}", said) from problem


def _complaint(problem: ValidationError) -> tuple[str, str]:
    """Return the place of the first thing that is wrong, and what it is."""
    first = problem.errors(include_url=False)[0]
    place = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in first["loc"])
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, ValidationError):
        inner, said = _complaint(cause)
        return place + inner, said
    if cause is not None:
        return place, str(cause)
    found = first["input"]
    quoted = (
        f", not {str(found)[:_LONGEST]!r}" if isinstance(found, str | int | float | None) else ""
    )
    return place, f"{first['msg']}{quoted}"


def json_value(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    try:
        return from_json(text)
    except (ValueError, TypeError):
        # An agent may write half a character, or nest deeply: the fast reader takes neither, and both are JSON. To it a
        # text with half a character is none (TypeError). Of bytes `json` would guess that they are UTF-16.
        return json.loads(text if isinstance(text, str) else text.decode(errors="surrogatepass"))
