"""Ways to say a call so that its tool cannot take it."""

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any


class Slip(StrEnum):
    """Fault in the form of a call."""

    MISSING = "missing"
    UNKNOWN = "unknown"
    WRONG_TYPE = "wrong_type"
    BROKEN_JSON = "broken_json"


SLIPS = tuple(Slip)

_STRANGE = "options"
"""The name of the unknown argument."""


def slipped(
    slip: Slip, arguments: Mapping[str, Any], draw: float, droppable: Collection[str] | None = None
) -> dict[str, Any]:
    """Return arguments with a slip.

    Args:
        slip: The kind; broken JSON does not concern arguments and changes nothing here. A call
            without arguments can only have one too many.
        arguments: As they should be.
        draw: From 0 to below 1: which argument it happens to.
        droppable: The arguments of which one may be missing; any unless given.
    """
    names = [
        name
        for name in arguments
        if slip is not Slip.MISSING or droppable is None or name in droppable
    ]
    if slip is Slip.BROKEN_JSON:
        return dict(arguments)
    if slip is Slip.UNKNOWN or not names:
        return {**arguments, _STRANGE: {}}
    chosen = names[int(draw * len(names))]
    if slip is Slip.MISSING:
        return {name: value for name, value in arguments.items() if name != chosen}
    return {
        name: _of_other_type(value) if name == chosen else value
        for name, value in arguments.items()
    }


def _of_other_type(value: Any) -> Any:
    """Return a list where there was none, and a word where there was one: no schema takes both."""
    return "several" if isinstance(value, list) else [value]
