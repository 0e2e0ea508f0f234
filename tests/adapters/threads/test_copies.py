"""Copies that two refused runs put above one checkpoint at the same time."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard.adapters.threads.checkpoints import listed, original_of, put_last
from asyncguard.testing import ScriptedChatModel
from tests.adapters.harness import AgentOf
from tests.adapters.resume.test_late_runs import PLACE


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_neither_overwrites_the_other_and_the_newer_original_is_read(
    agent_of: AgentOf, order: tuple[int, int]
) -> None:
    """One of the runs had read the thread before the last step of the run that went on was stored."""
    saver = InMemorySaver()
    agent = agent_of(ScriptedChatModel(["Yes."] * 2), [], checkpointer=saver)
    for said in ("One.", "Two."):
        await agent.graph.ainvoke(agent.input(said, None), PLACE, durability="sync")
    thread: Any = {"configurable": {**PLACE["configurable"], "checkpoint_ns": ""}}
    newest, *older = await listed(saver, thread, 3)
    put = [await put_last(saver, older[place], above=newest) for place in order]
    assert len({*put}) == 2
    found = await listed(saver, thread, 3)
    assert [original_of(each) for each in found] == [
        *(original_of(each) for each in older),
        original_of(newest),
    ]
    # What is stored later sorts after both.
    await agent.graph.aupdate_state(PLACE, {})
    assert [original_of(each) for each in await listed(saver, thread, 2)][1] == original_of(
        older[0]
    )
