"""Section `load`: many threads of one agent at once, and what is left when they have ended."""

import asyncio
import gc
import random
import resource
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.base import BaseCheckpointSaver

from asyncguard import AsyncGuardMiddleware, Journal, build_agent, open_journal
from chat import ScriptedChat
from measure import UnsoundRunError, uncertainty
from peers.create_agent import DeltaState, empty_middleware
from peers.graphs import open_saver
from peers.guarded_graph import CONFIG
from peers.guarded_middleware import HOOKS
from peers.langgraph_loop import loop
from peers.two_rows import TwoRows, recorded, two_rows
from script import ANSWER, QUESTION, TOOL_DESCRIPTION, TOOL_NAME
from settings import Settings
from table import Reference, Row, row

CALLS = 5
"""Tool calls of a thread, one after the other."""
SHORTEST, LONGEST = 0.02, 0.05
"""Seconds that a call takes; drawn from its thread and number, so that all peers wait as long."""
_LIMITS = {"build_agent": 1.0, "AsyncGuardMiddleware": 1.2}
_BASE = "create_agent"

Make = Callable[["Crowd", BaseCheckpointSaver[Any] | None, Journal | None], Any]


@dataclass(slots=True)
class Crowd:
    """Model and tool of all threads; each finds its place in the messages it is sent."""

    executed: int = 0
    """Number of times the tool ran."""
    latencies: list[float] = field(default_factory=list)
    """Seconds from the question to the answer of each thread."""
    rows: TwoRows | None = None
    """Record of the calls of a peer without a journal, ``None`` if nothing is stored."""

    def model(self) -> ScriptedChat:
        """Return the model."""

        async def decide(messages: Sequence[BaseMessage]) -> AIMessage:
            made = sum(isinstance(each, AIMessage) for each in messages)
            if made == CALLS:
                return AIMessage(content=ANSWER)
            thread = next(str(each.content) for each in messages if each.type == "human")
            call = ToolCall(
                name=TOOL_NAME,
                args={"key": f"{thread} {made}"},
                id=f"call-{made}",
                type="tool_call",
            )
            return AIMessage(content="", tool_calls=[call])

        return ScriptedChat(decide=decide)

    def tool(self) -> BaseTool:
        """Return the slow tool."""

        async def look_up(key: str) -> str:
            await asyncio.sleep(random.Random(key).uniform(SHORTEST, LONGEST))
            self.executed += 1
            return f"value of {key}"

        return StructuredTool.from_function(
            coroutine=look_up, name=TOOL_NAME, description=TOOL_DESCRIPTION
        )

    def recorded_tool(self) -> BaseTool:
        """Return the tool, whose calls are recorded where anything is stored."""
        tool = self.tool()
        return tool if self.rows is None else recorded(tool, self.rows)

    async def run(self, agent: Any, names: Sequence[str]) -> None:
        """Run a thread of each name, all at once.

        Raises:
            UnsoundRunError: a thread ended without its answer or with another number of calls.
        """
        before = self.executed

        async def one(name: str) -> None:
            start = time.perf_counter()
            done = await agent.ainvoke(
                {"messages": [("user", f"{name}: {QUESTION}")]},
                {"configurable": {"thread_id": name}},
            )
            self.latencies.append(time.perf_counter() - start)
            if done["messages"][-1].content != ANSWER:
                raise UnsoundRunError(f"{name} ended with {done['messages'][-1].content!r:.100}")

        await asyncio.gather(*map(one, names))
        if self.executed - before != CALLS * len(names):
            raise UnsoundRunError(
                f"{self.executed - before} calls ran instead of {CALLS * len(names)}"
            )


def _plain(crowd: Crowd, saver: BaseCheckpointSaver[Any] | None, _: Journal | None) -> Any:
    return create_agent(crowd.model(), [crowd.tool()], checkpointer=saver)


def _graph(crowd: Crowd, saver: BaseCheckpointSaver[Any] | None, journal: Journal | None) -> Any:
    return build_agent(
        crowd.model(), [crowd.tool()], config=CONFIG, checkpointer=saver, journal=journal or False
    )


def _middleware(
    crowd: Crowd, saver: BaseCheckpointSaver[Any] | None, journal: Journal | None
) -> Any:
    guard = AsyncGuardMiddleware(tools=[crowd.tool()], config=CONFIG, journal=journal or False)
    return create_agent(
        crowd.model(),
        [crowd.tool()],
        middleware=[guard],
        checkpointer=saver,
        state_schema=guard.state_schema,
    )


