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


def _checked(folder: Path, code: str) -> str:
    """Return what mypy says about a caller's file, by its strict rules."""
    file = folder / "caller.py"
    file.write_text(code)
    # The cache of the repository: reading LangChain again takes a minute.
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


@pytest.mark.slow
def test_both_adapters_take_the_typed_input(tmp_path: Path) -> None:
    """Tasks, cancellations and the user's words are checked, also those that a variable holds."""
    assert _checked(tmp_path, _HEAD).startswith("Success")
    for wrong in ("tasks=5", "messages=[], cancel=[3]", "messages=[], task=[]"):
        assert "error" in _checked(tmp_path, f"{_HEAD}AgentInput({wrong})\n"), wrong
