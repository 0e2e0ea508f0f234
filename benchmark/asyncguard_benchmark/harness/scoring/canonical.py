"""A call in the form in which two calls are compared."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from asyncguard_benchmark.services.declarations import Tool


class CanonicalCall(NamedTuple):
    """Tool and arguments without what makes no difference; equal and hashable by value."""

    tool: str
    arguments: frozenset[tuple[str, Any]]
    """Pairs of name and frozen value; arguments that equal their default are left out."""


def canonical(
    tool_name: str, arguments: Mapping[str, Any], tools: Mapping[str, Tool]
) -> CanonicalCall:
    """Bind a call to the schema of its tool; the arguments of an unknown tool stay as they are.

    Strings compare exactly and lists in order; 10 equals 10.0, but not true or "10".
    """
    tool = tools.get(tool_name)
    defaults = {name: freeze(value) for name, value in tool.defaults.items()} if tool else {}
    frozen = {name: freeze(value) for name, value in arguments.items()}
    # The marker keeps a missing default apart from a default of null.
    bound = {
        name: value for name, value in frozen.items() if defaults.get(name, "no default") != value
    }
    return CanonicalCall(tool=tool_name, arguments=frozenset(bound.items()))


def freeze(value: Any) -> Any:
    """Return a hashable stand-in for a JSON value; the type is part of it, as Python holds 1 and True equal."""
    match value:
        case bool():
            return ("bool", value)
        case int() | float():
            return ("number", value)
        case list():
            return ("list", tuple(freeze(item) for item in value))
        case dict():
            return ("object", frozenset((name, freeze(item)) for name, item in value.items()))
        case _:
            return (type(value).__name__, value)


def same(one: Any, other: Any) -> bool:
    """Return True if two JSON values are equal, as `freeze` has it: 10 is 10.0, and true is not 1."""
    return one is other or (bool(one == other) and _alike(one, other))


def _alike(one: Any, other: Any) -> bool:
    """Return True if two values that Python holds equal have their truth values in the same places."""
    match one:
        case dict():
            return all(_alike(value, other[name]) for name, value in one.items())
        case list():
            return all(map(_alike, one, other))
        case _:
            return isinstance(one, bool) == isinstance(other, bool)
