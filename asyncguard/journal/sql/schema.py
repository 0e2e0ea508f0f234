"""The schema: tables and the migrations from earlier versions.

``{serial}`` stands for a key that the database counts up, ``{rising}`` for one that it never uses
twice. Partial indexes keep the queries before a call independent of the number of ended calls; each
index is one more page to write.

Some columns have older names than the code: ``epoch`` is the process id, ``number`` of a thread the
fencing token, ``mail`` the table of signals.
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
"""``late``: a success after another outcome; ``resolution``: kind of the last signal since
the last begin, empty without one."""

_SECOND = (
    "ALTER TABLE threads ADD COLUMN number BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE threads ADD COLUMN left_at DOUBLE PRECISION",
    "ALTER TABLE threads ADD COLUMN ending TEXT NOT NULL DEFAULT ''",
)
"""``number``: fencing token of the thread; ``left_at``: time of its release; ``ending``: checkpoint
after which the last step of the releasing run is stored."""

_THIRD = (
    "ALTER TABLE threads ADD COLUMN ends BIGINT NOT NULL DEFAULT 0",
    "ALTER TABLE threads ADD COLUMN acquired_on TEXT NOT NULL DEFAULT ''",
    "UPDATE threads SET ends = 1 WHERE ending <> ''",
    "ALTER TABLE attempts ADD COLUMN begun_before TEXT",
)
"""``ending`` is the checkpoint that the last run stood on at its release, in any case; ``ends``: 1
if a step was to be stored after it; ``acquired_on``: checkpoint that the present holder's run stood
on when it acquired the thread; ``begun_before``: processes that began the attempt before its
present one took it over, and the times, as JSON."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _SECOND, _THIRD)
"""Statements from each version to the next; version 0 is an empty database."""

VERSION = len(MIGRATIONS)


def prepare(store: Store, words: Mapping[str, str], place: str) -> str:
    """Create the tables or bring them up to date, in the running transaction.

    Args:
        store: The database.
        words: Replacements of the placeholders in its SQL.
        place: Name of the database, for messages.

    Returns:
        Identity of the journal.

    Raises:
        JournalError: The database is not a journal, or of a newer version; nothing was changed.
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
    """Return the version of the existing schema, 0 for an empty database.

    Raises:
        JournalError: The database is not a journal, or of a newer version.
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
            f"{place} does not hold a journal; give the journal a database of its own."
        )
    if int(text) > VERSION:
        raise JournalError(
            f"{place} was written by a newer asyncguard (schema version {text}, this one knows "
            f"{VERSION}); upgrade asyncguard. Nothing was changed."
        )
    return int(text)
