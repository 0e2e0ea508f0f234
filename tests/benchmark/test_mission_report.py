"""The page of played missions, and the published design: frozen, played as it says, written as one document."""

import json
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.ablation.design_file import check_frozen
from asyncguard_benchmark.harness.report.blocks import HeatMap, Panels, Table
from asyncguard_benchmark.suites.missions.commands.joint import joint_chapter
from asyncguard_benchmark.suites.missions.design import read_mission_design
from asyncguard_benchmark.suites.missions.played_rows import read_joint, read_played
from asyncguard_benchmark.suites.missions.report_chapters import (
    Conditions,
    Judged,
    conditions_of,
    episodes,
    rates,
    routes,
    trajectories,
)
from asyncguard_benchmark.suites.missions.scorers.verdict import judge
from tests.docs.markdown import ROOT

SHIPPED = ROOT / "benchmark" / "design-missions.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An ablation of the agent that writes stand-ins, in one dialogue with a mission of each letter."""
    out = tmp_path_factory.mktemp("ablation")
    command = ["missions", "ablate", "--agents", "stand-in,oracle", "--arms", "none,all", "--json"]
    command += ["--patterns", "mcsc", "--challenges", "c2,c3", "--jobs", "1", "--out", str(out)]
    assert main(command) == 0
    return out


@pytest.fixture(scope="module")
def conditions(folder: Path) -> Conditions:
    """Its runs by condition."""
    rows = read_played(folder / "missions.jsonl")
    return conditions_of(Judged(row, judge(row.entry)) for row in rows)


def test_the_page_holds_every_chapter_and_what_the_ablation_found(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rates, routes, four outcomes, the frontier, and the studies of the findings stand in one file."""
    page = folder / "page" / "missions.html"
    capsys.readouterr()
    assert main(["missions", "report", str(folder), "--out", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["missions"] == 24
    text = page.read_text(encoding="utf-8")
    for anchor in ("rates", "splits", "routes", "trajectories", "frontier", "method"):
        assert f'<section id="{anchor}">' in text
    assert "http://" not in text.replace("http://www.w3.org", "")


def test_rates_are_those_of_the_runs(conditions: Conditions) -> None:
    """The oracle passes everything, the stand-ins fail under none, and the parts that are the same are not named."""
    (table,) = rates(conditions).blocks
    assert isinstance(table, Table)
    figures = {line[0]: (line[1], line[3]) for line in table.lines}
    assert figures["oracle · none"] == figures["stand-in · all"] == ("100.0", "6")
    assert figures["stand-in · none"] == ("33.3", "6")


def test_routes_are_by_the_letters_before(conditions: Conditions) -> None:
    """Mission c after m is one cell, with both histories; the last letter of four is in the columns."""
    (panels,) = routes(conditions).blocks
    assert isinstance(panels, Panels)
    blocks = panels.choices["stand-in · none"]
    cells = {
        row + column: cell
        for block in blocks
        if isinstance(block, HeatMap)
        for row, line in block.rows
        for column, cell in zip(block.columns, line, strict=True)
        if cell is not None
    }
    assert {name: (cell.value, cell.count) for name, cell in cells.items()} == {
        "mc": (0.0, 2),
        "mcs": (100.0, 2),
        "mcsc": (0.0, 2),
    }


def test_outcomes_of_both_histories_are_paired(conditions: Conditions) -> None:
    """An agent that draws nothing has the same verdict in C2 and C3; without C3 there is no chapter."""
    found = trajectories(conditions)
    assert found is not None
    (panels,) = found.blocks
    assert isinstance(panels, Panels)
    heat = panels.choices["stand-in · none"][0]
    assert isinstance(heat, HeatMap)
    assert [(cell.value, cell.count) for cell in heat.rows[0][1] if cell is not None] == [
        (pytest.approx(100 / 3), 3),
        (0.0, 3),
        (0.0, 3),
        (pytest.approx(200 / 3), 3),
    ]
    texts = {
        name: [each for each in judged if each.row.key.history == "ua"]
        for name, judged in conditions.items()
    }
    assert trajectories(texts) is None


def test_the_frontier_says_where_a_run_left_the_gold(conditions: Conditions) -> None:
    """A stand-in fits nothing and nothing is done; under all guards the same mission goes through to the end."""
    found = episodes(conditions)
    assert found is not None
    (panels,) = found.blocks
    assert isinstance(panels, Panels)
    gold, bare, guarded = next(iter(panels.choices.values()))
    assert isinstance(gold, Table)
    assert isinstance(bare, Table)
    assert isinstance(guarded, Table)
    assert bare.lines[0][2:4] == ("no", "{}")
    assert "failed" in bare.title
    assert [line[2] for line in guarded.lines] == ["yes"] * len(guarded.lines)
    assert guarded.lines[-1][4] == "{}"
    assert guarded.lines[-1][3].count(",") == len(gold.lines) - 1


def test_a_place_without_missions_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says what writes them."""
    assert main(["missions", "report", str(tmp_path)]) == 1
    assert "holds no played mission; `bench missions run`" in capsys.readouterr().err


# -- the published design ----------------------------------------------------------------------------------------------


def _small(folder: Path, **more: Any) -> Path:
    """Write the shipped design with few missions of one block, and freeze it."""
    whole = json.loads(SHIPPED.read_text(encoding="utf-8"))
    block = {**whole["blocks"][0], "every": 301}
    path = folder / "design.json"
    whole |= {"blocks": [block], "headlines": whole["headlines"][:1], **more}
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def _command(path: Path, *more: str) -> list[str]:
    there = ("--runs", str(path.parent / "runs"), "--out", str(path.parent / "R.md"))
    return ["missions", "results", "--design", str(path), *there, "--jobs", "1", *more]


def test_the_shipped_design_is_frozen_and_has_a_control() -> None:
    """Every headline has a sham and what it is compared with; guards that are off by default are beside none."""
    design = read_mission_design(SHIPPED)
    check_frozen(design, SHIPPED)
    assert len(set(design.seeds)) >= 5
    for headline in design.headlines:
        arms = design.block(headline.block).arms
        assert {"none", "sham", "features", "all", "with-provenance", "with-memory"} <= set(arms)
    assert {each.agent for each in design.headlines} == {
        "inventing",
        "forgetful",
        "eager",
        "answers-early",
    }


def test_seeds_play_other_missions_and_arms_the_same() -> None:
    """Each place of a dialogue is played about as often, and all arms of an agent have the same missions."""
    design = read_mission_design(SHIPPED)
    cells = list(design.block("inventing").cells(design.seeds))
    by_arm: dict[str, set[tuple[str, int, int]]] = {}
    for cell in cells:
        case = cell.case
        by_arm.setdefault(cell.arm, set()).add((case.dialogue, case.mission, case.seed))
    first, *others = by_arm.values()
    assert all(each == first for each in others)
    assert len({(dialogue, mission) for dialogue, mission, _ in first}) == len(first)
    places = [sum(mission == k for _, mission, _ in first) for k in range(4)]
    assert max(places) - min(places) <= 5


@pytest.mark.slow
def test_a_design_is_played_resumed_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The document has the headline, its power, and the design; the second run plays nothing and writes the same."""
    path = _small(tmp_path)
    assert main(_command(path, "--dry-run")) == 0
    assert "all of it: about" in capsys.readouterr().err
    assert main(_command(path, "--resamples", "20")) == 0
    text = (tmp_path / "R.md").read_text(encoding="utf-8")
    assert text.startswith("# Results\n\n| source, fixed1 | all - sham |")
    assert "Generated by `make results-missions`" in text
    assert "## Each arm beside none" in text
    assert "| inventing | c |" in text
    capsys.readouterr()
    assert main(_command(path, "--resamples", "20")) == 0
    assert "inventing: 0 of" in capsys.readouterr().err
    assert (tmp_path / "R.md").read_text(encoding="utf-8") == text


def test_nothing_is_played_if_agents_have_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is named, and so is the command that freezes it."""
    whole = json.loads(SHIPPED.read_text(encoding="utf-8"))
    frozen = {**whole["frozen"], "agents": {**whole["frozen"]["agents"]}}
    frozen["agents"]["suites/missions/agents/oracle.py"] = "0"
    path = _small(tmp_path, frozen=frozen)
    assert main(_command(path)) == 1
    said = capsys.readouterr().err
    assert "agents: suites/missions/agents/oracle.py has changed" in said
    assert f"asyncguard bench missions results --design {path} --freeze" in said
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"agents": ["nobody"]}, "'nobody' is none of oracle"),
        ({"arms": ["none", "some"]}, "there is no arm 'some'"),
        ({"challenge": "c9"}, "'c9' is none of c1"),
        ({"agents": ["eager"]}, "there is no block 'inventing' with the agent 'inventing'"),
    ],
)
def test_a_design_of_unknown_names_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], message: str
) -> None:
    """Agents, arms, challenges and blocks are looked up before anything is played."""
    whole = json.loads(SHIPPED.read_text(encoding="utf-8"))
    path = _small(tmp_path, blocks=[{**whole["blocks"][0], **change}])
    assert main(_command(path)) == 1
    assert message in capsys.readouterr().err


