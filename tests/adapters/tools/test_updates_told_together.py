"""State updates of tools whose results are told in one step, though their calls were made apart."""

import asyncio
import operator
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import (
    AsyncGuardMiddleware,
    EffectClass,
    GuardConfig,
    GuardedState,
    GuardState,
    Timing,
    ToolSpec,
    build_agent,
)
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool

GOALS = {"a": "Ada", "b": "Bob", "c": "tick"}


class Desk(GuardedState, total=False):
    customer: str
    booked: Annotated[list[str], operator.add]


class GuardDesk(GuardState, total=False):
    customer: str
    booked: Annotated[list[str], operator.add]


async def book(name: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Book for a customer."""
    await asyncio.sleep(50 if name == "Ada" else 40)
    said = ToolMessage(f"booked {name}", tool_call_id=call_id)
    return Command(update={"customer": name, "booked": [name], "messages": [said]})


def told_together(*, middleware: bool, apart: bool, saver: InMemorySaver | None) -> dict[str, Any]:
    """Run two bookings whose results the model is told in one turn, of one message or of two."""
    ada, bob = ("book", {"name": "Ada", "task_id": "a"}), ("book", {"name": "Bob", "task_id": "b"})
    tick = scripted_tool("tick", ["t"] * 5, args={}, latency=9.999)
    ticked = ("tick", {"task_id": "b" if apart else "c"})
    script = [calls(ada, ticked), calls(bob)] if apart else [calls(ada, ticked, bob)]
    model = ScriptedChatModel([*script, "wait", "Done.", "Done.", "Done."])
    specs = [ToolSpec(name="book", effect=EffectClass.IDEMPOTENT, reads=(), writes=())]
    # So long that the second booking has ended when the first one is told.
    config = GuardConfig(timing=Timing(linger=0.05 if apart else 15))
    tools = [book, tick]
    agent: Any = (
        create_agent(
            model,
            tools,
            middleware=[AsyncGuardMiddleware(specs=specs, config=config)],
            state_schema=GuardDesk,
            checkpointer=saver,
        )
        if middleware
        else build_agent(
            model, tools, specs=specs, config=config, state_schema=Desk, checkpointer=saver
        )
    )
    place = {"configurable": {"thread_id": "t"}}
    tasks = [{"id": name, "goal": GOALS[name]} for name in ("ab" if apart else "abc")]
    return run_virtual(agent.ainvoke({"messages": [], "tasks": tasks}, place)).result  # type: ignore[no-any-return]


@pytest.mark.parametrize("apart", [False, True], ids=["one message", "two messages"])
@pytest.mark.parametrize("saved", [False, True], ids=["in memory", "saved"])
@pytest.mark.parametrize("middleware", [False, True], ids=["build_agent", "create_agent"])
def test_each_write_reaches_a_reducer_and_the_last_one_a_plain_key(
    *, middleware: bool, saved: bool, apart: bool
) -> None:
    """LangGraph refuses two writes of a step to a plain key, and a mapping holds one of two for a reducer."""
    state = told_together(
        middleware=middleware, apart=apart, saver=InMemorySaver() if saved else None
    )
    assert sorted(state["booked"]) == ["Ada", "Bob"]
    assert state["customer"] == state["booked"][-1]
    said = "".join(message.text for message in state["messages"])
    assert "booked Ada" in said
    assert "booked Bob" in said
    assert state["report"]["reason"] == "complete"
