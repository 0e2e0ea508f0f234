"""Any mix of calls in one message, however few LangGraph executes at once: every run ends, and nothing is lost.

Async runs in virtual time, and sync runs with tools on threads, where the order is that of the machine.
"""

import asyncio
import faulthandler
import time
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
GIVEN = {"messages": [("user", "Go.")]}
MOST_QUESTIONS = 30
SECONDS = 60.0


def _tool(name: str, done: list[int], mode: ToolMode) -> Any:
    async def act(arguments: Any) -> str:
        number = arguments["number"]
        if name != "ask":
            await asyncio.sleep(number % 3)
        return ended(number)

    def act_in_thread(arguments: Any) -> str:
        number = arguments["number"]
        if name != "ask":
            time.sleep(number % 3 / 100)
        return ended(number)

    def ended(number: int) -> str:
        if name == "ask":
            interrupt({"number": number})
        done.append(number)
        return f"result {number}."

    function = act_in_thread if mode is ToolMode.SYNC else act
    return scripted_tool(name, function, args={"number": int}, mode=mode)


def _agent(frontend: Frontend, kinds: list[str], done: list[int], mode: ToolMode) -> Any:
    made = calls(*((kind, {"number": number}) for number, kind in enumerate(kinds)))
    model = ScriptedChatModel([made, *["Done."] * 60])
    tools = [_tool(spec.name, done, mode) for spec in SPECS]
    given: dict[str, Any] = {"specs": SPECS, "config": CONFIG}
    if frontend is Frontend.GRAPH:
        return build_agent(model, tools, checkpointer=InMemorySaver(), **given)
    guard = AsyncGuardMiddleware(**given)
    return create_agent(model, tools, middleware=[guard], checkpointer=InMemorySaver())


def _config(most: int | None) -> Any:
    config: Any = {"configurable": {"thread_id": "t"}, "recursion_limit": 200}
    return config | ({"max_concurrency": most} if most else {})


def _answers(state: Any) -> Any:
    """Say yes to each question that is out; ``None`` if none is."""
    asked = state.get("__interrupt__")
    return Command(resume={item.id: True for item in asked}) if asked else None


def _check(state: Any, kinds: list[str], done: list[int]) -> None:
    assert not state.get("__interrupt__"), "It asks for ever."
    assert state["report"]["reason"] == "complete"
    assert sorted(done) == list(range(len(kinds)))
    told = " ".join(message.text for message in state["messages"])
    assert [number for number in range(len(kinds)) if f"result {number}." not in told] == []


MIXES = st.lists(st.sampled_from([spec.name for spec in SPECS]), min_size=1, max_size=9)
AT_ONCE = st.sampled_from([1, 2, 3, None])


@pytest.mark.parametrize("frontend", Frontend)
@given(kinds=MIXES, most=AT_ONCE)
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
    graph = _agent(frontend, kinds, done, ToolMode.ASYNC)

    async def main() -> Any:
        state = await graph.ainvoke(GIVEN, _config(most))
        for _ in range(MOST_QUESTIONS):
            if (answers := _answers(state)) is None:
                break
            state = await graph.ainvoke(answers, _config(most))
        return state

    _check(run_virtual(asyncio.wait_for(main(), 1000.0)).result, kinds, done)


FOUR_ASK = ["pay", "write", "pay", "ask", "ask", "ask", "read", "after", "ask"]


@pytest.mark.parametrize("frontend", Frontend)
@given(kinds=MIXES, most=AT_ONCE)
@example(kinds=FOUR_ASK, most=3)
@example(kinds=FOUR_ASK, most=2)
@settings(max_examples=examples(100), deadline=None)
def test_every_sync_run_ends_with_every_call_made_once(
    frontend: Frontend, kinds: list[str], most: int | None
) -> None:
    """As above on threads. A run that hangs ends the process: its threads would hold that up for ever."""
    done: list[int] = []
    graph = _agent(frontend, kinds, done, ToolMode.SYNC)
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        state = graph.invoke(GIVEN, _config(most))
        for _ in range(MOST_QUESTIONS):
            if (answers := _answers(state)) is None:
                break
            state = graph.invoke(answers, _config(most))
    finally:
        faulthandler.cancel_dump_traceback_later()
    _check(state, kinds, done)
