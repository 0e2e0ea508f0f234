"""The demo: a small ablation that shows what matters, and sweeps plausible guesses."""

import json
from pathlib import Path

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.ablation.findings import Findings, Study, read_findings
from asyncguard_benchmark.harness.arms import ALL, NONE
from asyncguard_benchmark.harness.campaign import Cell, Condition, play
from asyncguard_benchmark.harness.journal import Journal
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.report.chapters.summary import SIMULATED
from asyncguard_benchmark.suites.asynctool import sceptic
from asyncguard_benchmark.suites.asynctool.commands import demo
from asyncguard_benchmark.suites.asynctool.suite import AGENTS
from tests.benchmark.builders import compose
from tests.benchmark.pages import Element, data_of

GUARD_OF = {
    "eager": "grounding",
    "neglectful": "completion",
    "confused": "scope",
    "forgetful": "duplicate",
    "malformed": "arguments",
}
"""The mistake of each agent is the case of one guard."""


def test_the_sweep_asks_both_front_and_back() -> None:
    """Each share of guesses without guards, and with all guards of both kinds of tools; agents are known by name."""
    composition = compose("fs-01", "tb-01")
    cells = sceptic.cells_of([composition], sceptic.guessing(sceptic.RATES, sceptic.BATCH_RATES))
    asked = {
        (each.condition.agent.label, each.condition.arm, each.condition.declared) for each in cells
    }
    assert len(asked) == len(cells) == 6 * 3
    assert {(arm, declared) for _, arm, declared in asked} == {
        (NONE, True),
        (ALL, True),
        (ALL, False),
    }
    price = sceptic.demo_cells([composition])[len(cells) :]
    assert [each.condition.agent.label for each in price[::2]] == list(sceptic.HONEST)
    assert {*sceptic.HONEST, sceptic.EAGER, sceptic.EAGER_BATCH} <= set(AGENTS)
    assert set(demo.AGENTS) <= set(AGENTS)
    assert set(demo.AGENTS) == {*GUARD_OF, "oracle"}


def study_of(findings: Findings, agent: str) -> Study:
    """The study of an agent under delay."""
    (found,) = [
        each
        for each in findings.studies
        if (each.setup.agent, each.setup.regime) == (agent, "fixed1")
    ]
    return found


@pytest.mark.slow(seconds=55)
def test_the_demo_shows_what_each_guard_is_worth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each agent is caught by its guard, the oracle loses nothing, and the report holds all of it."""
    folder = tmp_path / "demo-report"
    assert main(["demo", "--out", str(folder), "--jobs", "1", "--every", "40"]) == 0
    said = capsys.readouterr().out
    assert "[bold]" not in said
    assert " ".join(SIMULATED.split()) in " ".join(said.split())
    assert said.split()[-4:] == [
        str(folder / name) for name in ("index.html", "report.md", "findings.json", "episodes")
    ]
    findings = read_findings(folder / "findings.json")
    for agent, guard in GUARD_OF.items():
        study = study_of(findings, agent)
        assert study.shapley is not None
        shares = {each.switch: each.value.value for each in study.shapley.values}
        effect = study.effect(ALL, NONE)
        assert effect is not None
        assert shares[guard] == max(shares.values()), agent
        assert effect.difference.value >= 0, agent
    oracle = study_of(findings, "oracle")
    assert {
        arm.overall.value for arm in oracle.arms if arm.overall is not None and arm.arm != "sham"
    } == {100}
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert len(Element().read(page).tables) > 10
    assert len(data_of(page)["compositions"]) == 3 + 3  # three more have independent steps
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert "## Plausible guesses" in report
    assert "Eager agent, overall by share of such guesses" in said


@pytest.mark.slow
def test_the_demo_speaks_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Findings, the sweep and the files, as one object."""
    monkeypatch.setattr(demo, "AGENTS", ("eager",))
    assert main(["demo", "--out", str(tmp_path), "--jobs", "1", "--json", "--every", "200"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["findings"]["settings"]["compositions"] == 1
    assert len(told["sweep"]) == 6 * 3 + 3 * 2
    assert all(Path(each).exists() for each in told["files"])


@pytest.mark.slow
def test_the_demo_deletes_no_episode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files of the folder stay as they are; a second run plays only what they lack, and finds the same."""
    monkeypatch.setattr(demo, "AGENTS", ("eager",))
    command = ["demo", "--out", str(tmp_path), "--jobs", "1", "--json", "--every", "200"]
    composition = compose("fs-01", "tb-01")
    condition = Condition(agent=AgentSpec(kind="oracle"), player="plain")
    played = tmp_path / "episodes" / "paid.jsonl"
    with Journal(played) as journal:
        journal.add(play(Cell(composition=composition, condition=condition)).episode)
    paid = played.read_bytes()
    assert main(command) == 0
    first = json.loads(capsys.readouterr().out)
    files = {path: path.read_bytes() for path in (tmp_path / "episodes").iterdir()}
    assert files.pop(played) == paid
    sweep = tmp_path / "episodes" / "sweep.jsonl"
    lines = files[sweep].splitlines(keepends=True)
    sweep.write_bytes(b"".join(lines[:-1]))
    assert main(command) == 0
    said = capsys.readouterr()
    second = json.loads(said.out)
    assert second["findings"] == first["findings"]
    assert [{**row, "seconds": 0} for row in second["sweep"]] == [
        {**row, "seconds": 0} for row in first["sweep"]
    ]
    assert {path: path.read_bytes() for path in files} == files
    assert "are in" in said.err
