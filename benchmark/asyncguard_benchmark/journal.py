"""Episodes in a file: one JSON object a line, appended and never rewritten.

A composition stands in full once, on a line of its own before the first episode that plays it; episodes name it by its
digest. So a file explains itself, and a change of the shipped data cannot change an old score.

A process that is killed leaves at most one line unfinished, the last. `Journal` takes such a line away before it goes
on, so that an interrupted run is resumed without losing or repeating an episode.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from asyncguard_benchmark.campaign import EpisodeKey, key_of_episode
from asyncguard_benchmark.episode import Episode, digest_of, episode_from_json, episode_to_json
from asyncguard_benchmark.errors import DataError, EpisodeFormatError
from asyncguard_benchmark.loading import composition_from_json
from asyncguard_benchmark.scenario import Composition

_COMPOSITION = "composition"
"""The only key of a line that says what a composition is."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a file: an episode, a composition, or what is wrong with it."""

    number: int
    """From 1."""
    episode: Episode | None = None
    composition: Composition | None = None
    problem: str | None = None
    finished: bool = True
    """Whether it ends as a line does; only the last may not."""


def read_lines(path: Path) -> Iterator[Line]:
    """Every episode, and every line that cannot be read."""
    return (line for line in _all_lines(path) if line.composition is None)


def _all_lines(path: Path) -> Iterator[Line]:
    known: dict[str, Composition] = {}
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if not raw.strip():
                continue
            line = _line(raw, known, number, path)
            if line.composition is not None:
                known[digest_of(line.composition)] = line.composition
            yield line


def _line(raw: bytes, known: Mapping[str, Composition], number: int, path: Path) -> Line:
    finished = raw.endswith(b"\n")
    try:
        value = json.loads(raw)
        if isinstance(value, dict) and set(value) == {_COMPOSITION}:
            composition = composition_from_json(value[_COMPOSITION], _COMPOSITION)
            return Line(number=number, composition=composition, finished=finished)
        return Line(number=number, episode=episode_from_json(value, known), finished=finished)
    except (DataError, RecursionError, ValueError) as problem:
        text = f"{path}:{number}: {'is cut off' if not finished else problem}"
        return Line(number=number, problem=text, finished=finished)


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
        self._digests: set[str] = set()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        last = self._read(path)
        self._file = path.open("ab")
        if last is not None and not last.finished:
            self._mend(path, last)

    def _read(self, path: Path) -> Line | None:
        last = None
        for last in _all_lines(path):
            if last.episode is not None:
                self.keys.add(key_of_episode(last.episode))
            elif last.composition is not None:
                self._digests.add(digest_of(last.composition))
            elif last.finished:
                raise EpisodeFormatError(str(path), f"line {last.number} is not an episode: {last.problem}")
        return last

    def _mend(self, path: Path, last: Line) -> None:
        if last.problem is None:
            self._file.write(b"\n")
            self._file.flush()
            return
        data = path.read_bytes()
        kept = data.rfind(b"\n") + 1
        self._file.truncate(kept)
        self.notice = (
            f"{path}: line {last.number} was cut off after {len(data) - kept} bytes; what it said is played again"
        )

    def add(self, episode: Episode) -> None:
        """Appends one episode, which is on its way to the disk when this returns."""
        value = episode_to_json(episode)
        digest = digest_of(episode.composition)
        if digest not in self._digests:
            self._write({_COMPOSITION: value["composition"]})
            self._digests.add(digest)
        self._write({**value, _COMPOSITION: {"digest": digest}})
        self.keys.add(key_of_episode(episode))

    def _write(self, value: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(value, ensure_ascii=False).encode() + b"\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
