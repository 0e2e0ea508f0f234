"""Names of databases for a queue and its journal."""

from pathlib import Path

from asyncguard.errors import CallerError

_SQLITE, _POSTGRES = "sqlite:///", ("postgresql://", "postgres://", "postgresql+psycopg://")


def database_url(target: str | Path) -> str:
    """Return the URL of a database in the form that DBOS expects.

    Args:
        target: ``postgresql://...``, ``sqlite:///path``, or the path of a SQLite file.

    Raises:
        CallerError: It names no database, or one of another kind.
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
    path = text.removeprefix(_SQLITE) if text.startswith(_SQLITE) else text
    if "://" in path or not path or ":memory:" in path:
        scheme, separator, rest = text.partition("://")
        # Without the part before the host: it may hold a password.
        shown = f"{scheme}{separator}{rest.rpartition('@')[2]}" if separator else text
        raise CallerError(
            f"{shown!r} is not a database for workers; "
            "give postgresql://user@host/name, or the path of a SQLite file."
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
