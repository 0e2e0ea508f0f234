"""Operands: arguments that name the result of another call instead of a value.

``{"from_call": "search#1", "pointer": "/items/0/id"}`` stands for the value at an RFC 6901 pointer in the result of the
first ``search`` call of the same task. The runtime substitutes it when the result is there, so that a chain of calls
runs without a model turn per link.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.errors import CallerError

_KEYS = ({"from_call"}, {"from_call", "pointer"})
_HOLDERS = (Mapping, list)
Path = tuple[str | int, ...]

REFERENCE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "description": "The result of an earlier call of the same task, used when it arrives.",
    "properties": {
        "from_call": {"type": "string", "description": "Label of the call, as in search#1."},
        "pointer": {"type": "string", "description": "JSON pointer into its result, as in /items/0/id; empty for all."},
    },
    "required": ["from_call", "pointer"],
    "additionalProperties": False,
}
"""JSON Schema of a reference, offered beside the schema of an argument."""


class OperandError(CallerError):
    """A reference cannot be resolved; name a call of this task and a pointer that exists in its result."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """One operand in a call's arguments."""

    path: Path
    """Where it stands in the arguments."""
    label: str
    """Label of the call whose result is meant."""
    pointer: str
    """RFC 6901 pointer into that result."""


def as_reference(value: Any, path: Path = ()) -> Reference | None:
    """The reference that a value is, or ``None``."""
    if isinstance(value, Mapping) and set(value) in _KEYS and isinstance(value["from_call"], str):
        pointer = value.get("pointer", "")
        if isinstance(pointer, str):
            return Reference(path=path, label=value["from_call"], pointer=pointer)
    return None


def references(arguments: Any, path: Path = ()) -> Iterator[Reference]:
    """All references in the arguments, depth first."""
    if not path and isinstance(arguments, Mapping) and not any(isinstance(v, _HOLDERS) for v in arguments.values()):
        return  # the common case: every argument is a plain value
    if (found := as_reference(arguments, path)) is not None:
        yield found
    elif isinstance(arguments, Mapping):
        for name, value in arguments.items():
            yield from references(value, (*path, name))
    elif isinstance(arguments, list):
        for position, value in enumerate(arguments):
            yield from references(value, (*path, position))


def substitute(arguments: Any, values: Mapping[Path, Any], path: Path = ()) -> Any:
    """A copy of the arguments with the references at the given paths replaced by values."""
    if path in values:
        return values[path]
    if isinstance(arguments, Mapping):
        return {name: substitute(value, values, (*path, name)) for name, value in arguments.items()}
    if isinstance(arguments, list):
        return [substitute(value, values, (*path, position)) for position, value in enumerate(arguments)]
    return arguments
