"""How guards speak to the model: labels instead of keys, short values instead of payloads."""

from collections.abc import Iterable

from asyncguard.core.calls import canonical_json
from asyncguard.core.records import CallRecord

MAX_VALUE = 80
"""Longest value or name that is quoted, in characters."""
_MAX_NAMED = 8


def short(value: object, limit: int = MAX_VALUE) -> str:
    """A value as JSON, cut to ``limit`` characters."""
    return clipped(canonical_json(value), limit)


def clipped(text: str, limit: int = MAX_VALUE) -> str:
    """A text cut to ``limit`` characters, the cut marked."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def listed(names: Iterable[str], limit: int = _MAX_NAMED) -> str:
    """Names joined by commas, each clipped; those above ``limit`` are only counted."""
    known = list(names)
    text = ", ".join(clipped(name) for name in known[:limit])
    return f"{text} and {len(known) - limit} more" if len(known) > limit else text


def labels(records: Iterable[CallRecord]) -> str:
    """The calls by the names under which the model knows them (``search#1, search#2``)."""
    return listed(dict.fromkeys(record.call.label for record in records))


def keys(records: Iterable[CallRecord]) -> tuple[str, ...]:
    """The calls by the keys under which the ledger knows them."""
    return tuple(dict.fromkeys(record.key for record in records))
