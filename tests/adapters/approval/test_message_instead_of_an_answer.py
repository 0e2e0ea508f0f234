"""A message instead of an answer withdraws what was asked, is told first, and leaves later questions to be asked."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, interrupt

from asyncguard import GuardConfig, Timing, ToolSpec
from asyncguard.testing import (
    ScriptedChatModel,
    calls,
    check_history_all,
    run_virtual,
    scripted_tool,
)
from tests.adapters.harness import AgentOf, Outcome, pure, script

TASKS = [{"id": "a", "goal": "Pay A, then write."}, {"id": "b", "goal": "Look at B."}]
CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))


def tool(name: str, seconds: float = 0.0) -> Any:
    """A tool of one argument."""
    return scripted_tool(name, lambda a: f"{name} {a['x']}", args={"x": str}, latency=seconds)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("again", ["A", "B"], ids=["the same call", "another one"])
@pytest.mark.parametrize("declared", [{"approval": True}, {"destructive": True}], ids=str)
@pytest.mark.parametrize("sync", [False, True], ids=["ainvoke", "invoke"])
def test_a_question_after_a_withdrawn_one_is_asked(
    sync: bool, declared: dict[str, bool], again: str, agent_of: AgentOf
) -> None:
    """The second run stops with a question, and its answer has the call made once."""
    pay = tool("pay")
    steps = [calls(("look", {"x": "A"})), calls(("pay", {"x": "A"})), calls(("pay", {"x": again}))]
    agent = agent_of(
        ScriptedChatModel(script(*steps)),
        [tool("look"), pay],
        specs=[pure("look"), ToolSpec(name="pay", **declared)],
        checkpointer=InMemorySaver(),
    )

    def said(words: str) -> Outcome:
        return (
            agent.run_sync(words, thread="t")
            if sync
            else run_virtual(agent.say(words, thread="t")).result
        )

    assert said("Pay A.").interrupts
    assert said("Hurry up: A or B.").interrupts
    assert pay.calls == []
    answer = Command(resume=True)
    outcome = agent.go_sync(answer, "t") if sync else run_virtual(agent.go(answer, "t")).result
    assert [call.args["x"] for call in pay.calls] == [again]
    assert outcome.report["reason"] == "complete"


def test_a_withdrawn_call_is_told_before_the_model_acts_on_the_message(agent_of: AgentOf) -> None:
    """Both adapters say first that the held call will not run: what the model writes next may rest on it."""
    model = ScriptedChatModel(
        script(
            calls(("look", {"x": "B", "task_id": "b"}), ("pay", {"x": "A", "task_id": "a"})),
            "I wait for the approval.",
            calls(("write", {"x": "A", "task_id": "a"})),
        )
    )
    agent = agent_of(
        model,
        [tool("pay"), tool("look"), tool("write")],
        specs=[ToolSpec(name="pay", approval=True, takes_from=()), pure("look")],
        config=CONFIG,
        checkpointer=InMemorySaver(),
    )

    async def main() -> None:
        assert (await agent.say(tasks=TASKS, thread="t")).interrupts
        await agent.say("Hurry up.", thread="t")

    run_virtual(main())
    assert "pay#1 was not run" in "\n".join(message.text for message in model.requests[2].messages)


def test_a_cancelled_effect_is_told_before_the_model_acts_on_the_message(agent_of: AgentOf) -> None:
    """The request after the cancellation does not say any more that the call is running."""
    model = ScriptedChatModel(
        script(calls(("pay", {"x": "A", "task_id": "a"}), ("pay", {"x": "B", "task_id": "b"})))
    )
    agent = agent_of(
        model,
        [tool("pay", seconds=2.0)],
        specs=[ToolSpec(name="pay", reads=(), writes=())],
        config=CONFIG,
        checkpointer=InMemorySaver(),
    )

    async def main() -> None:
        run = asyncio.create_task(agent.say(tasks=TASKS, thread="t"))
        await asyncio.sleep(0.5)
        run.cancel()
        await asyncio.wait([run])
        told = len(model.requests)
        await agent.go({"messages": [("user", "Drop a.")], "cancel": ["a"]}, "t")
        request = "\n".join(message.text for message in model.requests[told].messages)
        assert "not known whether pay#1" in request

    run_virtual(main())


def test_a_cleared_conversation_gets_no_answer_to_a_removed_call(agent_of: AgentOf) -> None:
    """Beside a question: an answer without its call is refused by providers, for ever."""
    pay = tool("pay")
    model = ScriptedChatModel(script(calls(("pay", {"x": "A"})), ever="all said"))
    agent = agent_of(
        model, [pay], specs=[ToolSpec(name="pay", approval=True)], checkpointer=InMemorySaver()
    )

    async def main() -> Outcome:
        assert (await agent.say("Pay A.", thread="t")).interrupts
        cleared = [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("Hello.")]
        await agent.go({"messages": cleared}, "t")
        return await agent.say("And now?", thread="t")

    outcome = run_virtual(main()).result
    assert [message.type for message in outcome.messages] == ["human", "ai", "human", "ai"]
    assert pay.calls == []
    check_history_all(outcome.messages[:-1])


@pytest.mark.parametrize("again", [0, 1], ids=["asked once", "asked again"])
def test_a_tools_own_question_leaves_no_doubt(agent_of: AgentOf, again: int) -> None:
    """Its call has stopped at the question, so it did not go on: told before the model's turn."""
    effects: list[str] = []

    def ask(arguments: Any) -> str:
        effects.append(interrupt({"pay": arguments["x"]}))
        return "paid"

    agent = agent_of(
        ScriptedChatModel(script(calls(("pay", {"x": "A"})), ever="Not then.")),
        [scripted_tool("pay", ask, args={"x": str})],
        specs=[ToolSpec(name="pay", interrupts=True, reads=(), writes=("x",))],
        checkpointer=InMemorySaver(),
    )

    async def main() -> Outcome:
        assert (await agent.say("Pay A.", thread="t")).interrupts
        for _ in range(again):
            assert (await agent.go(None, "t")).interrupts
        return await agent.say("Never mind.", thread="t")

    outcome = run_virtual(main()).result
    assert effects == []
    assert outcome.states("main") == {"cancelled": 1}
    assert "instead of an answer" in outcome.text
    assert "about to run" not in outcome.text
    assert outcome.last == "Not then."
