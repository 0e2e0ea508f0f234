"""Episodes in a file: one JSON object a line, appended and never rewritten.

A composition stands in full once, on a line of its own before the first episode that plays it; episodes name it by its
digest. So a file explains itself, and a change of the shipped data cannot change an old score. Two more kinds of line
say which command a run was (so that it can be resumed) and which episodes the infrastructure ended (no score counts
them, and a resumed run plays them again).

A process that is killed leaves at most one line unfinished, the last. `Journal` takes such a line away before it goes
on, so that an interrupted run is resumed without losing or repeating an episode.
"""

import fcntl
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, BinaryIO, Self

from pydantic import Field, TypeAdapter

from asyncguard_benchmark.errors import BenchmarkError, DataError, EpisodeFormatError
from asyncguard_benchmark.harness.episode import (
    Episode,
    digest_of,
    episode_from_json,
    episode_to_json,
)
from asyncguard_benchmark.harness.episode_key import EpisodeKey, key_of_episode
from asyncguard_benchmark.harness.json_lines import LONGEST_LINE, cut_line
from asyncguard_benchmark.harness.loading import composition_from_json
from asyncguard_benchmark.harness.saved_form import json_value, parse, saved_form
from asyncguard_benchmark.harness.scenario import Composition

_COMPOSITION = "composition"
"""The only key of a line that says what a composition is."""
_COMMAND = "command"
"""The only key of a line that says what was asked for."""
_FAILURE = "failure"
"""The only key of a line that says which episode the infrastructure ended."""
_COMPOSITION_BEGINS = b'{"composition": {"id": '
"""Beginning of the line of a composition, as a `Journal` writes it."""
_BUFFER = 2**17
"""Bytes that are read at once: several lines, as one has about 20,000."""
_BEGINS = (b'{"composition": {', b'{"command": ["', b'{"failure": {')
"""How the first line of a file may begin."""


@saved_form()
@dataclass(frozen=True, kw_only=True)
class _Failure(EpisodeKey):
    error: str


_FAILURE_FORM = TypeAdapter(_Failure)
_COMMAND_FORM = TypeAdapter(Annotated[tuple[str, ...], Field(min_length=1)])


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a file: one of the things that it may say, or what is wrong with it."""

    number: int
    """From 1."""
    episode: Episode | None = None
    composition: Composition | None = None
    failure: EpisodeKey | None = None
    command: tuple[str, ...] | None = None
    problem: str | None = None
    finished: bool = True
    """True if it ends as a line does; only the last may not."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Lines of a file that begin in a range of its bytes."""

    begin: int = 0
    end: int = sys.maxsize


_WHOLE = Part()


def parts_of(path: Path, count: int) -> list[Part]:
    """Return parts of about one size, which together are the file.

    Args:
        path: The file.
        count: Number of parts.
    """
    size = path.stat().st_size
    cuts = [size * number // count for number in range(count)] + [sys.maxsize]
    return [Part(begin=begin, end=end) for begin, end in pairwise(cuts)]


def read_lines(path: Path, part: Part = _WHOLE) -> Iterator[Line]:
    """Return every episode, and every line that cannot be read.

    Args:
        path: The file.
        part: Lines that are returned. Compositions that lines before it explain are known, as a `Journal` writes them.
    """
    return (
        line
        for line in all_lines(path, part)
        if line.episode is not None or line.problem is not None
    )


def each_once(paths: Iterable[Path], tell: Callable[[str], None]) -> Iterator[Episode]:
    """Yield the episodes of files, the first of each that is there more than once, and tell what is left out.

    Args:
        paths: The files.
        tell: Takes one sentence.
    """
    seen: set[EpisodeKey] = set()
    again = 0
    for path in paths:
        for line in read_lines(path):
            if line.episode is None:
                tell(f"left out: {line.problem}")
            elif (key := key_of_episode(line.episode)) in seen:
                again += 1
            else:
                seen.add(key)
                yield line.episode
    if again:
        tell(f"{again:,} lines say again what earlier ones say; each episode is counted once")


def all_lines(path: Path, part: Part = _WHOLE) -> Iterator[Line]:
    """Yield every line that is not blank.

    Raises:
        EpisodeFormatError: a line is longer than any that is written, or has no end.
    """
    known: dict[str, Composition] = {}
    after = 0
    with path.open("rb", buffering=_BUFFER) as file:
        for number, raw in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), 1):
            if len(raw) > LONGEST_LINE:
                raise EpisodeFormatError(
                    str(path),
                    f"line {number} has more than {LONGEST_LINE:,} bytes; name a file of episodes",
                )
            begin, after = after, after + len(raw)
            if begin >= part.end:
                return
            inside = begin >= part.begin
            if not (inside or raw.startswith(_COMPOSITION_BEGINS)) or not raw.strip():
                continue
            line = _line(raw, known, number, path)
            if line.composition is not None:
                known[digest_of(line.composition)] = line.composition
            if inside:
                yield line


def _line(raw: bytes, known: Mapping[str, Composition], number: int, path: Path) -> Line:
    finished = raw.endswith(b"\n")
    try:
        line = _said(json_value(raw), known, number)
        return line if finished else replace(line, finished=False)
    except (DataError, RecursionError, ValueError) as problem:
        text = f"{path}:{number}: {'is cut off' if not finished else problem}"
        return Line(number=number, problem=text, finished=finished)