def _loop(crowd: Crowd, saver: BaseCheckpointSaver[Any] | None, _: Journal | None) -> Any:
    return loop(crowd.model(), crowd.recorded_tool(), saver)


def _empty_hooks(crowd: Crowd, saver: BaseCheckpointSaver[Any] | None, _: Journal | None) -> Any:
    return create_agent(
        crowd.model(),
        [crowd.recorded_tool()],
        middleware=[empty_middleware(HOOKS)],
        checkpointer=saver,
        state_schema=DeltaState,
    )


PEERS: Mapping[str, Make] = {
    _BASE: _plain,
    "build_agent": _graph,
    "AsyncGuardMiddleware": _middleware,
}
FLOORS: Mapping[str, Make] = {
    "hand-written StateGraph": _loop,
    "create_agent, the same hooks empty": _empty_hooks,
}
"""What each front end stands on, with nothing in it; where anything is stored, with two rows of each call."""


@asynccontextmanager
async def _opened(make: Make, crowd: Crowd, folder: Path | None) -> AsyncIterator[Any]:
    if folder is None:
        yield make(crowd, None, None)
        return
    with ExitStack() as stack:
        journal = open_journal(folder / "effects.sqlite")
        stack.callback(journal.close)
        crowd.rows = stack.enter_context(two_rows(folder))
        async with open_saver(folder) as saver:
            yield make(crowd, saver, journal)


def measure(settings: Settings) -> list[Row]:
    """Measure the slowest hundredth of threads at once, and what a long row of threads leaves in the process."""
    rows: list[Row] = []
    peers = {**PEERS, **FLOORS}
    for stored in (False, True):
        place = "SQLite and journal" if stored else "in memory"
        settings.note(
            f"load: {settings.at_once} threads at once, {place}, {settings.long_repeats} rounds at most"
        )
        found: dict[str, list[float]] = {name: [] for name in peers}
        for _ in range(settings.long_repeats):
            for name, make in peers.items():
                found[name].append(asyncio.run(_slowest(make, settings.at_once, stored=stored)))
            if all(
                uncertainty(found[name], found[_BASE]) <= settings.precision for name in _LIMITS
            ):
                break
        for name, values in found.items():
            base = Reference(name=_BASE, values=found[_BASE], limit=_LIMITS.get(name))
            rows.append(
                row(("load", f"p99 of {settings.at_once}, {place}"), name, values, "s", base)
            )
    for name, make in PEERS.items():
        settings.note(f"load: {settings.threads} threads of {name}, {settings.at_once} at once")
        for what, left, unit in asyncio.run(_left(make, settings)):
            heading = ("load", f"{what} after {settings.threads} threads")
            rows.append(row(heading, name, [left], unit, None))
    return rows


async def _slowest(make: Make, at_once: int, *, stored: bool) -> float:
    """Return the 99th percentile of the seconds of a thread."""
    with tempfile.TemporaryDirectory(prefix="asyncguard-performance-") as name:
        crowd = Crowd()
        async with _opened(make, crowd, Path(name) if stored else None) as agent:
            await crowd.run(agent, ["warm-up"])
            crowd.latencies.clear()
            await crowd.run(agent, [f"thread-{number}" for number in range(at_once)])
        return quantiles(crowd.latencies, n=100)[-1]


async def _left(make: Make, settings: Settings) -> list[tuple[str, float, str]]:
    """Return what the second half of many threads has added to the process: the first half fills its caches."""
    crowd = Crowd()
    agent = make(crowd, None, None)
    at_once = settings.at_once
    batches = [range(first, first + at_once) for first in range(0, settings.threads, at_once)]
    before = _held()
    for place, batch in enumerate(batches):
        if place == len(batches) // 2:
            before = _held()
        await crowd.run(agent, [f"thread-{number}" for number in batch])
    return [
        (what, after - earlier, unit)
        for (what, after, unit), (_, earlier, _) in zip(_held(), before, strict=True)
    ]


def _held() -> list[tuple[str, float, str]]:
    """Return memory in use, asyncio tasks and open files of this process; only Linux tells the first and the last."""
    gc.collect()
    tasks = ("asyncio tasks", float(len(asyncio.all_tasks())), "more")
    process = Path("/proc/self")
    if not process.exists():
        return [tasks]
    pages = int((process / "statm").read_text().split()[1])
    memory = pages * resource.getpagesize() / 2**20
    return [
        ("memory", memory, "MB more"),
        tasks,
        ("files", float(len(list((process / "fd").iterdir()))), "more"),
    ]
