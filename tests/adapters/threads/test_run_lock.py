"""A run of `build_agent` that meets another one is refused before LangGraph reads or stores anything of it."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import CallerError, ThreadBusyError, build_agent
from asyncguard.adapters.threads.run_lock import RunLock
from asyncguard.testing import ScriptedChatModel, calls, run_virtual

PLACE: Any = {"configurable": {"thread_id": "t"}}


class Counting(InMemorySaver):
    """Counts the requests for a thread."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = 0

    async def aget_tuple(self, config: Any) -> Any:
        self.requests += 1
        return await super().aget_tuple(config)

    async def alist(self, *given: Any, **more: Any) -> Any:
        self.requests += 1
        async for each in super().alist(*given, **more):
            yield each

    async def aput(self, *given: Any, **more: Any) -> Any:
        self.requests += 1
        return await super().aput(*given, **more)

    async def aput_writes(self, *given: Any, **more: Any) -> None:
        self.requests += 1
        await super().aput_writes(*given, **more)


def agent_on(saver: Any, work: Callable[[], Awaitable[str]]) -> Any:
    """Return an agent whose only tool works, for those who say "work"; others are answered at once."""

    @tool
    async def look(q: str) -> str:
        """Look something up."""
        return await work()

    def policy(messages: Any, _: Any) -> Any:
        last = messages[-1]
        return calls(("look", {"q": "x"})) if last.text == "work" else f"Yes: {last.text}"

    return build_agent(ScriptedChatModel(policy), [look], checkpointer=saver)


async def say(agent: Any, text: str) -> str:
    """Return the answer."""
    found = await agent.ainvoke({"messages": [("user", text)]}, PLACE)
    return str(found["messages"][-1].text)


async def sleeping() -> str:
    """Take ten seconds."""
    await asyncio.sleep(10)
    return "found"


def test_a_question_stays_that_is_asked_while_another_run_is_refused() -> None:
    """The first run works when the second is refused, and asks a person afterwards."""

    async def asking() -> str:
        await asyncio.sleep(10)
        return str(interrupt("May I?"))

    agent = agent_on(InMemorySaver(), asking)

    async def main() -> str:
        working = asyncio.create_task(agent.ainvoke({"messages": [("user", "work")]}, PLACE))
        await asyncio.sleep(1)
        with pytest.raises(CallerError, match="is under way"):
            await say(agent, "second")
        (question,) = (await working)["__interrupt__"]
        assert [each.id for each in (await agent.aget_state(PLACE)).interrupts] == [question.id]
        told = await agent.ainvoke(Command(resume={question.id: "you may"}), PLACE)
        return str(told["messages"][-1].text)

    assert run_virtual(main()).result == "Yes: you may"


@pytest.mark.parametrize("given", [{"messages": [("user", "other")]}, None, Command(resume="x")])
def test_a_crowd_is_refused_within_a_second_and_asks_the_store_for_nothing(given: Any) -> None:
    """Two hundred clients beside a run that works."""
    saver = Counting()
    agent = agent_on(saver, sleeping)

    async def refused() -> float:
        clock = asyncio.get_running_loop().time
        since = clock()
        with pytest.raises(CallerError, match="thread 't' is under way"):
            await agent.ainvoke(given, PLACE)
        return clock() - since

    async def main() -> float:
        working = asyncio.create_task(say(agent, "work"))
        await asyncio.sleep(1)
        before = saver.requests
        slowest = max(await asyncio.gather(*(refused() for _ in range(200))))
        assert saver.requests == before
        assert await working == "Yes: found"
        return slowest

    assert run_virtual(main()).result < 1


def test_a_run_that_waited_for_one_that_was_cancelled_goes_on() -> None:
    """It reads what the cancelled one has left."""
    agent = agent_on(InMemorySaver(), sleeping)

    async def main() -> list[str]:
        working = asyncio.create_task(say(agent, "work"))
        await asyncio.sleep(1)
        second = asyncio.create_task(say(agent, "second"))
        await asyncio.sleep(0.05)
        working.cancel()
        await second
        messages = (await agent.aget_state(PLACE)).values["messages"]
        return [each.text for each in messages if each.type == "human"]

    assert run_virtual(main()).result[:2] == ["work", "second"]


def test_a_run_that_waited_for_one_that_came_to_its_end_is_refused() -> None:
    """Its message was written without the other's answer; and what is sent twice by mistake is done once."""

    async def short() -> str:
        await asyncio.sleep(1.05)
        return "found"

    agent = agent_on(InMemorySaver(), short)

    async def main() -> str:
        working = asyncio.create_task(say(agent, "work"))
        await asyncio.sleep(1)
        with pytest.raises(ThreadBusyError, match="since this one was begun; run it again"):
            await say(agent, "second")
        assert await working == "Yes: found"
        return await say(agent, "second")

    assert run_virtual(main()).result == "Yes: second"


def test_a_run_whose_loop_was_closed_holds_nothing() -> None:
    """Nothing can end it any more."""
    saver, loop = InMemorySaver(), asyncio.new_event_loop()
    closed, next_one = RunLock(saver, "journal.db", "t"), RunLock(saver, "journal.db", "t")
    assert list(closed.pauses(loop)) == []
    assert next(next_one.pauses()) > 0
    loop.close()
    assert list(next_one.pauses()) == []
    closed.release()
    assert next(RunLock(saver, "journal.db", "t").pauses()) > 0