def _said(value: Any, known: Mapping[str, Composition], number: int) -> Line:
    match value:
        case {"composition": composition, **rest} if not rest:
            return Line(number=number, composition=composition_from_json(composition, _COMPOSITION))
        case {"command": command, **rest} if not rest:
            return Line(number=number, command=parse(_COMMAND_FORM, command, _COMMAND))
        case {"failure": failure, **rest} if not rest:
            read = parse(_FAILURE_FORM, failure, _FAILURE)
            key = EpisodeKey(**{each.name: getattr(read, each.name) for each in fields(EpisodeKey)})
            return Line(number=number, failure=key)
        case _:
            return Line(number=number, episode=episode_from_json(value, known))


def place_of(
    key: EpisodeKey, *, declared: object, agent: Mapping[str, Any]
) -> tuple[EpisodeKey, bool, str]:
    """Return what tells an episode from others that this release plays; guards and tasks may differ.

    Args:
        key: Name of the episode.
        declared: True if its tools were declared.
        agent: Settings of its agent.
    """
    settings = json.dumps(dict(agent), sort_keys=True, default=str)
    return replace(key, config=""), bool(declared), settings


def refuse_pipe(path: Path) -> None:
    """Refuse a pipe as a file that is added to.

    Raises:
        EpisodeFormatError: it is one.
    """
    if path.is_fifo():
        raise EpisodeFormatError(str(path), "is a pipe, which keeps no episodes; name a file")


class JournalBusyError(BenchmarkError):
    """Two processes want to add to one file; each would play what the other plays, and cut what it writes."""


def _lock(file: BinaryIO, path: Path) -> None:
    """Take the file for this process, until it is closed or the process ends."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise JournalBusyError(
            f"{path} is being written by another process: wait for it, or name another file"
        ) from None


class Journal:
    """A file of episodes that is added to; a context manager."""

    def __init__(self, path: Path) -> None:
        """Open the file or make it, and put an unfinished last line in order.

        Args:
            path: The file.

        Raises:
            DataError: the file is of another kind; it stays as it is.
            EpisodeFormatError: a line is not an episode, and not the last one, cut off; or it is a pipe.
            JournalBusyError: another process writes the file.
        """
        self.notice: str | None = None
        """Note on a repair of the file, or None."""
        self.keys: set[EpisodeKey] = set()
        """The episodes that the file holds."""
        self.places: set[tuple[EpisodeKey, bool, str]] = set()
        """The same without the digest, which :func:`place_of` makes."""
        self.failures: set[EpisodeKey] = set()
        """The episodes that the infrastructure ended and that have not been played since."""
        self.commands: list[tuple[str, ...]] = []
        """Command lines that asked for the file's episodes, in order."""
        self.dollars = 0.0
        """Cost of the models of its episodes, as far as prices were known."""
        self._digests: set[str] = set()
        refuse_pipe(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab")
        try:
            _lock(self._file, path)
            last = self._read(path)
            if last is not None and not last.finished:
                self._mend(path, last)
        except BaseException:
            self._file.close()
            raise

    def _read(self, path: Path) -> Line | None:
        last = None
        for last in all_lines(path):
            if last.problem is not None and last.finished:
                raise EpisodeFormatError(
                    str(path), f"line {last.number} is not an episode: {last.problem}"
                )
            self._note(last)
        return last

    def _note(self, line: Line) -> None:
        if line.episode is not None:
            self._count(line.episode)
        elif line.composition is not None:
            self._digests.add(digest_of(line.composition))
        elif line.failure is not None:
            self.failures.add(line.failure)
        elif line.command is not None:
            self.commands.append(line.command)

    def _count(self, episode: Episode) -> None:
        key = key_of_episode(episode)
        self.keys.add(key)
        settings = episode.settings
        self.places.add(
            place_of(key, declared=settings.get("declared", True), agent=settings.get("agent", {}))
        )
        self.failures.discard(key)
        self.dollars += episode.settings.get("usage", {}).get("dollars") or 0.0

    def _mend(self, path: Path, last: Line) -> None:
        if last.problem is None:
            self._file.write(b"\n")
            self._file.flush()
            return
        data = path.read_bytes()
        cut = cut_line(path, data, _BEGINS)
        if not cut:
            raise EpisodeFormatError(str(path), f"line {last.number} is not an episode")
        self._file.truncate(len(data) - len(cut))
        self.notice = (
            f"{path}: line {last.number} was cut off after {len(cut)} bytes; "
            "what it said is played again"
        )

    def add(self, episode: Episode) -> None:
        """Append one episode, which is on its way to the disk when this returns."""
        value = episode_to_json(episode)
        digest = digest_of(episode.composition)
        if digest not in self._digests:
            self._write({_COMPOSITION: value["composition"]})
            self._digests.add(digest)
        self._write({**value, _COMPOSITION: {"digest": digest}})
        self._count(episode)

    def add_failure(self, key: EpisodeKey, error: str) -> None:
        """Note an episode that the infrastructure ended.

        Args:
            key: Name of the episode.
            error: Error that ended it.
        """
        self._write({_FAILURE: {**asdict(key), "error": error}})
        self.failures.add(key)

    def add_command(self, command: Sequence[str]) -> None:
        """Note what the file was asked for, unless it says so already."""
        if tuple(command) not in self.commands:
            self._write({_COMMAND: list(command)})
            self.commands.append(tuple(command))

    def _write(self, value: Mapping[str, Any]) -> None:
        try:
            line = json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:  # an agent wrote half a character, which UTF-8 does not know
            line = json.dumps(value).encode()
        self._file.write(line + b"\n")
        self._file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
