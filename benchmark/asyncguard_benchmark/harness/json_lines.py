"""Files of JSON lines from elsewhere: what can be read, beside what is wrong with the rest. Nothing is executed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.saved_form import json_value

LONGEST_TEXT = 2**20
"""Characters of one text; more is refused."""
_LARGEST = 2**28
"""Bytes of a file that is read as a whole."""
LONGEST_LINE = 2**26
"""Bytes of a line that is read at all."""
_PASSED_OVER = 16
"""Lengths of such a line after the first that are passed over to find its end."""
DEEPEST = 100
"""Levels of nesting; arguments of tools have a handful."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Reading(Generic[T]):
    """Content of a file."""

    found: tuple[T, ...]
    problems: tuple[DataError, ...] = ()
    """Complaints about entries that are left out, by file, line, id and field."""
    warnings: tuple[str, ...] = ()
    """Warnings that change nothing."""


def read_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the place and the value of each line; a `DataError` stands for a line that cannot be read.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            where = f"{path}:{number}"
            if len(line) > LONGEST_LINE:
                left = LONGEST_LINE * _PASSED_OVER
                while line and not line.endswith(b"\n") and left > 0:
                    line = file.readline(LONGEST_LINE)
                    left -= len(line)
                yield where, DataError(where, f"the line has more than {LONGEST_LINE:,} bytes")
                if left <= 0:  # it may have no end
                    return
            elif line.strip():
                yield where, _value(line, where)


def _value(line: bytes, where: str) -> Any:
    try:
        value = json_value(line.removeprefix(b"\xef\xbb\xbf"))
    except UnicodeDecodeError as problem:
        return DataError(where, f"it is not UTF-8 at byte {problem.start}")
    except RecursionError:
        return DataError(where, "it is nested too deeply")
    except ValueError as problem:
        cut = "; the line is cut off" if not line.endswith(b"\n") else ""
        return DataError(where, f"expected a JSON object, found {line[:60]!r}: {problem}{cut}")
    if not isinstance(value, dict):
        return DataError(where, f"expected a JSON object, found {type(value).__name__}")
    return value


def whole_lines(path: Path) -> list[bytes]:
    """Return the lines of a file, ends included.

    Raises:
        DataError: one is longer than any that is written, or has no end.
        OSError: the file cannot be read.
    """
    lines: list[bytes] = []
    with path.open("rb") as file:
        while line := file.readline(LONGEST_LINE + 1):
            lines.append(line)
            if len(line) > LONGEST_LINE:
                where = f"{path}:{len(lines)}"
                raise DataError(
                    where, f"the line has more than {LONGEST_LINE:,} bytes; name another file"
                )
    return lines


def whole_content(path: Path) -> bytes:
    """Return the content of a file that holds one value.

    Raises:
        DataError: it is longer than any that is written, or has no end.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise DataError(str(path), f"has more than {_LARGEST:,} bytes; name another file")
    return data


def cut_line(path: Path, data: bytes, begins: Sequence[bytes]) -> bytes:
    """Return the last line of a file of ours if a process was killed while it wrote it, else nothing.

    Args:
        path: The file.
        data: Its content; the caller has read or will read the finished lines.
        begins: How the first line of such a file may begin.

    Raises:
        DataError: such a line is all that the file holds, and it begins in another way: the file is of another kind.
    """
    start = data.rfind(b"\n") + 1
    last = data[start:]
    try:
        json_value(last or b"{}")
    except (ValueError, RecursionError):
        fits = any(last.startswith(each) or each.startswith(last) for each in begins)
        if fits or data[:start].strip():
            return last
        text = f"a file of another kind, its only line is {last[:60]!r}; nothing was changed, name another file"
        raise DataError(str(path), text) from None
    return b""  # a process that was killed leaves no complete object but one of ours, which is read


def named(where: str, value: dict[str, Any], key: str = "id") -> str:
    """Return the place with the id of what stands there, which is the value of a key."""
    name = value.get(key)
    parts = name if isinstance(name, list) else [name]
    return where if name is None else f"{where} ({''.join(map(str, parts))[:60]})"


def check_size(value: dict[str, Any], where: str) -> None:
    """Refuse fields that are too long or nested too deeply.

    Raises:
        DataError: a field is.
    """
    for name, field in value.items():
        # Level by level: a stack of values with their depths takes twice as long, a third of reading a file.
        level, depth = [field], 1
        while level:
            if depth > DEEPEST:
                raise DataError(f"{where}.{name[:60]}", f"nested more than {DEEPEST} levels deep")
            below: list[Any] = []
            for each in level:
                if isinstance(each, str):
                    if len(each) > LONGEST_TEXT:
                        text = (
                            f"a text of {len(each):,} characters; at most {LONGEST_TEXT:,} are read"
                        )
                        raise DataError(f"{where}.{name[:60]}", text)
                elif isinstance(each, dict):
                    below += each
                    below += each.values()
                elif isinstance(each, list):
                    below += each
            level, depth = below, depth + 1


def gathered(
    path: Path, read: Callable[[str, dict[str, Any]], T], key: str = "id"
) -> tuple[list[T], list[DataError]]:
    """Read each line of a file by a function that raises `DataError` for what it cannot read.

    Args:
        path: The file.
        read: Makes a value of the place of a line and its object.
        key: Key of the id, for places.
    """
    found: list[T] = []
    problems: list[DataError] = []
    for where, value in read_lines(path):
        if isinstance(value, DataError):
            problems.append(value)
            continue
        try:
            place = named(where, value, key)
            check_size(value, place)
            found.append(read(place, value))
        except DataError as problem:
            problems += problem.problems
    return found, problems
