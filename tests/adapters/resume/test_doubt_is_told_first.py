"""After a kill the model is told of a doubt before its next turn, and not after it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import EffectClass, GuardConfig, Ports, Timing, ToolSpec
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import Frontend, build
from tests.adapters.processes import MortalJournal

CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))


@pytest.mark.parametrize("durability", ["sync", "async"])
async def test_a_new_message_after_a_kill(
    frontend: Frontend, tmp_path: Path, durability: Any
) -> None:
    """The state has the call as queued, as its step died; only the journal knows that it had begun."""
    saver, entered = InMemorySaver(), asyncio.Event()

    async def pay(_: Any) -> str:
        entered.set()
        await asyncio.Event().wait()
        return "paid"

    def process(*steps: Any) -> tuple[Any, MortalJournal]:
        journal = MortalJournal(tmp_path / "journal.db")
        tool = scripted_tool("pay", pay, args={"q": str})
        agent = build(
            frontend,
            ScriptedChatModel(list(steps)),
            [tool],
            specs=[ToolSpec(name="pay", effect=EffectClass.AT_MOST_ONCE)],
            config=CONFIG,
            checkpointer=saver,
            ports=Ports(journal=journal),
        )
        return agent, journal

    first, journal = process(calls(("pay", {"q": "x"})))
    run = asyncio.ensure_future(first.say("Pay x.", thread="t"))
    await entered.wait()
    journal.die()
    run.cancel()
    await asyncio.wait([run])
    second, other = process(*["Unknown."] * 2)
    outcome = await second.say("And?", thread="t")
    journal.close()
    other.close()
    assert outcome.report["in_doubt"] == ["pay#1"]
    (request,) = second.model.requests
    assert 'status="in_doubt"' in str(request.messages[-1].content)
