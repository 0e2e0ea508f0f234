"""References of the documents to files, commands, options and names are right."""

import argparse
import importlib
import json
import re
import shlex
import tomllib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

import asyncguard
import asyncguard.testing
from asyncguard.cli.deliver import _parser as deliver_parser
from asyncguard.cli.ledger.options import parsed as ledger_parsed
from asyncguard.cli.ledger.options import parser as ledger_parser
from asyncguard.cli.plugins import GROUP
from asyncguard.cli.trace import _parser as trace_parser
from asyncguard.cli.view.command import _parser as view_parser
from asyncguard.cli.worker import _parser as worker_parser
from asyncguard.runtime import attempt_registry
from asyncguard_benchmark.commands.options import parser as bench_parser
from asyncguard_benchmark.suites.bfcl.terms import RELEASES
from tests.adapters.run.beside import MIDDLEWARE
from tests.docs.markdown import PAGES, ROOT, code_spans, fences, guides, links, prose, read, rows
from tests.docs.words import DOCUMENTS, WRITTEN_BY_A_COMMAND

_PATH = re.compile(r"(?:[\w.-]+/)+[\w.-]*")
_DOTTED = re.compile(r"asyncguard(?:\.\w+)+(?:\(\))?")
_NAME = re.compile(r"[A-Z][a-z]+[A-Za-z]*(?=$|[.(])")
_EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
_NOT_HERE = (
    "demo-report/",
    ".asyncguard/effects.db",
    "asyncguard_benchmark/guarded",  # names in Inspect
    "asyncguard_benchmark/unguarded",
)
_FOREIGN_PACKAGES = (".", "langgraph-cli[inmem]", "langchain-mcp-adapters", "mpmath")
_INSPECT_TASKS = "benchmark/asyncguard_benchmark/suites/asynctool/inspect_tasks.py"
_INSPECT_SOLVERS = "benchmark/asyncguard_benchmark/harness/inspect_bridge/solvers.py"
_FOREIGN = {
    "RetryCallState": "tenacity",
    **{row.name: "langchain.agents.middleware" for row in MIDDLEWARE},
    "ToolException": "langchain_core.tools",
    "ValidationError": "pydantic",
    "BaseChatModel": "langchain_core.language_models",
    "ToolMessage": "langchain_core.messages",
    "HumanMessage": "langchain_core.messages",
    "RemoveMessage": "langchain_core.messages",
    "InjectedState": "langgraph.prebuilt",
    "ToolNode": "langgraph.prebuilt",
    "StateGraph": "langgraph.graph",
    "DeltaChannel": "langgraph.channels",
    "InMemorySaver": "langgraph.checkpoint.memory",
    "SqliteSaver": "langgraph.checkpoint.sqlite",
    "PostgresSaver": "langgraph.checkpoint.postgres",
    "Command": "langgraph.types",
}
"""Names of other libraries, with their homes."""
_WRITTEN_BY_PAGES = {
    found[1]
    for page in PAGES
    for block in fences(read(page))
    if (found := re.match(r"# (\S+\.py)\n", block.text))
}
"""Files that a reader of a page makes of a block that begins with their name."""


def _commands(document: str) -> list[str]:
    """Commands in code blocks and in the text."""
    text = read(document)
    lines = [
        line
        for block in fences(text)
        if block.language == "sh"
        for line in block.text.replace("\\\n", " ").splitlines()
    ]
    starts = ("asyncguard ", "make ", "python ", "langgraph ", "pip ")
    return [*lines, *(span for span in code_spans(text) if span.startswith(starts))]


def _ledger(rest: list[str]) -> None:
    if rest not in [
        [name] for name in _choices(ledger_parser())
    ]:  # the mere name of an action is not a command line
        ledger_parsed(rest)


def _deliver(rest: list[str]) -> None:
    assert deliver_parser().parse_known_intermixed_args(rest)[1] == []


def _bench(rest: list[str]) -> None:
    if not _is_name(bench_parser(), rest):
        bench_parser().parse_args(rest)


def _is_name(parser: argparse.ArgumentParser, words: list[str]) -> bool:
    """Return True if the words name an action and give it no argument, as where a text speaks of it."""
    for word in words:
        choices = _choices(parser)
        if word not in choices:
            return False
        parser = choices[word]
    return True


