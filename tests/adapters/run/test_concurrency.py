"""Several threads of one agent, sync and async, streamed: nothing mixes."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import CallerError, GuardConfig, Timing
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, AgentOf, pure, script

TASKS = [{"id": "a", "goal": "Look up x."}, {"id": "b", "goal": "Look up y."}]
CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
BOTH = calls(("look", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"}))


def look(latency: float = 2.0) -> Any:
    """A lookup."""
    return scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str}, latency=latency)


def echo(messages: Any, _: Any) -> Any:
    """Looks up what the user said last, then repeats what was found."""
    last = messages[-1]
    return (
        f"answer: {last.content}"
        if last.type == "tool"
        else calls(("look", {"q": str(last.content)}))
    )


@pytest.mark.parametrize("kept", [True, False], ids=["threads", "no checkpointer"])
def test_many_runs_at_once_do_not_mix(kept: bool, agent_of: AgentOf) -> None:
    """Each run gets its own answer, and no run waits for another."""
    options: dict[str, Any] = {"checkpointer": InMemorySaver()} if kept else {}
    agent = agent_of(ScriptedChatModel(echo), [look()], specs=[pure("look")], **options)

    async def main() -> None:
        names = [f"q{n}" for n in range(20)]
        outcomes = await asyncio.gather(
            *(agent.say(name, thread=name if kept else None) for name in names)
        )
        assert [outcome.last for outcome in outcomes] == [f"answer: found {name}" for name in names]

    assert run_virtual(main()).elapsed == pytest.approx(2.0)


def test_one_agent_serves_sync_and_async_callers(agent_of: AgentOf) -> None:
    """A thread that was begun by ``invoke`` continues by ``ainvoke`` and back."""
    agent = agent_of(
        ScriptedChatModel(echo), [look(0.0)], specs=[pure("look")], checkpointer=InMemorySaver()
    )
    assert agent.run_sync("one", thread="t").last == "answer: found one"
    assert asyncio.run(agent.say("two", thread="t")).last == "answer: found two"
    assert agent.run_sync("three", thread="t").last == "answer: found three"
    assert [message.type for message in agent.outcomes[-1].messages] == [
        "human",
        "ai",
        "tool",
        "ai",
    ] * 3


def test_threads_run_through_the_sync_entry_at_once(agent_of: AgentOf) -> None:
    """Eight OS threads call the sync entry at the same time."""
    agent = agent_of(
        ScriptedChatModel(echo), [look(0.0)], specs=[pure("look")], checkpointer=InMemorySaver()
    )
    names = [f"q{n}" for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda name: agent.run_sync(name, thread=name), names))
    assert [outcome.last for outcome in outcomes] == [f"answer: found {name}" for name in names]


def test_a_second_run_on_a_thread_takes_new_tasks(agent_of: AgentOf) -> None:
    """Tasks of an earlier run are closed and do not hold up the next."""
    again = calls(("look", {"q": "z", "task_id": "c"}))
    model = ScriptedChatModel(script(BOTH, "all done", again))
    agent = agent_of(
        model, [look()], specs=[pure("look")], config=CONFIG, checkpointer=InMemorySaver()
    )

    async def main() -> None:
        await agent.go(agent.input(None, TASKS), "t")
        outcome = await agent.go(agent.input(None, [{"id": "c", "goal": "Look up z."}]), "t")
        assert outcome.states("c") == {"done": 1}
        assert "found z" in outcome.text

    run_virtual(main())


@pytest.mark.parametrize("mode", ["updates", "values", "messages"])
def test_a_run_can_be_streamed(mode: Any, agent_of: AgentOf) -> None:
    """Each mode of streaming tells of the results and of the last word."""
    model = ScriptedChatModel(script(BOTH, ever="both were found"))
    agent = agent_of(model, [look()], specs=[pure("look")], config=CONFIG)

    async def main() -> str:
        return str(
            [part async for part in agent.graph.astream(agent.input(None, TASKS), stream_mode=mode)]
        )

    told = run_virtual(main()).result
    assert "found x" in told or mode == "messages"
    assert "both" in told


def test_tokens_arrive_one_by_one(agent_of: AgentOf) -> None:
    """``stream_mode="messages"`` gives the pieces of the model's answer, in order."""
    model = ScriptedChatModel(["one two three four"])
    agent = agent_of(model, [look()])

    async def main() -> list[str]:
        stream = agent.graph.astream(agent.input("Count.", None), stream_mode="messages")
        return [
            str(chunk.content) async for chunk, _ in stream if isinstance(chunk, AIMessageChunk)
        ]

    pieces = [piece for piece in run_virtual(main()).result if piece]
    assert len(pieces) > 1
    assert "".join(pieces) == "one two three four"
    assert model.requests[0].streamed


