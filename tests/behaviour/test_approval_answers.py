"""The forms in which a person may answer a question about held calls."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from asyncguard import ToolSpec
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.behaviour.harness import AgentOf, Outcome

TASKS = [{"id": "a", "goal": "Drop x."}, {"id": "b", "goal": "Drop y."}]
Answer = Callable[[Mapping[str, Any]], dict[str, Any]]


def _asked_and_answered(agent_of: AgentOf, answer: Answer) -> tuple[list[str], Outcome]:
    """Two tasks ask to drop something; the answer is made of each question."""
    drop = scripted_tool("drop", lambda a: f"dropped {a['q']}", args={"q": str})
    script = [calls(("drop", {"q": "x", "task_id": "a"}), ("drop", {"q": "y", "task_id": "b"})), *["all said"] * 3]
    specs = [ToolSpec(name="drop", approval=True)]
    agent = agent_of(ScriptedChatModel(script), [drop], specs=specs, checkpointer=InMemorySaver())

    async def run() -> Outcome:
        outcome = await agent.say(tasks=TASKS, thread="t")
        while outcome.interrupts:
            asked = outcome.state["__interrupt__"]
            decided = {item.id: _of_all(answer, item.value["calls"]) for item in asked}
            outcome = await agent.resume(decided if len(asked) > 1 else decided[asked[0].id], "t")
        return outcome

    outcome = run_virtual(run()).result
    return [call.args["q"] for call in drop.calls], outcome


def _of_all(answer: Answer, questions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {name: decision for question in questions for name, decision in answer(question).items()}


@pytest.mark.parametrize("name", ["key", "call"])
def test_a_call_is_answered_by_its_key_or_label(agent_of: AgentOf, name: str) -> None:
    """Keys tell apart the calls of two tasks that have one label; a label answers for all that have it."""
    dropped, _ = _asked_and_answered(agent_of, lambda call: {call[name]: name == "call" or call["task"] == "a"})
    assert sorted(dropped) == (["x"] if name == "key" else ["x", "y"])


def test_an_answer_carries_its_reason_to_the_model(agent_of: AgentOf) -> None:
    """A refusal says why."""
    dropped, outcome = _asked_and_answered(
        agent_of, lambda call: {call["key"]: {"approve": False, "reason": "not now"}}
    )
    assert dropped == []
    assert outcome.text.count("A person refused the call: not now") >= 2


def test_an_approval_is_no_answer_to_what_the_tool_asks(agent_of: AgentOf) -> None:
    """An approved tool asks a question of its own; it gets the answer to that one."""
    pay = scripted_tool("pay", lambda _: f"paid from {interrupt('Which account?')}", args={"q": str})
    model = ScriptedChatModel([calls(("pay", {"q": "x"})), "all said"])
    specs = [ToolSpec(name="pay", approval=True, interrupts=True)]
    agent = agent_of(model, [pay], specs=specs, checkpointer=InMemorySaver())

    async def run() -> Outcome:
        await agent.say("Pay x.", thread="t")
        asked = await agent.resume({"approve": True}, "t")
        assert asked.interrupts == ["Which account?"]
        return await agent.resume("savings", "t")

    assert run_virtual(run()).result.answer("call_1_1") == "paid from savings"
