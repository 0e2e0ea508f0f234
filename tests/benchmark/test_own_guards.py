"""A guard of the user's own on the benchmark: one command plays it, and no file or parcel makes a process import it."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from asyncguard.config import GuardConfig
from asyncguard_benchmark.commands import main
from asyncguard_benchmark.errors import BenchmarkError, UnknownNameError
from asyncguard_benchmark.harness.ablation.design import EVERY_ARM, Design
from asyncguard_benchmark.harness.ablation.run import Ablation
from asyncguard_benchmark.harness.arms import ALL, NONE, ArmKind, arm_of, rules_of, with_rules
from asyncguard_benchmark.harness.campaign import Cell, Condition, key_of
from asyncguard_benchmark.harness.fanout.messages import GUARDS, cell_from_json, cell_to_json
from asyncguard_benchmark.harness.journal import read_lines
from asyncguard_benchmark.harness.registry import AgentSpec, player_of, rule_at
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.harness.scoring.verdict import score
from tests.benchmark.builders import LITE
from tests.benchmark.test_commands import RUN

RULES = """
from asyncguard import Admit, GuardRule, Reject

def serial(proposal, board):
    call = proposal.call
    early = tuple(
        each.key
        for each in board.open_before(call)
        if each.task == call.task and each.message_id != call.message_id
    )
    return Reject(reason="Wait for what runs in this task.", on=early) if early else Admit()

def broken(proposal, board):
    return board.no_such_thing

