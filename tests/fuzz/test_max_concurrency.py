"""Any mix of calls in one message, however few LangGraph executes at once: every run ends, and nothing is lost."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import AsyncGuardMiddleware, GuardConfig, ToolSpec, build_agent
from asyncguard.testing import ScriptedChatModel, ToolMode, calls, run_virtual, scripted_tool
from tests.adapters.harness import Frontend
from tests.support.examples import examples

SPECS = (
    ToolSpec(name="read", effect="pure", reads=()),
    ToolSpec(name="pay", approval=True, reads=(), writes=()),
    ToolSpec(name="ask", interrupts=True, reads=(), writes=()),
    ToolSpec(name="after", effect="idempotent", reads=("desk",), writes=()),
    ToolSpec(name="write", reads=(), writes=("desk",)),
)
CONFIG = GuardConfig(premature=False, grounding=False)
MOST_QUESTIONS = 30


def _tool(name: str, done: list[int]) -> Any:
    async def act(arguments: Any) -> str:
        number = arguments["number"]
        if name == "ask":
            interrupt({"number": number})
        else:
            await asyncio.sleep(number % 3)
        done.append(number)
        return f"result {number}."

    return scripted_tool(name, act, args={"number": int}, mode=ToolMode.ASYNC)


def _agent(frontend: Frontend, kinds: list[str], done: list[int]) -> Any:
    made = calls(*((kind, {"number": number}) for number, kind in enumerate(kinds)))
    model = ScriptedChatModel([made, *["Done."] * 60])
    tools = [_tool(spec.name, done) for spec in SPECS]
    given: dict[str, Any] = {"specs": SPECS, "config": CONFIG}
    if frontend is Frontend.GRAPH:
        return build_agent(model, tools, checkpointer=InMemorySaver(), **given)
    guard = AsyncGuardMiddleware(**given)
    return create_agent(model, tools, middleware=[guard], checkpointer=InMemorySaver())


async def _answered(invoke: Callable[[Any], Any]) -> Any:
    state = await invoke({"messages": [("user", "Go.")]})
    for _ in range(MOST_QUESTIONS):
        if not state.get("__interrupt__"):
            return state
        answers = {item.id: True for item in state["__interrupt__"]}
        state = await invoke(Command(resume=answers))
    raise AssertionError("It asks for ever.")


@pytest.mark.parametrize("frontend", Frontend)
@given(
    kinds=st.lists(st.sampled_from([spec.name for spec in SPECS]), min_size=1, max_size=9),
    most=st.sampled_from([1, 2, 3, None]),
)
@example(kinds=["ask", "ask"], most=1)
@example(kinds=["ask", "pay", "read", "read", "ask", "read"], most=1)
@example(kinds=["write", "write", "ask", "pay", "after", "ask", "pay", "pay"], most=2)
@example(kinds=["write", "ask", "after", "after", "write", "pay", "read", "ask"], most=1)
@settings(max_examples=examples(200))
def test_every_run_ends_with_every_call_made_once(
    frontend: Frontend, kinds: list[str], most: int | None
) -> None:
    """With questions and approvals answered as they come, whatever comes first."""
    done: list[int] = []
    graph = _agent(frontend, kinds, done)
    config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 200}
    config |= {"max_concurrency": most} if most else {}

    async def main() -> Any:
        return await asyncio.wait_for(
            _answered(lambda sent: graph.ainvoke(sent, config)), timeout=1000.0
        )

    state = run_virtual(main()).result
    assert state["report"]["reason"] == "complete"
    assert sorted(done) == list(range(len(kinds)))
    told = " ".join(message.text for message in state["messages"])
    assert [number for number in range(len(kinds)) if f"result {number}." not in told] == []
