"""Writer of a run to a file of JSON lines, made to survive the end of the process.

- The first line of a writer is a head, then follows one line per event: its fields (see
  :mod:`asyncguard.observability.fields`) and ``wall``, the wall clock in seconds since 1970.
- Every line is one ``write`` to a file opened for appending: whole lines of several threads and
  processes never mix, and what was observed is in the file even if the process is killed the next
  moment.
- A file may be continued by a later process, which appends a head of its own.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from asyncguard.errors import AsyncguardError, CallerError
from asyncguard.observability.fields.record import fields
from asyncguard.observability.observer import Details, Observer
from asyncguard.validation import check_arguments

FORMAT = 1
"""Version of the file format; raised when an older reader would misread a file."""

HEAD = "asyncguard_trace"
"""Name of the field that marks a head and holds the format version."""

# O_NONBLOCK changes nothing for a regular file, whose writes go to memory. Detectors of blocking
# calls respect it: that of the LangGraph development server would otherwise make a write from the
# event loop raise.
_FLAGS = (
    os.O_RDWR
    | os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


class TraceFile(Observer):
    """Observer that appends events to a file, and context manager that closes it.

    OS threads may share it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        payloads: bool = False,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Open the file; a new one can be read and written by its owner only.

        Args:
            path: The file; its folder has to exist.
            payloads: True to write arguments, results, goals and reasons.
            wall: Wall clock, in seconds since 1970.

        Raises:
            CallerError: The file cannot be opened, or an argument is of another type.
        """
        check_arguments(
            TraceFile.__init__,
            {"path": path, "payloads": payloads, "wall": wall},
            called="TraceFile",
        )
        self.path = Path(path)
        self._payloads = payloads
        self._wall = wall
        self._started = wall()
        self._head = b""
        """Head that was written last, empty before the first."""
        self._lock = threading.Lock()
        """Guards the file descriptor against being closed during a write."""
        try:
            self._file: int | None = os.open(self.path, _FLAGS, 0o600)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise CallerError(
                f"The trace file {self.path} cannot be opened ({reason}); give another path."
            ) from error
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            # Another process died in the middle of its last line; a new line must not continue it.
            self._write(b"\n")

    def write_head(self, config: Mapping[str, Any] | None = None, *, version: str = "") -> None:
        """Write a head, unless the last one was equal.

        Events that come before any head get one without configuration.

        Args:
            config: The whole configuration as JSON values (``GuardConfig.to_json()``).
            version: Version of asyncguard.
        """
        head = _line({HEAD: FORMAT, "version": version, "started": self._started, "config": config})
        if head != self._head:
            self._write(head)
            self._head = head

    def __call__(self, details: Details) -> None:
        """Append one event.

        Args:
            details: The event and its context.
        """
        if not self._head:
            self.write_head()
        row = fields(details, payloads=self._payloads)
        row["wall"] = round(self._wall(), 6)
        self._write(_line(row))

    def _write(self, line: bytes) -> None:
        # Without the lock, the write could go to a descriptor that was closed and used again.
        with self._lock:
            written = os.write(self._opened(), line)
        if written < len(line):
            raise AsyncguardError(
                f"The trace file {self.path} took only a part of a line; is the disk full?"
            )

    def _opened(self) -> int:
        if self._file is None:
            raise CallerError(f"The trace file {self.path} is closed; close it after the last run.")
        return self._file

    def close(self) -> None:
        """Close the file; a second time does nothing."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        self._opened()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        place: TracebackType | None,
    ) -> None:
        self.close()


def _line(data: Mapping[str, Any]) -> bytes:
    # ASCII: text with lone surrogates could not be written otherwise.
    return (
        json.dumps(data, separators=(",", ":"), allow_nan=False, default=str).encode("ascii")
        + b"\n"
    )
