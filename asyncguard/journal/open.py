"""Factory of journals by address."""

import re
from pathlib import Path
from urllib.parse import unquote

from asyncguard.errors import CallerError
from asyncguard.journal.sql.journal import SqlJournal
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.journal.sql.sqlite import SqliteStore
from asyncguard.validation import check_arguments

SQLITE = "sqlite:///"
"""Beginning of an address that names a file."""
_POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")
"""Schemes of PostgreSQL addresses; the last is SQLAlchemy's name of the driver used here."""

_KEYWORDS = re.compile(r"\s*(host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\s*=")


def is_keywords(target: str) -> bool:
    """Return True if a text names a PostgreSQL database by keywords, as in ``dbname=shop``.

    Savers and psycopg take that form. Here it would be the name of a file, password included.

    Args:
        target: An address.
    """
    return _KEYWORDS.match(target) is not None


def open_journal(
    target: str | Path, *, create: bool = True, kind: ProcessKind = ProcessKind.AGENT
) -> SqlJournal:
    """Open a journal, and create it if it does not exist.

    Args:
        target: Path of an SQLite file, ``sqlite:///path`` (with a fourth slash for an absolute
            one), or ``postgresql://...``.
        create: False to raise an error if the journal does not exist.
        kind: Role of this process.

    Raises:
        CallerError: The address has another form.
        JournalError: The journal cannot be opened; the text says what to do.
    """
    check_arguments(open_journal, {"target": target, "create": create, "kind": kind})
    if isinstance(target, Path):
        return SqlJournal(SqliteStore(target, kind, create=create))
    if is_keywords(target):
        raise CallerError(
            "A journal in PostgreSQL is named by a URL, and not by keywords as in host=... "
            "dbname=...; write postgresql://user@host/name, or, for a file of such a name, a Path."
        )
    scheme, separator, rest = target.partition("://")
    if separator and scheme in _POSTGRES:
        try:
            from asyncguard.journal.sql.postgres import PostgresStore  # noqa: PLC0415 - psycopg is an extra
        except ImportError as error:
            raise CallerError(
                "A journal in PostgreSQL needs psycopg: pip install 'asyncguard[postgres]'."
            ) from error
        return SqlJournal(PostgresStore(f"postgresql://{rest}", kind, create=create))
    if separator and scheme != "sqlite":
        raise CallerError(
            f"A journal must be an SQLite file or a PostgreSQL database, not {scheme}://; "
            "pass a path, sqlite:///path or postgresql://..."
        )
    path = unquote(target[len(SQLITE) :]) if separator else target
    # In memory, the journal would be empty in the process that resumes. Options after a question
    # mark, as SQLAlchemy has them, would become a part of the file's name.
    if not path or ":memory:" in path or (separator and "?" in path):
        raise CallerError(
            f"A journal must be a file that outlives its process, not {target!r}; pass a path."
        )
    return SqlJournal(SqliteStore(Path(path), kind, create=create))
