"""Many clients want one thread at the same time: each is heard once, and what one was told stays."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import ToolSpec
from asyncguard.errors import CallerError
from asyncguard.testing import ScriptedChatModel
from tests.adapters.harness import Agent, AgentOf
from tests.adapters.harness import script as script_of
from tests.adapters.processes import HANG, Machine
from tests.adapters.resume.test_late_runs import PATIENT, PLACE, shop, shopper


class Uneven(InMemorySaver):
    """A checkpointer whose requests take different times, as those of a busy server do."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)

    async def aget_tuple(self, config: Any) -> Any:
        await asyncio.sleep(self._random.choice([0, 0, 0.001, 0.003]))
        found = await super().aget_tuple(config)
        await asyncio.sleep(self._random.choice([0, 0, 0.001]))
        return found

    async def aput(self, *given: Any, **more: Any) -> Any:
        await asyncio.sleep(self._random.choice([0, 0, 0.001, 0.003, 0.01]))
        return await super().aput(*given, **more)


async def heard(agent: Agent, said: str) -> None:
    """Ask until the thread is free; each time too soon is an input that LangGraph has stored."""
    async with asyncio.timeout(HANG):
        while True:
            try:
                await agent.graph.ainvoke(agent.input(said, None), PLACE, durability="sync")
            except CallerError:
                await asyncio.sleep(0.02)
            else:
                return


@pytest.mark.sampled(4)
@pytest.mark.parametrize("clients", [pytest.param(2, marks=pytest.mark.slow), 7])
@pytest.mark.parametrize(
    ("own", "journal"),
    [
        pytest.param(True, True, id="processes"),
        pytest.param(False, True, id="one process"),
        pytest.param(False, False, id="one process without a journal"),
    ],
)
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 10))]
)
async def test_each_client_is_heard_once(
    agent_of: AgentOf, tmp_path: Path, seed: int, clients: int, *, own: bool, journal: bool
) -> None:
    """No message is lost, read twice, or answered without its history; no effect is made twice."""
    saver, made = Uneven(seed), list[str]()
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db", saver=saver)

    def agent() -> Agent:
        script, declared = [shopper] * 9 * clients, [ToolSpec(name="pay")]
        if journal:
            return machine.process([shop(made)], declared, *script, config=PATIENT).agent
        model = ScriptedChatModel(script_of(*script))
        tools = [shop(made)]
        return agent_of(model, tools, specs=declared, config=PATIENT, checkpointer=saver)

    shared = agent()
    names = [f"Client {n}." for n in range(clients)]
    await asyncio.gather(*(heard(agent() if own else shared, name) for name in names))
    state = await shared.graph.aget_state(PLACE)
    said = [each.content for each in state.values["messages"] if each.type != "tool"]
    said = [text for text in said if text]
    assert sorted(said[::2]) == names
    assert said[1::2] == ["All is paid."] * clients
    assert sorted(made) == ["x", "y", "z"]
    ledger = state.values["ledger"]
    assert [event["n"] for event in ledger] == list(range(1, len(ledger) + 1))
    machine.close()
