"""Gold calls of NESTFUL v2, executed in the sandbox; the stored answers beside what comes out."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import isclose
from typing import Any

from asyncguard_benchmark.harness.sandbox import Load, Sandbox, SandboxError, SandboxLimits
from asyncguard_benchmark.suites.nestful.check import Download
from asyncguard_benchmark.suites.nestful.rows import Row

_TOLERANCE = 1e-6
"""Relative difference up to which two numbers count as equal."""
EXPECTED: Mapping[str, Any] = {
    "rows replayed": 29,
    "rows refused": 1,
    "rows with an error": 0,
    "rows whose worker was ended": 0,
    "rows replayed clean": 29,
    "equal to the stored answer": 28,
    "not clean": ["fa57c28a-e9d8-44fb-a358-a9404a557d5b"],
    "not equal": ["000a5224-26c5-484b-948e-92df48c1b6af"],
}
"""Figures of the file whose digest is `check.SAMPLE`."""


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """A row after its gold calls were executed."""

    row: Row
    results: tuple[Any, ...] = ()
    """Results of the calls, JSON values; up to the call that failed, if one did."""
    refused: str | None = None
    """Reason why it may not run; nothing ran then."""
    error: str | None = None
    """Call that raised, and its exception."""
    ended: str | None = None
    """Reason why the worker was ended: the infrastructure's end, not the row's."""

    @property
    def clean(self) -> bool:
        """Return True if every call gave a result."""
        return len(self.results) == len(self.row.calls)

    @property
    def equal(self) -> bool:
        """Return True if the last result is the stored answer."""
        return self.clean and any(equal(self.results[-1], each) for each in self.row.answers)


def replay(row: Row, download: Download, limits: SandboxLimits) -> Replayed:
    """Execute the gold calls of a row in a worker of its own; **runs foreign code**."""
    refused = download.refused(row)
    if refused is not None:
        return Replayed(row=row, refused=refused)
    functions = {call.name: download.function(call.name) for call in row.calls}
    results: list[Any] = []
    try:
        with Sandbox(
            Load(functions={name: each.path for name, each in functions.items()}), limits
        ) as sandbox:
            for index, call in enumerate(row.calls):
                positional, named = functions[call.name].bound(call.resolved(results))
                try:
                    results.append(sandbox.call(call.name, named, positional))
                except SandboxError:
                    raise
                except Exception as problem:  # noqa: BLE001 - a foreign function may raise anything
                    error = f"call {index}, {call.name}: {type(problem).__name__}: {problem}"
                    return Replayed(row=row, results=tuple(results), error=error)
    except SandboxError as problem:
        return Replayed(row=row, results=tuple(results), ended=str(problem))
    return Replayed(row=row, results=tuple(results))


def replay_all(download: Download, limits: SandboxLimits, jobs: int) -> Iterator[Replayed]:
    """Execute all rows in the order of the file, several at once; **runs foreign code**."""
    with ThreadPoolExecutor(jobs, thread_name_prefix="replay") as pool:
        yield from pool.map(partial(replay, download=download, limits=limits), download.rows)


def figures(replayed: Sequence[Replayed]) -> dict[str, Any]:
    """Return the dynamic figures, in the order in which they are shown."""
    return {
        "rows replayed": sum(each.refused is None for each in replayed),
        "rows refused": sum(each.refused is not None for each in replayed),
        "rows with an error": sum(each.error is not None for each in replayed),
        "rows whose worker was ended": sum(each.ended is not None for each in replayed),
        "rows replayed clean": sum(each.clean for each in replayed),
        "equal to the stored answer": sum(each.equal for each in replayed),
        "not clean": [each.row.id for each in replayed if not each.clean],
        "not equal": [each.row.id for each in replayed if each.clean and not each.equal],
    }


def reasons(replayed: Sequence[Replayed]) -> dict[str, str]:
    """Return why rows are not clean, or what came out instead of the stored answer, by id."""
    found = {}
    for each in replayed:
        why = each.refused or each.error or each.ended
        if why is None and not each.equal:
            why = f"the result is {each.results[-1]!r:.100}, the stored answer {each.row.answers[0]!r:.100}"
        if why is not None:
            found[each.row.id] = why
    return found


def equal(one: Any, other: Any) -> bool:
    """Return True if two JSON values are equal: numbers within 1e-6 relative, and never a truth value and a number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        try:
            return one == other or isclose(one, other, rel_tol=_TOLERANCE)
        except OverflowError:  # a whole number that no float holds is equal to itself alone
            return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(one[name], other[name]) for name in one)
    return type(one) is type(other) and bool(one == other)
