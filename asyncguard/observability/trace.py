"""Reader of trace files; it checks everything that its callers rely on."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from asyncguard.core.faults import ErrorCode
from asyncguard.errors import CallerError
from asyncguard.observability.fields.field import VALUE_TYPES, Unit
from asyncguard.observability.fields.table import FIELDS
from asyncguard.observability.trace_file import FORMAT, HEAD

Row = Mapping[str, Any]
"""One event as it stands in the file."""

_FARTHEST = 1e15
"""Bound of a usable time, in seconds."""


def asked_person(row: Row) -> bool:
    """Return True if a row says that a tool asked a person, and no attempt failed."""
    return (row["event"], row.get("error")) == ("call_recovered", ErrorCode.INTERRUPT)


class TraceError(CallerError):
    """The file is not a trace of asyncguard, or it is damaged; the message says where."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Content of a trace file."""

    head: Mapping[str, Any]
    """First head: format version, version of asyncguard, start (wall clock) and configuration."""
    rows: tuple[Row, ...]
    """Events in the order of the file.

    ``at`` is one time line, also where several processes wrote.
    """
    problems: tuple[str, ...] = ()
    """Parts that were left out and why, for a person."""

    def select(
        self, *, task: str | None = None, run: str | None = None, thread: str | None = None
    ) -> "Trace":
        """Return the trace of one task, run or thread; events that belong to no task are kept.

        Args:
            task: Id of a task.
            run: Id of a run, or its beginning.
            thread: Id of a thread, the caller's or asyncguard's.

        Raises:
            CallerError: The trace has no such task, run or thread.
        """
        rows = self.rows
        if thread is not None:
            rows = tuple(row for row in rows if thread in (row["thread_id"], row["thread"]))
            threads = [row["thread_id"] or row["thread"] for row in self.rows]
            _expect(bool(rows), "thread", thread, threads)
        if run is not None:
            known = [row["run"] for row in rows]
            rows = tuple(row for row in rows if row["run"].startswith(run))
            _expect(bool(rows), "run", run, known)
        if task is not None:
            known = [row["task"] for row in rows if "task" in row]
            _expect(task in known, "task", task, known)
            rows = tuple(row for row in rows if row.get("task", task) == task)
        return replace(self, rows=rows)


def _expect(found: bool, what: str, wanted: str, known: list[str]) -> None:
    if not found:
        names = ", ".join(dict.fromkeys(known)) or "none"
        raise CallerError(f"The trace has no {what} {wanted!r}; it has: {names}.")


BEING_WRITTEN = "Line {} is not whole: it is being written, or its process ended while it did so."
"""Problem of the last line of a file that grows."""


LONGEST_LINE = 2**26
"""Bytes of a line that is read: an endless one would take all memory."""


def read_lines(path: str | Path) -> list[bytes]:
    """Return the lines of a file; the last one is empty if the file ends with a whole line.

    As bytes: one line that is not UTF-8 must not make the others unreadable.

    Raises:
        OSError: The file cannot be read.
        TraceError: A line is too long.
    """
    lines: list[bytes] = []
    whole = True
    with Path(path).open("rb") as file:
        while line := file.readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                raise TraceError(
                    f"{path} cannot be read: line {len(lines) + 1} has more than {LONGEST_LINE} "
                    "bytes; give a file that TraceFile or bench run wrote."
                )
            whole = line.endswith(b"\n")
            lines.append(line[:-1] if whole else line)
    return [*lines, b""] if whole else lines


def read_trace(path: str | Path, *, growing: bool = False) -> Trace:
    """Read a trace file.

    Args:
        path: The file.
        growing: True if a program writes the file: it may be empty, and its last line unfinished.

    Returns:
        The trace. A line that a dying process left unfinished is left out and named in
        ``problems``, as are events of kinds that this version does not know.

    Raises:
        TraceError: The file cannot be read, is not a trace, is of a newer format, or a line in it
            is damaged.
    """
    try:
        lines = read_lines(path)
    except OSError as error:
        raise TraceError(
            f"{path} cannot be read: {error.strerror or type(error).__name__}."
        ) from error
    return trace_of(path, lines, growing=growing)


def trace_of(path: str | Path, lines: Sequence[bytes], *, growing: bool = False) -> Trace:
    """Return the trace that the lines of a file are; see :func:`read_trace`."""
    reader = _Reader(str(path), lines, growing=growing)
    rows = tuple(reader.rows())
    if reader.head is None and not growing:
        raise TraceError(f"{path} is empty; a trace begins with a head line.")
    problems = tuple(reader.problems)
    if reader.head is None:
        problems = problems or ("The file is empty so far.",)
    return Trace(head=reader.head or {}, rows=rows, problems=problems)


