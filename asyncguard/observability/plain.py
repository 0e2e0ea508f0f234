"""Values and texts of others in a form that logs, JSON and terminals can take."""

import math
from collections.abc import Mapping
from typing import Any


def printable(text: str) -> str:
    """Return the text with every character replaced that could steer a terminal.

    Characters that cannot be encoded are replaced, too.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def plain(value: Any) -> Any:
    """Return the value as JSON has it; other types become their text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):  # JSON has no NaN and no infinity
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return str(value)
