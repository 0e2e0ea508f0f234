"""One agent of each adapter, reused for thousands of runs, with a record of its tools' calls."""

import asyncio
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, ConfigDict

from asyncguard import (
    AsyncGuardMiddleware,
    GuardConfig,
    Limits,
    Ports,
    ToolSpec,
    build_agent,
    guard_middleware,
)
from asyncguard.core.footprints import EffectClass
from asyncguard.testing import VirtualTimeLoop, scripted_tool
from tests.fuzz.malformed import TASKS, MalformedModel, Script, Tape

LIMITS = Limits(max_model_turns=7, max_rejections=6, max_pending=4, max_calls_per_message=3)


class Search(BaseModel):
    """Arguments of the pure tool."""

    model_config = ConfigDict(extra="forbid")
    q: str
    limit: int = 3


class Book(BaseModel):
    """Arguments of the tool with an effect."""

    model_config = ConfigDict(extra="forbid")
    seat: int


class Item(BaseModel):
    """Part of an order."""

    model_config = ConfigDict(extra="forbid")
    sku: str
    count: int


class Order(BaseModel):
    """Arguments of the tool with a nested schema."""

    model_config = ConfigDict(extra="forbid")
    items: list[Item]


SCHEMAS: Mapping[str, type[BaseModel]] = {"search": Search, "book": Book, "order": Order}
_SPECS = (
    ToolSpec(name="search", effect=EffectClass.PURE, reads=("web",)),
    ToolSpec(name="book", effect=EffectClass.AT_MOST_ONCE, reads=(), writes=("seats",)),
    ToolSpec(name="order", effect=EffectClass.IDEMPOTENT),
)
_GOAL = "Find x, y and z; book the seats 1, 2, 3 and 4; order 1 s."
"""Names every value of a right call, so that none of them counts as invented."""
_LATENCY = {"search": 1.0, "book": 0.5, "order": 0.0}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Record of a run."""

    tape: Tape
    """Requests and messages of the model."""
    state: Mapping[str, Any]
    """The thread's state, read back from the checkpointer."""
    executed: tuple[tuple[str, Mapping[str, Any]], ...]
    """Tool and arguments of each execution, in order."""


@dataclass(kw_only=True, repr=False)
class Stand:
    """An agent, its model and what its tools executed; `run` plays one script on a fresh thread."""

    name: str
    model: MalformedModel
    executed: list[tuple[str, Mapping[str, Any]]]
    agent: Any
    saver: InMemorySaver
    runner: asyncio.Runner
    _numbers: Any = field(default_factory=itertools.count)

    def __repr__(self) -> str:
        return f"stand({self.name!r})"

    def run(self, script: Script, tasks: int) -> Outcome:
        """Play a script with one task or with several."""
        tape = self.model.load(script)
        self.executed.clear()
        thread = f"t{next(self._numbers)}"
        config = {"configurable": {"thread_id": thread}}
        if tasks > 1:
            given: dict[str, Any] = {"tasks": [{"id": name, "goal": _GOAL} for name in TASKS]}
        else:
            given = {"messages": [{"role": "user", "content": _GOAL}]}
        given.setdefault("messages", [])

        async def play() -> Any:
            await self.agent.ainvoke(given, config)
            await asyncio.sleep(
                10
            )  # a run that a limit ended leaves calls running: they end here, not in the next run
            return (await self.agent.aget_state(config)).values

        state = self.runner.run(play())
        self.saver.delete_thread(thread)
        return Outcome(tape=tape, state=state, executed=tuple(self.executed))

    def close(self) -> None:
        """End the loop."""
        self.runner.close()


def stand(front_end: str) -> Stand:
    """Build the agent of an adapter, ``graph`` or ``middleware``."""
    model, saver = MalformedModel(), InMemorySaver()
    executed: list[tuple[str, Mapping[str, Any]]] = []
    tools = [_tool(name, executed) for name in SCHEMAS]
    numbers = itertools.count()
    ports = Ports(new_id=lambda: f"n{next(numbers)}")
    config = GuardConfig(limits=LIMITS)
    if front_end == "graph":
        agent: Any = build_agent(
            model, tools, specs=_SPECS, config=config, ports=ports, checkpointer=saver
        )
    else:
        guard = AsyncGuardMiddleware(config=config, specs=_SPECS, tools=tools, ports=ports)
        agent = create_agent(model, tools, middleware=guard_middleware([guard]), checkpointer=saver)
        agent = agent.with_config({"recursion_limit": 10_000})
    runner = asyncio.Runner(loop_factory=VirtualTimeLoop)
    return Stand(
        name=front_end, model=model, executed=executed, agent=agent, saver=saver, runner=runner
    )


def _tool(name: str, executed: list[tuple[str, Mapping[str, Any]]]) -> BaseTool:
    def answer(arguments: Mapping[str, Any]) -> str:
        executed.append((name, SCHEMAS[name].model_validate(dict(arguments)).model_dump()))
        return '{"found": "x", "0": 4}'

    return scripted_tool(name, answer, args=SCHEMAS[name], latency=_LATENCY[name])
