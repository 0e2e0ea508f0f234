"""Doubts that outlive a kill between an answer and its event, and questions without a receiver."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import GuardConfig, Timing, ToolFault, ToolSpec
from asyncguard.core.calls import CallState
from asyncguard.testing import calls, scripted_tool
from tests.adapters.harness import AgentOf, pure
from tests.adapters.processes import Machine, until

PLACE: Any = {"configurable": {"thread_id": "t"}}
PAY = calls(("pay", {"item": "x"}))
TWO_TASKS = [{"id": "a", "goal": "Pay x."}, {"id": "b", "goal": "Ship y."}]


@pytest.fixture
def machine(agent_of: AgentOf, tmp_path: Path) -> Iterator[Machine]:
    """A machine with a disk."""
    made = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    yield made
    made.close()


class StuckSaver(InMemorySaver):
    """A checkpointer that stops storing checkpoints (not writes), for a process that ends in between."""

    def __init__(self, *, writes: bool = False) -> None:
        super().__init__()
        self.stuck = False
        self.writes_too = writes
        self.reached = asyncio.Event()
        self.gone = asyncio.Event()

    async def aput(self, *given: Any, **more: Any) -> Any:
        await self._pass()
        return await super().aput(*given, **more)

    async def aput_writes(self, *given: Any, **more: Any) -> None:
        if self.writes_too:
            await self._pass()
        await super().aput_writes(*given, **more)

    async def _pass(self) -> None:
        if self.stuck:
            self.reached.set()
            await self.gone.wait()
            raise asyncio.CancelledError

    async def lose(self, end: Any) -> None:
        """Discard the writes that wait, as when the process that stores them is killed."""
        ending = asyncio.ensure_future(end)
        await asyncio.sleep(0)
        self.gone.set()
        await ending
        self.stuck, self.gone, self.reached = False, asyncio.Event(), asyncio.Event()


async def test_an_answer_that_says_nobody_knows_is_not_taken_for_a_failure(
    machine: Machine,
) -> None:
    """The wrapper's answer was stored and its event was not: the doubt stays, and no equal call is made."""
    machine.saver = saver = StuckSaver()
    made: list[str] = []

    def pay(arguments: Any) -> str:
        made.append(arguments["item"])
        saver.stuck = len(made) == 1
        raise ConnectionError("reset")  # after the effect

    tools, declared = [scripted_tool("pay", pay, args={"item": str})], [ToolSpec(name="pay")]
    old = machine.process(tools, declared, PAY)
    old.begin("Pay x.", durability="sync")
    await saver.reached.wait()
    await saver.lose(old.die())
    new = machine.process(tools, declared, PAY, "done")
    outcome = await new.go_on(durability="sync")
    assert made == ["x"]
    assert outcome.report["in_doubt"] == ["pay#1"]


async def test_a_doubt_of_a_dead_predecessor_is_not_taken_for_a_failure(machine: Machine) -> None:
    """The doubt stays after a kill in the effect, and a second kill while the doubt is reported."""
    machine.saver = saver = StuckSaver()
    made: list[str] = []
    reached = asyncio.Event()

    async def pay(arguments: Any) -> str:
        made.append(arguments["item"])
        reached.set()
        await asyncio.Event().wait()
        return "never"

    tools, declared = [scripted_tool("pay", pay, args={"item": str})], [ToolSpec(name="pay")]
    old = machine.process(tools, declared, PAY)
    old.begin("Pay x.", durability="sync")
    await reached.wait()
    await old.die()
    saver.stuck = True
    second = machine.process(tools, declared)
    second.run = asyncio.create_task(second.go_on(durability="sync"))
    await saver.reached.wait()
    await saver.lose(second.die())
    third = machine.process(tools, declared)
    outcome = await third.go_on(durability="sync")
    assert outcome.report["in_doubt"] == ["pay#1"]
    assert [e.state for e in third.journal.entries()] == [CallState.IN_DOUBT]


