"""The soak: very many calls through one process with a journal, and what is left of them in memory.

Runs follow one another, several at a time, each on a thread of its own with checkpoints and journal on disk. What a
process holds is looked at after each share of the calls: resident memory, tasks, open files, threads, sessions.
"""

import asyncio
import gc
import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import tool_call
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from asyncguard import EffectClass, ToolFault, ToolSpec, build_agent
from asyncguard.journal.open import open_journal
from asyncguard.runtime.session.session import Session
from asyncguard_benchmark.harness.chat_model import PlainChatModel
from reliability.agents import CONFIG
from reliability.story import TOOLS
from reliability.tools import CHECK

_CALLS_A_MESSAGE = 25
_MESSAGES = 4
CALLS_A_RUN = _CALLS_A_MESSAGE * _MESSAGES
_TASKS = ("a", "b")
_AT_ONCE = 4
_SAMPLES = 40
_FAULTS = 0.01
"""Share of the calls that fail for a passing reason, so that recovery has its part in what is held."""
_WARM_UP = 0.2
"""Share of the calls after which memory is compared."""
GROWTH = 0.05
"""Share by which resident memory may grow after the warm-up."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Resources that the process holds at one time."""

    calls: int
    """Calls so far."""
    resident: int
    """Bytes in memory."""
    tasks: int
    files: int
    threads: int
    sessions: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Soaked:
    """Result of a soak."""

    samples: tuple[Sample, ...]
    """Samples in order."""

    @property
    def growth(self) -> float:
        """Growth of memory after the warm-up: medians of the last samples against those after it."""
        held = [
            sample.resident
            for sample in self.samples
            if sample.calls >= _WARM_UP * self.samples[-1].calls
        ]
        few = max(1, len(held) // 5)
        return _median(held[-few:]) / _median(held[:few]) - 1

    def leaks(self) -> list[str]:
        """Return the resources of which there are more at the end than after the warm-up."""
        warm = next(
            sample for sample in self.samples if sample.calls >= _WARM_UP * self.samples[-1].calls
        )
        last = self.samples[-1]
        found = [
            f"{name}: {getattr(warm, name)} after the warm-up, {getattr(last, name)} at the end"
            for name in ("tasks", "files", "threads", "sessions")
            if getattr(last, name) > getattr(warm, name)
        ]
        if self.growth >= GROWTH:
            found.append(f"resident memory grew by {self.growth:.1%}")
        return found

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "growth": self.growth,
            "leaks": self.leaks(),
            "samples": [asdict(sample) for sample in self.samples],
        }