async def test_a_stream_that_is_dropped_holds_nothing() -> None:
    """Without `aclose`: the loop closes it once it is collected."""
    agent = agent_on(InMemorySaver(), sleeping)
    stream = agent.astream({"messages": [("user", "work")]}, PLACE, stream_mode="values")
    await anext(stream)
    del stream
    gc.collect()
    assert await say(agent, "second") == "Yes: second"


async def test_a_run_that_is_over_holds_nothing_though_its_stream_is_kept() -> None:
    """Its last state was read, and the next message comes at once; and also within the loop that reads it."""
    agent = agent_on(InMemorySaver(), sleeping)
    stream = agent.astream({"messages": [("user", "first")]}, PLACE, stream_mode="values")
    async for state in stream:
        if state["messages"][-1].type == "ai":
            assert await say(agent, "second") == "Yes: second"
            break
    assert await say(agent, "third") == "Yes: third"
    async for event in agent.astream_events({"messages": [("user", "fourth")]}, PLACE):
        if event["event"] == "on_chain_end" and not event["parent_ids"]:
            assert await say(agent, "fifth") == "Yes: fifth"


def test_a_run_of_a_sync_entry_that_is_over_holds_nothing_though_its_stream_is_kept() -> None:
    """As one that is awaited."""
    agent = agent_on(InMemorySaver(), sleeping)
    stream = agent.stream({"messages": [("user", "first")]}, PLACE, stream_mode="values")
    assert any(state["messages"][-1].type == "ai" for state in stream)
    second = agent.invoke({"messages": [("user", "second")]}, PLACE)
    assert second["messages"][-1].text == "Yes: second"


async def test_a_run_inside_another_one_leaves_the_outer_ones_lock() -> None:
    """An agent that a tool runs without a configuration is given what the outer run was given."""

    async def asking() -> str:
        await inner.ainvoke({"messages": [("user", "hi")]})
        with pytest.raises(CallerError, match="'t' is under way"):
            await say(other, "second")
        return "found"

    saver = InMemorySaver()
    agent, inner, other = (
        agent_on(saver, asking),
        agent_on(None, sleeping),
        agent_on(saver, sleeping),
    )
    assert await say(agent, "work") == "Yes: found"


def test_agents_with_a_database_in_common_share_its_threads() -> None:
    """As where a server builds an agent for each request."""
    saver = InMemorySaver()

    async def main() -> str:
        working = asyncio.create_task(say(agent_on(saver, sleeping), "work"))
        await asyncio.sleep(1)
        with pytest.raises(CallerError, match="is under way"):
            await say(agent_on(saver, sleeping), "second")
        return await working

    assert run_virtual(main()).result == "Yes: found"


def test_a_thread_that_the_agent_itself_names_is_the_same() -> None:
    """By `with_config`."""
    agent = agent_on(InMemorySaver(), sleeping)
    named = agent.with_config(PLACE)

    async def main() -> str:
        working = asyncio.create_task(say(agent, "work"))
        await asyncio.sleep(1)
        with pytest.raises(CallerError, match="'t' is under way"):
            await named.ainvoke({"messages": [("user", "second")]})
        return await working

    assert run_virtual(main()).result == "Yes: found"


@pytest.mark.parametrize(
    "saver", [True, InMemorySaver()], ids=["of the graph around it", "its own"]
)
def test_an_agent_that_a_tool_streams_has_the_place_of_the_call(saver: Any) -> None:
    """It is given no configuration, so its thread is known from what is around it; three threads run side by side."""
    agent = agent_on(saver, sleeping)

    @tool
    async def delegate(q: str) -> str:
        """Ask the other agent."""
        last = [each async for each in agent.astream({"messages": [("user", "work")]})][-1]
        return str(last["model"]["messages"][-1].text)

    def policy(messages: Any, _: Any) -> Any:
        last = messages[-1]
        return str(last.text) if last.type == "tool" else calls(("delegate", {"q": "x"}))

    asking = build_agent(ScriptedChatModel(policy), [delegate], checkpointer=InMemorySaver())

    async def asked(thread: str) -> str:
        place: Any = {"configurable": {"thread_id": thread}}
        return str(
            (await asking.ainvoke({"messages": [("user", "go")]}, place))["messages"][-1].text
        )

    async def main() -> list[str]:
        return await asyncio.gather(*map(asked, "abc"))

    assert run_virtual(main()).result == ["Yes: found"] * 3


async def test_an_agent_that_names_its_thread_has_it_inside_a_tool_too() -> None:
    """By `with_config`; it was given a place in the run around it instead, and forgot its conversation."""
    saver = InMemorySaver()
    named = agent_on(saver, sleeping).with_config(PLACE)

    async def asking() -> str:
        return str((await named.ainvoke({"messages": [("user", "hi")]}))["messages"][-1].text)

    agent = agent_on(InMemorySaver(), asking)
    assert [await say(agent, "work") for _ in range(2)] == ["Yes: Yes: hi"] * 2
    stored = (await named.aget_state(PLACE)).values["messages"]
    assert [each.text for each in stored] == ["hi", "Yes: hi"] * 2


def test_a_run_within_a_sync_entry_is_refused_as_one_that_is_awaited() -> None:
    """And one that was broken off holds nothing."""
    agent = agent_on(InMemorySaver(), sleeping)
    working = agent.stream({"messages": [("user", "work")]}, PLACE, stream_mode="values")
    next(working)
    with pytest.raises(CallerError, match="'t' is under way"):
        agent.invoke({"messages": [("user", "second")]}, PLACE)
    working.close()
    assert (
        agent.invoke({"messages": [("user", "third")]}, PLACE)["messages"][-1].text == "Yes: third"
    )
