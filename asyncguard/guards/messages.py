"""How guards name calls to the model: labels instead of keys."""

from collections.abc import Iterable

from asyncguard.core.records import CallRecord
from asyncguard.schema.excerpts import listed


def labels(records: Iterable[CallRecord]) -> str:
    """The calls by the names under which the model knows them (``search#1, search#2``)."""
    return listed(dict.fromkeys(record.call.label for record in records))


def keys(records: Iterable[CallRecord]) -> tuple[str, ...]:
    """The calls by the keys under which the ledger knows them."""
    return tuple(dict.fromkeys(record.key for record in records))
