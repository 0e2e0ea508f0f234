"""Middleware around and inside the guard asks in the same task as the tool, each question its own answer."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import AsyncGuardMiddleware, guarded
from asyncguard.testing import ScriptedChatModel, calls

THREAD: Any = {"configurable": {"thread_id": "t"}}
SIDES = [(), ("before",), ("after",), ("before", "after")]


@dataclass
class Desk:
    """Answers of a person, as those who asked have received them."""

    told: set[tuple[str, str]] = field(default_factory=set)

    def ask(self, question: str) -> None:
        """Ask a person; the answer quotes the question that it is given to."""
        self.told.add((question, interrupt(question)))


class Asking(AgentMiddleware[Any, Any, Any]):
    """Middleware that asks before and after a call."""

    def __init__(self, called: str, sides: tuple[str, ...], desk: Desk) -> None:
        super().__init__()
        self.called, self.sides, self.desk = called, sides, desk

    @property
    def name(self) -> str:
        """Name of the one of the two."""
        return self.called

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Ask, have the call made, and ask."""
        if "before" in self.sides:
            self.desk.ask(f"{self.called} before")
        answer = await handler(request)
        if "after" in self.sides:
            self.desk.ask(f"{self.called} after")
        return answer


def agent_of(
    desk: Desk, outer: tuple[str, ...], inner: tuple[str, ...], saver: Any, *said: Any
) -> Any:
    """Return the agent of a process."""

    @guarded(interrupts=True, effect="pure")
    @tool
    async def pay(q: str) -> str:
        """Pay."""
        desk.ask("tool first")
        desk.ask("tool second")
        return f"paid {q}"

    around = [
        Asking("outer", outer, desk),
        AsyncGuardMiddleware(),
        Asking("inner", inner, desk),
    ]
    model = ScriptedChatModel([*said, "done"])
    return create_agent(model, [pay], middleware=around, checkpointer=saver)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("by_id", [False, True], ids=["whichever", "by-id"])
@pytest.mark.parametrize("restarted", [False, True], ids=["one-process", "processes"])
@pytest.mark.parametrize("outer", SIDES, ids=str)
@pytest.mark.parametrize("inner", SIDES, ids=str)
def test_each_question_around_a_tool_gets_its_answer(
    outer: tuple[str, ...], inner: tuple[str, ...], *, restarted: bool, by_id: bool
) -> None:
    """Asked once each, in the order of the layers; the call is made in the end."""
    desk, saver, asked = Desk(), InMemorySaver(), list[str]()

    async def main() -> Any:
        agent = agent_of(desk, outer, inner, saver, calls(("pay", {"q": "x"})))
        said = await agent.ainvoke({"messages": [("user", "Pay x.")]}, THREAD)
        while said.get("__interrupt__") and len(asked) < 10:
            (question,) = said["__interrupt__"]
            asked.append(question.value)
            answer = f"re {question.value}"
            if restarted:
                agent = agent_of(desk, outer, inner, saver)
            resume = {question.id: answer} if by_id else answer
            said = await agent.ainvoke(Command(resume=resume), THREAD)
        return said

    said = asyncio.run(main())
    assert "paid x" in [message.content for message in said["messages"]]
    assert asked == [
        *(f"outer {side}" for side in outer if side == "before"),
        *(f"inner {side}" for side in inner if side == "before"),
        "tool first",
        "tool second",
        *(f"inner {side}" for side in inner if side == "after"),
        *(f"outer {side}" for side in outer if side == "after"),
    ]
    assert desk.told == {(question, f"re {question}") for question in asked}
