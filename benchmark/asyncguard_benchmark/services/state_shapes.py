"""Pieces of the JSON schemas that describe the states of services."""

from typing import Any

WORD = {"type": "string"}
NUMBER = {"type": "number"}
FLAG = {"type": "boolean"}
COUNT = {"type": "integer", "minimum": 0}
NO_STATE = {"type": "object", "additionalProperties": False}
"""The schema of a state that is always empty."""


def record(**properties: Any) -> dict[str, Any]:
    """Return the schema of a closed object that has all of these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def table(values: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object whose names are keys and whose values have one schema."""
    return {"type": "object", "additionalProperties": values}


def rows(items: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an array whose items have one schema."""
    return {"type": "array", "items": items}


def optional(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a value that may be missing, which is then null."""
    return {"anyOf": [schema, {"type": "null"}]}
