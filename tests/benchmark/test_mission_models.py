"""Real clients play missions against the loopback server: what is sent, recorded, lost and estimated."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.suites.missions.agents.roster import AGENTS
from asyncguard_benchmark.suites.missions.dialogues import History
from asyncguard_benchmark.suites.missions.played_rows import lost_in, read_played
from asyncguard_benchmark.suites.missions.playing.case import Case
from asyncguard_benchmark.suites.missions.playing.shelf import plan, shelves
from tests.benchmark.test_models import Serve, serve, spoken
from tests.support.openai_policy import Call, Failure, ModelRequest, Reply, Usage

__all__ = ["serve"]
FEW = ("--patterns", "mcsc", "--challenges", "all", "--jobs", "1", "--json")
MODEL = ("--model", "openai:small")


@cache
def _openings() -> list[tuple[str, int, list[str]]]:
    """Every mission of the dialogue that is played, with the texts before the agent's first message."""
    (name,) = (each for each, found in shelves().items() if _is_played(found))
    return [(name, k, [str(each.text) for each in _opening(name, k)]) for k in reversed(range(4))]


def _is_played(found: Any) -> bool:
    return found.bundle.split == "development" and found.written.pattern == "mcsc"


def _opening(name: str, mission: int) -> list[BaseMessage]:
    return Case(dialogue=name, mission=mission, history=History.UA).opening()[1:]


def asked_of(request: ModelRequest) -> tuple[str, int]:
    """The mission that a request is about: the longest opening that it begins with."""
    return _asked([each.text for each in request.messages[1:]])


def _asked(texts: list[str]) -> tuple[str, int]:
    return next((name, k) for name, k, said in _openings() if texts[: len(said)] == said)


def perfect(request: ModelRequest) -> Reply:
    """A model that does what the oracle does with the messages that came over the wire."""
    name, mission = asked_of(request)
    said = AGENTS["oracle"](plan=plan(name, mission)).invoke(
        [spoken(each) for each in request.messages]
    )
    calls = tuple(
        Call(name=each["name"], arguments=json.dumps(each["args"]), id=str(each["id"]))
        for each in said.tool_calls
    )
    tokens = Usage(input_tokens=70, cached_tokens=30, output_tokens=6)
    return Reply(text=str(said.text), calls=calls, usage=tokens)


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    """Return the JSON output of a command of missions."""
    capsys.readouterr()
    assert main(["missions", *argv]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("player", ["plain", "graph", "middleware"])
def test_a_model_plays_missions_like_the_agent_behind_it(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str], player: str
) -> None:
    """Over the wire the oracle passes every mission; tools are sent, tokens counted, no key is written."""
    server, file = serve(perfect), tmp_path / "missions.jsonl"
    arm = "none" if player == "plain" else "all"
    who = (*MODEL, "--temperature", "0.5", "--players", player, "--arms", arm)
    (said,) = told(capsys, "run", *FEW, *who, "--out", str(file))["conditions"]
    found = said["challenges"]["all"]
    assert said["agent"] == "openai:small,temperature=0.5"
    rate = found["scorers"]["strict"]["SR"]
    assert (rate["value"], rate["n"]) == (1.0, 4)
    asked = len(server.requests)
    assert found["usage"]["calls"] == asked
    assert found["usage"]["input_tokens"] == 70 * asked
    assert found["usage"]["output_tokens"] == 6 * asked
    assert all(request.body["tools"] for request in server.requests)
    assert all(request.body["temperature"] == 0.5 for request in server.requests)
    assert "sk-not-for-logs" not in file.read_text(encoding="utf-8")
    assert {row.value["model"]["model"] for row in read_played(file)} == {"openai:small"}


def test_lost_runs_are_counted_and_played_again(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that the server ended is in no figure, is told by `score`, and is the only one of the next command."""
    ill = True

    def policy(request: ModelRequest) -> Reply | Failure:
        return Failure(status=400) if ill and asked_of(request)[1] == 2 else perfect(request)

    server, file = serve(policy), tmp_path / "missions.jsonl"
    command = ["missions", "run", *FEW, *MODEL, "--arms", "all", "--out", str(file)]
    assert main(command) == 1
    assert "ended 1 of 4 episodes" in capsys.readouterr().err
    assert [key.mission for key in lost_in(file)] == [2]
    assert main(["missions", "score", str(file), "--json"]) == 0
    said = capsys.readouterr()
    assert "ended 1 more runs, which are in no figure" in said.err
    assert json.loads(said.out)["conditions"][0]["challenges"]["all"]["missions"] == 3
    ill, before = False, len(server.requests)
    assert main(command) == 0
    bodies = [request.body["messages"][1:] for request in server.requests[before:]]
    assert {_asked([each["content"] for each in body])[1] for body in bodies} == {2}
    assert lost_in(file) == {}
    assert len(list(read_played(file))) == 4


def test_a_dry_run_asks_nothing_and_knows_the_rounds(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The estimate of the oracle has as many requests as a model that works like it makes."""
    server, file = serve(perfect), tmp_path / "missions.jsonl"
    command = ("run", *FEW, *MODEL, "--arms", "all", "--players", "graph", "--out", str(file))
    said = told(capsys, *command, "--dry-run")
    assert server.requests == ()
    assert not file.exists()
    assert said["episodes"] == 4
    oracle, serial = said["estimates"]
    assert serial["usage"]["calls"] >= oracle["usage"]["calls"]
    assert oracle["usage"]["input_tokens"] > oracle["usage"]["cached_tokens"] > 0
    told(capsys, *command)
    assert len(server.requests) == oracle["usage"]["calls"]


def test_a_model_of_another_server_is_not_added(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The label does not hold the address, so the file would mix two servers; options without a model are refused."""
    server, file = serve(perfect), tmp_path / "missions.jsonl"
    command = ["missions", "run", *FEW, *MODEL, "--arms", "all", "--out", str(file)]
    assert main(command) == 0
    assert main([*command, "--base-url", f"{server.base_url}/"]) == 1
    assert "play into another file" in capsys.readouterr().err
    assert main(["missions", "run", *FEW, "--dry-run"]) == 1
    assert "without --model provider:name this means nothing" in capsys.readouterr().err
