"""Calls begun by another process or branch of the thread are never reported as not run."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import EffectClass, ThreadBusyError, ToolSpec
from asyncguard.journal.sql import leases
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, pure, script
from tests.adapters.processes import CONFIG, HANG, Machine

BOTH = calls(("first", {"q": "x"}), ("book", {"q": "x"}))
ARGS = {"q": str, "key": (str, "")}
FIRST = pure("first", reads=("room",), writes=())


def booking(effect: EffectClass) -> ToolSpec:
    """A tool whose calls wait for those of the first one."""
    key = "key" if effect is EffectClass.KEYED else None
    return ToolSpec(name="book", effect=effect, key_argument=key, reads=(), writes=("room",))


class First:
    """A tool that answers until it is broken."""

    def __init__(self) -> None:
        self.broken = False
        self.tool = scripted_tool("first", self._look, args={"q": str})

    def _look(self, arguments: Any) -> str:
        if self.broken:
            raise ValueError("no such thing")
        return "found"


@pytest.fixture
def machine(agent_of: AgentOf, tmp_path: Path) -> Iterator[Machine]:
    """A machine with a disk."""
    made = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    yield made
    made.close()


@pytest.mark.parametrize("effect", [EffectClass.AT_MOST_ONCE, EffectClass.KEYED])
async def test_what_a_dead_process_began_is_not_squashed(
    machine: Machine, effect: EffectClass
) -> None:
    """A call that had begun is not squashed although its predecessor fails in the new process."""
    first, begun, booked = First(), asyncio.Event(), []

    async def book(arguments: Any) -> str:
        booked.append(arguments["key"])
        begun.set()
        if len(booked) == 1:
            await asyncio.Event().wait()
        return "booked"

    tool = scripted_tool("book", book, args=ARGS)
    old = machine.process([first.tool, tool], [FIRST, booking(effect)], BOTH)
    old.begin("Book x.", durability="sync")
    await begun.wait()
    await old.die()
    first.broken = True
    new = machine.process([first.tool, tool], [FIRST, booking(effect)])
    outcome = await new.go_on(durability="sync")
    assert "book#1 was not run" not in outcome.text
    assert outcome.states("main").get("squashed", 0) == 0
    assert len(set(booked)) == 1
    assert len(booked) == (1 if effect is EffectClass.AT_MOST_ONCE else 2)


async def forked(graph: Any, **options: Any) -> str:
    """Return the texts of a branch that begins before the calls of the first message began."""
    place = {"configurable": {"thread_id": "t"}}
    states = [state async for state in graph.aget_state_history(place)]
    before = [state for state in states if state.next and len(state.values["messages"]) == 2][-1]
    state = await graph.ainvoke(None, before.config, **options)
    return "\n".join(str(message.content) for message in state["messages"])


@pytest.mark.parametrize("effect", [EffectClass.AT_MOST_ONCE, EffectClass.KEYED])
async def test_what_another_branch_began_is_not_squashed(
    machine: Machine, effect: EffectClass
) -> None:
    """The result of the call that another branch began is known and shown."""
    first = First()
    book = scripted_tool("book", lambda a: f"booked {a['q']}", args=ARGS)
    process = machine.process([first.tool, book], [FIRST, booking(effect)], BOTH)
    assert (await process.say("Book x.", durability="sync")).states("main") == {"done": 2}
    first.broken = True
    assert "booked x" in await forked(process.agent.graph, durability="sync")
    assert len(book.calls) == 1


async def test_what_another_branch_began_is_not_squashed_without_a_journal(
    agent_of: AgentOf,
) -> None:
    """Without a journal the process remembers the calls that must not be repeated."""
    first = First()
    book = scripted_tool("book", lambda a: f"booked {a['q']}", args=ARGS)
    model = ScriptedChatModel(script(BOTH))
    specs = [FIRST, booking(EffectClass.AT_MOST_ONCE)]
    agent = agent_of(
        model, [first.tool, book], specs=specs, config=CONFIG, checkpointer=InMemorySaver()
    )
    assert (await agent.say("Book x.", thread="t")).states("main") == {"done": 2}
    first.broken = True
    assert "booked x" in await forked(agent.graph)
    assert len(book.calls) == 1


@pytest.mark.parametrize("cancel", [False, True])
async def test_a_new_message_finds_what_a_dead_process_began(
    machine: Machine, *, cancel: bool
) -> None:
    """The effect of a dead process stays done after a new message or a cancellation."""
    begun, first = asyncio.Event(), First()

    async def book(_: Any) -> str:
        begun.set()
        await asyncio.Event().wait()
        return ""

    tool = scripted_tool("book", book, args=ARGS)
    specs = [FIRST, booking(EffectClass.AT_MOST_ONCE)]
    old = machine.process([first.tool, tool], specs, BOTH)
    old.begin("Book x.", durability="sync")
    await begun.wait()
    await old.die()
    new = machine.process([first.tool, tool], specs)
    payload = new.agent.input("Never mind.", None) | ({"cancel": ["main"]} if cancel else {})
    place: Any = {"configurable": {"thread_id": "t"}}
    state = await new.agent.graph.ainvoke(payload, place, durability="sync")
    assert state["report"]["in_doubt"] == ["main/book#1"]
    assert len(tool.calls) == 1


@pytest.mark.parametrize("cancel", [False, True])
async def test_a_new_message_on_a_branch_finds_what_another_one_began(
    machine: Machine, *, cancel: bool
) -> None:
    """The booking is deferred on the branch although another branch has made it already."""
    first = First()
    book = scripted_tool("book", lambda a: f"booked {a['q']}", args=ARGS)
    process = machine.process([first.tool, book], [FIRST, booking(EffectClass.AT_MOST_ONCE)], BOTH)
    assert (await process.say("Book x.", durability="sync")).states("main") == {"done": 2}
    graph, place = process.agent.graph, {"configurable": {"thread_id": "t"}}
    states = [state async for state in graph.aget_state_history(place)]
    before = [state for state in states if state.next and len(state.values["messages"]) == 2][-1]
    payload = process.agent.input("And then?", None) | ({"cancel": ["main"]} if cancel else {})
    state = await graph.ainvoke(payload, before.config, durability="sync")
    assert "book#1 was not run" not in str(state["messages"])
    assert len(book.calls) == 1


ORDER = calls(
    ("find", {"q": "x"}),
    *(("order", {"id": {"from_call": "find#1", "pointer": f"/{at}"}}) for at in ("one", "other")),
)
ORDERING = [pure("find"), ToolSpec(name="order", references=True)]


class Shop:
    """Finds an id, when it may, and takes orders for it."""

    def __init__(self) -> None:
        self.asked, self.may_answer = asyncio.Event(), asyncio.Event()
        self.ordered: list[Any] = []

        async def find(arguments: Any) -> dict[str, Any]:
            self.asked.set()
            await self.may_answer.wait()
            return {"one": 7, "other": 8}

        def order(arguments: Any) -> str:
            self.ordered.append(arguments["id"])
            return f"ordered {arguments['id']}"

        self.tools = [
            scripted_tool("find", find, args={"q": str}),
            scripted_tool("order", order, args={"id": int}),
        ]


@pytest.mark.parametrize("on_a_branch", [False, True], ids=["resumed", "on a branch"])
async def test_what_the_journal_did_not_let_begin_was_not_begun(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, *, on_a_branch: bool
) -> None:
    """Another process held the lease for a moment; the call is made when the thread is resumed."""
    monkeypatch.setattr(leases, "LEASE", 0.0)
    shop = Shop()
    process = machine.process(shop.tools, ORDERING, ORDER)
    other = machine.process(shop.tools, ORDERING)
    process.begin("Order x.", durability="sync")
    await shop.asked.wait()
    state = await process.agent.graph.aget_state({"configurable": {"thread_id": "t"}})
    session = state.values["asyncguard"]["session"]
    await other.journal.acquire(session, "t", (), lambda mail: None)
    shop.may_answer.set()
    assert process.run is not None
    with pytest.raises(ThreadBusyError):
        await process.run
    other.journal.release(session)
    await asyncio.to_thread(other.journal.entries)  # runs after the queued release
    assert shop.ordered == []
    if on_a_branch:
        said = await asyncio.wait_for(forked(process.agent.graph, durability="sync"), HANG)
    else:
        said = (await asyncio.wait_for(process.go_on(durability="sync"), HANG)).text
    assert {"ordered 7", "ordered 8"} <= set(said.splitlines())
    assert sorted(shop.ordered) == [7, 8]


async def test_a_call_that_another_branch_began_keeps_what_it_was_begun_with(
    agent_of: AgentOf,
) -> None:
    """The call keeps the arguments with which it began, also where only this process knows them."""
    shop = Shop()
    shop.may_answer.set()
    model = ScriptedChatModel(script(ORDER))
    agent = agent_of(model, shop.tools, specs=ORDERING, config=CONFIG, checkpointer=InMemorySaver())
    place: Any = {"configurable": {"thread_id": "t"}}
    await agent.graph.ainvoke(agent.input("Order x.", None), place)
    assert "ordered 8" in await forked(agent.graph)
    assert sorted(shop.ordered) == [7, 8]
    ledger = (await agent.graph.aget_state(place)).values["ledger"]
    released = [
        event["arguments"]
        for event in ledger
        if event["kind"] == "call_admitted" and event["released"]
    ]
    assert released == [{"id": 7}, {"id": 8}]
