"""Selection of a thread's checkpoint: late steps are repaired, deliberate edits are left alone."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import tool
from langgraph.types import Command

from asyncguard import (
    AsyncGuardMiddleware,
    CallerError,
    ThreadBusyError,
    ToolSpec,
    guard_middleware,
)
from asyncguard.journal.sql import leases
from asyncguard.testing import calls
from tests.adapters.harness import Agent, AgentOf, Frontend, build, pure
from tests.adapters.processes import HANG, Machine, Process
from tests.adapters.resume.test_late_runs import (
    PATIENT,
    PLACE,
    Halting,
    patient,
    shop,
    shopper,
    steps_of,
)

PAY = [ToolSpec(name="pay")]
THANKS = "It is done."


async def left(process: Process) -> None:
    """Wait until a process has released its thread, which happens in the background."""
    await asyncio.to_thread(process.journal.entries)


def payer(messages: Any, tools: Any) -> Any:
    """Pays what the latest message names."""
    said = [message.content for message in messages if message.type == "human"][-1]
    asked = messages[-1].type == "human" and said.startswith("Pay")
    return calls(("pay", {"item": said[-1]})) if asked else THANKS


class Parting(Halting):
    """Lets another run stand still, too: after its next reading."""

    def __init__(self) -> None:
        super().__init__()
        self.gate: asyncio.Event | None = None
        self.at_gate = asyncio.Event()

    async def aget_tuple(self, config: Any) -> Any:
        found = await super().aget_tuple(config)
        if self.gate is not None:
            gate, self.gate = self.gate, None
            self.at_gate.set()
            await gate.wait()
        return found


class Slow(Halting):
    """Stores late, as a busy server over a network does."""

    async def aput(self, *given: Any, **more: Any) -> Any:
        await asyncio.sleep(0.04)
        return await super().aput(*given, **more)


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let leases end at once: a process that stands still loses its thread to the next one."""
    monkeypatch.setattr(leases, "LEASE", 0.0)
    monkeypatch.setattr(leases, "RENEWAL", 0.0)


@pytest.mark.sampled(2)
@pytest.mark.usefixtures("frozen")
async def test_a_run_that_stores_late_itself_begins_at_a_copy_all_the_same(
    agent_of: AgentOf, tmp_path: Path
) -> None:
    """With durability ``async`` its first node runs before its input is stored."""
    saver, made = Slow(), list[str]()
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db", saver=saver)
    late, heir, third = (
        machine.process([shop(made)], PAY, *([shopper] * 9), config=PATIENT) for _ in range(3)
    )
    saver.left, saver.writing = 4, True
    late.begin("Pay x and z, then y.", durability="sync")
    await asyncio.wait_for(saver.reached.wait(), HANG)
    await patient(lambda: heir.say("And thank you.", durability="async"))
    known = steps_of(await heir.agent.graph.aget_state(PLACE))
    saver.go_on.set()
    assert late.run is not None
    with contextlib.suppress(ThreadBusyError):
        await asyncio.wait_for(late.run, HANG)
    await left(late)
    assert steps_of(await heir.agent.graph.aget_state(PLACE)) == known
    await patient(lambda: third.say("Bye."))
    machine.close()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("stored", range(2, 6))
async def test_a_step_that_was_put_twice_hides_none_that_came_after_it(
    agent_of: AgentOf, tmp_path: Path, stored: int, late: bool
) -> None:
    """LangGraph makes the checkpoint of a step from its stored writes, for a client that is refused only then.

    It does so before the holder has put its next steps, or after them.
    """
    saver, made, resting = Parting(), list[str](), asyncio.Event()

    @tool
    async def rest() -> str:
        """Rest, the first time for ever."""
        if not resting.is_set():
            resting.set()
            await asyncio.Event().wait()
        return "rested"

    def payer_who_rests(messages: Any, tools: Any) -> Any:
        seen = str([message.content for message in messages])
        if "paid x" not in seen:
            return calls(("pay", {"item": "x"}))
        return THANKS if "rested" in seen else calls(("rest", {}))

    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db", saver=saver)
    declared = [*PAY, pure("rest")]
    holder, client, heir = (
        machine.process([shop(made), rest], declared, *([payer_who_rests] * 9)) for _ in range(3)
    )
    async with asyncio.timeout(HANG):
        saver.left = stored
        holder.begin("Pay x.", durability="sync")
        await saver.reached.wait()
        saver.gate = gate = asyncio.Event()
        asked = asyncio.create_task(client.agent.graph.ainvoke(None, PLACE, durability="sync"))
        await saver.at_gate.wait()
        for go_on in (saver.go_on, gate) if late else (gate, saver.go_on):
            go_on.set()
            if go_on is gate:
                with pytest.raises(ThreadBusyError):
                    await asked
            else:
                await resting.wait()
        await holder.die()
        await patient(lambda: heir.go_on(durability="sync"))
    assert made == ["x"]
    told, _ = steps_of(await heir.agent.graph.aget_state(PLACE))
    assert sum("paid x" in line for line in told) == 1
    machine.close()


