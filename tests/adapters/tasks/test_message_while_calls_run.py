"""The user's next message comes while calls of the last one run: what every chat product meets."""

import asyncio
from typing import Any

import pytest
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import CallerError, GuardConfig, Timing, ToolSpec
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, AgentOf, Outcome, pure, script

CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
SLOW = 5.0
"""Seconds that the first message's call takes."""


def setup(agent_of: AgentOf, *more: Any) -> tuple[Agent, Any]:
    """A thread whose first message starts a slow search."""
    search = scripted_tool("search", lambda a: f"found {a['q']}", args={"q": str}, latency=SLOW)
    model = ScriptedChatModel(script(*more))
    agent = agent_of(
        model,
        [search],
        specs=[pure("search", mode="background")],
        config=CONFIG,
        checkpointer=InMemorySaver(),
    )
    return agent, search


async def begun(agent: Agent, **given: Any) -> asyncio.Task[Any]:
    """The run of the first message, a second after its call was made."""
    running = asyncio.create_task(agent.say(thread="t", **given))
    await asyncio.sleep(1.0)
    return running


async def broken_off(running: asyncio.Task[Any]) -> None:
    """Break a run off, as a chat does before it sends the next message."""
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_a_message_beside_a_running_run_is_refused(agent_of: AgentOf) -> None:
    """Two runs would overwrite each other: the second is refused and says so, the first goes on untouched."""
    agent, search = setup(agent_of, calls(("search", {"q": "x"})))

    async def main() -> None:
        running = await begun(agent, said="Find x.")
        refused: CallerError | None = None
        try:
            await agent.say("And y?", thread="t")
        except CallerError as error:
            refused = error
        assert refused is not None
        outcome = await running
        assert "found x" in outcome.text
        assert "And y?" not in outcome.text

    run_virtual(main())
    assert len(search.calls) == 1


def test_the_call_goes_on_and_its_result_is_told_after_the_message(agent_of: AgentOf) -> None:
    """The model answers the new message at once; the result comes as news, from the one call that was made."""
    agent, search = setup(
        agent_of, calls(("search", {"q": "x"})), "Fine. I still search.", "x is found."
    )

    async def main() -> None:
        await broken_off(await begun(agent, said="Find x."))
        outcome = await agent.say("Take your time.", thread="t")
        assert outcome.elapsed < SLOW
        assert outcome.last == "x is found."
        said = [str(each.text) for each in outcome.messages]
        order = [said.index("Take your time."), said.index("Fine. I still search.")]
        news = next(n for n, text in enumerate(said) if "found x" in text)
        assert [*order, news] == sorted([*order, news])

    run_virtual(main())
    assert len(search.calls) == 1
    seen = agent.model.requests[1].messages
    assert isinstance(seen[-1], HumanMessage)
    assert any(isinstance(each, ToolMessage) and "is running" in str(each.text) for each in seen)


def test_a_new_task_joins_those_that_run(agent_of: AgentOf) -> None:
    """Given as a task, the message has calls of its own beside the open one, and neither is lost."""
    agent, search = setup(
        agent_of,
        calls(("search", {"q": "x"})),
        calls(("search", {"q": "y", "task_id": "m2"})),
    )

    async def main() -> None:
        await broken_off(await begun(agent, tasks=[{"id": "m1", "goal": "Find x."}]))
        outcome = await agent.say(tasks=[{"id": "m2", "goal": "Find y."}], thread="t")
        assert (outcome.states("m1"), outcome.states("m2")) == ({"done": 1}, {"done": 1})
        assert outcome.elapsed < 2 * SLOW - 1.0
        assert [task["state"] for task in outcome.report["tasks"]] == ["closed", "closed"]

    run_virtual(main())
    assert [each.args["q"] for each in search.calls] == ["x", "y"]


def test_an_early_end_waits_for_calls_of_the_message_before(agent_of: AgentOf) -> None:
    """After the new message a claim that all is done is interim for as long as the older call runs."""
    agent, _ = setup(agent_of, calls(("search", {"q": "x"})), "All done.", "Now it is: x.")

    async def main() -> None:
        await broken_off(await begun(agent, said="Find x."))
        outcome = await agent.say("Ready?", thread="t")
        assert outcome.last == "Now it is: x."
        marks = [each.additional_kwargs.get("lc_data", {}) for each in outcome.messages]
        assert [each["kind"] for each in marks if each.get("kind") == "interim"] == ["interim"]

    run_virtual(main())


def test_a_reply_beside_a_new_task_reopens_the_task_that_asked(agent_of: AgentOf) -> None:
    """One input answers a question and asks for more; the calls of both tasks are made."""
    agent, search = setup(
        agent_of,
        "m1: no tool needed so far. Which x?",
        calls(("search", {"q": "x1", "task_id": "m1"}), ("search", {"q": "y", "task_id": "m2"})),
    )

    async def main() -> None:
        await agent.say(tasks=[{"id": "m1", "goal": "Find x."}], thread="t")
        outcome = await agent.say("x1", tasks=[{"id": "m2", "goal": "Find y."}], thread="t")
        assert (outcome.states("m1"), outcome.states("m2")) == ({"done": 1}, {"done": 1})

    run_virtual(main())
    assert {each.args["q"] for each in search.calls} == {
        "x1",
        "y",
    }  # LangGraph starts them in any order


@pytest.mark.parametrize("effect", ["pure", "at_most_once"])
def test_a_run_that_was_broken_off_before_its_call_began(effect: str, agent_of: AgentOf) -> None:
    """An effect is not begun after the user's new message, and the answer to that stands; a read is told as coming."""
    book = scripted_tool("book", lambda a: f"did {a['q']}", args={"q": str})
    model = ScriptedChatModel([calls(("book", {"q": "x"})), "It is 2 km.", "x is done.", "Nudged."])
    agent = agent_of(
        model,
        [book],
        specs=[ToolSpec(name="book", effect=effect)],
        config=CONFIG,
        checkpointer=InMemorySaver(),
    )

    async def main() -> Outcome:
        given = agent.input("Book x.", None)
        place: Any = {"configurable": {"thread_id": "t"}}
        stream = agent.graph.astream(given, place, stream_mode="updates")
        async for update in stream:
            if "model" in update:
                break
        await stream.aclose()
        assert book.calls == []
        return await agent.say("Is it far?", thread="t")

    outcome = run_virtual(main()).result
    (answer,) = [m for m in outcome.messages if isinstance(m, ToolMessage)]
    if effect == "pure":
        assert "book#1 is about to run" in answer.text
        assert outcome.last == "x is done."
        return
    assert book.calls == []
    assert "not run: the user sent a new message before it began" in answer.text
    assert outcome.last == "It is 2 km."
    assert outcome.states("main") == {"cancelled": 1}
    agent.check_histories()
