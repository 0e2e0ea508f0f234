"""Where the queue and its journal are: one way to name a database."""

from pathlib import Path

from asyncguard.errors import CallerError

_SQLITE, _POSTGRES = "sqlite:///", ("postgresql://", "postgres://", "postgresql+psycopg://")


def database_url(target: str | Path) -> str:
    """A database as DBOS takes it.

    Args:
        target: ``postgresql://...``, ``sqlite:///path``, or the path of a SQLite file.

    Raises:
        CallerError: It names neither.
    """
    text = str(target)
    if not text.strip():
        raise CallerError(
            "The database is missing; give postgresql://user@host/name, or the path of a SQLite file."
        )
    for prefix in _POSTGRES:
        if text.startswith(prefix):
            return _POSTGRES[0] + text.removeprefix(prefix)
    path = text.removeprefix(_SQLITE) if text.startswith(_SQLITE) else text
    if "://" in path or not path or ":memory:" in path:
        raise CallerError(
            f"{_without_password(text)!r} is no database for workers; give postgresql://user@host/name, or the path of "
            "a SQLite file."
        )
    return f"{_SQLITE}{Path(path).absolute()}"


def is_sqlite(url: str) -> bool:
    """Whether a database is a SQLite file."""
    return url.startswith(_SQLITE)


def journal_beside(url: str) -> str:
    """Where the journal of a queue is by default: in the same PostgreSQL database, or in a file beside the SQLite one.

    Args:
        url: What :func:`database_url` made.
    """
    return f"{url.removeprefix(_SQLITE)}.journal" if is_sqlite(url) else url


def _without_password(text: str) -> str:
    scheme, found, rest = text.partition("://")
    return f"{scheme}{found}{rest.rpartition('@')[2]}" if found else text
