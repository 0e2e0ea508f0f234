"""Choice and opening of the journal of a command."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from asyncguard.errors import CallerError, JournalError
from asyncguard.journal.open import SQLITE, is_keywords, open_journal
from asyncguard.journal.port import Journal
from asyncguard.journal.sql.processes import ProcessKind

VARIABLE = "ASYNCGUARD_JOURNAL"
"""Environment variable that names the journal where the command line does not."""
DEFAULT = Path(".asyncguard") / "effects.db"
"""Journal of a run that has neither this variable nor a database of its own."""
_BESIDE = ".effects"
"""Ending of a journal next to an SQLite checkpointer's file."""
PLACES = f"a file or a postgresql:// URL; ${VARIABLE} by default, else {DEFAULT}"
"""Description of a journal argument, for help texts."""


def _place(target: str | None) -> str:
    return target or os.environ.get(VARIABLE) or str(DEFAULT)


def files_of(target: str | None) -> list[Path]:
    """Return the files that belong to the chosen journal; none for one in PostgreSQL.

    Args:
        target: As for :func:`opened`.
    """
    place = _place(target)
    path = unquote(place.removeprefix(SQLITE)) if place.startswith(SQLITE) else place
    if "://" in path:
        return []
    # SQLite puts its other files beside the target of a link.
    return [Path(path), *(Path(os.path.realpath(path) + ending) for ending in ("-wal", "-shm"))]


def _is_read_only(files: Sequence[Path]) -> bool:
    """Return True if this user may read the file of a journal, and not write it or beside it."""
    if not files or not files[0].is_file() or not os.access(files[0], os.R_OK):
        return False
    locks = Path(f"{files[0]}.processes")
    places = [files[0], Path(os.path.realpath(files[0])).parent, *([locks] * locks.exists())]
    return not all(os.access(each, os.W_OK) for each in places)


@contextlib.contextmanager
def opened(target: str | None) -> Iterator[Journal]:
    """Open the chosen journal; never create one.

    Args:
        target: Place from the command line; ``None`` for the environment's.

    Raises:
        CallerError: There is no such journal.
        JournalError: It cannot be opened.
    """
    place = _place(target)
    if "://" not in place and not is_keywords(place) and not Path(place).exists():
        raise CallerError(
            f"There is no journal at {place}. Give one by --journal or by {VARIABLE}: "
            f"an SQLite file (next to a checkpointer's FILE it is FILE{_BESIDE}) "
            "or a postgresql:// URL."
        )
    try:
        journal = open_journal(place, create=False, kind=ProcessKind.OPERATOR)
    except JournalError as error:
        # The file of a checkpointer is an SQLite database, too, and easily given instead.
        beside = f"{place}{_BESIDE}"
        if "://" not in place and Path(beside).is_file():
            raise JournalError(f"{error} The journal of that checkpointer is {beside}.") from error
        if _is_read_only(files_of(target)):
            raise JournalError(
                f"{error} Only to look at it, copy {place} (and its -wal, if there is one) into a "
                "folder of your own, and give the copy by --journal."
            ) from error
        raise
    try:
        yield journal
    finally:
        journal.close()
