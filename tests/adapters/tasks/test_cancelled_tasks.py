"""The user takes a task back: what has not begun never begins, what runs is asked to stop, the other tasks continue."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import CallerError, EffectClass, Fallback, ToolSpec
from asyncguard.testing import ScriptedChatModel, ToolMode, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, pure, script
from tests.adapters.processes import CONFIG, Machine, until
from tests.adapters.resume.test_durable import Bank

TASKS = [{"id": "a", "goal": "Book x."}, {"id": "b", "goal": "Look up y."}]
BOTH = calls(("book", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"}))


class Setup:
    """Two tasks, of which one books for ever."""

    def __init__(self, agent_of: AgentOf, booking: ToolSpec) -> None:
        self.begun = asyncio.Event()
        self.book = scripted_tool("book", self._book, args={"q": str})
        self.other = scripted_tool("other", lambda a: f"booked {a['q']} elsewhere", args={"q": str})
        look = scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str})
        self.model = ScriptedChatModel(script(BOTH))
        self.agent = agent_of(
            self.model,
            [self.book, self.other, look],
            specs=[booking, pure("other"), pure("look")],
            config=CONFIG,
            checkpointer=InMemorySaver(),
        )

    async def _book(self, arguments: Any) -> str:
        self.begun.set()
        await asyncio.Event().wait()
        return f"booked {arguments['q']}"

    async def under_way(self) -> None:
        """Begin, and leave the run when the booking has begun and the model was told of the other task's result."""
        payload = self.agent.input(None, TASKS)
        run = asyncio.create_task(
            self.agent.graph.ainvoke(payload, {"configurable": {"thread_id": "t"}})
        )
        await self.begun.wait()
        await until(lambda: len(self.model.requests) > 1)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)

    async def cancel(self, *names: str) -> Any:
        """Take tasks back."""
        payload = {"messages": [("user", "Never mind that.")], "cancel": list(names)}
        return await self.agent.go(payload, "t")


@pytest.mark.parametrize(
    ("effect", "state"),
    [
        (EffectClass.PURE, "failed"),
        (EffectClass.IDEMPOTENT, "failed"),
        (EffectClass.AT_MOST_ONCE, "in_doubt"),
    ],
)
async def test_a_running_call_of_a_cancelled_task_is_stopped_and_not_tried_again(
    agent_of: AgentOf, effect: EffectClass, state: str
) -> None:
    """Neither retry nor sibling follows; a begun effect is in doubt, the other task continues."""
    it = Setup(agent_of, ToolSpec(name="book", effect=effect, fallbacks=(Fallback(tool="other"),)))
    await it.under_way()
    async with asyncio.timeout(5):
        outcome = await it.cancel("a")
    assert outcome.states("a") == {state: 1}
    assert outcome.states("b") == {"done": 1}
    assert [task["state"] for task in outcome.report["tasks"]] == ["stopped", "closed"]
    assert len(it.book.calls) == 1
    assert it.other.calls == []


async def test_a_task_that_does_not_exist_cannot_be_cancelled(agent_of: AgentOf) -> None:
    """Nothing changes, and the error names the tasks."""
    it = Setup(agent_of, pure("book"))
    await it.under_way()
    with pytest.raises(CallerError, match="There is no task 'c' to cancel; the tasks are: a, b"):
        await it.cancel("a", "c")


@pytest.fixture
def machine(agent_of: AgentOf, tmp_path: Path) -> Iterator[Machine]:
    """A machine with a disk."""
    made = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    yield made
    made.close()


async def test_the_acceptance_of_a_cancelled_start_is_no_result(machine: Machine) -> None:
    """The thread that starts the work cannot be stopped; what it says afterwards is not what the work came to."""
    begun, tokens = threading.Event(), []

    def start(arguments: Any) -> str:
        tokens.append(arguments["token"])
        begun.set()
        time.sleep(0.3)  # a thread
        return "accepted"

    bank = scripted_tool("bank", start, args={"q": str, "token": str}, mode=ToolMode.SYNC)
    process = machine.process([bank], [Bank.SPEC], Bank.ASK)
    process.begin("Have x approved.", durability="sync")
    assert await asyncio.to_thread(begun.wait, 5.0)
    assert process.run is not None
    process.run.cancel()
    await asyncio.gather(process.run, return_exceptions=True)
    payload = {"messages": [("user", "Never mind.")], "cancel": ["main"]}
    place: Any = {"configurable": {"thread_id": "t"}}
    state = await process.agent.graph.ainvoke(payload, place, durability="sync")
    assert state["report"]["in_doubt"] == ["main/bank#1"]
    await asyncio.sleep(0.4)
    await asyncio.to_thread(process.inbox.deliver, tokens[0], "approved all the same")
    outcome = await process.say("And?")
    assert "approved all the same" in outcome.text
    assert "accepted" not in outcome.text


def test_a_probe_that_is_asked_after_a_cancellation_is_believed(agent_of: AgentOf) -> None:
    """It says that the effect happened, so there is no doubt."""
    check = scripted_tool(
        "check", lambda _: {"happened": True, "result": "booked x"}, args={"q": str}
    )
    book = scripted_tool("book", lambda a: f"booked {a['q']}", args={"q": str}, latency=100.0)
    look = scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str})
    specs = [
        ToolSpec(name="book", effect=EffectClass.PROBED, probe="check"),
        pure("check"),
        pure("look"),
    ]
    model = ScriptedChatModel(script(BOTH))
    agent = agent_of(
        model, [book, check, look], specs=specs, config=CONFIG, checkpointer=InMemorySaver()
    )

    async def main() -> Any:
        run = asyncio.create_task(agent.say(tasks=TASKS, thread="t"))
        await asyncio.sleep(3.0)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
        return await agent.go({"messages": [("user", "Never mind that.")], "cancel": ["a"]}, "t")

    outcome = run_virtual(main()).result
    assert outcome.states("a") in ({"done": 1}, {"resolved": 1})
    assert outcome.report["in_doubt"] == []


async def test_a_cancelled_external_call_is_in_doubt_until_its_delivery(machine: Machine) -> None:
    """The work outside continues; the thread does not wait for it any more, and a delivery still counts."""
    bank = Bank()
    process = machine.process([bank.tool()], [Bank.SPEC], Bank.ASK)
    assert (await process.say("Have x approved.")).interrupts
    payload = {"messages": [("user", "Never mind.")], "cancel": ["main"]}
    state = await process.agent.graph.ainvoke(payload, {"configurable": {"thread_id": "t"}})
    assert state["report"]["in_doubt"] == ["main/bank#1"]
    await asyncio.to_thread(process.inbox.deliver, bank.tokens[0], "approved all the same")
    outcome = await process.say("And?")
    assert "approved all the same" in outcome.text
    assert outcome.report["in_doubt"] == []
