"""Inputs and arguments as the documents write them, as a caller's strict type checker sees them."""

import subprocess
import sys
from pathlib import Path

import pytest

_HEAD = """
from langchain.agents import create_agent
from asyncguard import AgentInput, build_agent, guard_middleware
guarded = create_agent("openai:gpt", [], middleware=guard_middleware([]))
built = build_agent("openai:gpt", [])
one: AgentInput = {"messages": [], "tasks": [{"id": "a", "goal": "Go."}, "Stay."], "cancel": ["b"]}
for agent in (guarded, built):
    agent.invoke(one)
    agent.invoke(AgentInput(messages=[], tasks=[{"id": "a", "goal": "Go."}]))
built.invoke({"messages": [], "tasks": [{"id": "a", "goal": "Go."}]})
built.invoke({"tasks": ["Go."]})
goals = [{"id": "a", "goal": "Go."}]
guarded.invoke(AgentInput(messages=[], tasks=goals))
"""
_STATE = """
from langchain.agents import create_agent
from asyncguard import AsyncGuardMiddleware, GuardedState, GuardState, build_agent
class Shop(GuardState):
    customer: str
class Desk(GuardedState, total=False):
    customer: str
guard = AsyncGuardMiddleware()
for schema in (Shop, GuardState, guard.state_schema):
    create_agent("openai:gpt", [], middleware=[guard], state_schema=schema)
build_agent("openai:gpt", [], state_schema=Desk)
def customer_of(state: Shop) -> str:
    return state["customer"] + str(state["messages"][-1].content)
"""
_LISTS = """
from asyncguard import Details, Ports, TraceFile, log_events
from asyncguard.testing import ScriptedChatModel, Step, calls, scripted_tool
def seen(details: Details) -> None:
    print(details.thread)
trace = TraceFile("run.jsonl")
Ports(observers=[trace, log_events(), seen])
kept = [trace, log_events()]
Ports(observers=kept)
functions = [seen, log_events()]
Ports(observers=functions)
look = calls(("look", {"city": "Rome"}))
ScriptedChatModel([look, "It rains.", ConnectionError("cut")])
script: list[Step] = [look, "It rains."]
ScriptedChatModel(script)
ScriptedChatModel(lambda messages, tools: look if len(messages) == 1 else "It rains.")
scripted_tool("look", ["rain", {"sun": True}, ValueError("cloud")], args={"city": str})
"""


def _refused(folder: Path, right: str, *wrong: str) -> set[str]:
    """Return the lines that mypy refuses by its strict rules; none of what is right may be among them.

    One run for all: it takes 6 s to read LangChain, also from the cache of the repository.
    """
    lines = [*right.splitlines(), *wrong]
    file = folder / "caller.py"
    file.write_text("\n".join(lines) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(file)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = {int(line.split(":")[1]) for line in said.splitlines() if " error: " in line}
    assert not found or min(found) > len(right.splitlines()), said
    return {lines[number - 1] for number in found}


@pytest.mark.slow
def test_both_adapters_take_the_typed_input(tmp_path: Path) -> None:
    """Tasks, cancellations and the user's words are checked, also those that a variable holds."""
    given = ("tasks=5", "messages=[], cancel=[3]", "messages=[], task=[]")
    wrong = [f"AgentInput({each})" for each in given]
    assert _refused(tmp_path, _HEAD, *wrong) == {*wrong}


@pytest.mark.slow
def test_a_state_with_channels_of_the_callers_own(tmp_path: Path) -> None:
    """Both adapters have a class to inherit from, whose channels the checker knows."""
    wrong = 'def no(state: Shop) -> int: return state["x"]'
    assert _refused(tmp_path, _STATE, wrong) == {wrong}


@pytest.mark.slow
def test_lists_of_several_kinds_are_inferred(tmp_path: Path) -> None:
    """Observers may stand in a variable; a script that stands in one is annotated."""
    wrong = ("Ports(observers=[5])", "ScriptedChatModel([5])", "ScriptedChatModel(5)")
    assert _refused(tmp_path, _LISTS, *wrong) == {*wrong}
