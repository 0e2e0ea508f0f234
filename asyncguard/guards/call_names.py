"""Names of calls in verdicts: labels for the model, keys for the ledger."""

from collections.abc import Iterable

from asyncguard.core.records import CallRecord
from asyncguard.schema.excerpts import listed


def labels(records: Iterable[CallRecord], task: str) -> str:
    """Return the labels by which the model knows the calls (``search#1, search#2``).

    Args:
        records: The calls.
        task: Task of the call that the text is about; a label of another one is told with it, as
            both tasks may have a call of that label.
    """
    return listed(
        dict.fromkeys(
            label if of == task else f"{label} of task {of}"
            for label, of in ((record.call.label, record.call.task) for record in records)
        )
    )


def keys(records: Iterable[CallRecord]) -> tuple[str, ...]:
    """Return the keys by which the ledger knows the calls."""
    return tuple(dict.fromkeys(record.key for record in records))
