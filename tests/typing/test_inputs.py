"""The input of an agent, as a caller's strict type checker sees it."""

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


_WRONG = ("tasks=5", "messages=[], cancel=[3]", "messages=[], task=[]")


@pytest.mark.slow
def test_both_adapters_take_the_typed_input(tmp_path: Path) -> None:
    """Tasks, cancellations and the user's words are checked, also those that a variable holds."""
    file = tmp_path / "caller.py"
    file.write_text(_HEAD + "".join(f"AgentInput({wrong})\n" for wrong in _WRONG))
    # One run for all: mypy takes 6 s to read LangChain, also from the cache of the repository.
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(file)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    right = _HEAD.count("\n")
    refused = {int(line.split(":")[1]) - right for line in said.splitlines() if " error: " in line}
    assert refused == {1, 2, 3}, said
