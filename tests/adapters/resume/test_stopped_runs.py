"""A run that stops outside of the guard's nodes gives its thread back: another process may go on at once."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.types import Command

from asyncguard import (
    AsyncGuardMiddleware,
    GuardConfig,
    Ports,
    ThreadBusyError,
    Timing,
    build_agent,
    guard_middleware,
)
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.processes import MortalJournal

CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
THREAD: Any = {"configurable": {"thread_id": "t"}}
BOOK = calls(("book", {"q": "Mira"}))
ASKED = {"messages": [("user", "Book Mira")]}
APPROVED: Command[Any] = Command(resume={"decisions": [{"type": "approve"}]})


class _Fails(AgentMiddleware[Any, Any]):
    """Middleware whose own node raises once the model has spoken, and then no more."""

    failed = False

    def after_model(self, state: Any, runtime: Any) -> None:
        if not self.failed:
            self.failed = True
            raise RuntimeError("the auditor is out")


class _WritesLate(MortalJournal):
    """A journal that writes a release once a run waits for it, and not before."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._late: list[Callable[[], None]] = []

    def release(self, session: str, **where: Any) -> None:
        self._late.append(partial(super().release, session, **where))

    async def flush(self) -> None:
        while self._late:
            self._late.pop(0)()
        await super().flush()


@pytest.fixture(name="process")
def _process(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Makers of agents with journals of their own, as in processes that all live."""
    saver, journals = InMemorySaver(), []

    def made(*steps: Any, others: Any = None, tools: Any = None) -> Any:
        journals.append(_WritesLate(tmp_path / "journal.db"))
        tools = tools or [scripted_tool("book", lambda a: f"booked {a['q']}", args={"q": str})]
        model, ports = ScriptedChatModel(list(steps)), Ports(journal=journals[-1])
        if others is None:
            return build_agent(model, tools, config=CONFIG, ports=ports, checkpointer=saver)
        guard = AsyncGuardMiddleware(config=CONFIG, ports=ports)
        return create_agent(
            model, tools, middleware=guard_middleware(others, guard=guard), checkpointer=saver
        )

    yield made
    for journal in journals:
        journal.close()


def _last(state: Any) -> str:
    return str(state["messages"][-1].text)


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_an_answer_to_a_reviewers_question_may_come_through_another_process(
    process: Callable[..., Any], durability: Any
) -> None:
    """The run has stopped in a node of ``HumanInTheLoopMiddleware``, where the guard has none."""
    reviewer = [HumanInTheLoopMiddleware({"book": True})]
    stopped = process(BOOK, others=reviewer).invoke(ASKED, THREAD, durability=durability)
    assert stopped["__interrupt__"]
    assert _last(process("Booked.", others=reviewer).invoke(APPROVED, THREAD)) == "Booked."


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_breakpoint_may_be_passed_by_another_process(
    process: Callable[..., Any], durability: Any
) -> None:
    """``build_agent`` stopped before its node ``execute``."""
    process(BOOK).invoke(ASKED, THREAD, interrupt_before=["execute"], durability=durability)
    assert _last(process("Booked.").invoke(None, THREAD)) == "Booked."


def test_a_run_that_other_middleware_fails_may_be_continued_by_another_process(
    process: Callable[..., Any],
) -> None:
    """Its node raises after the model's message is stored."""
    others = [_Fails()]
    with pytest.raises(RuntimeError):
        process(BOOK, others=others).invoke(ASKED, THREAD)
    assert _last(process("Booked.", others=others).invoke(None, THREAD)) == "Booked."


@pytest.mark.parametrize("others", [None, []])
def test_a_run_at_its_recursion_limit_may_be_continued_by_another_process(
    process: Callable[..., Any], others: Any
) -> None:
    """The limit comes between two nodes."""
    with pytest.raises(GraphRecursionError):
        process(BOOK, others=others).invoke(ASKED, {**THREAD, "recursion_limit": 2})
    assert _last(process("Booked.", others=others).invoke(None, THREAD)) == "Booked."


def test_a_stopped_run_keeps_its_thread_while_a_call_of_it_runs(
    process: Callable[..., Any],
) -> None:
    """Another process could not know how that call ends."""
    reviewer, ended = [HumanInTheLoopMiddleware({"pay": True})], threading.Event()

    async def book(a: Any) -> str:
        await asyncio.to_thread(ended.wait)
        return f"booked {a['q']}"

    pay = scripted_tool("pay", lambda a: "paid", args={"sum": int})

    async def play() -> None:
        tools = [scripted_tool("book", book, args={"q": str}), pay]
        tasks = [{"id": "a", "goal": "Book Mira."}, {"id": "b", "goal": "Pay Ann."}]
        steps = [
            calls(("book", {"q": "Mira", "task_id": "a"})),
            calls(("pay", {"sum": 5, "task_id": "b"})),
        ]
        agent = process(*steps, *["Done."] * 4, others=reviewer, tools=tools)
        assert (await agent.ainvoke({"messages": [], "tasks": tasks}, THREAD))["__interrupt__"]
        heir = process("Booked.", others=reviewer, tools=tools)
        try:
            with pytest.raises(ThreadBusyError):
                await asyncio.wait_for(heir.ainvoke(APPROVED, THREAD), 10.0)
        finally:
            ended.set()
        assert _last(await agent.ainvoke(APPROVED, THREAD)) == "Done."

    asyncio.run(play())


@pytest.mark.parametrize("others", [None, [HumanInTheLoopMiddleware({"book": True})]])
def test_a_stopped_run_has_no_report_yet(process: Callable[..., Any], others: Any) -> None:
    """That of the run before says nothing about it."""
    agent = process("Hello.", BOOK, "Booked.", others=others)
    assert agent.invoke({"messages": [("user", "Hi")]}, THREAD)["report"]["reason"] == "complete"
    stop = {"interrupt_before": ["execute"]} if others is None else {}
    assert agent.invoke(ASKED, THREAD, **stop)["report"] is None
    ended = agent.invoke(None if others is None else APPROVED, THREAD)
    assert ended["report"]["tasks"][0]["calls"] == {"done": 1}