class _Reader:
    """One pass over the lines of a file."""

    def __init__(self, path: str, lines: Sequence[bytes], *, growing: bool) -> None:
        self.path = path
        self.lines = lines
        self.growing = growing
        self.head: Mapping[str, Any] | None = None
        self.problems: list[str] = []
        self._started: Any = None
        """Start of the process whose lines are being read: a new one has another clock."""
        self._shift: float | None = 0.0
        """Seconds between this process's clock and the first one's; ``None`` until known."""
        self._last: tuple[float, float] | None = None
        """Time on the common time line and wall clock of the last event."""
        self._unknown: set[str] = set()
        """Unknown event kinds that were reported already."""

    def rows(self) -> Iterator[Row]:
        for number, line in enumerate(self.lines, start=1):
            if not line.strip():
                continue
            data = _decode(line)
            if data is None:
                self._damaged(number)
            elif HEAD in data:
                self._begin(number, data)
            elif self.head is None:
                self._refuse(number, "the head is missing, so this is not a trace of asyncguard")
            elif self._usable(number, data):
                at, wall = data["at"], data["wall"]
                if self._shift is None:
                    # The clocks have no common zero; the wall clock shows how much later this one
                    # began.
                    last_at, last_wall = self._last or (at, wall)
                    self._shift = last_at + max(0.0, wall - last_wall) - at
                data["at"] = at + self._shift
                self._last = (data["at"], wall)
                yield data

    def _damaged(self, number: int) -> None:
        # A process that dies while it writes leaves a part of a line: at the end of the file, or
        # before the head of the process that wrote next. Anywhere else the file was changed.
        following = self.lines[number] if number < len(self.lines) else b""
        is_last = number == len(self.lines)
        if is_last and self.growing:
            self.problems.append(BEING_WRITTEN.format(number))
            return
        if self.head is not None and (is_last or HEAD in (_decode(following) or {})):
            self.problems.append(
                f"Line {number} is unfinished and was left out; its process ended while writing it."
            )
            return
        self._refuse(number, "this is not a JSON object")

    def _begin(self, number: int, data: Mapping[str, Any]) -> None:
        version = data[HEAD]
        if not isinstance(version, int) or version < 1:
            self._refuse(number, f"{version!r} is not a format version")
        if version > FORMAT:
            self._refuse(
                number,
                f"the format is {version}, this version reads up to {FORMAT}; install a newer one",
            )
        if self.head is None:
            self.head = data
        elif data.get("started") != self._started:
            self._shift = None  # another process: another clock
        self._started = data.get("started")

    def _usable(self, number: int, data: dict[str, Any]) -> bool:
        """Check an event, and add the fields that its release did not have yet."""
        kind = str(data.get("event"))
        known = FIELDS.get(kind)
        if known is None:
            if kind not in self._unknown:
                self.problems.append(
                    f"Line {number}: the event {kind!r} is unknown here; such events were left out."
                )
            self._unknown.add(kind)
            return False
        # The only field that TraceFile adds to those of the table.
        if not _is_number(data.get("wall")):
            self._refuse(number, f"{kind} lacks a usable 'wall'")
        for field in known:
            if field.added is not None:  # files of earlier releases lack the field
                data.setdefault(
                    field.name, list(field.added) if isinstance(field.added, tuple) else field.added
                )
            if field.unit is not Unit.PAYLOAD and not _fits(data, field.name, field.unit):
                self._refuse(number, f"{kind} lacks a usable {field.name!r}")
        return True

    def _refuse(self, number: int, what: str) -> NoReturn:
        raise TraceError(f"{self.path}, line {number}: {what}.", line=number)


def _decode(line: bytes) -> dict[str, Any] | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        return None
    return data if isinstance(data, dict) else None


def _fits(data: Mapping[str, Any], name: str, unit: Unit) -> bool:
    if name not in data:
        return False
    value = data[name]
    if isinstance(value, bool):  # before the numbers: True is an int in Python
        return unit is Unit.FLAG
    if isinstance(value, list):
        return unit is Unit.NAMES and all(isinstance(item, str) for item in value)
    if name == "at":  # bounded, as times are added and subtracted; other seconds are shown only
        return _is_number(value)
    return isinstance(value, VALUE_TYPES[unit])


def _is_number(value: Any) -> bool:
    # The bound keeps out NaN, infinity and whole numbers that no float can hold.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _FARTHEST
