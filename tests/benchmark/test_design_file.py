"""The published design: it is frozen, played as it says, resumed, and written into one document."""

import json
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.ablation import design_file
from asyncguard_benchmark.harness.ablation import units as units_module
from asyncguard_benchmark.harness.ablation.design_file import (
    FrozenError,
    check_frozen,
    code_digest,
    read_design,
)
from asyncguard_benchmark.harness.arms import ALL, NONE, SHAM
from asyncguard_benchmark.harness.campaign import Cell, Played
from asyncguard_benchmark.harness.players.refusals import Refuser
from tests.docs.markdown import ROOT

SHIPPED = ROOT / "benchmark" / "design.json"
_ARMS = ["none", "sham", "features", "all"]


def small(**more: Any) -> dict[str, Any]:
    """A design of two blocks of few compositions."""
    whole: dict[str, Any] = json.loads(SHIPPED.read_text(encoding="utf-8"))
    one = {"why": "small", "suite": "lite", "every": 60, "arms": _ARMS}
    blocks = [
        {**one, "name": "eager", "agents": ["eager"]},
        {**one, "name": "two", "agents": ["persona:gpt-4o", "persona:gpt-5"], "every": 120},
    ]
    headlines = [
        {"name": "eager", "why": "it guesses", "block": "eager", "agent": "eager"},
        {"name": "two personas", "why": "many errors", "block": "two", "agent": "personas, pooled"},
        {
            "name": "recorded",
            "why": "real",
            "recorded": [str(ROOT / "examples" / "recorded_runs.jsonl")],
            "tools": str(ROOT / "examples" / "recorded_tools.json"),
        },
        {"name": "foreign", "why": "other authors", "elsewhere": "elsewhere.md has them"},
    ]
    return {**whole, "blocks": blocks, "headlines": headlines, "tables": [], **more}


def smallest(**more: Any) -> dict[str, Any]:
    """A design of one block of one composition."""
    design = small(**more)
    block = {**design["blocks"][0], "every": 120}
    return {**design, "blocks": [block], "headlines": design["headlines"][:1]}


def written(folder: Path, design: dict[str, Any]) -> Path:
    """Return the file of a design that is frozen."""
    path = folder / "design.json"
    path.write_text(json.dumps(design), encoding="utf-8")
    assert main(["results", "--design", str(path), "--freeze"]) == 0
    return path


def test_the_shipped_design_holds_what_the_results_claim() -> None:
    """Five seeds, a sham beside all guards for every headline, named agents, personas, recorded and foreign sources."""
    design = read_design(SHIPPED)
    assert len(set(design.seeds)) >= 5
    assert design.reach == 3.0
    plans = {block.name: plan for block, plan in design.designs()}
    scored = [each for each in design.headlines if each.block]
    assert {"eager", "neglectful", "confused", "forgetful", "personas, pooled"} <= {
        each.agent for each in scored
    }
    assert any(each.recorded for each in design.headlines)
    assert any(each.elsewhere for each in design.headlines)
    for each in scored:
        plan = plans[each.block]
        assert {ALL, SHAM, NONE} <= set(plan.arms)
        assert tuple(plan.seeds) == design.seeds
        labels = [agent.label for agent in plan.agents]
        assert each.agent in labels or (each.agent == "personas, pooled" and len(labels) == 19)
        assert not each.band or plans[each.band].compliance
    assert set(design.sources) == {"agents", "tasks", "compositions"}


def test_every_frozen_file_is_there() -> None:
    """The patterns find the agents that are played, their rates, all tasks and the compositions."""
    design = read_design(SHIPPED)
    names = {name for files in design.frozen.values() for name in files}
    assert {
        "suites/asynctool/agents/eager.py",
        "suites/asynctool/agents/personas/policy.py",
        "harness/agents/schedulers.py",
        "data/personas.json",
        "data/tasks_dm.json",
        "data/compositions.json",
    } <= names


