"""More threads at once than sessions are kept for idle ones."""

import asyncio
import gc
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import guarded
from asyncguard.runtime.session.session import Session
from asyncguard.testing import ScriptedChatModel, Step, calls, run_virtual
from tests.adapters.harness import Frontend, build

THREADS = 300
"""More than the 256 sessions above which idle ones are dropped."""


def pays_once(messages: Sequence[BaseMessage], _: Sequence[str]) -> Step:
    """Pay the person that the user has named, and be done."""
    if messages[-1].type == "tool":
        return "done"
    return calls(("pay", {"to": messages[-1].text.removeprefix("Pay ")}))


@pytest.mark.parametrize("frontend", Frontend)
@pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["unstored", "stored"])
@pytest.mark.parametrize("shown", [False, True], ids=["invoke", "stream"])
def test_no_call_of_many_threads_is_in_doubt(
    frontend: Frontend, saver: Callable[[], BaseCheckpointSaver[Any]] | None, shown: bool
) -> None:
    """A session that its model keeps waiting is in use; without it nothing knows of its calls."""
    paid: list[str] = []

    @guarded(effect="at_most_once")
    async def pay(to: str) -> str:
        """Pay."""
        await asyncio.sleep(0.1)
        paid.append(to)
        return f"paid {to}"

    model = ScriptedChatModel(pays_once, latency=2.0)
    graph = build(frontend, model, [pay], checkpointer=saver and saver()).graph

    async def one(name: str) -> dict[str, Any]:
        given: Any = {"messages": [("user", f"Pay {name}")]}
        config: Any = {"configurable": {"thread_id": name}}
        if not shown:
            return await graph.ainvoke(given, config)
        return [each async for each in graph.astream(given, config, stream_mode="values")][-1]

    async def crowd() -> list[dict[str, Any]]:
        return await asyncio.gather(*(one(f"person-{number}") for number in range(THREADS)))

    for number, ended in enumerate(run_virtual(crowd()).result):
        told = [message.text for message in ended["messages"] if message.type == "tool"]
        assert told == [f"paid person-{number}"]
    assert sorted(paid) == sorted(f"person-{number}" for number in range(THREADS))


@pytest.mark.parametrize("frontend", Frontend)
def test_threads_that_wait_for_a_person_do_not_stay_in_memory(frontend: Frontend) -> None:
    """Most questions are answered late or never; each thread goes on from its state."""
    paid: list[str] = []

    @guarded(effect="at_most_once", approval=True)
    async def pay(to: str) -> str:
        """Pay."""
        paid.append(to)
        return f"paid {to}"

    model = ScriptedChatModel(pays_once)
    graph = build(frontend, model, [pay], checkpointer=InMemorySaver()).graph

    async def said(name: str, given: Any) -> Any:
        return await graph.ainvoke(given, {"configurable": {"thread_id": name}})

    async def asked() -> int:
        for number in range(2 * THREADS):
            await said(f"{number}", {"messages": [("user", f"Pay {number}")]})
        gc.collect()
        return sum(isinstance(each, Session) for each in gc.get_objects())

    gc.collect()
    gc.freeze()
    assert run_virtual(asked()).result <= THREADS

    async def answered() -> list[Any]:
        return [
            await said(f"{number}", Command(resume=bool(number % 2)))
            for number in range(0, 2 * THREADS, 25)
        ]

    for ended in run_virtual(answered()).result:
        assert ended["messages"][-1].text == "done"
    assert paid == [f"{number}" for number in range(0, 2 * THREADS, 25) if number % 2]
