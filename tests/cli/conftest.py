from pathlib import Path

import pytest

from tests.cli.desk import copied, everything, long_ago, tell


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journal of the story; made once, for making it takes a dozen commits."""
    place = tmp_path_factory.mktemp("story") / "effects.db"
    tell(place, everything, lambda: long_ago(place))
    assert not place.with_name("effects.db-wal").exists()  # else a copy of the file were half of it
    return place


@pytest.fixture
def desk(story: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the story's journal, in the folder where the commands are run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("ASYNCGUARD_JOURNAL", "ASYNCGUARD_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return copied(story, tmp_path / "effects.db")