def test_a_changed_agent_is_not_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command names each file that differs, plays nothing, and says how to freeze the design again."""
    path = written(tmp_path, small())
    check_frozen(read_design(path), path)
    value = json.loads(path.read_text(encoding="utf-8"))
    frozen = value["frozen"]
    frozen["agents"]["suites/asynctool/agents/eager.py"] = "0" * 12
    frozen["tasks"]["data/tasks_old.json"] = "0" * 12
    del frozen["compositions"]["data/compositions.json"]
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(FrozenError, match="--freeze"):
        check_frozen(read_design(path), path)
    capsys.readouterr()
    command = ["results", "--design", str(path), "--runs", str(tmp_path / "runs")]
    assert main([*command, "--out", str(tmp_path / "R.md")]) == 1
    said = capsys.readouterr().err
    for text in (
        "agents: suites/asynctool/agents/eager.py has changed",
        "tasks: data/tasks_old.json is gone",
        "compositions: data/compositions.json is new",
    ):
        assert text in said
    assert not (tmp_path / "runs").exists()
    assert not (tmp_path / "R.md").exists()
    assert main([*command, "--freeze"]) == 0
    assert "eager.py has changed" in capsys.readouterr().out
    check_frozen(read_design(path), path)


def test_a_design_that_is_not_there_is_no_missing_ablation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Outside of a clone the default names no file; a missing ablation is told as before."""
    monkeypatch.chdir(tmp_path)
    assert main(["results", "--dry-run"]) == 1
    assert "no design at 'benchmark/design.json'; name one by --design" in capsys.readouterr().err
    assert main(["results", "nothing", "--out", "R.md"]) == 1
    assert "no ablation at 'nothing" in capsys.readouterr().err


def test_what_is_wrong_in_a_design_is_said(tmp_path: Path) -> None:
    """Unknown fields, too few seeds and blocks that are not there."""
    path = tmp_path / "design.json"
    headline = {"name": "x", "why": "y"}
    for change, words in (
        ({"seeds": [0, 1]}, "seeds"),
        ({"secret": 1}, "secret"),
        ({"headlines": [{**headline, "block": "nothing"}]}, "no block 'nothing'"),
        ({"headlines": [headline]}, "neither block"),
    ):
        path.write_text(json.dumps(small(**change)), encoding="utf-8")
        with pytest.raises(DataError, match=words):
            read_design(path)