def _median(values: Sequence[int]) -> float:
    ordered = sorted(values)
    return float(ordered[len(ordered) // 2])


def soak(calls_wanted: int, note: Callable[[Sample], None]) -> Soaked:
    """Make that many calls in this process.

    Args:
        calls_wanted: Number of calls; rounded up to whole runs.
        note: Told of each sample.
    """
    with TemporaryDirectory(prefix="reliability-soak-") as folder:
        return asyncio.run(_soak(Path(folder), -(-calls_wanted // CALLS_A_RUN), note))


async def _soak(folder: Path, runs: int, note: Callable[[Sample], None]) -> Soaked:
    # The loop's pool of threads grows when it is busy, up to a bound: it is filled now, so that its
    # growth is not taken for a leak later.
    await asyncio.gather(*(asyncio.to_thread(time.sleep, 0.05) for _ in range(64)))
    began, samples = time.monotonic(), list[Sample]()
    every = max(1, runs // _SAMPLES)
    journal = await asyncio.to_thread(open_journal, folder / "journal.sqlite")
    async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.sqlite")) as saver:
        await saver.setup()
        tools, specs = _tools(), _specs()
        graph = build_agent(
            _Caller(), tools, config=CONFIG, specs=specs, checkpointer=saver, journal=journal
        )
        for first in range(0, runs, _AT_ONCE):
            numbers = range(first, min(first + _AT_ONCE, runs))
            await asyncio.gather(*(_run(graph, number) for number in numbers))
            if first // every != (first + _AT_ONCE) // every or numbers.stop == runs:
                await _let_go()
                samples.append(_sample(numbers.stop * CALLS_A_RUN, time.monotonic() - began))
                note(samples[-1])
    await asyncio.to_thread(journal.close)
    return Soaked(samples=tuple(samples))


async def _run(graph: Any, number: int) -> None:
    config = {"configurable": {"thread_id": f"run {number}"}}
    made = [
        _call(message, place)["args"]
        for message in range(_MESSAGES)
        for place in range(_CALLS_A_MESSAGE)
    ]
    items = {
        name: " ".join(given["item"] for given in made if given["task_id"] == name)
        for name in _TASKS
    }
    tasks = [{"id": name, "goal": f"Handle {told}."} for name, told in items.items()]
    state = await graph.ainvoke({"tasks": tasks}, config, durability="sync")
    ended = [task["calls"] for task in state["report"]["tasks"]]
    if sum(counts.get("done", 0) for counts in ended) != CALLS_A_RUN:
        raise AssertionError(f"not every call of run {number} is done: {state['report']}")


async def _let_go() -> None:
    # An OS thread of the pool may hold what it ran for a moment after the result is there; what
    # is still held after two seconds is a leak.
    until = time.monotonic() + 2.0
    gc.collect()
    while _sessions() and time.monotonic() < until:
        await asyncio.sleep(0.05)
        gc.collect()


def _sessions() -> int:
    return sum(isinstance(item, Session) for item in gc.get_objects())


def _sample(made: int, seconds: float) -> Sample:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return Sample(
        calls=made,
        resident=pages * os.sysconf("SC_PAGE_SIZE"),
        tasks=len(asyncio.all_tasks()),
        files=sum(1 for _ in Path("/proc/self/fd").iterdir()),
        threads=threading.active_count(),
        sessions=_sessions(),
        seconds=round(seconds, 1),
    )


class _Caller(PlainChatModel):
    """Model that calls as many tools as a message may, some times, and is done; keeps nothing of what it was asked."""

    def say(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the next calls."""
        made = sum(
            bool(message.tool_calls) for message in messages if isinstance(message, AIMessage)
        )
        calls = (
            [] if made == _MESSAGES else [_call(made, place) for place in range(_CALLS_A_MESSAGE)]
        )
        return AIMessage(content="" if calls else "all done", tool_calls=calls)


def _call(made: int, place: int) -> Any:
    names = sorted(TOOLS.values())
    arguments = {"item": f"m{made}p{place}", "task_id": _TASKS[place % 2]}
    return tool_call(name=names[place % len(names)], args=arguments, id=f"c{made}_{place}")


def _tools() -> list[BaseTool]:
    drawn = random.Random("soak")

    def made(name: str) -> BaseTool:
        async def act(item: str, key: str = "") -> str:
            await asyncio.sleep(drawn.uniform(0.0, 0.002))
            if drawn.random() < _FAULTS:
                raise ToolFault("busy", transient=True, started=False)
            return f"{name} {item}: {'done. ' * 50}"

        return StructuredTool.from_function(None, act, name, "Handle an item.")

    return [made(name) for name in (*TOOLS.values(), CHECK)]


def _specs() -> list[ToolSpec]:
    specs = [ToolSpec(name=CHECK, effect=EffectClass.PURE)]
    for effect, name in TOOLS.items():
        kind = EffectClass(effect.value)
        probe = CHECK if kind is EffectClass.PROBED else None
        writes = () if kind is EffectClass.PURE else ("{item}",)
        specs.append(
            ToolSpec(
                name=name,
                effect=kind,
                reads=(),
                writes=writes,
                takes_from=(),  # each call handles an item of its own
                key_argument="key",
                probe=probe,
            )
        )
    return specs
