"""The tables, and how a database of an earlier version is brought up to date.

``{serial}`` stands for a key that the database counts up, ``{rising}`` for one that it never gives twice. Partial
indexes keep the questions before a call independent of how much has ended; each index is one more page to write.
"""

import secrets
from collections.abc import Mapping

from asyncguard.errors import JournalError
from asyncguard.journal.sql.store import Store

_FIRST = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE processes (
        epoch TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        host TEXT NOT NULL,
        pid BIGINT NOT NULL,
        started_at DOUBLE PRECISION NOT NULL,
        ended_at DOUBLE PRECISION
    )""",
    """CREATE TABLE threads (
        session TEXT PRIMARY KEY,
        thread TEXT NOT NULL,
        epoch TEXT NOT NULL,
        seen_at DOUBLE PRECISION NOT NULL
    )""",
    "CREATE INDEX threads_of_caller ON threads (thread)",
    """CREATE TABLE calls (
        position {serial},
        key TEXT NOT NULL UNIQUE,
        session TEXT NOT NULL,
        namespace TEXT NOT NULL,
        task TEXT NOT NULL,
        label TEXT NOT NULL,
        tool TEXT NOT NULL,
        state TEXT NOT NULL,
        resolution TEXT NOT NULL,
        error TEXT NOT NULL,
        arguments TEXT NOT NULL,
        created_at DOUBLE PRECISION NOT NULL,
        updated_at DOUBLE PRECISION NOT NULL
    )""",
    "CREATE INDEX calls_of_thread ON calls (session, state)",
    "CREATE INDEX calls_in_doubt ON calls (session, task) WHERE state = 'in_doubt'",
    """CREATE TABLE attempts (
        key TEXT NOT NULL,
        number BIGINT NOT NULL,
        tool TEXT NOT NULL,
        effect TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        state TEXT NOT NULL,
        epoch TEXT NOT NULL,
        begun_at DOUBLE PRECISION NOT NULL,
        ended_at DOUBLE PRECISION,
        deadline DOUBLE PRECISION,
        result TEXT,
        late TEXT,
        PRIMARY KEY (key, number)
    )""",
    "CREATE INDEX attempts_intent ON attempts (fingerprint) WHERE state = 'intent'",
    """CREATE TABLE tokens (
        hash TEXT PRIMARY KEY,
        key TEXT NOT NULL,
        number BIGINT NOT NULL,
        used_at DOUBLE PRECISION
    )""",
    "CREATE INDEX tokens_of_call ON tokens (key)",
    """CREATE TABLE mail (
        id {rising},
        session TEXT NOT NULL,
        key TEXT NOT NULL,
        number BIGINT NOT NULL,
        kind TEXT NOT NULL,
        content TEXT NOT NULL,
        sender TEXT NOT NULL,
        sent_at DOUBLE PRECISION NOT NULL
    )""",
    "CREATE INDEX mail_of_session ON mail (session, id)",
    "CREATE INDEX mail_of_call ON mail (key)",
)
"""``late``: a success that came after another outcome; ``resolution``: what was told of the call while in doubt."""

_SECOND = (
    "ALTER TABLE threads ADD COLUMN number BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE threads ADD COLUMN left_at DOUBLE PRECISION",
    "ALTER TABLE threads ADD COLUMN ending TEXT NOT NULL DEFAULT ''",
)
"""``number`` rises with each process that takes a thread; ``left_at``: when its process gave it free; ``ending``: the
checkpoint behind which its last step is stored then."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _SECOND)
"""Statements that lead from each version to the next; version 0 is an empty database."""

VERSION = len(MIGRATIONS)


def prepare(store: Store, words: Mapping[str, str], place: str) -> str:
    """Make the tables or bring them up to date, in the running transaction.

    Args:
        store: The database.
        words: What the placeholders stand for in its SQL.
        place: Name of the database, for messages.

    Returns:
        Identity of the journal.

    Raises:
        JournalError: The database holds something else, or was written by a newer version; nothing was changed.
    """
    version = version_of(store, place)
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            for placeholder, word in words.items():
                statement = statement.replace(f"{{{placeholder}}}", word)
            store.execute(statement)
    if version == 0:
        store.execute("INSERT INTO meta (name, value) VALUES ('id', ?)", (secrets.token_hex(8),))
    if version < VERSION:
        store.execute("DELETE FROM meta WHERE name = 'version'")
        store.execute("INSERT INTO meta (name, value) VALUES ('version', ?)", (str(VERSION),))
    rows = store.execute("SELECT value FROM meta WHERE name = 'id'")
    if not rows:
        raise JournalError(
            f"{place} holds a journal without an identity; restore it from a backup."
        )
    return str(rows[0][0])


def version_of(store: Store, place: str) -> int:
    """Version of the schema that is there, 0 for an empty database.

    Raises:
        JournalError: It is no journal, or one of a newer version.
    """
    tables = store.tables()
    if not tables:
        return 0
    rows = (
        store.execute("SELECT value FROM meta WHERE name = 'version'") if "meta" in tables else []
    )
    text = str(rows[0][0]) if rows else ""
    if not text.isdecimal() or int(text) < 1:
        raise JournalError(
            f"{place} holds something else than a journal; give the journal a database of its own."
        )
    if int(text) > VERSION:
        raise JournalError(
            f"{place} was written by a newer asyncguard (schema version {text}, this one knows {VERSION}); "
            "upgrade asyncguard. Nothing was changed."
        )
    return int(text)
