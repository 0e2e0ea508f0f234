"""Opening a journal by its address."""

from pathlib import Path
from urllib.parse import unquote

from asyncguard.errors import CallerError
from asyncguard.journal.sql.journal import SqlJournal
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.journal.sql.sqlite import SqliteStore
from asyncguard.journal.sql.store import Store
from asyncguard.validation import check_arguments

_SQLITE = "sqlite:///"
_POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")
"""The last is how SQLAlchemy names the driver that is used here."""


def open_journal(
    target: str | Path, *, create: bool = True, kind: ProcessKind = ProcessKind.AGENT
) -> SqlJournal:
    """Open a journal, and make it if it is not there.

    Args:
        target: Path of an SQLite file, ``sqlite:///path`` (with a fourth slash for an absolute one), or
            ``postgresql://...``.
        create: Whether to make the journal if it is not there.
        kind: What this process does with it.

    Raises:
        CallerError: The address is none of these.
        JournalError: The journal cannot be opened; the text says what to do.
    """
    check_arguments(open_journal, {"target": target, "create": create, "kind": kind})
    return SqlJournal(_store(target, kind, create=create))


def _store(target: str | Path, kind: ProcessKind, *, create: bool) -> Store:
    if isinstance(target, Path):
        return SqliteStore(target, kind, create=create)
    scheme, separator, rest = target.partition("://")
    if separator and scheme in _POSTGRES:
        return _postgres(f"postgresql://{rest}", kind, create=create)
    if separator and scheme != "sqlite":
        raise CallerError(
            f"A journal is kept in an SQLite file or in PostgreSQL; {scheme}:// is neither."
        )
    path = unquote(target[len(_SQLITE) :]) if separator else target
    if not path or ":memory:" in path or (separator and "?" in path):
        raise CallerError(f"A journal outlives its process: name a file, not {target!r}.")
    return SqliteStore(Path(path), kind, create=create)


def _postgres(url: str, kind: ProcessKind, *, create: bool) -> Store:
    try:
        from asyncguard.journal.sql.postgres import PostgresStore  # noqa: PLC0415 - psycopg is an extra
    except ImportError as error:
        raise CallerError(
            "A journal in PostgreSQL needs psycopg: pip install 'asyncguard[postgres]'."
        ) from error
    return PostgresStore(url, kind, create=create)
