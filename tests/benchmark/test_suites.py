"""Suites are found by their folders; a new one, with its agents and services, needs no change of a shipped file."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import asyncguard_benchmark.suites
from asyncguard_benchmark.commands import main
from asyncguard_benchmark.commands.options import parser
from asyncguard_benchmark.errors import DataError, UnknownNameError
from asyncguard_benchmark.harness.loading import sub_task_from_json, sub_task_to_json
from asyncguard_benchmark.harness.registry import AgentSpec, agent_class
from asyncguard_benchmark.harness.suites import BenchmarkSuite, BrokenSuiteError, Registry, registry
from asyncguard_benchmark.services.catalogue import toolset_of, toolsets
from asyncguard_benchmark.suites.asynctool.agents.personas.shipped import shipped_personas
from asyncguard_benchmark.suites.asynctool.suite import PERSONA_NAMES
from tests.benchmark.builders import LITE

ROOT = Path(__file__).parents[2]
TOY = Path(__file__).parent / "toy_suite"
SCRIPT = """
import contextlib, io, json, sys
from asyncguard_benchmark.commands import main
from asyncguard_benchmark.commands.options import parser
said = {}
for line in sys.stdin.read().splitlines():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert main(line.split()) == 0, line
    said[line.split(" -")[0]] = out.getvalue()
print(json.dumps(said))
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder beside `suites`, whose folders are suites for as long as a test runs."""
    monkeypatch.setattr(
        asyncguard_benchmark.suites,
        "__path__",
        [*asyncguard_benchmark.suites.__path__, str(tmp_path)],
    )
    registry.cache_clear()
    yield tmp_path
    registry.cache_clear()
    for name in [each for each in sys.modules if "suites.stranger" in each]:
        del sys.modules[name]


def written(place: Path, text: str) -> None:
    """A suite of one file."""
    folder = place / "stranger"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "suite.py").write_text(
        f"from asyncguard_benchmark.harness.suites import BenchmarkSuite\n{text}\n"
    )


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_suite_in_a_temporary_folder_is_listed_played_scored_and_reported(
    tmp_path: Path, jobs: int
) -> None:
    """The whole of it: service, tasks, agents, scorer, chapter and command, from one folder on the path."""
    shutil.copytree(TOY, tmp_path / "asyncguard_benchmark" / "suites" / "toy")
    commands = (
        "greet",
        "list suites --json",
        "list agents --json",
        "list tasks --json",
        f"run --suite greetings --arms none,all --jobs {jobs} --out toy.jsonl --json",
        "score toy.jsonl --json",
        "report toy.jsonl --out toy.html",
        "export toy.jsonl --format csv --out toy.csv",
    )
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input="\n".join(commands),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT), str(ROOT / "benchmark")]),
        },
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["greet"] == "hello\n"
    suites = json.loads(said["list suites"])["suites"]
    assert [each["name"] for each in suites] == [
        "asynctool",
        "bfcl",
        "bfcl_missions",
        "hazards",
        "missions",
        "nestful",
        "toolbench_x",
        "toy",
    ]
    assert "Agent that greets everybody." in said["list agents"]
    assert '"toy-b1"' in said["list tasks"]
    episodes = [json.loads(line) for line in (tmp_path / "toy.jsonl").read_text().splitlines()]
    played = [each["agent"] for each in episodes if "agent" in each]
    assert sorted(set(played)) == ["familiar", "polite"]
    rows = json.loads(said["score toy.jsonl"])["conditions"]
    # AsyncTool's scorer would miss the calls of the look-up.
    assert [row["overall"]["value"] for row in rows] == [100] * 4
    page = (tmp_path / "toy.html").read_text()
    assert f"{len(played)} episodes at the door." in page
    assert "GR door" in page
    assert len((tmp_path / "toy.csv").read_text().splitlines()) > len(played)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the folder suites/stranger is not a suite: .* must define SUITE"),
        ("SUITE = 1", "the folder suites/stranger is not a suite"),
        ("1 / 0", "the suite stranger cannot be loaded: division by zero"),
        ("SUITE = BenchmarkSuite(sumary='x')", "stranger cannot be loaded: .*sumary"),
        ("SUITE = BenchmarkSuite(summary='', sets=('a',))", "stranger has sets and no composit"),
        ("SUITE = BenchmarkSuite(summary='', toolsets={'A': '.a:B'})", "toolsets and no score"),
    ],
)
def test_a_folder_that_is_not_a_suite_is_named(place: Path, text: str, complaint: str) -> None:
    """The error says which folder, and what it lacks."""
    written(place, text)
    with pytest.raises(BrokenSuiteError, match=complaint):
        registry()


def test_the_command_line_says_which_suite_is_broken(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ends with a message and no traceback."""
    written(place, "raise ImportError('no such thing')")
    assert main(["list", "arms"]) == 1
    assert capsys.readouterr().err == (
        "asyncguard bench: the suite stranger cannot be loaded: no such thing\n"
    )