def test_a_run_can_be_streamed_through_the_sync_entry(agent_of: AgentOf) -> None:
    """``stream`` yields the same results and the same last message."""
    agent = agent_of(ScriptedChatModel(echo), [look(0.0)], specs=[pure("look")])
    told = str(list(agent.graph.stream(agent.input("x", None), stream_mode="updates")))
    assert "answer: found x" in told


def test_state_between_runs_holds_plain_values_only(agent_of: AgentOf) -> None:
    """The values beside the messages survive any serializer."""
    agent = agent_of(
        ScriptedChatModel(script(BOTH)),
        [look()],
        specs=[pure("look")],
        config=CONFIG,
        checkpointer=InMemorySaver(),
    )

    async def main() -> None:
        await agent.go(agent.input(None, TASKS), "t")
        state = await agent.graph.aget_state({"configurable": {"thread_id": "t"}})
        for name in ("ledger", "asyncguard", "report"):
            assert json.loads(json.dumps(state.values[name])) == state.values[name]

    run_virtual(main())


def test_two_runs_do_not_share_a_thread(agent_of: AgentOf) -> None:
    """The second is refused while the first waits; the first ends as if it were alone, and the thread continues."""
    tool = scripted_tool("look", lambda _: "found", args={"q": str}, latency=5.0)
    model = ScriptedChatModel(script(calls(("look", {"q": "x"})), ever="Done."), latency=1.0)
    agent = agent_of(model, [tool], specs=[pure("look")], checkpointer=InMemorySaver())

    async def both() -> tuple[Any, Any]:
        first = asyncio.create_task(agent.say("Look for x.", thread="t"))
        await asyncio.sleep(3.0)
        with pytest.raises(CallerError, match="under way in this process"):
            await agent.say("And y?", thread="t")
        return await first, await agent.say("Go on.", thread="t")

    first, after_it = run_virtual(both()).result
    assert first.report["reason"] == after_it.report["reason"] == "complete"
    assert len(tool.calls) == 1


async def read(agent: Agent, entry: str) -> None:
    """Read a run to its end."""
    given, thread = {"messages": [("user", "one")]}, {"configurable": {"thread_id": "t"}}
    async for _ in getattr(agent.graph, entry)(given, thread, stream_mode="custom"):
        pass


@pytest.mark.parametrize("often", [False, True], ids=["once", "as anyio does"])
@pytest.mark.parametrize("entry", ["astream", "astream_events"])
def test_a_stream_that_is_left_at_any_step_leaves_its_thread(
    entry: str, often: bool, agent_of: AgentOf
) -> None:
    """The first node may begin when LangGraph is about to end its run, or has left it."""

    async def main() -> None:
        for steps in range(14):
            agent = agent_of(ScriptedChatModel(echo), [], checkpointer=InMemorySaver())
            left = asyncio.create_task(read(agent, entry))
            for _ in range(steps):
                await asyncio.sleep(0)
            left.cancel()
            while often and not left.done():
                left.cancel()
                await asyncio.sleep(0)
            await asyncio.wait([left])
            assert (await agent.say("two", thread="t")).last

    asyncio.run(main())


def test_a_stream_whose_reader_pauses_keeps_its_thread(agent_of: AgentOf) -> None:
    """However long it does nothing, it is not taken for one that was left."""
    agent = agent_of(ScriptedChatModel(echo), [], checkpointer=InMemorySaver())

    async def main() -> None:
        given: Any = {"messages": [("user", "one")]}
        run = agent.graph.astream(given, {"configurable": {"thread_id": "t"}}, stream_mode="custom")
        await anext(run)
        with pytest.raises(CallerError, match="under way"):
            await agent.say("two", thread="t")
        async for _ in run:
            pass
        assert (await agent.say("two", thread="t")).last

    asyncio.run(main())
