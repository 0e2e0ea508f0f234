"""Excerpts of values and names for messages: short, with each cut marked."""

from collections.abc import Iterable

from asyncguard.core.calls import canonical_json

MAX_VALUE = 80
"""Longest value or name that is quoted, in characters."""
_MAX_NAMED = 8


def short(value: object) -> str:
    """Return a value as JSON, cut to :data:`MAX_VALUE` characters."""
    return clipped(canonical_json(value))


def clipped(text: str, limit: int = MAX_VALUE) -> str:
    """Return a text cut to ``limit`` characters, the cut marked."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def listed(names: Iterable[str], limit: int = _MAX_NAMED) -> str:
    """Join names by commas, each clipped; those above ``limit`` are only counted."""
    known = list(names)
    text = ", ".join(clipped(name) for name in known[:limit])
    return f"{text} and {len(known) - limit} more" if len(known) > limit else text
