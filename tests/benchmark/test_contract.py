"""The contract of the paper beside ours: prompt, API list, reading, compositions, and what says which was played."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from langchain_core.messages import HumanMessage

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.ablation.findings import read_findings
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.arms import NONE
from asyncguard_benchmark.harness.campaign import Cell, Condition, key_of, play
from asyncguard_benchmark.harness.episode import (
    Episode,
    Run,
    episode_from_json,
    episode_to_json,
)
from asyncguard_benchmark.harness.journal import read_lines
from asyncguard_benchmark.harness.players.guarded import UNGUARDED, Setting, play_graph
from asyncguard_benchmark.harness.players.plain import play_plain
from asyncguard_benchmark.harness.protocol.actions import (
    CallAction,
    Completed,
    Malformed,
    read_text,
)
from asyncguard_benchmark.harness.protocol.response_schemas import (
    response_schemas,
    schema_of_values,
)
from asyncguard_benchmark.harness.protocol.surfaces import TextSpeech
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.report.results import results
from asyncguard_benchmark.harness.rereading import NotReadableAgainError, read_as_paper
from asyncguard_benchmark.harness.scenario import Composition, Contract, Regime, Surface
from asyncguard_benchmark.harness.scoring.verdict import score
from asyncguard_benchmark.services.catalogue import fresh_executor, toolset_of
from asyncguard_benchmark.suites.asynctool.agents.eager import EagerAgent
from asyncguard_benchmark.suites.asynctool.agents.sloppy import SloppyAgent
from asyncguard_benchmark.suites.asynctool.dataset import solved_tasks
from tests.benchmark.builders import LITE, SAMPLE, compose
from tests.reference_scorer.conversation import account_of

PAIR = compose("fs-01", "tb-01")
IDS = PAIR.task_ids
CALL = '{"id": "fs-01", "func_name": "cat", "params": {"file": "a.txt"}}'
SLOPPY = "asyncguard_benchmark.suites.asynctool.agents.sloppy:SloppyAgent"


def opening(contract: Contract) -> str:
    """The system prompt of a pair."""
    system, _ = TextSpeech(PAIR, contract=contract).opening()
    return str(system.text)


def api_list(prompt: str) -> dict[str, Any]:
    """The functions that a prompt lists, by name."""
    return {each["name"]: each for each in json.loads(prompt.partition("\n\nFunctions:\n")[2])}


def sloppy(
    composition: Composition, contract: Contract = Contract.OURS, *, rate: float = 0.5
) -> Episode:
    """An episode of an agent that is right, and wraps every second message."""
    agent = SloppyAgent(plan=plan_of(composition), rate=rate)
    run = Run(regime=Regime.FIXED1, surface=Surface.TEXT, seed=0, contract=contract)
    return play_plain(composition, agent, run)


def test_the_papers_prompt_has_none_of_our_rules_and_the_schemas_of_responses() -> None:
    """Ours has the rules and no response; functions, descriptions and parameters are the same."""
    ours, paper = opening(Contract.OURS), opening(Contract.PAPER)
    for rule in ("Work nothing out yourself", "Results arrive in later messages"):
        assert rule in ours
        assert rule not in paper
    assert "must keep to this format" in paper
    listed, told = api_list(ours), api_list(paper)
    assert all("response" not in each for each in listed.values())
    assert {name: {**each, "response": None} for name, each in listed.items()} == {
        name: {**each, "response": None} for name, each in told.items()
    }
    assert all(each["response"]["type"] for each in told.values())


def test_what_solutions_show_fits_the_schemas_of_responses() -> None:
    """Every result of every gold call; two tools are called by no solution and have no schema."""
    tasks = solved_tasks()
    for task in tasks:
        executor = fresh_executor(task)
        for call in task.gold:
            schema = response_schemas(task.category)[call.tool]
            Draft202012Validator(schema).validate(executor.invoke(call.tool, call.arguments))
    tools = {name for each in {task.category for task in tasks} for name in toolset_of(each).tools}
    assert tools - response_schemas(tasks[0].category).keys() == {"end_session", "unlock_doors"}


def _names(schema: Any) -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from _names(inner)
    for place in {"items", "additionalProperties"} & schema.keys():
        yield from _names(schema[place])


def test_no_schema_of_a_response_gives_data_away() -> None:
    """Each field that one names stands in the code of the services, and is not a value of some task."""
    services = files("asyncguard_benchmark") / "services"
    code = {
        word
        for each in services.iterdir()
        if each.name.endswith(".py")
        for word in re.findall(r"\w+", each.read_text(encoding="utf-8"))
    }
    found = {name for each in response_schemas("DM").values() for name in _names(each)}
    assert len(found) > 100
    assert found <= code


def test_a_schema_holds_what_all_values_share() -> None:
    """Names of one result only are values, not fields, and are not told."""
    found = schema_of_values([{"id": 1, "red": 2.5}, {"id": 2, "blue": None}])
    assert found == {"type": "object", "properties": {"id": {"type": "integer"}}}
    assert schema_of_values([{"red": 1}, {"blue": 2.5}]) == {
        "type": "object",
        "additionalProperties": {"type": "number"},
    }
    assert schema_of_values([{"red": {"a": 1}}, {"blue": 2}]) == {
        "type": "object",
        "additionalProperties": {
            "type": ["integer", "object"],
            "additionalProperties": {"type": "integer"},
        },
    }
    assert schema_of_values([["a"], [None]]) == {
        "type": "array",
        "items": {"type": ["null", "string"]},
    }


@pytest.mark.parametrize(
    "text",
    [
        f"```json\n{CALL}\n```",
        f"I will read it: {CALL}",
        f"{CALL}\nThen I wait.",
        f"{CALL}\n{{}}",
        f"[{CALL}]",
        "",
        '{"a": ' * 5_000,
    ],
)
def test_the_paper_takes_a_text_that_is_the_action_and_nothing_else(text: str) -> None:
    """Fences, words and further objects around a call are tolerated under our contract alone."""
    assert isinstance(read_text(text, IDS, Contract.PAPER), Malformed)
    assert isinstance(read_text(f"\n {CALL} \n", IDS, Contract.PAPER), CallAction)
    assert read_text('{"content": "ALL COMPLETED"}', IDS, Contract.PAPER) == Completed()


def test_sloppy_text_costs_rounds_under_the_papers_contract_and_nothing_under_ours() -> None:
    """The agent mends its form once it is told; each refused text counts as a format error."""
    for composition in SAMPLE[:6]:
        ours, paper = (sloppy(composition, contract) for contract in Contract)
        assert score(ours).overall
        assert score(paper).overall
        assert ours.counters.format_errors == 0
        assert paper.counters.format_errors > 0
        assert paper.counters.rounds > ours.counters.rounds
        for episode in (ours, paper):
            strict = episode.run.contract is Contract.PAPER
            account = account_of(episode.messages, composition.task_ids, strict=strict)
            assert account.format_errors == episode.counters.format_errors
            assert len(account.calls) == len(episode.trajectory)


def test_an_episode_read_again_lacks_the_calls_of_sloppy_texts() -> None:
    """Verdicts fall; what was said in form stays, as the second account of the conversation has it."""
    flipped = 0
    for composition in SAMPLE:
        played = sloppy(composition)
        again = read_as_paper(played)
        account = account_of(played.messages, composition.task_ids, strict=True)
        assert [(each.task_id, each.tool, each.arguments) for each in again.trajectory] == [
            (each["task_id"], each["tool"], each["arguments"]) for each in account.calls
        ]
        assert again.counters.format_errors == account.format_errors
        assert episode_from_json(episode_to_json(again)) == again
        flipped += score(played).overall and not score(again).overall
    assert flipped > len(SAMPLE) / 2


class SloppyEager(SloppyAgent, EagerAgent):
    """Makes early calls, too."""


def test_calls_that_are_left_are_early_where_they_were_beside_a_call_that_is_left() -> None:
    """As the second account counts pending calls; some early calls are early no more."""
    early, left = 0, 0
    for composition in SAMPLE:
        run = Run(regime=Regime.FIXED2, surface=Surface.TEXT, seed=0)
        played = play_plain(composition, SloppyEager(plan=plan_of(composition), rate=0.3), run)
        again = read_as_paper(played)
        account = account_of(played.messages, composition.task_ids, strict=True)
        assert [[*each.pending_before] for each in again.trajectory] == [
            each["pending_before"] for each in account.calls
        ]
        early += sum(each.premature for each in played.trajectory)
        left += sum(each.premature for each in again.trajectory)
    assert 0 < left < early


def test_an_episode_in_form_is_the_same_when_it_is_read_again() -> None:
    """Only its agent's name says that it was read again."""
    played = sloppy(PAIR, rate=0.0)
    again = read_as_paper(played)
    assert replace(again, agent=played.agent) == played
    assert again.agent != played.agent


