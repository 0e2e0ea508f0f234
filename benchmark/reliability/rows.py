"""The journal's rows, read from the database itself: what judges the journal does not ask it."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from reliability.evidence import JournalAttempt, JournalCall

_ATTEMPTS = """SELECT a.key, a.number, a.tool, a.fingerprint, a.state, a.result, p.pid,
    a.begun_before IS NOT NULL
    FROM attempts a JOIN calls c ON c.key = a.key LEFT JOIN processes p ON p.epoch = a.epoch
    WHERE c.session = ? ORDER BY a.key, a.number"""
_CALLS = "SELECT key, task, label, state, arguments FROM calls WHERE session = ? ORDER BY position"
_SCHEMA = "asyncguard"


def read_rows(place: str, session: str) -> tuple[JournalCall, ...]:
    """Return the calls of one thread, oldest first, with their attempts.

    Args:
        place: File of an SQLite journal, or URL of a PostgreSQL database.
        session: Id of the thread in its state.
    """
    if "://" in place:
        return _read_postgres(place, session)
    connection = sqlite3.connect(f"{Path(place).absolute().as_uri()}?mode=ro", uri=True)
    try:
        rows = [connection.execute(sql, (session,)).fetchall() for sql in (_CALLS, _ATTEMPTS)]
    finally:
        connection.close()
    return _joined(*rows)


def _read_postgres(url: str, session: str) -> tuple[JournalCall, ...]:
    import psycopg  # noqa: PLC0415 - only where there is a server

    with psycopg.connect(url, options=f"-c search_path={_SCHEMA}") as connection:
        rows = [
            connection.execute(sql.replace("?", "%s").encode(), (session,)).fetchall()
            for sql in (_CALLS, _ATTEMPTS)
        ]
    return _joined(*rows)


def _joined(
    calls: Iterable[Sequence[Any]], attempts: Iterable[Sequence[Any]]
) -> tuple[JournalCall, ...]:
    known = list(attempts)
    return tuple(
        JournalCall(
            key=key,
            task=task,
            label=label,
            state=state,
            attempts=tuple(_attempt(row, json.loads(arguments)) for row in known if row[0] == key),
        )
        for key, task, label, state, arguments in calls
    )


def _attempt(row: Sequence[Any], arguments: dict[str, Any]) -> JournalAttempt:
    key, number, tool, fingerprint, state, result, pid, again = row
    return JournalAttempt(
        key=key,
        number=number,
        tool=tool,
        fingerprint=fingerprint,
        arguments=arguments,
        state=state,
        pid=pid or 0,
        result=None if result is None else json.loads(result),
        again=bool(again),
    )
