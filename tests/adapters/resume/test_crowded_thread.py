"""Many clients want one thread at the same time: each is heard once, and what one was told stays.

Runs that have read it before another ended are those of `create_agent`: `build_agent` lets none read.
"""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import ToolSpec
from asyncguard.errors import CallerError
from asyncguard.testing import ScriptedChatModel, run_virtual
from tests.adapters.harness import Agent, AgentOf, Frontend, build
from tests.adapters.harness import script as script_of
from tests.adapters.processes import HANG, Machine, until
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


class Held(InMemorySaver):
    """A checkpointer that is late to say that it has stored one of its checkpoints."""

    def __init__(self) -> None:
        super().__init__()
        self.puts = 0
        self.held = 0
        self.stuck, self.go_on = asyncio.Event(), asyncio.Event()

    async def aput(self, *given: Any, **more: Any) -> Any:
        self.puts += 1
        put = await super().aput(*given, **more)
        if self.puts == self.held:
            self.stuck.set()
            await self.go_on.wait()
        return put


def test_an_input_that_is_undone_is_read_by_no_other_run() -> None:
    """One run is about to end, the next is refused, and a third has read the input of the second before it went."""
    saver = Held()
    agent = build(Frontend.MIDDLEWARE, ScriptedChatModel(["Yes."] * 9), [], checkpointer=saver)

    async def say(text: str) -> Any:
        return await agent.graph.ainvoke(agent.input(text, None), PLACE, durability="sync")

    async def main() -> Any:
        await say("One.")
        saver.held = 2 * saver.puts  # the last checkpoint of a run of this length
        ending = asyncio.ensure_future(say("Two."))
        await saver.stuck.wait()
        refused = asyncio.ensure_future(say("Three."))
        await asyncio.sleep(0.1)  # its input is stored, and it waits for the first
        third = asyncio.ensure_future(say("Four."))
        with pytest.raises(CallerError, match="is under way"):
            await refused
        saver.go_on.set()
        await ending
        with pytest.raises(CallerError, match="run it again"):
            await third
        for text in ("Three.", "Four."):
            state = await say(text)
        return [each.content for each in state["messages"]]

    said = run_virtual(main()).result
    assert said == [text for name in ("One.", "Two.", "Three.", "Four.") for text in (name, "Yes.")]


class Read(InMemorySaver):
    """A checkpointer that stores one checkpoint late, and keeps back what is read meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.puts = 0
        self.held = 0
        self.readers = 0
        self.stuck, self.store, self.show = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def aget_tuple(self, config: Any) -> Any:
        found = await super().aget_tuple(config)
        if self.stuck.is_set():
            self.readers += 1
            await self.show.wait()
        return found

    async def aput(self, *given: Any, **more: Any) -> Any:
        self.puts += 1
        if self.puts == self.held:
            self.stuck.set()
            await self.store.wait()
        return await super().aput(*given, **more)


@pytest.mark.parametrize("frontend", [Frontend.MIDDLEWARE], indirect=True)
@pytest.mark.parametrize("clients", [1, 2, 6])
def test_many_runs_that_read_the_thread_before_its_last_step_are_refused(
    agent_of: AgentOf, clients: int
) -> None:
    """Each has stored its input after that step by then, however many they are."""
    saver = Read()
    agent = agent_of(ScriptedChatModel(["Yes."] * 9), [], checkpointer=saver)

    async def say(text: str) -> Any:
        return await agent.graph.ainvoke(agent.input(text, None), PLACE, durability="sync")

    async def main() -> Any:
        await say("One.")
        saver.held = 2 * saver.puts  # the last checkpoint of a run of this length
        ending = asyncio.ensure_future(say("Two."))
        await saver.stuck.wait()
        late = [asyncio.ensure_future(say(f"Late {n}.")) for n in range(clients)]
        await until(lambda: saver.readers == clients)
        saver.stuck.clear()
        saver.store.set()
        await ending
        saver.show.set()
        refused = await asyncio.gather(*late, return_exceptions=True)
        assert all("run it again" in str(each) for each in refused), refused
        state = await agent.graph.aget_state(PLACE)
        return [each.content for each in state.values["messages"]]

    assert run_virtual(main()).result == ["One.", "Yes.", "Two.", "Yes."]
