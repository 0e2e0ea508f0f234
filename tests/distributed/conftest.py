from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from asyncguard.distributed.database_url import database_url
from asyncguard.errors import CallerError
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import Journal
from tests.distributed.bench import Shop


@pytest.fixture(autouse=True)
def effects_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the file of the effects of the shop's tools, for this process and its workers."""
    monkeypatch.setenv("SHOP_EFFECTS", str(tmp_path / "effects"))


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Shop]:
    """A queue in a SQLite file, where DBOS can use this Python's SQLite."""
    try:
        database_url("calls.db")
    except CallerError as error:
        pytest.skip(str(error))
    made = Shop(
        database=str(tmp_path / "calls.db"),
        journal=str(tmp_path / "calls.db.journal"),
        folder=tmp_path,
    )
    yield made
    made.end()


@pytest.fixture
async def journal(place: Shop) -> AsyncIterator[Journal]:
    """The journal of the agent, which is at work on its thread."""
    made = open_journal(place.journal)
    await made.acquire("thread", "", (), lambda _: None)
    yield made
    made.close()