async def test_an_older_branch_goes_on_in_another_process(
    agent_of: AgentOf, tmp_path: Path
) -> None:
    """Its question is answered after a later branch was served; the client is told once at most to run again."""
    made: list[str] = []
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    asks = [ToolSpec(name="pay", approval=True)]
    first, second, third = (machine.process([shop(made)], asks, *([payer] * 9)) for _ in range(3))
    await first.say("Hi", durability="sync")
    await left(first)
    root = (await first.agent.graph.aget_state(PLACE)).config
    await first.agent.graph.ainvoke({"messages": [("user", "Pay x")]}, root, durability="sync")
    await left(first)
    older = (await first.agent.graph.aget_state(PLACE)).config
    await second.agent.graph.ainvoke({"messages": [("user", "Pay y")]}, root, durability="sync")
    await left(second)
    for _ in range(2):
        # A client that was not told to run again is told that the thread has gone on.
        with contextlib.suppress(CallerError):
            await third.agent.graph.ainvoke(Command(resume=True), older, durability="sync")
        await left(third)
    assert made == ["x"]
    machine.close()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("durability", ["exit", "async"])
async def test_a_state_that_was_updated_on_purpose_is_left_alone(
    agent_of: AgentOf, tmp_path: Path, durability: str
) -> None:
    """An update of an older checkpoint counts, although another process continued the thread."""
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db", saver=Slow())
    first, second = (machine.process([shop([])], PAY, *([THANKS] * 9)) for _ in range(2))
    await first.say("one", durability=durability)
    await left(first)
    before = (await first.agent.graph.aget_state(PLACE)).config
    await second.say("two", durability=durability)
    await left(second)
    await first.agent.graph.aupdate_state(before, {"messages": [("user", "noted")]})
    await first.say("three", durability=durability)
    told, _ = steps_of(await first.agent.graph.aget_state(PLACE))
    said = [line.rsplit(" ", 1)[-1] for line in told if line.startswith("human")]
    # With "exit", LangGraph 1.2.12 writes what came after a checkpoint to that checkpoint, so a fork of it has both.
    assert said == ["one", "noted", "three"] or (
        durability == "exit" and said == ["one", "two", "noted", "three"]
    )
    machine.close()


async def test_processes_with_journals_of_their_own_lose_no_answer(
    agent_of: AgentOf, tmp_path: Path
) -> None:
    """Each journal continues the fencing token of the state, so that no answer is lost."""
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    pair = [
        machine.process([shop([])], PAY, *([THANKS] * 9), journal=tmp_path / name)
        for name in ("a.db", "b.db")
    ]
    shown: list[str] = []
    for turn in range(6):
        outcome = await pair[turn % 2].say(f"say {turn}", durability="sync")
        shown.append(str(outcome.messages[-1].id))
        await left(pair[turn % 2])
    told, _ = steps_of(await pair[0].agent.graph.aget_state(PLACE))
    assert [line.split(" ")[1] for line in told if line.startswith("ai")] == shown
    machine.close()


class Before(AgentMiddleware):
    """Has a node of its own in front of the guard's."""

    async def abefore_agent(self, state: Any, runtime: Any) -> None:
        """Do nothing, in a step."""


@pytest.mark.usefixtures("frozen")
async def test_a_message_is_taken_in_once_behind_nodes_of_other_middleware(tmp_path: Path) -> None:
    """The run is told to begin again, and the copy is of the checkpoint before its message."""

    def make(model: Any, tools: Any, **options: Any) -> Agent:
        names = ("config", "specs", "ports")
        guard = AsyncGuardMiddleware(**{name: options.pop(name) for name in names})
        graph = create_agent(
            model, tools, middleware=guard_middleware([Before(), guard]), **options
        )
        return Agent(frontend=Frontend.MIDDLEWARE, graph=graph, model=model)

    saver, made = Halting(), list[str]()
    machine = Machine(agent_of=make, path=tmp_path / "effects.db", saver=saver)
    late, heir = (
        machine.process([shop(made)], PAY, *([payer] * 9), config=PATIENT) for _ in range(2)
    )
    await late.say("Hi", durability="sync")
    await left(late)
    saver.left = 5
    late.begin("Pay x", durability="sync")
    await asyncio.wait_for(saver.reached.wait(), HANG)
    with pytest.raises(ThreadBusyError):
        await heir.say("Pay y", durability="sync")
    await heir.say("Pay y", durability="sync")
    told, _ = steps_of(await heir.agent.graph.aget_state(PLACE))
    assert sum(line.startswith("human") and line.endswith("Pay y") for line in told) == 1
    saver.go_on.set()
    assert late.run is not None
    with contextlib.suppress(ThreadBusyError):
        await late.run
    machine.close()


