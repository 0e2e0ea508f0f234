"""A result that a probe told for a dead process outlives the process that asked, whatever its thread has stored."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import EffectClass, ToolSpec
from asyncguard.core.calls import CallState
from asyncguard.testing import calls, scripted_tool
from tests.adapters.harness import AgentOf, pure
from tests.adapters.processes import HANG, Machine, until

SPECS = [ToolSpec(name="book", effect=EffectClass.PROBED, probe="seen"), pure("seen")]


class MortalSaver(InMemorySaver):
    """Stores nothing more of a process that is dead."""

    def __init__(self) -> None:
        super().__init__()
        self.dead = False
        self.buried = asyncio.Event()

    async def _end(self) -> None:
        await self.buried.wait()
        raise asyncio.CancelledError

    async def aput(self, *given: Any, **more: Any) -> Any:
        if self.dead:
            await self._end()
        return await super().aput(*given, **more)

    async def aput_writes(self, *given: Any, **more: Any) -> None:
        if self.dead:
            await self._end()
        await super().aput_writes(*given, **more)


@pytest.fixture
def machine(agent_of: AgentOf, tmp_path: Path) -> Iterator[Machine]:
    """A machine with a disk."""
    made = Machine(agent_of=agent_of, path=tmp_path / "effects.db", saver=MortalSaver())
    yield made
    made.close()


async def test_what_a_probe_told_is_told_by_the_next_process_too(machine: Machine) -> None:
    """The first process dies after the effect, the second when it knows the result and has not stored it."""
    begun, settled, hangs = asyncio.Event(), asyncio.Event(), True

    async def book(_: Any) -> str:
        begun.set()
        if hangs:
            await asyncio.Event().wait()
        return "never"

    tools = [
        scripted_tool("book", book, args={"item": str}),
        scripted_tool(
            "seen", lambda _: '{"happened": true, "result": "receipt 815"}', args={"item": str}
        ),
    ]
    saver = machine.saver
    assert isinstance(saver, MortalSaver)
    first = machine.process(tools, SPECS, calls(("book", {"item": "x"})))
    first.begin("Book x.", durability="sync")
    await asyncio.wait_for(begun.wait(), HANG)
    await first.die()

    second = machine.process(tools, SPECS)
    settle = second.journal.record_final_state

    def settle_and_stop(
        key: str, state: CallState, error: str = "", *, stored: bool = False
    ) -> None:
        settle(key, state, error, stored=stored)
        saver.dead = True
        settled.set()

    second.journal.record_final_state = settle_and_stop  # type: ignore[method-assign]
    second.run = asyncio.create_task(second.go_on(durability="sync"))
    await asyncio.wait_for(settled.wait(), HANG)
    await until(lambda: bool(second.journal.entries(states=[CallState.DONE])))
    await second.killed()
    second.run.cancel()
    saver.buried.set()  # LangGraph waits for its writes, also where it is cancelled
    await asyncio.wait_for(asyncio.gather(second.run, return_exceptions=True), 10)
    saver.dead = False

    third = machine.process(tools, SPECS, "Booked.", "Booked.")
    outcome = await third.go_on(durability="sync")
    assert outcome.states("main") == {"done": 1}
    assert "receipt 815" in outcome.text
