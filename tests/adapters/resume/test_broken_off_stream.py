"""A client leaves its stream and writes again at once, while the run that it left is still ending."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import ThreadBusyError
from asyncguard.adapters.threads import claims
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import Frontend, build, pure
from tests.adapters.processes import HANG
from tests.adapters.resume.test_two_runs import PLACE, async_saver, said


def two_calls(messages: Any, _: Any) -> Any:
    """Make a slow call and an effect for two tasks, then say that they are done."""
    if any(message.type == "ai" for message in messages):
        return "all done"
    return calls(("look", {"task_id": "a", "q": "x"}), ("pay", {"task_id": "b", "q": "x"}))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("turns", [0, 1], ids=["at once", "a turn of the loop later"])
@pytest.mark.parametrize("events", range(1, 7))
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_the_next_message_is_heard(
    frontend: Frontend,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    events: int,
    turns: int,
) -> None:
    """Once, though the loop closes the stream later than the next message begins."""
    # A run that has ended before it read its input reads none any more: it is not waited for.
    monkeypatch.setattr(claims, "_LOOKS_FOR_FIRST_NODE", 1000 * int(HANG))
    async with async_saver(kind, tmp_path) as saver, asyncio.timeout(HANG):
        agent = build(
            frontend,
            ScriptedChatModel(two_calls),
            [
                scripted_tool("look", lambda _: "found", args={"q": str}, latency=0.02),
                scripted_tool("pay", lambda _: "paid", args={"q": str}),
            ],
            specs=[pure("look")],
            checkpointer=saver,
        )
        tasks = [{"id": "a", "goal": "Look for x."}, {"id": "b", "goal": "Pay x."}]
        given, seen = agent.input(None, tasks), 0
        async for _ in agent.graph.astream(given, PLACE, stream_mode="custom"):
            seen += 1
            if seen == events:
                break
        for _ in range(turns):
            await asyncio.sleep(0)
        message = agent.input("there?", None)
        try:
            state = await agent.graph.ainvoke(message, PLACE)
        except ThreadBusyError:
            # LangGraph stores the steps of create_agent while the next node runs, so the last one
            # may have come after this run had read the thread.
            assert (frontend, kind) == (Frontend.MIDDLEWARE, "sqlite")
            stored = await agent.graph.aget_state(PLACE)
            assert "there?" not in said(stored.values["messages"])
            state = await agent.graph.ainvoke(message, PLACE)
        assert said(state["messages"]).count("there?") == 1
        assert state["messages"][-1].text == "all done"


class SlowWrites(InMemorySaver):
    """A checkpointer that takes its time with what a node has written."""

    async def aput_writes(self, *given: Any, **more: Any) -> None:
        await asyncio.sleep(0.4)
        await super().aput_writes(*given, **more)


@pytest.mark.sampled(2)
async def test_a_run_that_stores_its_last_writes_is_waited_for(frontend: Frontend) -> None:
    """Longer than one that works on."""
    agent = build(frontend, ScriptedChatModel(["all done"]), [], checkpointer=SlowWrites())
    given = agent.input(None, [{"id": "a", "goal": "Say so."}])
    async for _ in agent.graph.astream(given, PLACE, stream_mode="custom"):
        break
    state = await agent.graph.ainvoke(agent.input("there?", None), PLACE)
    assert state["messages"][-1].text == "all done"