async def test_a_message_that_is_refused_goes_also_where_it_is_stored_late(
    agent_of: AgentOf, tmp_path: Path
) -> None:
    """Durability ``async``: it is not stored yet when the thread turns out to be another process's."""
    go_on, there = asyncio.Event(), asyncio.Event()

    @tool
    async def pay(item: str) -> str:
        """Pay."""
        there.set()
        await go_on.wait()
        return f"paid {item}"

    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db", saver=Slow())
    at_work, refused = (machine.process([pay], PAY, *([payer] * 9)) for _ in range(2))
    at_work.begin("Pay x", durability="sync")
    await there.wait()
    with pytest.raises(ThreadBusyError):
        await refused.say("Are you there?", durability="async")
    assert "there?" not in str(steps_of(await refused.agent.graph.aget_state(PLACE)))
    go_on.set()
    assert at_work.run is not None
    await at_work.run
    machine.close()


@pytest.mark.usefixtures("frozen")
@pytest.mark.parametrize("talk", [0, 20], ids=["short thread", "long thread"])
@pytest.mark.parametrize("stored", range(5, 12))
async def test_the_work_of_an_agent_inside_is_not_done_again(
    tmp_path: Path, stored: int, talk: int
) -> None:
    """No copy is made while it is at work: in a copy's step it would be a new agent, with calls of its own."""

    def make(model: Any, tools: Any, **options: Any) -> Agent:
        return build(Frontend.GRAPH, model, tools, **options)

    saver, made = Halting(), list[str]()
    machine = Machine(agent_of=make, path=tmp_path / "effects.db", saver=saver)

    def process() -> Process:
        inner = machine.process(
            [shop(made)], PAY, *([shopper] * 9), config=PATIENT, checkpointer=None
        )

        @tool
        async def desk(q: str) -> str:
            """Ask the desk."""
            state = await inner.agent.graph.ainvoke(inner.agent.input("Pay x and z, then y.", None))
            return str(state["messages"][-1].content)

        def boss(messages: Any, tools: Any) -> Any:
            said = [message.content for message in messages]
            go = "Go." in said and "All is paid" not in str(said)
            return calls(("desk", {"q": "go"})) if go else "done"

        return machine.process([desk], [pure("desk")], *([boss] * (6 + talk)), config=PATIENT)

    late, heir = process(), process()
    for _ in range(talk):
        await late.say("Hello.", durability="sync")
    saver.left, saver.writing = stored, True
    late.begin("Go.", durability="sync")
    await asyncio.wait_for(saver.reached.wait(), HANG)
    await patient(lambda: heir.go_on(durability="sync"))
    saver.go_on.set()
    assert late.run is not None
    with contextlib.suppress(ThreadBusyError):
        await asyncio.wait_for(late.run, HANG)
    assert sorted(made) == ["x", "y", "z"]
    machine.close()


@pytest.mark.parametrize(
    "noticed", ["noticed", "noticed as it stores", "next by the loser", "next by the heir"]
)
async def test_a_process_that_lost_its_session_goes_on_with_its_thread_later(
    agent_of: AgentOf, tmp_path: Path, noticed: str
) -> None:
    """Its run is refused; unnoticed, it stores its last steps after those of its heir.

    Then one message is refused, because the thread was continued, and not each for ever.
    """
    begun, gates = [asyncio.Event(), asyncio.Event()], [asyncio.Event(), asyncio.Event()]

    @tool
    async def look(item: str) -> str:
        """Look, until the test says that it is enough."""
        number = sum(each.is_set() for each in begun)
        begun[number].set()
        await gates[number].wait()
        return f"saw {item}"

    asked = {"loser": 0, "heir": 0}

    def model_of(name: str) -> Any:
        def answer(messages: Any, tools: Any) -> Any:
            asked[name] += 1
            is_new = messages[-1].type == "human" and messages[-1].text == "Look."
            return calls(("look", {"item": "x"})) if is_new else THANKS

        return answer

    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    loser, heir = (
        machine.process([look], [pure("look")], *([model_of(name)] * 9), config=PATIENT)
        for name in asked
    )
    async with asyncio.timeout(HANG):
        loser.begin("Look.", durability="sync")
        await begun[0].wait()
        loser.journal.lose_session()
        loser.journal.reconnected = noticed == "noticed"
        loser.journal.lost = noticed == "noticed as it stores"
        heir.run = asyncio.create_task(heir.go_on(durability="sync"))
        await begun[1].wait()
        gates[1].set()
        await heir.run
        gates[0].set()
        assert loser.run is not None
        if noticed.startswith("noticed"):
            with pytest.raises(ThreadBusyError, match="acquired thread"):
                await loser.run
            assert asked == {"loser": 1, "heir": 1}
        else:
            await loser.run
            await left(heir)
            sooner = heir if noticed == "next by the heir" else loser
            with pytest.raises(ThreadBusyError, match="continued"):
                await sooner.say("And now?", durability="sync")
            await left(sooner)
        await left(loser)
        await left(heir)
        assert (await loser.say("And now?", durability="sync")).last == THANKS
    machine.close()
