"""Answers whose calls other middleware has removed from the history: no provider takes them alone."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import AsyncGuardMiddleware, ToolSpec
from asyncguard.testing import (
    ScriptedChatModel,
    calls,
    check_history_all,
    run_virtual,
    scripted_tool,
)

CONFIG: Any = {"configurable": {"thread_id": "t"}}


def pay(arguments: Any) -> str:
    """A tool that asks a person first."""
    return f"paid {arguments['n']}: {interrupt('May it?')}"


def agent_of(model: ScriptedChatModel, *before: AgentMiddleware[Any, Any]) -> Any:
    """An agent whose tool asks, beside other middleware."""
    guard = AsyncGuardMiddleware(specs=[ToolSpec(name="pay", interrupts=True)])
    made: list[Any] = [*before, guard]
    tools = [scripted_tool("pay", pay, args={"n": int})]
    return create_agent(model, tools, middleware=made, checkpointer=InMemorySaver())


def test_an_answer_whose_call_was_summarised_is_sent_with_a_call() -> None:
    """The user spoke beside the answer to a question, so a summary may end between call and result."""
    summary = SummarizationMiddleware(
        ScriptedChatModel(["a summary"] * 2, id_prefix="summary"),
        trigger=("messages", 4),
        keep=("messages", 2),
    )
    model = ScriptedChatModel([calls(("pay", {"n": 1})), "done"])

    async def main() -> Any:
        agent = agent_of(model, summary)
        await agent.ainvoke({"messages": [HumanMessage("Pay 1.")]}, CONFIG)
        words = {"messages": [HumanMessage("And hurry.")]}
        return await agent.ainvoke(Command(resume="yes", update=words), CONFIG)

    final = run_virtual(main()).result
    sent = model.requests[-1].messages
    check_history_all(sent)
    assert [each.content for each in sent if isinstance(each, ToolMessage)] == ["paid 1: yes"]
    assert final["messages"][-1].content == "done"


class Forgetful(AgentMiddleware):
    """Middleware that removes all messages of models before a request, as a naive trimmer does."""

    def before_model(self, state: Any, runtime: Any) -> dict[str, Any]:
        gone = [each for each in state["messages"] if isinstance(each, AIMessage)]
        return {"messages": [RemoveMessage(id=str(each.id)) for each in gone]}


@pytest.mark.parametrize("call_id", ["pay_1", "pay_2"])
def test_a_call_does_not_take_the_id_of_an_answer_that_stands_alone(call_id: str) -> None:
    """A model that counts its calls from one again has another id given: each has its own answer."""
    made = [
        AIMessage("", tool_calls=[{"name": "pay", "args": {"n": n}, "id": each}])
        for n, each in enumerate(("pay_1", call_id))
    ]
    model = ScriptedChatModel([*made, "done"])

    async def main() -> Any:
        agent = agent_of(model, Forgetful())
        await agent.ainvoke({"messages": [HumanMessage("Pay twice.")]}, CONFIG)
        await agent.ainvoke(Command(resume="yes"), CONFIG)
        return await agent.ainvoke(Command(resume="yes"), CONFIG)

    final = run_virtual(main()).result
    answers = [each for each in final["messages"] if isinstance(each, ToolMessage)]
    assert [each.content for each in answers] == ["paid 0: yes", "paid 1: yes"]
    assert len({each.tool_call_id for each in answers}) == 2
    check_history_all(model.requests[-1].messages)
