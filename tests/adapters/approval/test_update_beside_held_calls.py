"""A thread is updated while some of its calls wait for approval."""

import asyncio
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from asyncguard import guarded
from asyncguard.testing import ScriptedChatModel, calls
from tests.adapters.harness import Frontend, build, script

THREAD: Any = {"configurable": {"thread_id": "t"}}


@pytest.mark.parametrize("frontend", Frontend)
@pytest.mark.parametrize("first", ["pay", "buy"])
@pytest.mark.parametrize("updated", [1, 2, 3])
def test_each_question_names_its_calls_after_an_update(
    frontend: Frontend, first: str, updated: int
) -> None:
    """LangGraph executes all wrappers again then, also those that had returned a placeholder."""
    done: list[str] = []

    @guarded(approval=True, interrupts=True, effect="at_most_once", reads=[], writes=["desk"])
    @tool
    async def pay(q: str) -> str:
        """Pay."""
        done.append(interrupt(q))
        return "paid"

    @guarded(approval=True, effect="at_most_once", reads=[], writes=["desk"])
    @tool
    async def buy(q: str) -> str:
        """Buy."""
        done.append(f"re {q}")
        return "bought"

    async def main() -> None:
        model = ScriptedChatModel(script(calls((first, {"q": "x"}), ("pay", {"q": "y"}))))
        agent = build(frontend, model, [pay, buy], checkpointer=InMemorySaver())
        outcome = await agent.say("Pay x and y.", thread="t")
        for number in range(1, 7):
            if not outcome.interrupts:
                break
            (asked,) = outcome.interrupts
            assert isinstance(asked, str) or asked["calls"]
            if number == updated:
                await agent.graph.aupdate_state(THREAD, {"messages": []})
            outcome = await agent.resume(f"re {asked}" if isinstance(asked, str) else True, "t")
        assert done == ["re x", "re y"]

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["approval", "question"])
def test_a_question_has_a_new_id_after_an_update(kind: str) -> None:
    """An answer by the former id approves nothing: the question comes again, and `None` shows it."""
    done: list[Any] = []

    @guarded(approval=kind == "approval", interrupts=kind == "question", effect="at_most_once")
    @tool
    async def pay(q: str) -> str:
        """Pay."""
        done.append(True if kind == "approval" else interrupt(q))
        return "paid"

    async def main() -> None:
        model = ScriptedChatModel(script(calls(("pay", {"q": "x"}))))
        agent = build(Frontend.GRAPH, model, [pay], checkpointer=InMemorySaver())
        former = (await agent.say("Pay x.", thread="t")).state["__interrupt__"][0].id
        await agent.graph.aupdate_state(THREAD, {"messages": [("user", "Hurry.")]})
        again = (await agent.resume({former: True}, "t")).state["__interrupt__"][0].id
        shown = (await agent.go(None, "t")).state["__interrupt__"][0].id
        assert shown == again != former
        assert not done
        assert not (await agent.resume({again: True}, "t")).interrupts
        assert done == [True]

    asyncio.run(main())