def test_the_page_tells_overlapping_missions_alone_and_beside_others(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Runs with --overlap are a chapter of the page, one line a condition, and no chapter is empty without others."""
    file = tmp_path / "overlap.jsonl"
    command = ["missions", "run", "--overlap", "1", "--agents", "oracle", "--arms", "none,all"]
    assert main([*command, "--patterns", "mcsc", "--jobs", "1", "--out", str(file)]) == 0
    page = tmp_path / "page" / "missions.html"
    capsys.readouterr()
    assert main(["missions", "report", str(file), "--out", str(page), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["missions"], said["overlapping"]) == (0, 2)
    text = page.read_text(encoding="utf-8")
    assert "2 runs of overlapping missions from 1 dialogues" in text
    assert '<section id="rates">' not in text

    (tmp_path / "alone.jsonl").write_bytes((folder / "missions.jsonl").read_bytes())
    assert main(["missions", "report", str(tmp_path), "--out", str(page), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["missions"], said["overlapping"]) == (24, 2)
    text = page.read_text(encoding="utf-8")
    assert '<section id="rates">' in text
    assert '<section id="overlap">' in text


def test_the_chapter_of_overlap_has_the_figures_of_its_runs(tmp_path: Path) -> None:
    """A line a condition: the oracle passes all four missions under each arm; a run read twice counts once."""
    file = tmp_path / "overlap.jsonl"
    command = ["missions", "run", "--overlap", "1", "--agents", "oracle", "--arms", "none,all"]
    assert main([*command, "--patterns", "mcsc", "--jobs", "1", "--out", str(file)]) == 0
    rows = list(read_joint(file))
    chapter = joint_chapter([*rows, *rows])
    assert chapter is not None
    (table,) = chapter.blocks
    assert isinstance(table, Table)
    lines = [dict(zip(table.heads, line, strict=True)) for line in table.lines]
    found = {each["arm"]: (each["dialogues"], each["n"], each["SR"]) for each in lines}
    assert found == {"none": ("1", "4", "100.0"), "all": ("1", "4", "100.0")}
    assert joint_chapter([]) is None
