"""Records for people, without values that only machines compare and without empty ones."""

from collections.abc import Mapping
from typing import Any

# Keys of calls (the record holds the same calls by name), and ids that only a machine compares.
_FOR_MACHINES = frozenset(
    {
        "key",
        "on",
        "delivered",
        "placeholders",
        "open",
        "epoch",
        "call_id",
        "message_id",
        "fingerprint",
        "sequence",
    }
)
_SECONDS = ("at", "seconds", "delay")


def readable(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record without keys, nulls, empty values and flags that are not set.

    Seconds are rounded to the millisecond.
    """
    shown = {
        name: value
        for name, value in row.items()
        if name not in _FOR_MACHINES
        and value is not None
        and value is not False
        and value not in ("", [])
    }
    for name in _SECONDS:
        if isinstance(shown.get(name), float):
            shown[name] = round(shown[name], 3)
    return shown
