"""The public names: each is there once, loads what it says, and costs nothing before it is used."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import asyncguard

PACKAGES = ("asyncguard", "asyncguard.testing", "asyncguard.guards")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_exists_and_is_listed_once(package: str) -> None:
    """``__all__`` has no duplicates and nothing in it is missing."""
    module = import_module(package)
    names = list(module.__all__)
    assert sorted(names) == sorted(set(names))
    for name in names:
        assert getattr(module, name) is not None


def test_lazy_names_are_declared_for_type_checkers_too() -> None:
    """Names that ``__getattr__`` serves and those declared for type checkers are the same."""
    tree = ast.parse(Path(str(asyncguard.__file__)).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    told = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    served = {
        name: f"asyncguard.{home}" for home, names in asyncguard._HOMES.items() for name in names
    }
    assert told == served
    assert {*served, "__version__"} == set(asyncguard.__all__)


def test_every_public_name_is_documented() -> None:
    """A function or class without a docstring of its own is not finished."""
    for name in asyncguard.__all__:
        value = getattr(asyncguard, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name


def test_every_package_says_if_it_is_internal() -> None:
    """A user who opens a file sees whether its names may change in any release."""
    root = Path(str(asyncguard.__file__)).parent
    packages = {
        ".".join(("asyncguard", *place.parent.relative_to(root).parts)): ast.get_docstring(
            ast.parse(place.read_text(encoding="utf-8"))
        )
        for place in root.rglob("__init__.py")
    }
    public = {name for name, text in packages.items() if "Internal; " not in str(text)}
    assert public == {"asyncguard", "asyncguard.testing"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    """Laziness does not change what a typo does."""
    with pytest.raises(AttributeError, match="no attribute 'build_agents'"):
        _ = asyncguard.build_agents  # type: ignore[attr-defined]


def test_importing_the_package_loads_no_framework() -> None:
    """``import asyncguard`` and its command start without LangGraph and LangChain."""
    code = "import asyncguard, asyncguard.cli, sys; print({'langgraph', 'langchain_core'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "from asyncguard import DbosExecutor",
            "DbosExecutor needs an extra: pip install 'asyncguard[dbos]'",
        ),
        (
            "from asyncguard.cli import main; "
            "main(['worker', '--database-url', 'postgresql://h/n', '--tools', 'shop:TOOLS'])",
            "asyncguard: A worker needs DBOS: pip install 'asyncguard[dbos]'.",
        ),
    ],
)
def test_a_missing_extra_is_named(code: str, said: str, tmp_path: Path) -> None:
    """The error says which extra to install instead of naming the package that is missing."""
    (tmp_path / "shop.py").write_text(
        'def look(q: str) -> str:\n    """Look."""\n    return q\n\n\nTOOLS = [look]\n'
    )
    hidden = "import sys; sys.modules |= dict.fromkeys(('dbos', 'sqlalchemy', 'sqlalchemy.exc')); "
    done = subprocess.run(
        [sys.executable, "-c", hidden + code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said in done.stderr


_BLOCKED = {
    "modules": "import sys; sys.modules |= dict.fromkeys(({names})); ",
    "finder": "import sys; sys.meta_path.insert(0, type('No', (), {{'find_spec': staticmethod(lambda name, *_: "
    "(_ for _ in ()).throw(ModuleNotFoundError(name, name=name)) if name.split('.')[0] in ({names}) else None)}})()); ",
}
_EXTRAS = ", ".join(
    f"'{name}'"
    for name in (
        *("ag_ui", "ag_ui_langgraph", "dbos", "sqlalchemy", "opentelemetry", "langchain_openai"),
        *("psycopg", "agents", "pydantic_ai"),
    )
)


_LOOK_THROUGH = """
import inspect, pydoc
import asyncguard, asyncguard.observability.otel, asyncguard.testing, asyncguard_benchmark
from asyncguard import *
assert build_agent and "DbosExecutor" not in globals()
from asyncguard.observability.otel import *
from asyncguard.testing import *
from asyncguard_benchmark import *
for module in (asyncguard, asyncguard.testing, asyncguard.observability.otel, asyncguard_benchmark):
    assert inspect.getmembers(module)
    assert module.__name__ in pydoc.render_doc(module)
assert "DbosExecutor" not in asyncguard.__all__ + dir(asyncguard)
for name, extra in {"DbosExecutor": "dbos", "AgUiAgent": "ag-ui-langgraph"}.items():
    try:
        getattr(asyncguard, name)
    except ImportError as error:
        assert f"asyncguard[{extra}]" in str(error)
    else:
        raise AssertionError(name)
"""


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", _BLOCKED)
def test_modules_can_be_looked_through_without_extras(how: str) -> None:
    """``import *``, ``help`` and ``getmembers`` show what is there, however the package of an extra is missing."""
    code = _BLOCKED[how].format(names=_EXTRAS) + _LOOK_THROUGH
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_an_extra_adds_is_listed_where_it_is_installed() -> None:
    """The list of public names is whole with the extra."""
    assert "DbosExecutor" in asyncguard.__all__
    assert "DbosExecutor" in dir(asyncguard)