def _choices(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = [
        action.choices
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    return {name: each for choices in found for name, each in choices.items()}


_COMMAND_LINES: dict[str, Callable[[list[str]], object]] = {
    "trace": trace_parser().parse_args,
    "view": view_parser().parse_args,
    "ledger": _ledger,
    "deliver": _deliver,
    "worker": worker_parser().parse_args,
    "bench": _bench,
}
"""Each refuses arguments that its command would refuse."""

ALL_COMMANDS = sorted({command for document in DOCUMENTS for command in _commands(document)})


@pytest.mark.parametrize("document", [*DOCUMENTS, *WRITTEN_BY_A_COMMAND])
def test_links_lead_somewhere(document: str) -> None:
    """Every relative link is a file or folder of the project."""
    targets = [target for target in links(read(document)) if not target.startswith("https://")]
    home = (ROOT / document).parent
    lost = [target for target in targets if not (home / target.split("#")[0]).exists()]
    lost += [
        target for target in targets if "#" in target and not _has_heading(home, document, target)
    ]
    assert lost == []


def _has_heading(home: Path, document: str, target: str) -> bool:
    file, _, anchor = target.partition("#")
    text = (home / file if file else ROOT / document).read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    return anchor in {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_exist(document: str) -> None:
    """Every path set as code is there, from the root or from one of the packages."""
    spans = {span for span in code_spans(read(document)) if _PATH.fullmatch(span)} - set(_NOT_HERE)
    assert [span for span in sorted(spans) if not _exists(span)] == []


def _exists(path: str) -> bool:
    homes = (ROOT, ROOT / "asyncguard", ROOT / "benchmark", ROOT / "benchmark/asyncguard_benchmark")
    return any((folder / path).exists() for folder in homes)


@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_commands_work_as_written(command: str) -> None:
    """Their targets, scripts and options exist."""
    words = shlex.split(command, comments=True)
    match words:
        case ["make", *targets]:
            known = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
            assert set(targets) <= set(known)
        case ["asyncguard", name, *rest]:
            if rest:
                _COMMAND_LINES[name](rest)
        case ["npm", "--prefix", folder, *rest]:
            scripts = json.loads((ROOT / folder / "package.json").read_text())["scripts"]
            assert rest == ["install"] or (rest[0] == "run" and rest[1] in scripts)
        case ["langgraph", "dev"]:
            assert (ROOT / "langgraph.json").exists()
        case ["pip" | "inspect", *_]:
            _check_foreign_program(words)
        case ["export", assignment]:
            assert assignment.startswith("ASYNCGUARD_JOURNAL=")
        case _:
            file = _file_of(words)
            there = any((folder / file).exists() for folder in (ROOT, ROOT / "benchmark"))
            assert there or file in _WRITTEN_BY_PAGES, f"unknown command: {command!r}"


def _check_foreign_program(words: list[str]) -> None:
    """Check what the arguments of another project's program name of ours."""
    match words:
        case ["pip", "install", what]:
            extras = what.removeprefix("asyncguard").removeprefix(".").strip("[]").split(",")
            assert what in _FOREIGN_PACKAGES or set(extras) <= set(_EXTRAS)
        case ["pip", "download", "--no-deps", pinned]:
            name, _, version = pinned.partition("==")
            assert name == "bfcl-eval"
            assert version in RELEASES
        case ["inspect", "eval", task, *options]:
            named = {task, *(word for before, word in pairwise(options) if before == "--solver")}
            inspected = (ROOT / _INSPECT_TASKS).read_text() + (ROOT / _INSPECT_SOLVERS).read_text()
            ours = re.findall(r"^def (\w+)\(", inspected, re.MULTILINE)
            assert named <= {f"asyncguard_benchmark/{each}" for each in ours}
        case _:
            assert words == ["inspect", "view", "--log-dir", "logs"]


def _file_of(words: list[str]) -> str:
    """Return the file that a command line runs or tests."""
    match words:
        case ["python" | ".venv/bin/python", "-m", module, *_]:
            path = module.replace(".", "/")
            package = (ROOT / "benchmark" / path).is_dir()
            return f"{path}/__main__.py" if package else f"{path}.py"
        case ["python" | ".venv/bin/pytest", path, *_] | ["bash", path]:
            return path
        case _:
            return "no such file"


def test_options_that_are_named_exist() -> None:
    """Options that the README names without their command stand in the help of one."""
    parsers = [
        trace_parser(),
        view_parser(),
        deliver_parser(),
        worker_parser(),
        *_choices(ledger_parser()).values(),
        *_choices(bench_parser()).values(),
    ]
    text = "".join(parser.format_help() for parser in parsers)
    named = {span for span in code_spans(guides()) if span.startswith("--")} - {"--help"}
    assert named
    assert [option for option in sorted(named) if option not in text] == []


def test_every_subcommand_of_the_benchmark_is_named() -> None:
    """The benchmark's README lists what `asyncguard bench` can do, and no more."""
    helped = re.findall(r"^    ([\w-]+)(?: {2,}|$)", bench_parser().format_help(), re.MULTILINE)
    listed = re.search(
        r"`asyncguard bench` \(((?:`[\w-]+`, )*`[\w-]+`)\)", read("benchmark/README.md")
    )
    assert listed is not None
    assert re.findall(r"`([\w-]+)`", listed[1]) == helped


@pytest.mark.parametrize("document", DOCUMENTS)
def test_dotted_names_can_be_imported(document: str) -> None:
    """A module or attribute of the package that is named is there."""
    for span in code_spans(read(document)):
        if _DOTTED.fullmatch(span) and span != GROUP:
            _resolve(span.removesuffix("()"))


def _resolve(dotted: str) -> object:
    try:
        return importlib.import_module(dotted)
    except ModuleNotFoundError:
        home, _, name = dotted.rpartition(".")
        return getattr(importlib.import_module(home), name)


def test_names_in_the_readme_are_public() -> None:
    """A class that the README names can be imported from the package, or from where another library keeps it."""
    public = {*asyncguard.__all__, *asyncguard.testing.__all__}
    named = {found[0] for span in code_spans(guides()) if (found := _NAME.match(span))}
    foreign = named - public - {"None", "True", "False"}
    assert [name for name in sorted(foreign) if name not in _FOREIGN] == []
    # The oldest supported release of LangChain has not all of its middleware.
    for name in foreign - {row.name for row in MIDDLEWARE if row.kind is None}:
        assert hasattr(importlib.import_module(_FOREIGN[name]), name)


def test_extras_are_the_ones_that_the_package_has() -> None:
    """The README names every extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    paragraph = next(part for part in read("README.md").split("\n\n") if part.startswith("Extras:"))
    assert [name for name in project["optional-dependencies"] if f"`{name}`" not in paragraph] == []


def test_versions_are_the_ones_that_the_package_needs() -> None:
    """Python and LangGraph, as pyproject.toml has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    langgraph = next(item for item in project["dependencies"] if item.startswith("langgraph>"))
    assert f"`{langgraph}`" in guides()
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in read("README.md")


def test_the_number_of_remembered_calls_is_said_truly() -> None:
    """The README states how far back a fork finds an effect within one process."""
    assert f"the last {attempt_registry._KEPT} that ended" in " ".join(guides().split())


def test_the_changelog_has_the_version() -> None:
    """The version of the package has a section."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert re.search(rf"^## \[?{re.escape(version)}\]?", read("CHANGELOG.md"), re.MULTILINE)


def test_the_folder_map_has_every_package() -> None:
    """docs/architecture.md says of every folder of the package what it is for, and of no other."""
    folders = {
        path.name for path in (ROOT / "asyncguard").iterdir() if (path / "__init__.py").exists()
    }
    listed = {row[0].strip("`/") for row in rows(read("docs/architecture.md"), "folder")}
    assert folders == {name for name in listed if (ROOT / "asyncguard" / name).is_dir()}


def test_layers_are_the_ones_that_are_enforced() -> None:
    """The layers stand in docs/architecture.md in the order in which the import contract has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    expected = " > ".join(layer.replace(" : ", ", ").replace(" | ", ", ") for layer in layers)
    assert expected in read("docs/architecture.md")


def test_the_reference_has_every_public_name() -> None:
    """Each public name stands on the reference page once, and no other; the test kit stands there as a whole."""
    page = read("docs/reference.md")
    listed = re.findall(r"^\.\. auto(?!module)\w+:: asyncguard\.(\w+)$", page, re.MULTILINE)
    assert ".. automodule:: asyncguard.testing\n   :members:\n   :imported-members:\n" in page
    assert sorted(listed) == sorted(set(asyncguard.__all__) - {"__version__"})


def test_the_site_has_every_page() -> None:
    """A page that the index does not list cannot be found by a reader of the site."""
    index = read("docs/index.md")
    listed = index[index.index("{toctree}") :].split()
    pages = {Path(page).stem for page in PAGES if page.startswith("docs/")} - {"index"}
    assert sorted(pages - set(listed)) == []
