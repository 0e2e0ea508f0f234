"""A real client in the hazard suite, against the loopback server."""

import json
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.journal import Journal
from asyncguard_benchmark.suites.hazards.agents.simple import NaiveAgent
from asyncguard_benchmark.suites.hazards.instances import all_tasks
from asyncguard_benchmark.suites.hazards.tasks import HazardTask, alone
from tests.benchmark.test_models import Serve, serve, spoken, usages
from tests.support.openai_policy import Call, Failure, ModelRequest, Reply, Role, Usage

__all__ = ["serve"]
FEW = ("--domains", "logistics", "--hazards", "output", "--severity", "2", "--jobs", "1")


def task_of(request: ModelRequest) -> HazardTask:
    """The task that a model is asked to do."""
    first = next(message.text for message in request.messages if message.role is Role.USER)
    return next(task for name, task in all_tasks().items() if f"id:'{name}'" in first)


def naive(request: ModelRequest) -> Reply:
    """A model that does what the naive agent does with the messages that came over the wire."""
    agent: Any = NaiveAgent(plan=plan_of(alone(task_of(request))))
    if request.tools:
        functions = [
            {"name": t.name, "description": "", "parameters": t.parameters} for t in request.tools
        ]
        agent = agent.bind_tools([{"type": "function", "function": each} for each in functions])
    said = agent.invoke([spoken(message) for message in request.messages])
    calls = tuple(
        Call(name=c["name"], arguments=json.dumps(c["args"]), id=c["id"]) for c in said.tool_calls
    )
    return Reply(text=str(said.text), calls=calls, usage=Usage(input_tokens=50, output_tokens=5))


@pytest.mark.slow
@pytest.mark.parametrize("surface", [pytest.param("text", marks=pytest.mark.slow), "native"])
def test_a_model_plays_hazards_like_the_agent_behind_it(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str], surface: str
) -> None:
    """Over the wire it ends as it does without one, under every arm; its tokens are counted."""
    serve(naive)
    ended: list[dict[str, tuple[float, float]]] = []
    for who in (("--model", "openai:small"), ("--agents", "naive")):
        file = tmp_path / f"{len(ended)}.jsonl"
        arms = (
            "--arms",
            "none,all",
            "--surfaces",
            surface,
            "--no-messages",
            "--json",
            "--out",
            str(file),
        )
        assert main(["hazards", "run", *FEW, *who, *arms]) == 0
        capsys.readouterr()
        assert main(["hazards", "score", str(file), "--json"]) == 0
        (study,) = json.loads(capsys.readouterr().out)["studies"]
        ended.append({arm["arm"]: _figures(arm) for arm in study["arms"]})
        if who[0] == "--model":
            assert all(each["input_tokens"] == 50 * each["calls"] > 0 for each in usages(file))
    assert ended[0] == ended[1]
    assert ended[0]["all"][0] > ended[0]["none"][0]


def test_failed_episodes_of_the_hazards_are_kept_apart_and_played_again(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One failure of a few ends the command with an error; the same command plays that episode, and no other."""
    ill = True

    def policy(request: ModelRequest) -> Reply | Failure:
        return Failure(status=400) if ill and task_of(request).id == "lg-06" else naive(request)

    serve(policy)
    file = tmp_path / "hazards.jsonl"
    command = ["hazards", "run", *FEW, "--model", "openai:small", "--arms", "all", "--json"]
    command += ["--surfaces", "native", "--out", str(file)]
    assert main(command) == 1
    said = capsys.readouterr().err
    assert "ended 2 of 12 episodes, more than 2%: the figures are not a fair sample" in said
    assert saved(file) == (10, 2)
    ill = False
    assert main(command) == 0
    assert f"10 of 12 episodes are in {file} already" in capsys.readouterr().err
    assert saved(file) == (12, 0)


def saved(file: Path) -> tuple[int, int]:
    """Numbers of episodes and of failures that a file holds."""
    with Journal(file) as journal:
        return len(journal.keys), len(journal.failures)


def _figures(arm: dict[str, Any]) -> tuple[float, float]:
    return arm["injected"]["success"]["value"], arm["injected"]["wrong_answer"]["value"]