def test_what_does_not_say_which_message_made_which_call_is_not_read_again() -> None:
    """Episodes of guarded players, of the native surface, and without messages."""
    played = sloppy(PAIR)
    native = replace(played.run, surface=Surface.NATIVE)
    for other in (
        replace(played, player="graph"),
        replace(played, messages=()),
        replace(played, run=native),
        replace(played, trajectory=played.trajectory[:-1]),
    ):
        with pytest.raises(NotReadableAgainError):
            read_as_paper(other)


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_the_players_are_one_under_the_papers_contract_too(rate: float) -> None:
    """Without guards the graph says and does what the plain loop does."""
    for composition in SAMPLE[:4]:
        agent = SloppyAgent(plan=plan_of(composition), rate=rate)
        run = Run(regime=Regime.FIXED1, surface=Surface.TEXT, seed=0, contract=Contract.PAPER)
        plain = play_plain(composition, agent, run)
        graph = play_graph(composition, agent, run, Setting(config=UNGUARDED))
        assert graph.messages == plain.messages
        assert graph.trajectory == plain.trajectory
        assert graph.counters == plain.counters


def test_a_file_says_the_contract_and_older_files_are_read_as_ours() -> None:
    """Files of our contract have the form that they had before there was another."""
    ours, paper = (sloppy(PAIR, contract) for contract in Contract)
    assert "contract" not in episode_to_json(ours)["run"]
    assert episode_to_json(paper)["run"]["contract"] == "paper"
    for episode in (ours, paper):
        assert episode_from_json(episode_to_json(episode)) == episode


