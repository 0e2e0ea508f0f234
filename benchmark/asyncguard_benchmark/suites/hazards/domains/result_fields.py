"""JSON schemas of the fields of results, with the annotations that recovery may use.

Limits are those of the business (no invoice is above 25,000 euros), so that some values in a wrong unit fall outside
and some do not.
"""

from collections.abc import Mapping
from typing import Any


def quantity(
    description: str, least: float, most: float, *, unit: str = "", aliases: tuple[str, ...] = ()
) -> Any:
    """Return the schema of a number between two bounds.

    Args:
        description: Description of the field.
        least: Lower bound, itself allowed.
        most: Upper bound, itself allowed.
        unit: Unit of the number; empty for a bare number.
        aliases: Other names under which services know the field.
    """
    bounds = {"type": "number", "minimum": least, "maximum": most, "description": description}
    return {**bounds, **({"unit": unit} if unit else {}), **_also(aliases)}


def tally(
    description: str, least: int, most: int, *, unit: str = "", aliases: tuple[str, ...] = ()
) -> Any:
    """Return the schema of a whole number between two bounds."""
    return {**quantity(description, least, most, unit=unit, aliases=aliases), "type": "integer"}


def code(description: str, pattern: str, aliases: tuple[str, ...] = ()) -> Any:
    """Return the schema of an id: `pattern` is a regular expression for the whole of it."""
    return {
        "type": "string",
        "pattern": f"^{pattern}$",
        "description": description,
        **_also(aliases),
    }


def day(description: str, aliases: tuple[str, ...] = ()) -> Any:
    """Return the schema of a date in ISO 8601."""
    pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
    return {
        "type": "string",
        "format": "date",
        "pattern": pattern,
        "description": description,
        **_also(aliases),
    }


def one_of(
    description: str, values: tuple[str, ...], spellings: Mapping[str, str] | None = None
) -> Any:
    """Return the schema of one of several words; `spellings` maps other spellings to them."""
    schema = {"type": "string", "enum": list(values), "description": description}
    return {**schema, "aliases": dict(spellings)} if spellings else schema


def several(description: str, items: Mapping[str, Any]) -> Any:
    """Return the schema of a list that is not empty."""
    return {
        "type": "array",
        "items": dict(items),
        "minItems": 1,
        "maxItems": 50,
        "description": description,
    }


def _also(aliases: tuple[str, ...]) -> dict[str, Any]:
    return {"aliases": list(aliases)} if aliases else {}
