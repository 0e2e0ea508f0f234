"""Common part of the families of pure functions: no state, no footprint, and schemas of numbers and lists."""

from collections.abc import Mapping
from typing import Any

from asyncguard_benchmark.services.declarations import Effect, Tool, arguments

NO_STATE: Mapping[str, Any] = {"type": "object", "additionalProperties": False}
"""The schema of a state that is always empty."""

WIDEST = 1_000_000_000_000_000
"""Bound of numbers, either side of zero: beyond it a float no longer tells cents apart."""


def function(name: str, description: str, run: Any, /, **properties: Any) -> Tool:
    """Return a tool that neither reads nor writes a state.

    Args:
        name: Its name.
        description: Description of its result.
        run: ``run(state, **arguments)``; the state is empty.
        **properties: Schemas of the arguments.
    """
    schema = arguments(**properties)
    return Tool(name=name, description=description, parameters=schema, effect=Effect.PURE, run=run)


def number(description: str, **more: Any) -> dict[str, Any]:
    """Return the schema of a number."""
    return {
        "type": "number",
        "minimum": -WIDEST,
        "maximum": WIDEST,
        "description": description,
        **more,
    }


def integer(description: str, least: int, most: int = WIDEST, **more: Any) -> dict[str, Any]:
    """Return the schema of a whole number between two bounds."""
    return {
        "type": "integer",
        "minimum": least,
        "maximum": most,
        "description": description,
        **more,
    }


def array(description: str, items: Mapping[str, Any], least: int = 1) -> dict[str, Any]:
    """Return the schema of a list of at most 200 things of one kind."""
    return {
        "type": "array",
        "items": dict(items),
        "minItems": least,
        "maxItems": 200,
        "description": description,
    }
