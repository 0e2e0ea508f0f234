"""Published functions of NESTFUL, read as text: which file defines which, how arguments are bound, what may run.

The list of what may run looks at syntax trees only. It keeps out what a task of pure values has no use for. It proves
nothing, and the sandbox holds the rest.
"""

import ast
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from asyncguard_benchmark.errors import BenchmarkError, DataError
from asyncguard_benchmark.harness.saved_form import json_value

BASIC = "basic_functions.py"
MAP = "func_file_map.json"
_IMPORTS = frozenset(
    """
    ast base64 binascii bisect calendar codecs collections copy dataclasses datetime decimal enum
    fractions functools hashlib heapq hmac html ipaddress itertools json keyword math numbers
    operator re reprlib statistics string struct textwrap types typing unicodedata zlib
    """.split()  # noqa: SIM905 - a list of quoted names is three times as long
)
_NAMES = frozenset(("open", "input", "exec", "eval", "__import__", "compile"))
_CLOCKS = frozenset(
    {("datetime", "now"), ("datetime", "today"), ("datetime", "utcnow"), ("date", "today")}
)
_LARGEST = 2**20
"""Bytes of a file that is read."""


class NoFunctionsError(BenchmarkError):
    """The folder of functions is not one."""


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function of a file."""

    name: str
    path: Path
    keywords: frozenset[str]
    """Parameters that can be passed by keyword."""
    any_keyword: bool
    """True if it takes any."""
    refused: str | None
    """Reason why its file may not run; None if it may."""
    digest: str
    """SHA-256 of its file."""

    def bound(self, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments by position and by keyword: by keyword if all names are parameters, else by position."""
        if self.any_keyword or arguments.keys() <= self.keywords:
            return [], dict(arguments)
        return list(arguments.values()), {}


@dataclass(frozen=True, kw_only=True)
class _File:
    path: Path
    functions: Mapping[str, ast.FunctionDef] = field(default_factory=dict)
    refused: str | None = None
    digest: str = ""


@dataclass(frozen=True, kw_only=True)
class Library:
    """A folder of functions; files are read when a function of theirs is asked for."""

    folder: Path
    files: Mapping[str, str]
    """Name of a function -> its file, as `func_file_map.json` has it."""
    _read: dict[str, _File] = field(default_factory=dict, compare=False)

    def find(self, name: str) -> Function | None:
        """Return a function; None if the folder does not list it.

        Raises:
            DataError: the folder lists it and its file does not define it, or cannot be read.
        """
        if name in self._basic.functions:
            return self._function(name, self._basic)
        if name not in self.files:
            return None
        file = self._file(self.files[name])
        if name not in file.functions:
            if file.refused is not None and not file.functions:
                return Function(
                    name=name,
                    path=file.path,
                    keywords=frozenset(),
                    any_keyword=True,
                    refused=file.refused,
                    digest=file.digest,
                )
            raise DataError(str(file.path), f"does not define {name!r}, for which {MAP} names it")
        return self._function(name, file)

    @cached_property
    def _basic(self) -> _File:
        return self._file(BASIC)

    def _file(self, name: str) -> _File:
        if name not in self._read:
            self._read[name] = _file(self.folder / name, self.folder)
        return self._read[name]

    @staticmethod
    def _function(name: str, file: _File) -> Function:
        told = file.functions[name].args
        return Function(
            name=name,
            path=file.path,
            keywords=frozenset(each.arg for each in (*told.args, *told.kwonlyargs)),
            any_keyword=told.kwarg is not None,
            refused=file.refused,
            digest=file.digest,
        )


def read_library(folder: Path) -> Library:
    """Read the map of a folder of functions; the files are read when they are needed.

    Raises:
        NoFunctionsError: it has no `basic_functions.py` or no `func_file_map.json`.
        DataError: the map is not one of names to file names.
    """
    for name in (BASIC, MAP):
        if not (folder / name).is_file():
            raise NoFunctionsError(
                f"{folder / name} is missing: --functions takes the folder of executable functions of NESTFUL v2"
            )
    where = str(folder / MAP)
    try:
        found = json_value((folder / MAP).read_bytes())
    except (ValueError, RecursionError) as problem:
        raise DataError(
            where, f"{problem}; expected an object of names of functions to names of files"
        ) from problem
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise DataError(where, "expected an object of names of functions to names of files")
    return Library(folder=folder, files=found)


def _file(path: Path, folder: Path) -> _File:
    where = str(path)
    try:
        if path.resolve().parent != folder.resolve():
            raise DataError(where, f"is not a file of {folder}")
        text = path.read_bytes()
    except OSError as problem:
        raise DataError(where, f"cannot be read: {problem.strerror}") from problem
    except ValueError as problem:  # a zero byte, half a character
        raise DataError(where, f"cannot be the name of a file: {problem}") from problem
    digest = hashlib.sha256(text).hexdigest()
    if len(text) > _LARGEST:
        return _File(path=path, refused=f"it has more than {_LARGEST:,} bytes", digest=digest)
    try:
        tree = ast.parse(text, filename=where)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        return _File(path=path, refused=f"it does not parse: {problem}", digest=digest)
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    return _File(path=path, functions=functions, refused=_reason(tree), digest=digest)


def _reason(tree: ast.Module) -> str | None:
    """Return the first reason why a file may not run."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                modules = [each.name for each in names]
            case ast.ImportFrom(module=module, level=level):
                modules = ["." * level + (module or "")]
            case ast.Name(id=name) if name in _NAMES:
                return f"line {node.lineno}: it names {name}"
            case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=attr):
                if (owner, attr) in _CLOCKS:
                    return f"line {node.lineno}: it reads the clock ({owner}.{attr})"
                continue
            case _:
                continue
        strange = [each for each in modules if each.partition(".")[0] not in _IMPORTS]
        if strange:
            return f"line {node.lineno}: it imports {strange[0]}"
    return None