async def test_a_question_of_a_cancelled_run_does_not_keep_the_model_talking(
    machine: Machine,
) -> None:
    """A question that a cancelled run's tool asks too late does not delay the next run."""
    entered, go_on = asyncio.Event(), asyncio.Event()

    async def pay(_: Any) -> str:
        entered.set()
        await go_on.wait()
        return str(interrupt("Shall I?"))

    tools, declared = (
        [scripted_tool("pay", pay, args={"item": str})],
        [ToolSpec(name="pay", interrupts=True)],
    )
    process = machine.process(tools, declared, PAY)
    process.begin("Pay x.", durability="sync")
    await entered.wait()
    assert process.run is not None
    process.run.cancel()
    await asyncio.gather(process.run, return_exceptions=True)
    go_on.set()
    outcome = await process.say("Hello?", durability="sync")
    assert len(process.agent.model.requests) <= 4
    if not outcome.interrupts:
        assert outcome.report["open_calls"] == []


async def test_an_approved_call_that_was_made_is_not_denied_when_a_write_is_lost(
    machine: Machine,
) -> None:
    """Approved and made; the write that would have told it was cancelled, and the user says something else."""
    machine.saver = saver = StuckSaver(writes=True)
    made: list[str] = []

    def ship(arguments: Any) -> str:
        made.append(arguments["item"])
        saver.stuck = arguments["item"] == "y"
        return f"ship {arguments['item']} ok"

    pay = scripted_tool("pay", lambda _: "paid", args={"item": str})
    tools = [scripted_tool("ship", ship, args={"item": str}), pay]
    declared = [ToolSpec(name="ship", approval=True, takes_from=()), ToolSpec(name="pay")]
    first = calls(
        ("pay", {"item": "x", "task_id": "a"}),
        ("ship", {"item": "x", "task_id": "a"}),
        ("ship", {"item": "y", "task_id": "b"}),
    )
    process = machine.process(tools, declared, first)
    state = await process.agent.graph.ainvoke(
        process.agent.input(None, TWO_TASKS), PLACE, durability="sync"
    )
    for _ in range(4):
        answers = {item.id: True for item in state["__interrupt__"]}
        run = asyncio.create_task(
            process.agent.graph.ainvoke(Command(resume=answers), PLACE, durability="sync")
        )
        await asyncio.wait(
            [run, asyncio.ensure_future(saver.reached.wait())], return_when=asyncio.FIRST_COMPLETED
        )
        if not run.done():
            break
        state = run.result()
    run.cancel()
    await saver.lose(asyncio.wait([run]))
    outcome = await process.say("Hello?", durability="sync")
    assert made == ["x", "y"]
    assert "was not run" not in outcome.text
    assert "ship y ok" in outcome.text


# -- back-off --------------------------------------------------------------------------------------


async def test_an_attempt_that_was_never_begun_is_made_by_the_next_process(
    machine: Machine,
) -> None:
    """The service refused the first one, and the process died in the back-off before the second: nothing is in doubt.

    In ``create_agent`` the next process has not met the tool when it reads that.
    """
    made: list[str] = []

    def pay(arguments: Any) -> str:
        made.append(arguments["item"])
        if len(made) == 1:
            raise ToolFault("busy", transient=True, started=False)
        return "paid"

    async def find(_: Any) -> str:
        await asyncio.sleep(0.1)  # the payment has been refused by then
        return "found"

    look = scripted_tool("look", find, args={"q": str})
    tools = [scripted_tool("pay", pay, args={"item": str}), look]
    declared = [ToolSpec(name="pay", reads=(), writes=("a",)), pure("look", reads=("b",))]
    patient = GuardConfig(
        timing=Timing(grace=0.0, linger=0.0, retry_initial=60.0, retry_jitter=0.0)
    )
    both = calls(("pay", {"item": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"}))
    old = machine.process(tools, declared, both, "One moment.", config=patient)
    old.run = asyncio.create_task(
        old.agent.graph.ainvoke(old.agent.input(None, TWO_TASKS), PLACE, durability="sync")
    )
    await until(
        lambda: "completion_judged" in str(old.agent.graph.get_state(PLACE).values.get("ledger"))
    )
    await old.die()
    new = machine.process(tools, declared)
    async with asyncio.timeout(10):
        outcome = await new.go_on(durability="sync")
    assert outcome.states("a") == {"done": 1}
    assert made == ["x", "x"]