def test_an_episode_under_another_contract_has_another_name() -> None:
    """Neither a row nor a resumed file takes one for the other."""
    condition = Condition(agent=AgentSpec(kind="oracle"), player="plain", arm=NONE)
    ours, paper = (
        Cell(composition=LITE[0], condition=replace(condition, contract=each)) for each in Contract
    )
    assert key_of(ours) != key_of(paper)
    assert key_of(ours).config != key_of(paper).config
    assert play(paper).episode.run.contract is Contract.PAPER


def test_one_switch_plays_the_papers_contract(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its compositions, prompt and reading; both contracts in one file are two rows, and each says which."""
    file = str(tmp_path / "episodes.jsonl")
    command = ["run", "--agents", SLOPPY, "--players", "plain", "--arms", "none", "--jobs", "1"]
    command += ["--suite", "lite", "--out", file]
    assert main([*command, "--compositions", "P-S2", "--contract", "paper"]) == 0
    assert main([*command, "--compositions", "S2"]) == 0
    episodes = [line.episode for line in read_lines(Path(file)) if line.episode is not None]
    assert len(episodes) == 40
    assert {each.composition.id[:2] for each in episodes[:20]} == {"P-"}
    assert "Work nothing out yourself" not in episodes[0].messages[0]["content"]
    capsys.readouterr()
    assert main(["score", file, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["conditions"]
    assert [(row["contract"], row["episodes"]) for row in rows] == [("paper", 20), ("ours", 20)]
    assert main(["score", file, "--json", "--contract", "paper"]) == 0
    again = json.loads(capsys.readouterr().out)["conditions"]
    # Read as they were played, the paper's own keep their verdicts; those of our contract lose some.
    assert again[0]["overall"] == rows[0]["overall"]
    assert again[1]["overall"]["value"] < rows[1]["overall"]["value"] == 100


def test_one_file_does_not_take_one_composition_under_both_contracts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The set of our own has one sample, so its ids do not tell the contracts apart."""
    command = ["run", "--agents", "oracle", "--players", "plain", "--arms", "none", "--jobs", "1"]
    command += ["--suite", "independent", "--compositions", "I-C2-01"]
    command += ["--out", str(tmp_path / "episodes.jsonl")]
    assert main(command) == 0
    assert main([*command, "--contract", "paper"]) == 1
    assert "or another contract" in capsys.readouterr().err


def test_a_sweep_under_the_papers_contract_tells_all_that_it_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Agents of the native surface are left out; the titles of report and rows say the contract."""
    command = ["sweep", "--suites", "lite", "--every", "60", "--rates", ".5", "--batch-rates", ".5"]
    command += ["--arms", "all,none", "--contract", "paper", "--jobs", "1", "--out", str(tmp_path)]
    assert main([*command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["sets"]["lite"]
    assert {(row["contract"], row["surface"]) for row in rows} == {("paper", "text")}
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "lite, contract paper" in report
    for agent in ("oracle", "parallel", "heeding", "50%"):
        assert f"| {agent}" in report


@pytest.mark.slow
def test_an_ablation_says_its_contract(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In its tables, its findings and the document of results."""
    out = tmp_path / "ablation"
    command = ["ablate", "--agents", "eager", "--suite", "lite", "--compositions", "P-S2-00"]
    command += ["--contract", "paper", "--regimes", "fixed1", "--no-shadow", "--no-wild"]
    assert main([*command, "--resamples", "50", "--jobs", "1", "--out", str(out)]) == 0
    assert "contract paper" in capsys.readouterr().out
    found = read_findings(out / "findings.json")
    assert {study.setup.contract for study in found.studies} == {"paper"}
    text = results([found])
    assert "contract paper, asyncguard" in text
    assert "| eager, contract paper |" in text


def test_what_cannot_be_read_again_is_left_out_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of guarded episodes alone has no score under the other contract."""
    file = str(tmp_path / "episodes.jsonl")
    command = ["run", "--agents", "oracle", "--arms", "none", "--jobs", "1", "--out", file]
    assert main([*command, "--compositions", "S2-001,C2-001"]) == 0
    assert main(["score", file, "--contract", "paper"]) == 1
    assert "2 of 2 episodes were not read again" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [["run", "--surfaces", "text,native"], ["ablate", "--surface", "native"]]
)
def test_the_papers_contract_has_no_native_surface(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused before anything is played."""
    out = tmp_path / "out"
    assert main([*command, "--contract", "paper", "--out", str(out)]) == 1
    assert "text protocol" in capsys.readouterr().err
    assert not out.exists()
    with pytest.raises(ValueError, match="text surface"):
        Run(regime=Regime.SYNC, surface=Surface.NATIVE, seed=0, contract=Contract.PAPER)


def test_the_sloppy_agent_keeps_to_the_form_after_an_error() -> None:
    """It wraps the same message otherwise."""
    agent = SloppyAgent(plan=plan_of(PAIR), rate=1.0)
    messages = TextSpeech(PAIR).opening()
    said = agent.say(messages)
    assert isinstance(read_text(str(said.text), IDS, Contract.PAPER), Malformed)
    told = HumanMessage('{"role": "tool", "content": "{\\"error\\": \\"no\\"}"}')
    mended = agent.say([*messages, said, told])
    assert read_text(str(mended.text), IDS, Contract.PAPER) == read_text(str(said.text), IDS)
