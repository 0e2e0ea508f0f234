"""The vocabulary of ToolBench-X, and how its parts are read: what was found, beside what is wrong."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.faults import Failpoint, Hazard
from asyncguard_benchmark.harness.scenario import Workflow

T = TypeVar("T")

WORKFLOWS: Mapping[str, Workflow] = {
    "sequential": Workflow.SEQUENTIAL,
    "parallel": Workflow.PARALLEL,
    "mixture": Workflow.MIXED,
}
"""First folder of every path -> how the calls depend on each other."""
EXCEPTIONS: Mapping[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (TimeoutError, ConnectionError, ValueError, KeyError, OSError, RuntimeError)
}
"""Exceptions that a failpoint may raise."""
FAILPOINTS: Mapping[str, Failpoint] = {each.value: each for each in Failpoint}

_CATEGORIES: Mapping[str, Hazard] = {
    "specification": Hazard.SPECIFICATION,
    "invocation": Hazard.INVOCATION,
    "execution": Hazard.EXECUTION,
    "output": Hazard.OUTPUT,
    "cross source": Hazard.CONFLICT,
}
_KINDS = ("uncertainty", "drift", "error", "failure", "conflict")
"""Second words: the code says "uncertainty" everywhere, the paper has a word for each."""


@dataclass(frozen=True, kw_only=True)
class Reading(Generic[T]):
    """Content of some files: the good parts, the problems of the others, and files that are skipped."""

    found: tuple[T, ...]
    problems: tuple[DataError, ...] = ()
    skipped: tuple[str, ...] = ()


def category(said: Any, where: str) -> Hazard:
    """Return a category of hazards by any of its names: "Output Uncertainty", "Output_Uncertainty", "Output Drift".

    Raises:
        DataError: it is none.
    """
    words = re.split(r"[\s_-]+", said.strip().lower()) if isinstance(said, str) else []
    name = " ".join(words[:-1] if words and words[-1] in _KINDS else words)
    if name not in _CATEGORIES:
        known = ", ".join(repr(f"{each.title()} Uncertainty") for each in _CATEGORIES)
        raise DataError(where, f"{said!r} is not a category of hazards; expected one of {known}")
    return _CATEGORIES[name]


def segment(text: str) -> str:
    """Return a part of a path as the published tools write it: without punctuation, spaces as underscores."""
    return re.sub(r"[^\w\s-]", "", text).strip().replace(" ", "_") or "unknown"


def load_json(path: Path, where: str) -> Any:
    """Return the content of a JSON file.

    Raises:
        DataError: it is none; the message names line and column.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as problem:
        raise DataError(where, f"it is not UTF-8 at byte {problem.start}") from problem
    except json.JSONDecodeError as problem:
        text = f"line {problem.lineno}, column {problem.colno}: {problem.msg}; expected a JSON document"
        raise DataError(where, text) from problem


def expect(value: Any, kind: type[T], where: str, what: str) -> T:
    """Return the value, if it is of this type.

    Raises:
        DataError: it is of another.
    """
    if not isinstance(value, kind):
        raise DataError(where, f"expected {what}, found {shown(value)}")
    return value


def shown(value: Any) -> str:
    """Return a short text about a value that was found in place of the expected one."""
    if value is None:
        return "nothing"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