@pytest.mark.slow
def test_a_design_is_played_resumed_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its time is said first; a second run plays nothing; the document begins with the headlines of the design."""
    path, out = written(tmp_path, small()), tmp_path / "RESULTS.md"
    command = [
        "results",
        "--design",
        str(path),
        "--runs",
        str(tmp_path / "runs"),
        "--out",
        str(out),
    ]
    rest = ["--jobs", "1", "--resamples", "20"]
    assert main([*command, *rest, "--dry-run"]) == 0
    said = capsys.readouterr().err
    assert "eager: 10 of 10 units are to be played, about" in said
    assert "all of it: about" in said
    assert not out.exists()
    assert main([*command, *rest]) == 0
    text = out.read_text(encoding="utf-8")
    assert text.startswith("# Results\n\n| source")
    table = text.split("\n\n")[1].splitlines()
    assert [line.split(" | ")[0].strip("| ") for line in table[2:]] == [
        "eager",
        "two personas",
        "recorded",
        "foreign",
    ]
    assert "10 of 10 recorded calls pass all guards" in table[4]
    assert "elsewhere.md has them" in table[5]
    assert "(RESULTS.svg)" in text
    assert (tmp_path / "RESULTS.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "- two personas: many errors" in text

    def nothing(cell: Cell) -> Played:
        raise AssertionError(f"{cell.condition.arm} is played again")

    monkeypatch.setattr(units_module, "play", nothing)
    capsys.readouterr()
    assert main([*command, *rest]) == 0
    assert "eager: 0 of 10 units are to be played, about 0.0 minutes" in capsys.readouterr().err
    assert out.read_text(encoding="utf-8") == text


@pytest.mark.slow
def test_tables_of_other_commands_are_played_and_stand_in_the_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Splits of episodes, the grid of hazards and refused right calls; a second run plays none of them again."""
    tables = [
        {
            "name": "splits",
            "why": "small",
            "commands": [
                "run --suite lite --compositions S2-00 --agents eager --arms none,all --players graph",
                "run --suite lite --compositions S2-00 --agents eager --arms none,all --players graph --few-shot",
            ],
            "facets": ["kind", "few-shot"],
            "minutes": 0.1,
        },
        {
            "name": "hazards",
            "why": "grid",
            "commands": [
                "hazards run --agents naive --players graph --arms none,all --domains weather --quick"
            ],
            "minutes": 0.1,
        },
        {
            "name": "harm",
            "why": "refusals",
            "commands": ["harm --suites lite --agents foreseeing --every 60"],
            "minutes": 0.1,
        },
    ]
    path, out = written(tmp_path, smallest(tables=tables)), tmp_path / "RESULTS.md"
    command = ["results", "--design", str(path), "--runs", str(tmp_path / "runs")]
    command += ["--out", str(out), "--jobs", "1", "--resamples", "20"]
    capsys.readouterr()
    assert main(command) == 0
    told = capsys.readouterr()
    assert "tables of hazards: 0.1 minutes if nothing of it is played yet" in told.err
    assert "rounds on success" not in told.out, (
        "the tables of the commands are not for the terminal"
    )
    text = out.read_text(encoding="utf-8")
    for title in (
        "## By kind",
        "## With an example in the prompt, and without",
        "success by hazard and workflow (runs)",
        "## lite: right calls refused",
    ):
        assert title in text, title
    assert f"`asyncguard bench {tables[1]['commands'][0]}`: grid." in text
    saved = {each: each.read_bytes() for each in (tmp_path / "runs").rglob("*.jsonl")}
    assert main(command) == 0
    assert {each: each.read_bytes() for each in saved} == saved
    assert out.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "wrong",
    [
        {"commands": ["run --suite lite"]},
        {"commands": ["score x"], "facets": ["kind"]},
        {"commands": ["harm"], "facets": ["kind"]},
        {"commands": ["harm", "hazards run"]},
    ],
)
def test_tables_that_no_command_makes_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    """A command without tables, or facets where they mean nothing, is told before anything is played."""
    path = tmp_path / "design.json"
    table = {"name": "odd", "why": "wrong", "minutes": 1, **wrong}
    path.write_text(json.dumps(small(tables=[table])), encoding="utf-8")
    with pytest.raises(DataError, match=r"odd.*make no tables; these do: run \(with facets\), "):
        read_design(path)


@pytest.mark.slow
def test_a_broken_sham_is_no_headline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sham that lets everything pass gives no figure in the first table, and the command fails."""
    path, out = written(tmp_path, smallest()), tmp_path / "RESULTS.md"
    monkeypatch.setattr(Refuser, "__call__", lambda self, tool: None)
    command = [
        "results",
        "--design",
        str(path),
        "--runs",
        str(tmp_path / "runs"),
        "--out",
        str(out),
    ]
    assert main([*command, "--jobs", "1", "--resamples", "20"]) == 1
    assert "there is no control: eager" in capsys.readouterr().err
    assert "| eager | the sham did not do its work: no control |" in out.read_text(encoding="utf-8")


def test_other_code_has_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The digest of the code changes with a file of the library, and is the same if nothing does."""
    import asyncguard

    before = code_digest()
    assert before == code_digest()
    (tmp_path / "guard.py").write_text("x = 1\n", encoding="utf-8")
    monkeypatch.setattr(asyncguard, "__file__", str(tmp_path / "__init__.py"))
    changed = code_digest()
    (tmp_path / "guard.py").write_text("x = 2\n", encoding="utf-8")
    assert len({before, changed, code_digest()}) == 3


@pytest.mark.parametrize(
    "name", ["data/tasks.json", "suites/missions/data/mail.json", "suites/hazards/data/a/b.json"]
)
def test_other_data_of_any_suite_has_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """The digest changes with the data of each suite, wherever it lies in the package."""
    monkeypatch.setattr(design_file, "PACKAGE", tmp_path)
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text("[1]\n", encoding="utf-8")
    before = code_digest()
    (tmp_path / name).write_text("[2]\n", encoding="utf-8")
    assert before != code_digest()
