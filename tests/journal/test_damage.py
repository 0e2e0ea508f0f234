"""A journal that was damaged or changed by hand gives a clear error, and nothing else is lost."""

import asyncio
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from asyncguard import AsyncguardError, JournalError, open_journal
from asyncguard.cli import main
from asyncguard.core.results import Success
from tests.journal.desk import entered, intent

_VALUES = (
    "x'ff'",
    "CAST(x'ff41' AS TEXT)",
    "-1",
    "1e400",
    "'abc'",
    "'[1,2'",
    "'{}'",
    "'null'",
    "char(0)",
    "''",
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A journal with a call that has ended and one in doubt, as bytes."""
    file = tmp_path_factory.mktemp("journal") / "effects.db"

    async def write() -> None:
        journal = open_journal(file)
        await entered(journal)
        await journal.begin(intent())
        await journal.end(intent().key, 1, Success(content="paid"))
        await journal.begin(intent(key="b" * 32))
        journal.close()

    asyncio.run(write())
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    return file.read_bytes()


def _tried(file: Path) -> None:
    """Read it as agents and as people do; only errors of ours come."""
    for command in (
        ["list", "--all"],
        ["show", intent().key, "--payload"],
        ["export", "--payload"],
    ):
        assert main(["ledger", *command, "--journal", str(file)]) in (0, 1), command
    assert main(["deliver", "x", "yes", "--journal", str(file)]) in (0, 1, 2)
    try:
        journal = open_journal(file, create=False)
    except AsyncguardError:
        return
    try:
        journal.entries()
        asyncio.run(journal.begin(intent(key="c" * 32)))
    except AsyncguardError:
        pass
    finally:
        journal.close()


def _columns(whole: bytes, folder: Path) -> list[tuple[str, str]]:
    file = folder / "columns.db"
    file.write_bytes(whole)
    connection = sqlite3.connect(file)
    tables = ("meta", "processes", "threads", "calls", "attempts", "tokens", "mail")
    found = [
        (table, row[1])
        for table in tables
        for row in connection.execute(f"PRAGMA table_info({table})")
    ]
    connection.close()
    return found


def _with_wrong_values(whole: bytes, folder: Path, choose: Callable[[], str]) -> None:
    for table, column in _columns(whole, folder):
        file = folder / f"{table}-{column}.db"
        file.write_bytes(whole)
        connection = sqlite3.connect(file)
        try:
            connection.execute(f"UPDATE {table} SET {column} = {choose()}")
            connection.commit()
        except sqlite3.Error:
            continue
        finally:
            connection.close()
        _tried(file)


def test_a_wrong_value_in_any_column_is_an_error_of_ours(whole: bytes, tmp_path: Path) -> None:
    """Bytes where a text belongs, times without end, text where a number belongs."""
    chance = random.Random(12)
    _with_wrong_values(whole, tmp_path, lambda: chance.choice(_VALUES))


@pytest.mark.slow
@pytest.mark.parametrize("value", _VALUES)
def test_every_wrong_value_in_every_column(value: str, whole: bytes, tmp_path: Path) -> None:
    """The whole of what the test above draws from."""
    _with_wrong_values(whole, tmp_path, lambda: value)


@pytest.mark.parametrize("part", [b"processes", b"CREATE TABLE", b"meta"])
def test_a_schema_that_is_no_text_is_named_as_damage(
    part: bytes, whole: bytes, tmp_path: Path
) -> None:
    """SQLite quotes its broken bytes, and Python cannot read the quotation."""
    file = tmp_path / "effects.db"
    file.write_bytes(whole.replace(part, b"\xff" * len(part)))
    with pytest.raises(
        JournalError, match=r"damaged; restore it from a backup|does not hold a journal"
    ):
        open_journal(file)
    _tried(file)


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(6, 60))]
)
def test_random_damage_is_an_error_of_ours_or_none(seed: int, whole: bytes, tmp_path: Path) -> None:
    """A file that was cut off, overwritten or sprinkled raises our error or none."""
    chance, data = random.Random(seed), bytearray(whole)
    place, length = chance.randrange(len(data)), chance.randrange(1, 2000)
    match seed % 3:
        case 0:
            del data[place:]
        case 1:
            data[place : place + length] = chance.randbytes(length)
        case _:
            for _ in range(200):
                data[chance.randrange(len(data))] = chance.randrange(256)
    file = tmp_path / "effects.db"
    file.write_bytes(bytes(data))
    _tried(file)


@pytest.mark.parametrize(
    "data", [b"", b"\xff" * 5000, b"SQLite format 3\0" + b"\xfe" * 5000, b'{"a": 1}\n'], ids=ascii
)
def test_what_is_no_journal_is_refused(data: bytes, tmp_path: Path) -> None:
    """An empty file, bytes, half a header, and JSON."""
    file = tmp_path / "effects.db"
    file.write_bytes(data)
    _tried(file)


def test_a_folder_is_no_journal(tmp_path: Path) -> None:
    """Neither commands nor agents accept a folder as a journal."""
    _tried(tmp_path)


def test_the_version_of_a_schema_is_a_short_number(whole: bytes, tmp_path: Path) -> None:
    """Python refuses to read a number of five thousand digits."""
    file = tmp_path / "effects.db"
    file.write_bytes(whole)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE meta SET value = ? WHERE name = 'version'", ("9" * 5000,))
    connection.close()
    with pytest.raises(JournalError):
        open_journal(file)
