"""Names of calls in verdicts: labels for the model, keys for the ledger."""

from collections.abc import Iterable

from asyncguard.core.records import CallRecord
from asyncguard.schema.excerpts import listed


def labels(records: Iterable[CallRecord]) -> str:
    """Return the labels by which the model knows the calls (``search#1, search#2``)."""
    return listed(dict.fromkeys(record.call.label for record in records))


def keys(records: Iterable[CallRecord]) -> tuple[str, ...]:
    """Return the keys by which the ledger knows the calls."""
    return tuple(dict.fromkeys(record.key for record in records))
