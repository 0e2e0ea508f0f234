"""``asyncguard ledger export``: calls as JSON lines or CSV."""

import argparse
import csv
import json
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from asyncguard.cli.ledger.calls import FIELDS, PAYLOADS, listed, rows
from asyncguard.cli.ledger.files import output
from asyncguard.cli.ledger.opening import opened
from asyncguard.core.calls import CallState
from asyncguard.observability.fields import printable

_FORMULA = ("=", "+", "-", "@")
"""A spreadsheet runs what begins so."""


def export(options: argparse.Namespace) -> int:
    """Write the calls.

    Args:
        options: As :mod:`asyncguard.cli.ledger.options` reads them.

    Returns:
        The exit code.

    Raises:
        CallerError: There is no such journal.
        JournalError: It cannot be read.
        AsyncguardError: The file cannot be written.
    """
    nested = options.format == "jsonl"
    with opened(options.journal) as journal:
        entries = journal.entries(states=[CallState(name) for name in options.state or ()], session=options.thread)
        wanted = [entry for entry in entries if options.since is None or entry.updated_at >= options.since]
        found = rows(listed(journal, wanted), payload=options.payload, nested=nested)
    with output(options.out) as file:
        if nested:
            file.writelines(json.dumps(row) + "\n" for row in found)
        else:
            _write_csv(file, [*FIELDS, *(PAYLOADS if options.payload else ())], found)
    return 0


def _write_csv(file: TextIO, names: Sequence[str], found: Iterable[dict[str, Any]]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([[_cell(row[name]) for name in names] for row in found])


def _cell(value: Any) -> str:
    if value is None:
        return ""
    # Printable, for the output may go to a terminal; JSON is, by itself.
    text = printable(value) if isinstance(value, str) else json.dumps(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
