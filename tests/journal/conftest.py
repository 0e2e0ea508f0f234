"""``file``: where a journal goes that is not meant to survive the test; in memory, if the system has such a place."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


def memory() -> Path | None:
    """A folder in memory: what is tried there does not wait for a disk."""
    place = Path("/dev/shm")
    return place if place.is_dir() else None


@pytest.fixture
def file() -> Iterator[Path]:
    """A path that nothing is at, in a folder of its own."""
    folder = Path(tempfile.mkdtemp(dir=memory()))
    yield folder / "journal.db"
    shutil.rmtree(folder)
