"""Right calls that guards refuse: the command, and the agent that works values out ahead."""

import json
from pathlib import Path

import pytest

from asyncguard_benchmark import Regime, Surface, run_episode, score
from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.schedulers import ParallelAgent
from asyncguard_benchmark.harness.scoring.false_blocks import proposals_of
from asyncguard_benchmark.suites.asynctool.agents.foreseeing import ForeseeingAgent
from asyncguard_benchmark.suites.asynctool.harm import compositions_of
from tests.benchmark.builders import SAMPLE, compose, gold, played

HARM = ["harm", "--suites", "wild,independent", "--every", "14", "--jobs", "1"]


def test_refused_right_calls_have_their_denominators(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every guard and basis is told, refusals never exceed right calls, and a second run plays nothing."""
    command = [*HARM, "--agents", "parallel,foreseeing", "--out", str(tmp_path), "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)["sets"]
    saved = (tmp_path / "wild.jsonl").read_bytes()
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["sets"] == found
    assert (tmp_path / "wild.jsonl").read_bytes() == saved
    refused = 0
    for harms in found.values():
        assert {each["agent"] for each in harms} == {"parallel", "foreseeing"}
        for harm in harms:
            blocks = {(each["basis"], each["guard"]): each for each in harm["blocks"]}
            assert all(each["refused"] <= each["right"] for each in blocks.values())
            assert all((each["share"] is None) == (not each["right"]) for each in blocks.values())
            guards = [each for (basis, guard), each in blocks.items() if guard != "any"]
            refused += sum(each["refused"] for each in guards if each["basis"] != "early, all")
            assert harm["unguarded"]["value"] == harm["guarded"]["value"] == 100
    assert refused > 0
    assert main([*command[:-1], "--suites", "wild"]) == 0
    said = capsys.readouterr().out
    assert "wild: right calls refused" in said
    assert "wild: what all guards cost" in said


def test_a_set_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """With the sets that there are."""
    with pytest.raises(SystemExit):
        main(["harm", "--suites", "tame"])
    assert "'tame': choose from wild, main" in capsys.readouterr().err


@pytest.mark.parametrize("regime", [Regime.FIXED1, Regime.RANDOM12])
def test_the_foreseeing_agent_calls_early_and_is_right(regime: Regime) -> None:
    """It solves what the parallel agent solves, makes only gold calls, and makes some of them ahead of a result."""
    ahead = 0
    for composition in (*SAMPLE[::4], *compositions_of("wild")[::6]):
        plan = plan_of(composition)
        episode, other = (
            run_episode(composition, maker(plan=plan), regime, Surface.TEXT, seed=0)
            for maker in (ForeseeingAgent, ParallelAgent)
        )
        assert score(episode).overall
        assert len(episode.trajectory) == composition.gold_calls
        assert score(other).overall
        needed = [
            sum(task.premature_needed for task in score(e).sub_tasks) for e in (episode, other)
        ]
        assert needed[1] == 0
        ahead += needed[0]
    assert ahead > 5


def test_a_conversation_is_needed() -> None:
    """Calls that were refused stand nowhere else."""
    with pytest.raises(ValueError, match="was not kept"):
        proposals_of(played(compose("fs-01", "tb-01"), gold("fs-01")))
