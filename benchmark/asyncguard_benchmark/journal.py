"""Episodes in a file: one JSON object a line, appended and never rewritten.

A process that is killed leaves at most one line unfinished, the last. `Journal` takes such a line away before it goes
on, so that an interrupted run is resumed without losing or repeating an episode.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from asyncguard_benchmark.campaign import EpisodeKey, key_of_episode
from asyncguard_benchmark.episode import Episode, episode_from_json, episode_to_json
from asyncguard_benchmark.errors import DataError, EpisodeFormatError


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a file: an episode, or what is wrong with it."""

    number: int
    """From 1."""
    episode: Episode | None
    problem: str | None
    finished: bool
    """Whether it ends as a line does; only the last may not."""


def read_lines(path: Path) -> Iterator[Line]:
    """Every line that is not blank."""
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if raw.strip():
                yield _line(raw, number, path)


def _line(raw: bytes, number: int, path: Path) -> Line:
    finished = raw.endswith(b"\n")
    try:
        episode = episode_from_json(json.loads(raw))
    except (DataError, RecursionError, ValueError) as problem:
        text = f"{path}:{number}: {'is cut off' if not finished else problem}"
        return Line(number=number, episode=None, problem=text, finished=finished)
    return Line(number=number, episode=episode, problem=None, finished=finished)


class Journal:
    """A file of episodes that is added to; a context manager."""

    def __init__(self, path: Path) -> None:
        """Opens the file or makes it, and puts an unfinished last line in order.

        Args:
            path: The file.

        Raises:
            EpisodeFormatError: a line other than the last is not an episode.
        """
        self.notice: str | None = None
        """What was put in order, or None."""
        self.keys: set[EpisodeKey] = set()
        """The episodes that the file holds."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        last = self._read(path)
        self._file = path.open("ab")
        if last is not None and not last.finished:
            self._mend(path, last)

    def _read(self, path: Path) -> Line | None:
        last = None
        for last in read_lines(path):
            if last.episode is not None:
                self.keys.add(key_of_episode(last.episode))
            elif last.finished:
                raise EpisodeFormatError(str(path), f"line {last.number} is not an episode: {last.problem}")
        return last

    def _mend(self, path: Path, last: Line) -> None:
        if last.episode is not None:
            self._file.write(b"\n")
            self._file.flush()
            return
        data = path.read_bytes()
        kept = data.rfind(b"\n") + 1
        self._file.truncate(kept)
        self.notice = (
            f"{path}: line {last.number} was cut off after {len(data) - kept} bytes; its episode is played again"
        )

    def add(self, episode: Episode) -> None:
        """Appends one episode, which is on its way to the disk when this returns."""
        self._file.write(json.dumps(episode_to_json(episode), ensure_ascii=False).encode() + b"\n")
        self._file.flush()
        self.keys.add(key_of_episode(episode))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
