"""The journal that a command means, opened."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from asyncguard.errors import CallerError, JournalError
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import Journal
from asyncguard.journal.sql.processes import ProcessKind

VARIABLE = "ASYNCGUARD_JOURNAL"
"""Names the journal where the command line does not."""
DEFAULT = Path(".asyncguard") / "effects.db"
"""Where a run keeps it that has neither this variable nor a database of its own."""
_BESIDE = ".effects"
"""Ending of a journal that stands beside an SQLite checkpointer's file."""
PLACES = f"a file or a postgresql:// URL; ${VARIABLE} by default, else {DEFAULT}"
"""For help texts."""


@contextlib.contextmanager
def opened(target: str | None) -> Iterator[Journal]:
    """The journal that is meant, open; it is never made.

    Args:
        target: What the command line says, ``None`` for what the environment says.

    Raises:
        CallerError: There is none.
        JournalError: It cannot be opened.
    """
    journal = _open(target or os.environ.get(VARIABLE) or str(DEFAULT))
    try:
        yield journal
    finally:
        journal.close()


def _open(target: str) -> Journal:
    if "://" not in target and not Path(target).exists():
        raise CallerError(
            f"There is no journal at {target}. Name one by --journal or by {VARIABLE}: an SQLite file "
            f"(beside a checkpointer's FILE it is FILE{_BESIDE}) or a postgresql:// URL."
        )
    try:
        return open_journal(target, create=False, kind=ProcessKind.OPERATOR)
    except JournalError as error:
        beside = f"{target}{_BESIDE}"
        if "://" not in target and Path(beside).is_file():
            raise JournalError(f"{error} The journal of that checkpointer is {beside}.") from error
        raise
