"""The folder in which the workers of one run have their queue and their logs, beside what the run writes."""

import fcntl
import shutil
from pathlib import Path
from typing import BinaryIO

from asyncguard_benchmark.errors import WorkersError

_MARK = ".workers-of-a-run"


class Workplace:
    """Such a folder. One that a killed run has left is emptied; nothing else is ever removed."""

    def __init__(self, path: Path) -> None:
        """Make the folder, or empty the one that an earlier run left.

        Args:
            path: The folder.

        Raises:
            WorkersError: another run uses it, or it is not such a folder.
        """
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        mark = path / _MARK
        if not mark.exists() and any(path.iterdir()):
            raise WorkersError(
                f"{path} is where the workers of this run would work, and it is not empty: move it away"
            )
        self._held = self._taken(mark)
        for each in path.iterdir():
            if each.name != _MARK:
                shutil.rmtree(each) if each.is_dir() else each.unlink()

    def _taken(self, mark: Path) -> BinaryIO:
        file = mark.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise WorkersError(
                f"{self.path} belongs to workers of another run: wait for it, or name another --out"
            ) from None
        return file

    def remove(self) -> None:
        """Remove the folder; what cannot be removed now is by the next run."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._held.close()
