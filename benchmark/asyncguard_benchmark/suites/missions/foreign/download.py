"""A download of Multi-Mission Tool Bench or of C3-Bench: which file it is, and what it holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.json_lines import Reading
from asyncguard_benchmark.suites.missions.dialogues import Dialogue
from asyncguard_benchmark.suites.missions.official import Language, read_dialogues

FILES: Mapping[str, tuple[str, ...]] = {
    "mmtb": ("Multi-Mission-Tool-Bench.jsonl",),
    "c3": ("C3-Bench.jsonl", "C3-Bench.csv"),
}
"""Format -> names of its file in a folder, the one to prefer first."""


class NoDownloadError(BenchmarkError):
    """The path names neither a file nor a folder with one of the published names."""


class ChangedDownloadError(BenchmarkError):
    """The file is not the one that a run began with."""


@dataclass(frozen=True, kw_only=True)
class Download:
    """A file of dialogues; small, as each run names it and goes to other processes."""

    path: Path
    language: Language
    sha256: str
    """Digest of the file, so that no process plays another one."""

    @classmethod
    def at(cls, path: Path, kind: str, language: Language) -> "Download":
        """Find the file.

        Args:
            path: The file, or the folder that holds it.
            kind: `mmtb` or `c3`.
            language: Twin of the texts that is read.

        Raises:
            NoDownloadError: there is none.
            OSError: it cannot be read.
        """
        names = FILES[kind]
        if path.is_dir():
            found = [path / name for name in names if (path / name).is_file()]
            if not found:
                raise NoDownloadError(f"{path} holds none of {', '.join(names)}; name the file")
            path = found[0]
        if not path.is_file():
            raise NoDownloadError(f"{path} is neither a file nor a folder with {names[0]}")
        return cls(path=path.absolute(), language=language, sha256=_digest(path))

    def read(self) -> Reading[Dialogue]:
        """Return the dialogues, and what is wrong with others.

        Raises:
            ChangedDownloadError: the file has changed.
        """
        return _read(self)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        whole = sha256()
        while block := file.read(2**20):
            whole.update(block)
    return whole.hexdigest()


@lru_cache(maxsize=2)
def _read(download: Download) -> Reading[Dialogue]:
    if _digest(download.path) != download.sha256:
        raise ChangedDownloadError(
            f"{download.path} has changed since this command began; run the command again"
        )
    return read_dialogues(download.path, download.language)