def test_the_command_line_is_made_again_for_other_suites(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands of a suite are there after it was found, and gone after it is gone."""
    assert parser() is parser()
    written(
        place,
        """
def add(commands):
    commands.add_parser("strange").set_defaults(module="asyncguard_benchmark.commands.listing")

SUITE = BenchmarkSuite(summary='', commands=('.suite:add',))""",
    )
    for there in (True, False):
        registry.cache_clear()
        with pytest.raises(SystemExit) as ended:
            main(["strange", "--help"])
        assert (ended.value.code == 0) is there
        shutil.rmtree(place / "stranger", ignore_errors=True)


def test_a_reference_that_leads_nowhere_is_named_when_it_is_used(place: Path) -> None:
    """A suite with one broken agent can be listed; the agent cannot be made."""
    written(
        place,
        "SUITE = BenchmarkSuite(summary='', agents={'lost': '.nowhere:Agent', 'odd': 'json:dumps'})",
    )
    assert "lost" in registry().all_agents
    with pytest.raises(BrokenSuiteError, match=r"stranger names '\.nowhere:Agent', which cannot"):
        agent_class("lost")
    with pytest.raises(UnknownNameError, match="odd is not a SpeakingAgent"):
        agent_class("odd")


@pytest.mark.parametrize(
    ("named", "ask"),
    [
        ("agent 'oracle'", lambda found: found.all_agents),
        ("category 'DM'", lambda found: found.categories),
        ("set of compositions 'main'", lambda found: found.sets),
    ],
)
def test_two_suites_with_one_name_are_refused(
    named: str, ask: Callable[[Registry], object]
) -> None:
    """Whatever is named on a command line or in a file leads to one suite."""
    first = registry().suite("asynctool")
    with pytest.raises(BrokenSuiteError, match=f"asynctool and twin both have the {named}"):
        ask(Registry({"asynctool": first, "twin": replace(first, name="twin")}))


def test_unknown_names_are_answered_by_those_there_are() -> None:
    """Of suites, categories, sets and agents."""
    with pytest.raises(UnknownNameError, match="no suite 'x'; there are asynctool, bfcl, "):
        registry().suite("x")
    with pytest.raises(UnknownNameError, match="no category 'XX'; there are DM, FS"):
        toolset_of("XX")
    with pytest.raises(UnknownNameError, match="no set of compositions 'x'; there are main, four"):
        registry().suite_of_set("x")
    with pytest.raises(UnknownNameError, match="no agent 'x'; there are oracle, serial"):
        AgentSpec(kind="x").make(LITE[0], 0)
    task = sub_task_to_json(LITE[0].sub_tasks[0])
    with pytest.raises(DataError, match="no category 'XX'"):
        sub_task_from_json({**task, "category": "XX"}, "here")


def test_every_reference_of_the_shipped_suites_leads_to_something() -> None:
    """Toolsets bear the categories under which they are named, and personas are those that were fitted."""
    assert {code: each.category.value for code, each in toolsets().items()} == {
        code: code for code in registry().categories
    }
    for suite in registry().suites.values():
        for reference in _references(suite):
            assert suite.load(reference) is not None
    assert len(registry().fault_modes) > 30
    assert {f"persona:{name}" for name in shipped_personas().ensembles} == set(PERSONA_NAMES)


def _references(suite: BenchmarkSuite) -> list[str]:
    single = (suite.compositions, suite.tasks, suite.score, suite.example, suite.fault_modes)
    single = (*single, suite.persona_note)
    many = (*suite.agents.values(), *suite.personas.values(), *suite.chapters, *suite.commands)
    return [each for each in (*single, *many) if each]


def test_the_registry_loads_no_agent_and_no_tool() -> None:
    """Help and checks of names import no part of a suite."""
    code = (
        "import sys; from asyncguard_benchmark.harness.suites import registry as r; r().all_agents; r().sets\n"
        "print([n for n in sys.modules if '.agents' in n or '.services.' in n or 'langchain_core' in n])"
    )
    path = os.pathsep.join([str(ROOT), str(ROOT / "benchmark")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout == "[]\n", done.stderr
