"""The pure layers import what they may; import-linter cannot say "the standard library only", so the source is read."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "asyncguard"

# Part of the standard library, but not of a pure layer: these wait, look at the world, or write to it.
IMPURE = frozenset(
    {
        "asyncio",
        "concurrent",
        "logging",
        "multiprocessing",
        "os",
        "random",
        "secrets",
        "select",
        "shutil",
        "signal",
        "socket",
        "sqlite3",
        "ssl",
        "subprocess",
        "tempfile",
        "threading",
        "time",
        "urllib",
    }
)
PURE = frozenset(sys.stdlib_module_names) - IMPURE

ALLOWED = {
    "core": PURE
    | {
        "asyncguard.core",
        "asyncguard.config",
        "asyncguard.errors",
        "asyncguard.validation",
        "dateutil.parser",  # reads dates: no I/O, and no clock if it is given a default
    },
    "schema": PURE | {"asyncguard.core", "asyncguard.schema", "asyncguard.errors", "jsonschema"},
    "guards": PURE
    | {
        "asyncguard.core",
        "asyncguard.schema",
        "asyncguard.guards",
        "asyncguard.config",
        "asyncguard.errors",
        "asyncguard.validation",
    },
    "recovery": PURE
    | {
        "asyncguard.core",
        "asyncguard.schema",
        "asyncguard.recovery",
        "asyncguard.config",
        "asyncguard.errors",
    }
    | {"tenacity"},
}


def imported(source: str) -> Iterator[tuple[int, str]]:
    """Yields line and absolute name of every import, wherever it stands: in a function or under TYPE_CHECKING, too."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=0):
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in names)
            case ast.ImportFrom():
                yield node.lineno, "a relative import"


def strangers(source: str, allowed: frozenset[str]) -> list[tuple[int, str]]:
    """Lists the imports of `source` that are neither in `allowed` nor below a name in it."""
    return [
        (line, name)
        for line, name in imported(source)
        if not any(name == root or name.startswith(f"{root}.") for root in allowed)
    ]


@pytest.mark.parametrize("layer", sorted(ALLOWED))
def test_a_pure_layer_imports_only_what_it_may(layer: str) -> None:
    """No file of the layer imports a framework, an upper layer, or a module that does I/O."""
    files = sorted((ROOT / layer).rglob("*.py"))
    assert files, f"asyncguard/{layer} holds no Python file"
    found = {
        f"{path.relative_to(ROOT)}:{line}": name
        for path in files
        for line, name in strangers(path.read_text(encoding="utf-8"), ALLOWED[layer])
    }
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        "import langgraph.graph",
        "import asyncio",
        "from time import monotonic",
        "from asyncguard import build_agent",
        "from asyncguard.runtime.clock import Clock",
        "from asyncguard.corex import Ledger",
        "from . import ledger",
        "def late():\n    import random",
        "if TYPE_CHECKING:\n    from langchain_core.tools import BaseTool",
    ],
)
def test_the_check_sees_forbidden_imports(line: str) -> None:
    """Each way of smuggling an import past the check is caught."""
    assert strangers(line, ALLOWED["core"])


def test_only_the_schema_package_may_use_jsonschema() -> None:
    """The third-party module that checks schemas stays in one of the pure layers."""
    line = "from jsonschema import Draft202012Validator"
    assert [
        layer for layer, allowed in sorted(ALLOWED.items()) if not strangers(line, allowed)
    ] == ["schema"]
