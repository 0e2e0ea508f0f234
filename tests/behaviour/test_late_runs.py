"""A run that read its state, and was overtaken by another process before it took the thread."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import ThreadBusyError, ToolSpec
from asyncguard.engine.journal import threads
from asyncguard.frontends import middleware, nodes
from asyncguard.testing import calls, scripted_tool
from tests.behaviour.harness import AgentOf, Frontend
from tests.behaviour.processes import Machine, Process

PLACE: Any = {"configurable": {"thread_id": "t"}}


class Halting(InMemorySaver):
    """A checkpointer that lets one run stand still: when it has read, or before a checkpoint of its is stored."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None
        self.reading = False
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    async def aget_tuple(self, config: Any) -> Any:
        found = await super().aget_tuple(config)
        if self.reading:
            self.reading = False
            self.reached.set()
            await self.go_on.wait()
        return found

    async def aput(self, *given: Any, **more: Any) -> Any:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                self.reached.set()
                await self.go_on.wait()
        return await super().aput(*given, **more)


def shop(made: list[str]) -> Any:
    """A tool with an effect."""

    def pay(arguments: Any) -> str:
        made.append(arguments["item"])
        return f"paid {arguments['item']}"

    return scripted_tool("pay", pay, args={"item": str})


async def overtaken(late: Process, heir: Process, saver: Halting, stored: int | None) -> None:
    """Let a run stand still, another process do its work, and the first go on."""
    saver.left, saver.reading = stored, stored is None
    late.begin("Pay x.", durability="sync")
    await saver.reached.wait()
    outcome = await heir.say("Pay x.", durability="sync")
    assert outcome.states("main") == {"done": 1}
    saver.go_on.set()
    assert late.run is not None
    with pytest.raises(ThreadBusyError):  # whether the other is still leaving, or has left
        await asyncio.wait_for(late.run, 5)
    await asyncio.to_thread(late.journal.entries)  # behind its leaving, which nobody waited for


@pytest.mark.parametrize("stored", [None, 0, 1], ids=["it has read", "before its input", "behind its input"])
async def test_a_late_run_begins_nothing_and_takes_nothing_away(
    agent_of: AgentOf, tmp_path: Path, stored: int | None
) -> None:
    """It ends with an error, the effect is made once, and the thread goes on from what the other process did."""
    saver, made = Halting(), list[str]()
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db", saver=saver)
    script, declared = calls(("pay", {"item": "x"})), [ToolSpec(name="pay")]
    late = machine.process([shop(made)], declared, script)
    heir = machine.process([shop(made)], declared, script)
    await overtaken(late, heir, saver, stored)
    assert made == ["x"]
    state = await heir.agent.graph.aget_state(PLACE)
    assert "paid x" in str([message.content for message in state.values["messages"]])
    outcome = await heir.say("Thank you.", durability="sync")
    assert "paid x" in outcome.text
    assert made == ["x"]
    machine.close()


async def test_who_goes_back_in_time_is_not_late(agent_of: AgentOf, tmp_path: Path) -> None:
    """A new message at an old checkpoint is a branch, made on purpose; also in another process."""
    made: list[str] = []
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    declared = [ToolSpec(name="pay")]
    old = machine.process([shop(made)], declared, calls(("pay", {"item": "x"})))
    await old.say("Pay x.", durability="sync")
    first = (await anext(old.agent.graph.aget_state_history(PLACE))).config
    await old.say("And now?", durability="sync")
    await old.die()
    new = machine.process([shop(made)], declared, calls(("pay", {"item": "y"})))
    payload = new.agent.input("Pay y instead.", None)
    state = await new.agent.graph.ainvoke(payload, first, durability="sync")
    assert made == ["x", "y"]
    assert "And now?" not in str([message.content for message in state["messages"]])
    machine.close()


async def test_a_run_that_stands_still_while_it_begins_does_not_cover_its_heir(
    agent_of: AgentOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has entered the thread, is stopped for longer than the lease, and stores nothing when it goes on."""
    monkeypatch.setattr(threads, "LEASE", 0.0)
    monkeypatch.setattr(threads, "RENEWAL", 0.0)
    made: list[str] = []
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    asks = calls(("pay", {"item": "x"}))
    late, heir = (machine.process([shop(made)], [ToolSpec(name="pay")], asks) for _ in range(2))
    overtaking = [lambda: asyncio.run(heir.say("Pay x.", durability="sync"))]
    module = nodes if late.agent.frontend is Frontend.GRAPH else middleware
    enter = module.enter

    def stopped(*given: Any, **more: Any) -> Any:
        while overtaking:  # a stopped process does nothing meanwhile, whatever its loop has to do
            other = threading.Thread(target=overtaking.pop())
            other.start()
            other.join()
        return enter(*given, **more)

    monkeypatch.setattr(module, "enter", stopped)
    with pytest.raises(ThreadBusyError):
        await late.say("Pay x.", durability="sync")
    state = await heir.agent.graph.aget_state(PLACE)
    assert "paid x" in str(state.values["messages"])
    assert made == ["x"]
    machine.close()
