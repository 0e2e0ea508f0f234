"""Answers that come for an earlier question, by its id or from a process that died."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command, interrupt

from asyncguard import ToolSpec, guarded
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import Agent, Frontend, build, script


class Outside(AgentMiddleware[Any, Any, Any]):
    """Middleware around the guard that asks first."""

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Ask, and have the call made."""
        interrupt("outside")
        return await handler(request)


def agent_of(
    frontend: Frontend, got: list[Any], said: Any, *, hangs: asyncio.Event | None, **options: Any
) -> Agent:
    """Return the agent of a process, whose tool asks twice."""

    @guarded(interrupts=True, effect="at_most_once", reads=[], writes=["desk"])
    @tool
    async def pay(q: str) -> str:
        """Pay."""
        if hangs is not None:
            hangs.set()
            await asyncio.Event().wait()
        got.append((interrupt("first"), interrupt("second")))
        return "paid"

    return build(frontend, ScriptedChatModel(script(*said)), [pay], **options)


def test_the_id_of_an_earlier_question_answers_no_later_one() -> None:
    """LangGraph takes the id of the first question of a task for any of its questions."""

    async def main() -> None:
        got: list[Any] = []
        agent = agent_of(
            Frontend.MIDDLEWARE,
            got,
            [calls(("pay", {"q": "x"}))],
            hangs=None,
            outside=[Outside()],
            checkpointer=InMemorySaver(),
        )
        outcome = await agent.say("Pay x.", thread="t")
        stale = outcome.state["__interrupt__"][0].id
        outcome = await agent.resume("go", "t")
        for question in ("first", "second"):
            assert outcome.interrupts == [question]
            outcome = await agent.resume({stale: "stale"}, "t")
            assert outcome.interrupts == [question]
            outcome = await agent.resume(f"re {question}", "t")
        assert got == [("re first", "re second")]

    asyncio.run(main())


@pytest.mark.parametrize("frontend", Frontend)
def test_an_answer_that_a_dead_process_has_left_is_replaced_by_one_by_id(
    frontend: Frontend,
) -> None:
    """It was meant for the question that was answered, and is not given to the next one."""

    async def main() -> None:
        got: list[Any] = []
        saver, hangs = InMemorySaver(), asyncio.Event()

        def process(*said: Any, hangs: asyncio.Event | None = None) -> Agent:
            return agent_of(frontend, got, said, hangs=hangs, checkpointer=saver)

        outcome = await process(calls(("pay", {"q": "x"}))).say("Pay x.", thread="t")
        asked = outcome.state["__interrupt__"][0].id
        dying = asyncio.ensure_future(process(hangs=hangs).resume("left", "t"))
        await hangs.wait()
        dying.cancel()
        await asyncio.gather(dying, return_exceptions=True)
        agent = process()
        outcome = await agent.resume({asked: "re first"}, "t")
        for _ in range(2):
            assert outcome.interrupts == ["second"]
            outcome = await agent.go(None, "t")
        await agent.resume("re second", "t")
        assert got == [("re first", "re second")]

    asyncio.run(main())


@pytest.mark.parametrize("frontend", Frontend)
@pytest.mark.parametrize("given", [None, "unknown", "stale", "beside a wrong cancellation"])
async def test_the_next_tool_does_not_get_the_answer_of_the_one_before(
    frontend: Frontend, given: str | None, tmp_path: Path
) -> None:
    """SQLite keeps the answer, and no list with it: the run was resumed without one for the second."""
    got: list[Any] = []

    def asking(name: str) -> Any:
        return scripted_tool(name, lambda _: got.append((name, interrupt(f"{name}?"))) or "done")

    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:
        agent = build(
            frontend,
            ScriptedChatModel(script(calls(("pay", {}), ("ship", {})))),
            [asking("pay"), asking("ship")],
            specs=[ToolSpec(name=name, interrupts=True, takes_from=()) for name in ("pay", "ship")],
            checkpointer=saver,
        )
        outcome = await agent.say("Pay and ship.", thread="t")
        ids = {"unknown": "0" * 32, "stale": outcome.state["__interrupt__"][0].id}
        outcome = await agent.resume("pay it", "t")
        again: Any = None
        if given in ids:
            again = Command(resume={ids[given]: "late"})
        elif given is not None:  # it takes the question's own answer with it
            refused = Command(resume="refused", update={"cancel": ["nosuch"]})
            outcome = await agent.go(refused, "t")
        for _ in range(2):
            assert outcome.interrupts == ["ship?"]
            outcome = await agent.go(again, "t")
        assert got == [("pay", "pay it")]
        await agent.resume("ship it", "t")
    assert got == [("pay", "pay it"), ("ship", "ship it")]


@pytest.mark.parametrize("later", [False, True], ids=["with it", "since"])
@pytest.mark.parametrize("frontend", Frontend)
async def test_an_answer_beside_a_message_replaces_one_that_a_dead_process_has_left(
    frontend: Frontend, tmp_path: Path, *, later: bool
) -> None:
    """SQLite keeps the older one of two if something else comes with the newer one."""
    got: list[Any] = []
    hangs = asyncio.Event()
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads.db")) as saver:

        def process(*said: Any, hangs: asyncio.Event | None = None) -> Agent:
            kept: Any = {"checkpointer": saver, "journal": False}
            return agent_of(frontend, got, said, hangs=hangs, **kept)

        await process(calls(("pay", {"q": "x"}))).say("Pay x.", thread="t")
        said = {"messages": [("user", "Hurry.")]}
        left = [Command(resume="left"), Command(resume="left too", update=said)]
        for given in left[: 1 + later]:
            hangs.clear()
            dying = asyncio.ensure_future(process(hangs=hangs).go(given, "t"))
            await hangs.wait()
            dying.cancel()
            await asyncio.gather(dying, return_exceptions=True)
        agent = process()
        answer = Command(resume="re first", update=None if later else said)
        outcome = await agent.go(answer, "t")
        for _ in range(2):
            assert outcome.interrupts == ["second"]
            outcome = await agent.go(None, "t")
        await agent.resume("re second", "t")
    assert got == [("re first", "re second")]
