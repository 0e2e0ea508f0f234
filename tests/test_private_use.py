"""Private names of the libraries are used in one module each; the source is read to find any other use."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("asyncguard", "benchmark", "examples", "graphs")
INTERNALS = frozenset(
    {
        "asyncguard/adapters/langchain_internals.py",
        "asyncguard/adapters/langgraph_internals/",
        "asyncguard/distributed/dbos_internals.py",
    }
)
"""The only modules, and one folder of them, that may; each says why and what breaks."""

LIBRARIES = ("dbos", "langchain", "langgraph", "sqlalchemy")
"""How the names of the libraries' packages begin: langchain_core and langgraph_sdk are among them."""
KEYS = ("__pregel", "checkpoint_map")
TABLES = ("workflow_status", "workflow_input", "workflow_output", "application_versions")
DOCUMENTED = frozenset({"_replace", "_asdict", "_fields", "_exit"})
"""Names with an underscore that Python documents: those of named tuples, and ``os._exit``."""

OVERRIDDEN = frozenset({"_run", "_arun", "_generate", "_agenerate", "_stream", "_astream"})
"""LangChain's names for what a subclass defines; to define them is public, to read them is not."""


def private(name: str) -> bool:
    """True for a name with one leading underscore, or with two and no trailing ones."""
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def of_library(module: str) -> bool:
    """True for a package of one of the libraries."""
    return module.startswith(LIBRARIES)


class Finder(ast.NodeVisitor):
    """Collects the private uses in one module."""

    def __init__(self, own: frozenset[str]) -> None:
        self.own = own
        self.libraries: set[str] = set()
        self.found: list[tuple[int, str]] = []

    def note(self, node: ast.AST, what: str) -> None:
        self.found.append((getattr(node, "lineno", 0), what))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if of_library(alias.name):
                self.libraries.add((alias.asname or alias.name).split(".")[0])
                if any(map(private, alias.name.split("."))):
                    self.note(node, alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if not of_library(node.module or ""):
            return
        for alias in node.names:
            self.libraries.add(alias.asname or alias.name)
            name = f"{node.module}.{alias.name}"
            if any(map(private, name.split("."))):
                self.note(node, name)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        known = node.attr in self.own and node.attr not in OVERRIDDEN
        if private(node.attr) and not known:
            base = ast.unparse(node.value)
            if base not in ("self", "cls", "super()") and base not in self.own:
                self.note(node, node.attr)
        # A module, class or function of a library that is given another attribute.
        replaced = isinstance(node.value, ast.Name) and node.value.id in self.libraries
        if replaced and not isinstance(node.ctx, ast.Load):
            self.note(node, f"{ast.unparse(node)} = ...")

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        reads = isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr")
        names = [arg.value for arg in node.args[1:2] if isinstance(arg, ast.Constant)]
        for name in names if reads else ():
            if isinstance(name, str) and private(name) and name not in self.own:
                self.note(node, name)

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring may name what it wants
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            for word in (*KEYS, *TABLES):
                if word in node.value:
                    self.note(node, word)


def own_names(tree: ast.AST) -> frozenset[str]:
    """Names that a module defines itself, on its objects or at its top, and standard modules' own."""
    own = set(DOCUMENTED)
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                own.add(name)
            case ast.ClassDef(name=name):
                own.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                own.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                own.add(name)
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                if module in sys.stdlib_module_names:
                    own.add(name)
    return frozenset(own)


def uses(source: str) -> list[tuple[int, str]]:
    """Lists line and name of each private use of a library in a source."""
    tree = ast.parse(source)
    finder = Finder(own_names(tree))
    finder.visit(tree)
    return finder.found


def modules() -> Iterator[str]:
    """Yields the paths of all modules that are read, from the root of the checkout."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("package", PACKAGES)
def test_private_names_of_libraries_stand_in_their_one_module(package: str) -> None:
    """Each of these modules says why the public interface does not do, and what breaks if it changes."""
    found = {
        path: used
        for path in modules()
        if path.startswith(f"{package}/") and not path.startswith(tuple(INTERNALS))
        if (used := uses((ROOT / path).read_text(encoding="utf-8")))
    }
    assert not found, f"move these into one of {sorted(INTERNALS)}"


@pytest.mark.parametrize("path", sorted(INTERNALS))
def test_a_module_for_private_names_has_some(path: str) -> None:
    """One that is not needed any more goes away."""
    found = sorted((ROOT / path).rglob("*.py")) or [ROOT / path]
    assert any(uses(each.read_text(encoding="utf-8")) for each in found)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from dbos._utils import GlobalParams", ["dbos._utils.GlobalParams"]),
        ("from dbos import _serialization", ["dbos._serialization"]),
        ("import langgraph.pregel._loop", ["langgraph.pregel._loop"]),
        ("from langgraph._internal._constants import CONF", ["langgraph._internal._constants.CONF"]),
        ("def f():\n    from langchain_core._api import deprecated", ["langchain_core._api.deprecated"]),
        ("run._initial_config", ["_initial_config"]),
        ("self.tool._run()", ["_run"]),
        ("class A(BaseTool):\n    def _run(self): ...\n\ntool._run()", ["_run"]),
        ("getattr(run, '_put_checkpoint_fut', None)", ["_put_checkpoint_fut"]),
        ("from dbos import error\nerror.DBOSException = Exception", ["error.DBOSException = ..."]),
        ("import sqlalchemy as sa\nsa.text = str", ["sa.text = ..."]),
        ("config['__pregel_read']", ["__pregel_read"[:8]]),
        ("SQL = f'DELETE FROM {schema}workflow_status'", ["workflow_status"]),
        ("class A:\n    def _go(self): ...\nA()._go()", []),
        ("class A:\n    _x: int\ndef f(a): return a._x", []),
        ("self._x = 1\nsuper().__init__()\nimport os\nos._exit(1)", []),
        ("import argparse\nx: argparse._SubParsersAction", []),
        ('"""Reads __pregel_read of the table workflow_status."""', []),
        ("from langgraph.types import Command\npair._replace(values=1)", []),
    ],
    ids=[
        "module of a private module",
        "private module",
        "import of a path",
        "deep path",
        "inside a function",
        "attribute",
        "method",
        "method that a class of the module overrides",
        "by name",
        "replaced name of a module",
        "replaced name of a renamed module",
        "key of a configuration",
        "table in a formatted text",
        "method of an own class",
        "field of an own class",
        "own and documented attributes",
        "annotation from the standard library",
        "docstring",
        "named tuple",
    ],
)  # fmt: skip
def test_the_search_finds_private_uses_and_nothing_else(source: str, expected: list[str]) -> None:
    """Imports, attributes, replaced globals, keys and tables; neither own names nor documentation."""
    assert [name for _, name in uses(source)] == expected
