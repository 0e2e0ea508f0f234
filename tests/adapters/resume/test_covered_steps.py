"""The last step of a run is covered by what another one stored, which read the thread before: it is found again.

Some of it happens to ``create_agent`` alone: a run of ``build_agent`` reads no thread that another one has.
"""

import asyncio
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.checkpoint.base import id as ids
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard.errors import CallerError, ThreadBusyError
from asyncguard.testing import ScriptedChatModel, run_virtual
from tests.adapters.harness import Agent, AgentOf, Frontend
from tests.adapters.processes import Machine
from tests.adapters.resume.test_late_runs import PLACE


class Late(InMemorySaver):
    """A checkpointer that gives one run what was stored when it asked, and stores one checkpoint late."""

    def __init__(self) -> None:
        super().__init__()
        self.late = ""  # name of the task whose reading is given late
        self.read, self.give = asyncio.Event(), asyncio.Event()
        self.source = ""  # of the next checkpoint that is stored late
        self.stuck, self.store = asyncio.Event(), asyncio.Event()

    async def aget_tuple(self, config: Any) -> Any:
        found = await super().aget_tuple(config)
        task = asyncio.current_task()
        if task is not None and task.get_name() == self.late:
            self.late = ""
            self.read.set()
            await self.give.wait()
        return found

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        if metadata["source"] == self.source:
            self.source = ""
            self.stuck.set()
            await self.store.wait()
        return await super().aput(config, checkpoint, metadata, versions)


async def say(agent: Agent, text: str | None, place: Any = PLACE, durability: str = "sync") -> Any:
    """Say something, or go on with a run that was broken off."""
    given = None if text is None else agent.input(text, None)
    return await agent.graph.ainvoke(given, place, durability=durability)


async def heard(agent: Agent, text: str) -> list[str]:
    """Say something until it is answered."""
    for _ in range(3):
        try:
            return [each.content for each in (await say(agent, text))["messages"]]
        except CallerError:
            continue
    raise AssertionError("The thread is never free.")


@pytest.mark.parametrize("frontend", [Frontend.MIDDLEWARE], indirect=True)
@pytest.mark.parametrize("began", [True, False], ids=["old thread", "new thread"])
@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("resumed", [False, True])
def test_by_an_input_whose_run_was_cancelled_before_its_first_node(
    agent_of: AgentOf, durability: str, *, began: bool, resumed: bool
) -> None:
    """No node of that run could tell that it is late, and take its input back."""
    saver = Late()
    agent = agent_of(ScriptedChatModel(["Yes."] * 4), [], checkpointer=saver)

    async def main() -> list[str]:
        if began:
            await say(agent, "One.")
        saver.late = "late"
        late = asyncio.create_task(say(agent, "Late.", durability=durability), name="late")
        await saver.read.wait()
        await say(agent, "Two.")
        saver.source = "loop"
        saver.give.set()
        await saver.stuck.wait()
        late.cancel()
        saver.store.set()
        with pytest.raises(asyncio.CancelledError):
            await late
        with pytest.raises(ThreadBusyError):
            await say(agent, None if resumed else "Three.")
        return await heard(agent, "Three.")

    said = ["One.", "Yes."] * began
    assert run_virtual(main()).result == [*said, "Two.", "Yes.", "Three.", "Yes."]


def test_by_a_copy_that_was_put_before_the_first_step_was_stored(agent_of: AgentOf) -> None:
    """A slow database, durability ``async``: the run goes on before its own input has been followed by a step."""
    saver = Late()
    agent = agent_of(ScriptedChatModel(["Yes."] * 4), [], checkpointer=saver)

    async def main() -> list[str]:
        await say(agent, "One.")
        saver.source = "loop"
        first = asyncio.create_task(say(agent, "Two.", durability="async"))
        await saver.stuck.wait()
        await asyncio.sleep(1)  # it has made all of its steps
        with pytest.raises(CallerError, match="is under way"):
            await say(agent, "Three.")
        saver.store.set()
        await first
        return await heard(agent, "Three.")

    said = run_virtual(main()).result
    assert said == ["One.", "Yes.", "Two.", "Yes.", "Three.", "Yes."]


@pytest.mark.parametrize("frontend", [Frontend.MIDDLEWARE], indirect=True)
def test_by_a_copy_of_a_branch_that_the_caller_has_left(agent_of: AgentOf) -> None:
    """The caller has gone back in time; a late run had read the longer branch."""
    saver = Late()
    agent = agent_of(ScriptedChatModel(["Yes."] * 9), [], checkpointer=saver)

    async def main() -> list[str]:
        await say(agent, "One.")
        back = (await agent.graph.aget_state(PLACE)).config
        for text in ("Two.", "Three.", "Four."):
            await say(agent, text)
        saver.late = "late"
        late = asyncio.create_task(say(agent, "Late."), name="late")
        await saver.read.wait()
        await say(agent, "Back.", back)
        saver.give.set()
        with pytest.raises(ThreadBusyError):
            await late
        return await heard(agent, "Five.")

    said = run_virtual(main()).result
    assert said == ["One.", "Yes.", "Back.", "Yes.", "Five.", "Yes."]


class Clocks:
    """Machines whose clocks differ: ids of checkpoints begin with the time of the one that makes them."""

    def __init__(self, patch: pytest.MonkeyPatch, *ahead: float) -> None:
        self._patch = patch
        self._ahead = ahead
        self._newest: list[Any] = [None] * len(ahead)
        self._here = 0

    def go_to(self, machine: int) -> None:
        """Run on a machine from now on."""
        self._newest[self._here] = ids._last_v6_timestamp
        self._here = machine
        shift = int(self._ahead[machine] * 1e9)
        clock = SimpleNamespace(time_ns=lambda: time.time_ns() + shift)
        self._patch.setattr(ids, "time", clock)
        self._patch.setattr(ids, "_last_v6_timestamp", self._newest[machine])


@pytest.mark.parametrize("behind", [0.01, 60, 10**6])
async def test_by_one_of_a_machine_whose_clock_is_ahead(
    agent_of: AgentOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behind: float
) -> None:
    """What a machine stores after it counts."""
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db", saver=InMemorySaver())
    agents = [machine.process([], [], *["Yes."] * 9).agent for _ in range(2)]
    clocks, said = Clocks(monkeypatch, 0, -behind), list[str]()
    for n, which in enumerate([0, 0, 1, 1, 0, 1, 0, 0]):
        clocks.go_to(which)
        said += [f"{n}.", "Yes."]
        assert await heard(agents[which], f"{n}.") == said
        state = await agents[1 - which].graph.aget_state(PLACE)
        assert [each.content for each in state.values["messages"]] == said
    machine.close()


@pytest.mark.parametrize("behind", [0.01, 60, 10**6])
async def test_by_a_late_run_of_a_machine_whose_clock_is_ahead(
    agent_of: AgentOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behind: float
) -> None:
    """It has read the thread before the other machine went on with it."""
    saver = Late()
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db", saver=saver)
    ahead, other = (machine.process([], [], *["Yes."] * 9).agent for _ in range(2))
    clocks = Clocks(monkeypatch, 0, -behind)
    await say(ahead, "One.")
    saver.late = "late"
    late = asyncio.create_task(say(ahead, "Late."), name="late")
    await saver.read.wait()
    clocks.go_to(1)
    await say(other, "Two.")
    clocks.go_to(0)
    saver.give.set()
    with pytest.raises(ThreadBusyError):
        await late
    assert await heard(ahead, "Three.") == ["One.", "Yes.", "Two.", "Yes.", "Three.", "Yes."]
    machine.close()