SERIAL = GuardRule(name="serial_task", judge=serial, before="grounding")
BROKEN = GuardRule(name="broken", judge=broken, on_error="admit")
"""
SERIAL = "rules_of_mine:SERIAL"
WITH = with_rules(ALL, [SERIAL])
COUNT = 3
"""Compositions that RUN plays."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the rules, in which the commands are given."""
    (tmp_path / "rules_of_mine.py").write_text(RULES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("rules_of_mine", None)


def played(path: Path) -> dict[str, list[set[str]]]:
    """By arm, which guards intervened in each episode of a file."""
    found: dict[str, list[set[str]]] = {}
    for line in read_lines(path):
        assert line.episode is not None
        settings = line.episode.settings
        said = {f"{each['guard']} {each['verdict']}" for each in settings["interventions"]}
        found.setdefault(settings["arm"], []).append(said)
    return found


def test_the_name_of_an_arm_says_where_its_guards_are() -> None:
    """Reading a name imports nothing, and the digests of all other arms stay as they are."""
    arm = arm_of("without-grounding+no_such_module:A+no_such_module:B")
    assert arm.rules == ("no_such_module:A", "no_such_module:B")
    assert arm.config == GuardConfig(grounding=False)
    assert arm.kind is ArmKind.OWN
    assert not arm.is_plain
    assert arm.to_json()["rules"] == ["no_such_module:A", "no_such_module:B"]
    assert "rules" not in arm_of(ALL).to_json()
    assert arm_of("ledger+waiting+m:R").config == GuardConfig.none(ledger=True, waiting=True)
    assert rules_of(WITH) == (SERIAL,)
    assert rules_of("ledger+waiting") == ()


def test_one_command_plays_it_beside_the_arm_without_it(folder: Path) -> None:
    """It is on in one arm and off in the other; its interventions carry its name."""
    assert (
        main([*RUN, "mine.jsonl", "--jobs", "1", "--guard", SERIAL, "--distractor-rate", "1"]) == 0
    )
    found = played(folder / "mine.jsonl")
    assert {arm: len(runs) for arm, runs in found.items()} == dict.fromkeys(
        (NONE, ALL, WITH), COUNT
    )
    assert all("serial_task reject" in said for said in found[WITH])
    assert not any("serial_task reject" in said for said in found[ALL])


@pytest.mark.parametrize("player", ["graph", "middleware"])
def test_one_that_fails_is_told_of_and_changes_nothing(folder: Path, player: str) -> None:
    """Both front ends score as without it where it admits what it cannot judge."""
    place = "rules_of_mine:BROKEN"
    assert (
        main(
            [
                *RUN,
                "frail.jsonl",
                "--jobs",
                "1",
                "--guard",
                place,
                "--players",
                player,
                "--arms",
                ALL,
            ]
        )
        == 0
    )
    found = played(folder / "frail.jsonl")
    assert all("broken fault" in said for said in found[with_rules(ALL, [place])])
    solved: dict[str, list[bool]] = {}
    for line in read_lines(folder / "frail.jsonl"):
        assert line.episode is not None
        solved.setdefault(line.episode.settings["arm"], []).append(score(line.episode).overall)
    assert solved[ALL] == solved[with_rules(ALL, [place])]


@pytest.mark.slow
def test_several_processes_import_it_by_its_place(folder: Path) -> None:
    """Processes that the command starts find it in the folder of the command."""
    assert main([*RUN, "two.jsonl", "--guard", SERIAL, "--jobs", "2"]) == 0
    assert all("serial_task reject" in said for said in played(folder / "two.jsonl")[WITH])


@pytest.mark.slow
def test_a_file_does_not_decide_that_it_is_imported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scores and reports need no such module; a resumed run asks for the word of its user."""
    assert main([*RUN, "mine.jsonl", "--jobs", "1", "--guard", SERIAL]) == 0
    (folder / "rules_of_mine.py").write_text("raise SystemExit('imported')")
    sys.modules.pop("rules_of_mine")
    assert main(["score", "mine.jsonl"]) == 0
    assert main(["report", "mine.jsonl", "--out", "mine.html"]) == 0
    assert SERIAL in (folder / "mine.html").read_text()
    assert main(["resume", "mine.jsonl"]) != 0
    assert f"asks for --guard {SERIAL}" in capsys.readouterr().err
    (folder / "rules_of_mine.py").write_text(RULES)
    assert main(["resume", "mine.jsonl", "--guard", SERIAL]) == 0


def test_a_worker_imports_only_what_its_owner_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parcel with another guard is refused before anything is played."""
    condition = Condition(agent=AgentSpec(kind="eager"), player="graph", arm=WITH)
    cell = Cell(composition=LITE[0], condition=condition)
    sent = json.loads(json.dumps(cell_to_json(cell)))
    monkeypatch.delenv(GUARDS, raising=False)
    with pytest.raises(BenchmarkError, match="must be among the guards"):
        cell_from_json(sent)
    monkeypatch.setenv(GUARDS, "other:RULE")
    with pytest.raises(BenchmarkError, match="must be among the guards"):
        cell_from_json(sent)
    monkeypatch.setenv(GUARDS, f"other:RULE,{SERIAL}")
    assert key_of(cell_from_json(sent)) == key_of(cell)


def test_wrong_places_are_told_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is played under a guard that cannot be loaded or is none."""
    (folder / "torn.py").write_text("1 +")
    for place, words in (
        ("no_such_module:RULE", "cannot be loaded: ModuleNotFoundError"),
        ("rules_of_mine:NOTHING", "cannot be loaded: AttributeError"),
        ("rules_of_mine:serial", "is not a GuardRule"),
        ("torn:RULE", "cannot be loaded: SyntaxError"),
    ):
        for command in (["run", "--out", "x.jsonl"], ["ablate", "--out", "x"]):
            assert main([*command, "--guard", place]) != 0
            assert words in capsys.readouterr().err
        with pytest.raises(UnknownNameError):
            rule_at(place)
    with pytest.raises(SystemExit):
        main(["run", "--guard", "rules_of_mine"])
    assert "is not of the form package.module:RULE" in capsys.readouterr().err
    assert not (folder / "x.jsonl").exists()


def test_the_plain_player_has_no_guards(folder: Path) -> None:
    """It cannot play an arm of the user's own either."""
    with pytest.raises(UnknownNameError, match="the plain player has no guards"):
        player_of("plain", WITH, declared=True)


@pytest.mark.slow
def test_an_ablation_measures_it(folder: Path) -> None:
    """Beside all guards, on its own, and as a detector; the arms of others are what they are without it."""
    design = Design(
        compositions=LITE[:1],
        agents=[AgentSpec(kind="eager", settings={"distractor_rate": 1.0})],
        regimes=(Regime.FIXED1,),
        rules=(SERIAL,),
    )
    ablation = Ablation(design=design, folder=folder / "with")
    assert not any(result.failures for result in ablation.play())
    found = ablation.findings("bench ablate", resamples=50)
    (study,) = found.studies
    alone = with_rules("ledger+waiting", [SERIAL])
    assert {each.arm for each in study.arms} == {*EVERY_ARM, WITH, alone}
    assert set(found.settings.configs) == {*EVERY_ARM, WITH, alone}
    beside = study.arm(WITH)
    assert beside is not None
    assert beside.interventions["serial_task"] > 0
    assert study.effect(WITH, ALL) is not None
    assert study.effect(alone, NONE) is not None
    (shadow,) = found.shadow
    assert "serial_task" in [guard.guard for guard in shadow.guards if guard.objections]

    plain = Ablation(design=replace(design, rules=()), folder=folder / "without")
    assert not any(result.failures for result in plain.play())
    (other,) = plain.findings("bench ablate", resamples=50).studies
    assert [each for each in study.arms if each.arm in EVERY_ARM] == list(other.arms)
    assert set(other.effects) <= set(study.effects)
