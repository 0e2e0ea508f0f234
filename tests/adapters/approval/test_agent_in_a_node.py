"""An agent in a node of another graph, whose caller answers its questions."""

import asyncio
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from asyncguard import guarded
from asyncguard.testing import ScriptedChatModel, calls
from tests.adapters.harness import Frontend, build, script

THREAD: Any = {"configurable": {"thread_id": "t"}}


def graph_of(frontend: Frontend, done: list[Any], *, approval: bool) -> Any:
    """Return a graph with an agent that pays x and then y."""

    @guarded(
        approval=approval, interrupts=not approval, effect="at_most_once", reads=[], writes=["desk"]
    )
    @tool
    async def pay(q: str) -> str:
        """Pay."""
        done.append((q, True if approval else interrupt(q)))
        return "paid"

    model = ScriptedChatModel(script(calls(("pay", {"q": "x"})), calls(("pay", {"q": "y"}))))
    graph = StateGraph(MessagesState)
    graph.add_node("agent", build(frontend, model, [pay]).graph)
    graph.add_edge(START, "agent")
    return graph.compile(checkpointer=InMemorySaver())


@pytest.mark.parametrize("frontend", Frontend)
@pytest.mark.parametrize("approval", [False, True], ids=["question", "approval"])
@pytest.mark.parametrize("again", [None, Command(resume={"0" * 32: True})], ids=["none", "id"])
def test_a_run_without_an_answer_gives_none_to_the_next_question(
    frontend: Frontend, again: Any, *, approval: bool
) -> None:
    """LangGraph keeps the answer to the first until the outer graph's step ends."""

    async def main() -> None:
        done: list[Any] = []
        graph = graph_of(frontend, done, approval=approval)
        await graph.ainvoke({"messages": [("user", "Pay x and y.")]}, THREAD)
        await graph.ainvoke(Command(resume=True), THREAD)
        assert done == [("x", True)]
        said = await graph.ainvoke(again, THREAD)
        assert done == [("x", True)]
        assert len(said["__interrupt__"]) == 1
        await graph.ainvoke(Command(resume=True), THREAD)
        assert done == [("x", True), ("y", True)]

    asyncio.run(main())
