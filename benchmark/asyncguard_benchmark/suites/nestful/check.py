"""Figures of a file of NESTFUL v2 that need no code to run, and what is wrong with it."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.suites.nestful.functions import Function, Library, read_library
from asyncguard_benchmark.suites.nestful.rows import Row, read_rows

SAMPLE = "fb3b39bba904acf66bc87873540fa01dc0a3dea0c902a7211311a9e224c3652b"
"""SHA-256 of the file whose figures are known."""
EXPECTED: Mapping[str, Any] = {
    "rows": 30,
    "rows of code": 11,
    "rows of arithmetic": 19,
    "calls": 109,
    "calls per row": 3.63,
    "rows by calls": {"2": 12, "3": 8, "4": 2, "5": 2, "6": 3, "8": 2, "9": 1},
    "later calls": 79,
    "later calls with a reference": 61,
    "rows that are a chain": 17,
    "rows with parallel calls": 13,
    "rows with a tool called twice": 14,
    "rows that need positions": 4,
    "files refused": 1,
}
"""Static figures of that file."""


@dataclass(frozen=True, kw_only=True)
class Download:
    """A file of tasks with the functions that their gold calls."""

    path: Path
    digest: str
    """SHA-256 of the file."""
    library: Library
    rows: tuple[Row, ...]
    """Those that can be read and whose gold calls have functions."""
    problems: tuple[DataError, ...]
    """What is wrong with the others."""

    @property
    def known(self) -> bool:
        """Return True if its figures are known."""
        return self.digest == SAMPLE

    def function(self, name: str) -> Function:
        """Return the function of a gold call.

        Raises:
            LookupError: there is none; no row of `rows` asks for it.
        """
        found = self.library.find(name)
        if found is None:
            raise LookupError(name)
        return found

    def refused(self, row: Row) -> str | None:
        """Return the reason why a row may not run; None if it may."""
        for call in row.calls:
            function = self.function(call.name)
            if function.refused is not None:
                return f"{function.path.name} may not run: {function.refused}"
        return None


def read_download(path: Path, functions: Path) -> Download:
    """Read tasks and functions; nothing runs.

    Args:
        path: JSON lines.
        functions: Folder of `basic_functions.py`, `func_file_map.json` and the files that it names.

    Raises:
        NoFunctionsError: the folder is none of functions.
        OSError: the file cannot be read.
    """
    library, reading = read_library(functions), read_rows(path)
    rows, problems = [], list(reading.problems)
    for row in reading.found:
        found = [*_lacking(row, library)]
        problems += found
        if not found:
            rows.append(row)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Download(
        path=path, digest=digest, library=library, rows=tuple(rows), problems=tuple(problems)
    )


def _lacking(row: Row, library: Library) -> Iterable[DataError]:
    for name in dict.fromkeys(call.name for call in row.calls):
        where = f"{row.where}.output"
        try:
            if library.find(name) is None:
                text = f"the gold calls {name!r}, for which {library.folder} has no function"
                yield DataError(where, text)
        except DataError as problem:
            yield DataError(where, f"the gold calls {name!r}: {problem}")


def figures(download: Download) -> dict[str, Any]:
    """Return the static figures, in the order in which they are shown."""
    rows = download.rows
    later = [call for row in rows for call in row.calls[1:]]
    lengths = Counter(len(row.calls) for row in rows)
    calls = sum(map(len, (row.calls for row in rows)))
    chains = sum(map(is_chain, rows))
    return {
        "rows": len(rows),
        "rows of code": sum(not row.arithmetic for row in rows),
        "rows of arithmetic": sum(row.arithmetic for row in rows),
        "calls": calls,
        "calls per row": round(calls / len(rows), 2) if rows else None,
        "rows by calls": {str(length): lengths[length] for length in sorted(lengths)},
        "later calls": len(later),
        "later calls with a reference": sum(bool(call.references) for call in later),
        "rows that are a chain": chains,
        "rows with parallel calls": len(rows) - chains,
        "rows with a tool called twice": sum(_repeats(row) for row in rows),
        "rows that need positions": sum(_positions(row, download) for row in rows),
        "files refused": len(refused_files(download)),
    }


def refused_files(download: Download) -> dict[str, str]:
    """Return the files that a gold calls and that may not run, with the reasons."""
    functions = [download.function(call.name) for row in download.rows for call in row.calls]
    return {each.path.name: each.refused for each in functions if each.refused is not None}


def unclear_types(download: Download) -> tuple[str, ...]:
    """Return the types of arguments that were not understood, with tool and argument, each once."""
    told = (
        f"{spec.name}.{each}"
        for row in download.rows
        for spec in row.tools.values()
        for each in spec.unclear
    )
    return tuple(dict.fromkeys(told))


def is_chain(row: Row) -> bool:
    """Return True if each two calls of a row are ordered by their references."""
    return sum(map(len, row.ancestors)) == len(row.calls) * (len(row.calls) - 1) // 2


def _repeats(row: Row) -> bool:
    return len({call.name for call in row.calls}) < len(row.calls)


def _positions(row: Row, download: Download) -> bool:
    return any(download.function(call.name).bound(call.arguments)[0] for call in row.calls)


def differing(found: Mapping[str, Any], expected: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the figures that are not as expected."""
    return tuple(name for name, value in expected.items() if found.get(name) != value)
