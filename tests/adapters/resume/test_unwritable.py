"""Checkpoints that cannot be written: the error is raised at once, and no call has begun."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from asyncguard import JournalError, Ports, open_journal
from asyncguard.adapters.state import GuardedState
from asyncguard.journal.port import Journal
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import Agent, Frontend, build, script

PLACE: Any = {"configurable": {"thread_id": "t"}}


class DiskFull(Exception):
    """The disk is full."""


class BrokenSaver(InMemorySaver):
    """Cannot store something from some time on, or takes its time for it."""

    def __init__(self, broken: str, *, after: int = 0, delay: float = 0.0) -> None:
        super().__init__()
        self.broken, self.left, self.delay = broken, after, delay

    def _meet(self, what: str) -> None:
        if what == self.broken:
            self.left -= 1
            if self.left < 0:
                raise DiskFull("the disk of the checkpoints is full")

    def put(self, *args: Any) -> Any:
        time.sleep(self.delay)
        self._meet("put")
        return super().put(*args)

    def put_writes(self, *args: Any) -> None:
        self._meet("put_writes")
        super().put_writes(*args)

    async def aput(self, *args: Any) -> Any:
        await asyncio.sleep(self.delay)
        self._meet("put")
        return super().put(*args)

    async def aput_writes(self, *args: Any) -> None:
        self._meet("put_writes")
        super().put_writes(*args)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """Yield a journal on a file."""
    opened = open_journal(tmp_path / "effects.db")
    yield opened
    opened.close()


def paying(frontend: Frontend, saver: InMemorySaver | None, journal: Journal) -> tuple[Agent, Any]:
    """An agent that pays, and its tool."""
    pay = scripted_tool("pay", lambda _: "paid", args={"q": str})
    model = ScriptedChatModel(script(calls(("pay", {"q": "x"}))))
    return build(frontend, model, [pay], checkpointer=saver, ports=Ports(journal=journal)), pay


def run(graph: Any, how: str, given: dict[str, Any], durability: str) -> Any:
    """One run by one of the entries."""
    if how == "s":
        return graph.invoke(given, PLACE, durability=durability)
    return asyncio.run(graph.ainvoke(given, PLACE, durability=durability))


@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("broken", ["put", "put_writes"])
@pytest.mark.parametrize("how", ["s", "a"])
def test_the_cause_is_told_at_once(
    frontend: Frontend, how: str, broken: str, after: int, journal: Journal
) -> None:
    """A failed checkpoint ends an ``async`` run at once; the error names and chains the cause."""
    agent, pay = paying(frontend, BrokenSaver(broken, after=after), journal)
    began = time.monotonic()
    with pytest.raises(
        JournalError, match="DiskFull: the disk of the checkpoints is full"
    ) as caught:
        run(agent.graph, how, agent.input("Pay x.", None), "async")
    assert isinstance(caught.value.__cause__, DiskFull)
    assert time.monotonic() - began < 10
    assert pay.calls == []


@pytest.mark.parametrize("how", ["s", "a"])
def test_under_sync_the_saver_itself_speaks(frontend: Frontend, how: str, journal: Journal) -> None:
    """Durability ``sync`` ends at the write that failed."""
    agent, pay = paying(frontend, BrokenSaver("put"), journal)
    with pytest.raises(DiskFull):
        run(agent.graph, how, agent.input("Pay x.", None), "sync")
    assert pay.calls == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ["s", "a"])
def test_a_slow_saver_is_waited_for(frontend: Frontend, how: str, journal: Journal) -> None:
    """A checkpoint that is stored late is waited for."""
    agent, pay = paying(frontend, BrokenSaver("", delay=0.1), journal)
    state = run(agent.graph, how, agent.input("Pay x.", None), "async")
    assert state["report"]["reason"] == "complete"
    assert len(pay.calls) == 1


@pytest.mark.parametrize("how", ["s", "a"])
def test_the_checkpoint_of_a_graph_around_the_agent_counts(
    frontend: Frontend, how: str, journal: Journal
) -> None:
    """An agent that is a node of another graph stands on that one's checkpoint, too."""
    inner, pay = paying(frontend, None, journal)
    graph = StateGraph(GuardedState)
    graph.add_node("agent", inner.graph)
    graph.add_edge(START, "agent")
    outer = graph.compile(checkpointer=BrokenSaver("put"))
    with pytest.raises(JournalError, match="DiskFull"):
        run(outer, how, inner.input("Pay x.", None), "async")
    assert pay.calls == []
