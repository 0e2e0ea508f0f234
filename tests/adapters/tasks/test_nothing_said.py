"""Inputs with which there is nothing to do: refused before the model is asked, which could not answer them."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import CallerError
from asyncguard.testing import (
    ScriptedChatModel,
    calls,
    check_history_all,
    run_virtual,
    scripted_tool,
)
from tests.adapters.harness import AgentOf, Outcome, pure, script

EMPTY: list[dict[str, Any]] = [
    {"messages": []},
    {"messages": [], "tasks": []},
    {"messages": [], "cancel": []},
]
LOOK = calls(("look", {"q": "x"}))


def agent(agent_of: AgentOf, model: ScriptedChatModel) -> Any:
    """An agent that can look, and keeps its threads."""
    look = scripted_tool("look", lambda a: f"saw {a['q']}", args={"q": str})
    return agent_of(model, [look], specs=[pure("look")], checkpointer=InMemorySaver())


@pytest.mark.parametrize("said", EMPTY, ids=str)
def test_a_thread_does_not_begin_with_nothing(said: dict[str, Any], agent_of: AgentOf) -> None:
    """The model is not asked with an empty history."""
    model = ScriptedChatModel(script())
    with pytest.raises(CallerError, match="Nothing to do"):
        run_virtual(agent(agent_of, model).go(said, "t"))
    assert not model.requests


@pytest.mark.parametrize("said", EMPTY, ids=str)
def test_a_finished_thread_is_not_asked_again_with_nothing_new(
    said: dict[str, Any], agent_of: AgentOf
) -> None:
    """The history would end with the model's own word, which some providers refuse; the thread continues afterwards."""
    model = ScriptedChatModel(script(LOOK))
    made = agent(agent_of, model)

    async def main() -> Outcome:
        await made.say("Look at x.", thread="t")
        asked = len(model.requests)
        with pytest.raises(CallerError, match="Nothing to do"):
            await made.go(said, "t")
        assert len(model.requests) == asked
        return await made.say("And?", thread="t")

    assert run_virtual(main()).result.report["reason"] == "complete"
    for request in model.requests:
        check_history_all(request.messages)
