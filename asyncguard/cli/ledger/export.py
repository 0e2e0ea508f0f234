"""The action ``asyncguard ledger export``: calls as JSON lines or CSV."""

import argparse
import contextlib
import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from asyncguard.cli.ledger.calls import FIELDS, PAYLOADS, listed, rows
from asyncguard.cli.ledger.journal import files_of, opened
from asyncguard.cli.output import refuse_input, replacing
from asyncguard.core.calls import CallState
from asyncguard.errors import AsyncguardError, CallerError
from asyncguard.observability.plain import printable

_FORMULA = ("=", "+", "-", "@")
"""First characters of texts that a spreadsheet runs as formulas."""
_LONGEST = 2**26
"""Characters of a text that is read: an endless one would take all memory."""


def export(options: argparse.Namespace) -> int:
    """Write the calls.

    Args:
        options: Result of :func:`asyncguard.cli.ledger.options.parsed`.

    Returns:
        The exit code.

    Raises:
        CallerError: There is no such journal, or the output is a file of it or another database.
        JournalError: The journal cannot be read.
        AsyncguardError: The file cannot be written.
    """
    nested = options.format == "jsonl"
    out = None if options.out == "-" else options.out
    if out is not None:
        refuse_input(Path(out), files_of(options.journal))
    with opened(options.journal) as journal:
        entries = journal.entries(
            states=[CallState(name) for name in options.state or ()], session=options.thread
        )
        wanted = [
            entry for entry in entries if options.since is None or entry.updated_at >= options.since
        ]
        # listed() asks the journal now; rows() works on its values and may run after it is closed.
        found = rows(listed(journal, wanted), payload=options.payload, nested=nested)
    with output(out) as file:
        if nested:
            file.writelines(json.dumps(row) + "\n" for row in found)
        else:
            names = [*FIELDS, *(PAYLOADS if options.payload else ())]
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(names)
            writer.writerows([[_cell(row[name]) for name in names] for row in found])
    return 0


def _cell(value: Any) -> str:
    if value is None:
        return ""
    # The output may go to a terminal, so control characters are removed; JSON escapes them itself.
    text = printable(value) if isinstance(value, str) else json.dumps(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def bounded(file: TextIO, what: str, name: str) -> str:
    """Return the text of an open file.

    Args:
        file: The file.
        what: Name of its expected content, for the message.
        name: Name of the file, for the message.

    Raises:
        CallerError: It is too long, or has no end.
    """
    text = file.read(_LONGEST + 1)
    if len(text) > _LONGEST:
        raise CallerError(
            f"The {what} cannot be read from {name}: it has more than {_LONGEST} characters; "
            "give a shorter one."
        )
    return text


def read_text(name: str, what: str) -> str:
    """Return the text of a file.

    Args:
        name: The file.
        what: Name of its expected content, for the message.

    Raises:
        CallerError: The file cannot be read. The message quotes nothing of it: it may be a secret.
    """
    try:
        with Path(name).open(encoding="utf-8") as file:
            return bounded(file, what, name)
    except OSError as error:
        raise CallerError(f"The {what} cannot be read from {name}: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise CallerError(
            f"The {what} cannot be read from {name}: it must be text in UTF-8."
        ) from None


@contextlib.contextmanager
def output(name: str | None) -> Iterator[TextIO]:
    """Open a file that appears as a whole or not at all; without a name, standard output.

    The file is readable by its owner only.

    Raises:
        AsyncguardError: The file cannot be written.
    """
    if name is None:
        yield sys.stdout
        return
    try:
        with replacing(Path(name), mode=0o600) as file:
            yield file
    except OSError as error:
        raise AsyncguardError(
            f"{name} cannot be written ({error.strerror}); name another file."
        ) from error
