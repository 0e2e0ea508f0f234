"""Names of databases for a queue and its journal."""

import sqlite3
import sys
from pathlib import Path

from asyncguard.errors import CallerError
from asyncguard.journal.open import is_keywords

_SQLITE, _POSTGRES = "sqlite:///", ("postgresql://", "postgres://", "postgresql+psycopg://")

_NEEDED = (3, 42, 0) if sys.version_info >= (3, 12) else (0,)
"""Oldest SQLite for a queue: from Python 3.12 on DBOS uses ``unixepoch('subsec')`` unasked.

An older SQLite answers that with NULL, and each order would fail where it is written.
"""


def database_url(target: str | Path) -> str:
    """Return the URL of a database in the form that DBOS expects.

    Args:
        target: ``postgresql://...``, ``sqlite:///path``, or the path of a SQLite file.

    Raises:
        CallerError: It names no database, one of another kind, or a SQLite file although this
            Python's SQLite is older than DBOS needs.
    """
    text = str(target)
    if not text.strip():
        raise CallerError(
            "The database is missing; "
            "give postgresql://user@host/name, or the path of a SQLite file."
        )
    for prefix in _POSTGRES:
        if text.startswith(prefix):
            return _POSTGRES[0] + text.removeprefix(prefix)
    if is_keywords(text):
        raise CallerError(
            "A database for workers is named by a URL, and not by keywords as in host=... "
            "dbname=...; write postgresql://user@host/name."
        )
    path = text.removeprefix(_SQLITE) if text.startswith(_SQLITE) else text
    if "://" in path or not path or ":memory:" in path:
        scheme, separator, rest = text.partition("://")
        # Without the part before the host: it may hold a password.
        shown = f"{scheme}{separator}{rest.rpartition('@')[2]}" if separator else text
        raise CallerError(
            f"{shown!r} is not a database for workers; "
            "give postgresql://user@host/name, or the path of a SQLite file."
        )
    if sqlite3.sqlite_version_info < _NEEDED:
        raise CallerError(
            f"Workers cannot use the SQLite file {path!r}: under Python 3.12 and newer DBOS needs "
            f"SQLite 3.42, and this Python has {sqlite3.sqlite_version}; give "
            "postgresql://user@host/name, or use a Python with a newer SQLite, or Python 3.11."
        )
    return f"{_SQLITE}{Path(path).absolute()}"


def is_sqlite(url: str) -> bool:
    """Return True if a database is a SQLite file."""
    return url.startswith(_SQLITE)


def journal_beside(url: str) -> str:
    """Return the default place of a queue's journal.

    It is the same PostgreSQL database, or a file beside the SQLite one.

    Args:
        url: A result of :func:`database_url`.
    """
    return f"{url.removeprefix(_SQLITE)}.journal" if is_sqlite(url) else url
