"""The user speaks while something is held back: "stop, don't book" wins."""

import asyncio
from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import GuardConfig, Timing, ToolSpec
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, AgentOf, pure, script

TASKS = [
    {"id": "a", "goal": "Search a flight to Rome and book flight R1."},
    {"id": "b", "goal": "Be quick."},
]
CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
SEARCH = pure("search", reads=("flight:{q}",))
BOOK = ToolSpec(name="book", reads=(), writes=("flight:{q}",))


def setup(agent_of: AgentOf, second: str, *more: Any) -> tuple[Agent, Any, Any]:
    """A slow search of one task, and a second call that has to wait for it."""
    search = scripted_tool("search", lambda a: f"found {a['q']}", args={"q": str}, latency=5.0)
    book = scripted_tool("book", lambda a: f"booked {a['q']}", args={"q": str}, latency=5.0)
    first = "search" if second == "book" else "book"
    model = ScriptedChatModel(
        script(
            calls((first, {"q": "R1", "task_id": "a"}), (second, {"q": "R1", "task_id": "b"})),
            *more,
        )
    )
    agent = agent_of(
        model, [search, book], specs=[SEARCH, BOOK], config=CONFIG, checkpointer=InMemorySaver()
    )
    return agent, search, book


async def interrupted(agent: Agent, after: float = 1.0) -> None:
    """A run that the user breaks off while its calls are open."""
    running = asyncio.create_task(agent.go(agent.input(None, TASKS), "t"))
    await asyncio.sleep(after)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_a_deferred_effect_is_squashed_and_reported(agent_of: AgentOf) -> None:
    """After the user's new message the booking that was held back never happens, and the model is told so."""
    agent, _, book = setup(agent_of, "book")

    async def main() -> None:
        await interrupted(agent)
        outcome = await agent.say("Stop, don't book.", thread="t")
        await asyncio.sleep(60.0)
        assert book.calls == []
        assert "book#1 was not run" in outcome.text
        assert "the user sent a new message" in outcome.text
        assert "Stop, don't book." in outcome.text

    run_virtual(main())


def test_a_deferred_read_may_go_on(agent_of: AgentOf) -> None:
    """A new message does not stop a call without an effect."""
    agent, search, book = setup(agent_of, "search")

    async def main() -> None:
        await interrupted(agent)
        outcome = await agent.say("By the way, take your time.", thread="t")
        assert len(book.calls) == 1
        assert len(search.calls) + ("search#1 was not run" in outcome.text) == 1

    run_virtual(main())


def test_the_model_may_ask_for_the_effect_again(agent_of: AgentOf) -> None:
    """If the user's message does not stop it, the model books by a new call."""
    agent, _, book = setup(agent_of, "book", calls(("book", {"q": "R1", "task_id": "b"})))

    async def main() -> None:
        await interrupted(agent)
        outcome = await agent.say("Yes, book R1, please.", thread="t")
        assert len(book.calls) == 1
        assert "booked R1" in outcome.text

    run_virtual(main())


def test_a_call_that_waits_for_approval_is_withdrawn_too(agent_of: AgentOf) -> None:
    """The user speaks instead of answering the question: nothing is booked."""
    book = scripted_tool("book", lambda a: f"booked {a['q']}", args={"q": str})
    model = ScriptedChatModel(
        script(calls(("book", {"q": "R1"})), ever=AIMessage(content="As you wish."))
    )
    specs = [ToolSpec(name="book", approval=True)]
    agent = agent_of(model, [book], specs=specs, checkpointer=InMemorySaver())

    async def main() -> None:
        assert (await agent.say("Book R1.", thread="t")).interrupts
        outcome = await agent.say("Stop, don't book.", thread="t")
        assert outcome.interrupts == []
        assert outcome.last == "As you wish."
        assert "book#1 was not run" in outcome.text

    run_virtual(main())
    assert book.calls == []
