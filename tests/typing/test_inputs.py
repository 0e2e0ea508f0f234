"""Inputs and arguments as the documents write them, as a caller's strict type checker sees them."""

import re
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


_WRONG = {
    _HEAD: (
        "AgentInput(tasks=5)",
        "AgentInput(messages=[], cancel=[3])",
        "AgentInput(messages=[], task=[])",
    ),
    _STATE: ('def no(state: Shop) -> int: return state["x"]',),
    _LISTS: ("Ports(observers=[5])", "ScriptedChatModel([5])", "ScriptedChatModel(5)"),
}
"""Lines that have to be refused, by the right ones that stand before them."""


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Return the lines that mypy refuses by its strict rules, by the right ones that stand before them.

    One run for all, as it takes 6 s to read LangChain. Its cache is not that of `make types`: each would discard what
    the other one wrote, because their rules differ.
    """
    folder = tmp_path_factory.mktemp("callers")
    files = {folder / f"caller{number}.py": right for number, right in enumerate(_WRONG)}
    for file, right in files.items():
        file.write_text("\n".join([*right.splitlines(), *_WRONG[right]]) + "\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", *map(str, files)]
    where = "--cache-dir=.mypy_cache/callers"
    said = subprocess.run([*command, where], capture_output=True, text=True, check=False).stdout
    found: dict[str, set[str]] = {right: set() for right in _WRONG}
    for file, number in re.findall(r"^([^:]+):(\d+): error: ", said, re.MULTILINE):
        # By its name: the cache may know the same file in the folder of an earlier run.
        right = files[folder / Path(file).name]
        assert int(number) > len(right.splitlines()), said
        found[right].add(_WRONG[right][int(number) - len(right.splitlines()) - 1])
    return found


@pytest.mark.slow(seconds=40)
def test_both_adapters_take_the_typed_input(refused: dict[str, set[str]]) -> None:
    """Tasks, cancellations and the user's words are checked, also those that a variable holds."""
    assert refused[_HEAD] == {*_WRONG[_HEAD]}


@pytest.mark.slow
def test_a_state_with_channels_of_the_callers_own(refused: dict[str, set[str]]) -> None:
    """Both adapters have a class to inherit from, whose channels the checker knows."""
    assert refused[_STATE] == {*_WRONG[_STATE]}


@pytest.mark.slow
def test_lists_of_several_kinds_are_inferred(refused: dict[str, set[str]]) -> None:
    """Observers may stand in a variable; a script that stands in one is annotated."""
    assert refused[_LISTS] == {*_WRONG[_LISTS]}
