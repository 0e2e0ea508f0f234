"""A thread taken up at an earlier checkpoint, in the process that made its calls: what was made answers, once."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import (
    CallerError,
    GuardConfig,
    Ports,
    ThreadBusyError,
    Timing,
    ToolFault,
    ToolSpec,
    open_journal,
)
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, AgentOf, Frontend, pure, script
from tests.adapters.processes import HANG, Machine, until

TASKS = [{"id": "a", "goal": "Pay x."}, {"id": "b", "goal": "Look up y and z."}]
CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
PLACE: Any = {"configurable": {"thread_id": "t"}}


async def checkpoints(agent: Agent) -> list[Any]:
    """All checkpoints of the thread, the latest first."""
    return [snapshot async for snapshot in agent.graph.aget_state_history(PLACE)]


def test_no_checkpoint_repeats_an_effect_that_was_retried(agent_of: AgentOf) -> None:
    """The first attempt had not begun, the second had its effect; continuing from any point makes no third."""
    pay = scripted_tool(
        "pay", [ToolFault("busy", transient=True, started=False), "paid x"], args={"q": str}
    )
    agent = agent_of(
        ScriptedChatModel(script(calls(("pay", {"q": "x"})))),
        [pay],
        config=CONFIG,
        checkpointer=InMemorySaver(),
    )

    async def main() -> None:
        await agent.say("Pay x.", thread="t")
        for snapshot in await checkpoints(agent):
            await agent.graph.ainvoke(None, snapshot.config)

    run_virtual(main())
    assert len(pay.calls) == 2


def test_no_checkpoint_repeats_the_effect_of_a_tool_that_asked(agent_of: AgentOf) -> None:
    """Its question was answered once: continuing from any point neither asks nor pays a second time."""
    paid: list[Any] = []

    def act(_: Any) -> str:
        paid.append(interrupt("Sure?"))
        return "paid x"

    agent = agent_of(
        ScriptedChatModel(script(calls(("pay", {"q": "x"})))),
        [scripted_tool("pay", act, args={"q": str})],
        specs=[ToolSpec(name="pay", interrupts=True)],
        config=CONFIG,
        checkpointer=InMemorySaver(),
    )

    async def main() -> list[Any]:
        await agent.say("Pay x.", thread="t")
        asked = {each.config["configurable"]["checkpoint_id"] for each in await checkpoints(agent)}
        await agent.resume("yes", "t")
        states = []
        for snapshot in await checkpoints(agent):
            made = any(message.type == "ai" for message in snapshot.values.get("messages", ()))
            if made and snapshot.config["configurable"]["checkpoint_id"] in asked:
                states.append(await agent.graph.ainvoke(None, snapshot.config))
        return states

    states = run_virtual(main()).result
    assert states
    assert not any(state.get("__interrupt__") for state in states)
    assert all("paid x" in str(state["messages"]) for state in states)
    assert paid == ["yes"]


def test_an_attempt_that_ended_while_nobody_ran_is_not_lost(
    frontend: Frontend, agent_of: AgentOf
) -> None:
    """It ended between two runs, and had not begun; the second starts at an earlier checkpoint and makes it again."""
    busy = ToolFault("busy", transient=True, started=False)
    pay = scripted_tool("pay", [busy, "paid x"], args={"q": str}, latency=10.0)
    look = scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str}, latency=1.0)
    first = calls(("pay", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"}))
    again = calls(("look", {"q": "z", "task_id": "b"}))
    model = ScriptedChatModel(script(first, again, again), latency=0.1)
    agent = agent_of(
        model, [pay, look], specs=[pure("look")], config=CONFIG, checkpointer=InMemorySaver()
    )

    async def main() -> str:
        running = asyncio.create_task(agent.go(agent.input(None, TASKS), "t"))
        await asyncio.sleep(3.0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await asyncio.sleep(20.0)
        earlier = [
            s
            for s in await checkpoints(agent)
            if s.next == ("model",) and "is running" in str(s.values)
        ]
        state = await agent.graph.ainvoke(None, earlier[-1].config)
        return str(state["messages"])

    told = run_virtual(main()).result
    assert "not known whether" not in told
    assert told.count("paid x") == 1
    assert len(pay.calls) == 2
    assert len(model.requests) < 10


def pays_what_is_said(messages: Any, tools: Any) -> Any:
    """A model that pays what it was told last, and says so."""
    said = [message for message in messages if message.type == "human"][-1].content
    last = messages[-1]
    return (
        calls(("pay", {"q": said[-1]})) if last.type == "human" and said.startswith("Pay") else "ok"
    )


@pytest.mark.parametrize("asks", ["guard", "tool"])
@pytest.mark.parametrize("with_journal", [False, True])
def test_an_answer_is_for_the_branch_that_asked(
    agent_of: AgentOf, asks: str, with_journal: bool, tmp_path: Path
) -> None:
    """Two branches of one shape ask a person; approving the older one pays what it showed."""
    made: list[str] = []

    def pay(arguments: Any) -> str:
        if asks == "guard" or interrupt(f"Pay {arguments['q']}?") is True:
            made.append(arguments["q"])
        return f"paid {arguments['q']}"

    journal = open_journal(tmp_path / "effects.db") if with_journal else None
    agent = agent_of(
        ScriptedChatModel(pays_what_is_said),
        [scripted_tool("pay", pay, args={"q": str})],
        specs=[ToolSpec(name="pay", approval=asks == "guard", interrupts=asks == "tool")],
        config=CONFIG,
        checkpointer=InMemorySaver(),
        ports=Ports(journal=journal),
    )

    async def main() -> str:
        graph = agent.graph
        await graph.ainvoke({"messages": [("user", "Hi")]}, PLACE)
        root = (await graph.aget_state(PLACE)).config
        await graph.ainvoke({"messages": [("user", "Pay x")]}, root)
        older = await graph.aget_state(PLACE)
        await graph.ainvoke({"messages": [("user", "Pay y")]}, root)
        state = await graph.ainvoke(Command(resume=True), older.config)
        return str(state["messages"])

    told = asyncio.run(main())
    if journal is not None:
        journal.close()
    assert made == ["x"]
    assert "paid x" in told
    assert "Pay y" not in told


@pytest.mark.parametrize("among", ["one process", "two processes"])
@pytest.mark.parametrize("back", range(4))
async def test_going_back_beside_a_run_is_refused_and_leaves_no_branch(
    agent_of: AgentOf, tmp_path: Path, back: int, among: str
) -> None:
    """The run that goes on asks a person; the answer reaches it, and what it has paid is not paid again."""
    paid, enough = list[str](), asyncio.Event()

    @tool
    async def pay(item: str) -> str:
        """Pay, and wait until the test says that it is enough."""
        paid.append(item)
        await enough.wait()
        return f"paid {item}"

    @tool
    async def wire(item: str) -> str:
        """Wire."""
        paid.append(item)
        return f"wired {item}"

    def payer(messages: Any, _: Any) -> Any:
        both = calls(("pay", {"item": "x"}), ("wire", {"item": "y"}))
        return both if messages[-1].type == "human" else "It is done."

    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    specs = [ToolSpec(name="pay"), ToolSpec(name="wire", approval=True)]
    one, two = (machine.process([pay, wire], specs, *([payer] * 9)) for _ in range(2))
    async with asyncio.timeout(HANG):
        one.begin("Pay x and wire y.", durability="sync")
        await until(lambda: bool(paid))
        snapshot = (await checkpoints(one.agent))[back]
        other = one if among == "one process" else two
        with pytest.raises(CallerError):
            await other.agent.graph.ainvoke(None, snapshot.config, durability="sync")
        enough.set()
        assert one.run is not None
        await one.run
        state = await one.agent.graph.ainvoke(Command(resume=True), PLACE, durability="sync")
        if state.get("__interrupt__"):  # it may come again
            state = await one.agent.graph.ainvoke(Command(resume=True), PLACE, durability="sync")
    assert paid == ["x", "y"]
    assert state["messages"][-1].text == "It is done."
    machine.close()


@pytest.mark.parametrize("instead", [False, True])
@pytest.mark.parametrize("among", ["one process", "two processes"])
@pytest.mark.parametrize("asks", ["guard", "tool"])
async def test_an_answer_to_a_question_that_was_answered_is_told_what_to_do(
    agent_of: AgentOf, tmp_path: Path, asks: str, among: str, *, instead: bool
) -> None:
    """Or a message came instead. To run it again would not help: the client names the same checkpoint."""
    paid = list[str]()

    def pay(arguments: Any) -> str:
        if asks == "guard" or interrupt(f"Pay {arguments['q']}?") is True:
            paid.append(arguments["q"])
        return f"paid {arguments['q']}"

    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    specs = [ToolSpec(name="pay", approval=asks == "guard", interrupts=asks == "tool")]
    tools = [scripted_tool("pay", pay, args={"q": str})]
    one, two = (machine.process(tools, specs, *([pays_what_is_said] * 9)) for _ in range(2))
    other = one if among == "one process" else two
    await one.say("Pay x", durability="sync")
    question = (await one.agent.graph.aget_state(PLACE)).config
    if instead:
        await one.say("Nothing more.", durability="sync")
    else:
        await one.agent.graph.ainvoke(Command(resume=True), PLACE, durability="sync")
    await asyncio.to_thread(one.journal.entries)  # runs after the queued release
    for _ in range(2):
        with pytest.raises(CallerError, match="leave checkpoint_id out") as refused:
            await other.agent.graph.ainvoke(Command(resume=True), question, durability="sync")
        assert not isinstance(refused.value, ThreadBusyError)
        await asyncio.to_thread(other.journal.entries)
    state = await other.agent.graph.ainvoke(None, question, durability="sync")
    if state.get("__interrupt__"):  # a tool does not ask again: the journal has its result
        state = await other.agent.graph.ainvoke(Command(resume=True), PLACE, durability="sync")
    assert state["messages"][-1].text == "ok"
    assert paid == ["x"]
    machine.close()
