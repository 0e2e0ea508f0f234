"""Values that a hasty model fills in for ones it does not have: invented, recalled from elsewhere, or foreseen.

An invented value has the right type and look and occurs nowhere. A recalled one was told to the
sub-task, but for something else. A foreseen one follows from the arguments of the very call that is
to return it. All three are made from schemas and messages; none looks at the ground truth, so the
last two may be right or wrong.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from random import Random
from typing import Any

from asyncguard_benchmark.harness.pointers import PointerError, parts, resolve
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.services.service import Executor

_WORDS = (
    "quarter",
    "inbox",
    "template",
    "export",
    "backup",
    "overview",
    "minutes",
    "roster",
    "snapshot",
    "agenda",
)
_NAMES = (
    "Whitcombe",
    "Adeyemi",
    "Sorensen",
    "Takahashi",
    "Ferreira",
    "Novotny",
    "Lindqvist",
    "Moreau",
)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _path(random: Random) -> str:
    return f"{random.choice(_WORDS)}_{random.randrange(100, 1000)}.txt"


def _symbol(random: Random) -> str:
    # Two letters more than usual tickers of the data, so that none is hit by chance.
    return "".join(random.choice(_LETTERS) for _ in range(6))


def _card(random: Random) -> str:
    return f"{random.randrange(1000, 10000)}-{random.randrange(1000, 10000)}"


def _phrase(random: Random) -> str:
    return f"{random.choice(_NAMES)} {random.choice(_WORDS)} {random.randrange(100, 1000)}"


@dataclass(frozen=True, kw_only=True)
class _Look:
    """Look of the texts of one sort of argument."""

    names: tuple[str, ...]
    """Parts of an argument's name that tell the sort."""
    pattern: re.Pattern[str]
    """Finds such texts in prose and in JSON."""
    make: Callable[[Random], str]


_LOOKS = (
    _Look(
        names=("file", "folder", "path", "source", "destination", "first", "second"),
        pattern=re.compile(r"(?:/[\w.-]*\w)+|\b\w[\w-]*\.[a-z]{2,4}\b"),
        make=_path,
    ),
    _Look(names=("symbol",), pattern=re.compile(r"\b[A-Z]{3,5}\b"), make=_symbol),
    _Look(names=("card",), pattern=re.compile(r"\b\d{4}-\d{4}\b"), make=_card),
)
_ANY_TEXT = _Look(names=(), pattern=re.compile(r"\b[^\W\d_]{5,}\b"), make=_phrase)
_NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-]|\.\d)")


def _look(name: str) -> _Look:
    return next((look for look in _LOOKS if any(part in name for part in look.names)), _ANY_TEXT)


def guess(name: str, schema: Mapping[str, Any], key: tuple[Any, ...]) -> Any:
    """Return a plausible value for an argument, which occurs nowhere.

    Args:
        name: The argument's name.
        schema: Its JSON schema.
        key: Key of the draw: it depends on nothing else, so that two arms of an experiment share it.
    """
    random = Random(repr(key))
    if "enum" in schema:
        return random.choice(list(schema["enum"]))
    match schema.get("type"):
        case "integer":
            return random.randrange(1000, 100_000)
        case "number":
            return round(random.uniform(5, 500), 2)
        case "boolean":
            return random.random() < 0.5
        case "array":
            return [guess(name, schema.get("items", {}), (*key, 0))]
        case "object" if not schema.get("properties"):
            return {random.choice(_WORDS): random.randrange(1000, 100_000)}
        case "object":
            return {
                part: guess(part, inner, (*key, part))
                for part, inner in schema.get("properties", {}).items()
            }
    return _look(name).make(random)


def recalled(name: str, schema: Mapping[str, Any], told: Iterable[str]) -> tuple[Any, ...]:
    """Return every value of fitting type and look that stands in what was told, each once, in order.

    Args:
        name: The argument's name.
        schema: Its JSON schema; of objects, arrays and truth values nothing is recalled.
        told: The query and the results so far.
    """
    text = "\n".join(told)
    match schema.get("type"):
        case "integer":
            found: Iterable[Any] = (int(each) for each in _NUMBER.findall(text) if "." not in each)
        case "number":
            found = (float(each) for each in _NUMBER.findall(text))
        case "string" if "enum" not in schema:
            found = _look(name).pattern.findall(text)
        case _:
            found = ()
    return tuple(dict.fromkeys(found))


def foreseen(arguments: Mapping[str, Any], pointer: str) -> Any:
    """Return the value that a call will return at a place, as far as its own arguments tell; None otherwise.

    An argument may come back under its name, and a file that is moved or copied ends up in the
    folder it is sent to.
    """
    field = next((part for part in reversed(parts(pointer)) if not part.isdecimal()), "")
    source, destination = arguments.get("source"), arguments.get("destination")
    if field.endswith("_to") and isinstance(source, str) and isinstance(destination, str):
        target = PurePosixPath(destination)
        return str(target if target.suffix else target / PurePosixPath(source).name)
    return arguments.get(field)


def worked_out(tool: Tool, arguments: Mapping[str, Any], pointer: str) -> Any:
    """Return the result of a pure function without state at a place, as a model works it out in its head, or None.

    Args:
        tool: Reads and writes no state.
        arguments: Those that it was called with, right or wrong.
        pointer: Into the result.
    """
    try:
        return resolve(
            json.loads(Executor({tool.name: tool}, {}).call(tool.name, arguments)), pointer
        )
    except (ValueError, PointerError):
        return None
