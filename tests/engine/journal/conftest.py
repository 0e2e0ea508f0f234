"""``file``: where a journal goes that is not meant to survive the test; in memory, if the system has such a place."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")


@pytest.fixture
def file() -> Iterator[Path]:
    """A path that nothing is at, in a folder of its own; what is tried there does not wait for a disk."""
    folder = Path(tempfile.mkdtemp(dir=_MEMORY if _MEMORY.is_dir() else None))
    yield folder / "journal.db"
    shutil.rmtree(folder)
