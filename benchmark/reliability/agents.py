"""The agents that are killed: ``build_agent``, the middleware in ``create_agent``, and plain ``create_agent``."""

from dataclasses import dataclass
from typing import Any, cast

from langchain.agents import create_agent

from asyncguard import (
    AsyncGuardMiddleware,
    GuardConfig,
    Ports,
    Timing,
    build_agent,
    guard_middleware,
)
from asyncguard.journal.port import Journal
from asyncguard.runtime.executors.port import Executor
from asyncguard.testing import ScriptedChatModel
from reliability.cases import Build, Case
from reliability.killing import Trigger
from reliability.savers import Steps
from reliability.seams import DyingClock, DyingExecutor, DyingJournal, SteppingModel, Watcher
from reliability.story import Speaker, Story
from reliability.tools import Toolbox, plain_tools

CONFIG = GuardConfig(timing=Timing(retry_initial=0.02, retry_jitter=0.01, grace=0.0, linger=0.0))
"""Everything guarded, with short waits: a run takes a fraction of a second."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Parts that an agent of one process is built from."""

    case: Case
    story: Story
    toolbox: Toolbox
    trigger: Trigger
    steps: Steps
    life: int
    """Number of the process; part of the ids of its messages."""
    forks: bool = False
    """True if it resumes from an earlier state of the thread."""


def agent_of(
    parts: Parts, saver: Any, journal: Journal | None, executor: Executor | None = None
) -> Any:
    """Return a compiled graph.

    Args:
        parts: Parts of the agent.
        saver: Its checkpointer.
        journal: Its journal; ``None`` for a plain agent.
        executor: Runs the tools; the embedded one by default.
    """
    case = parts.case
    script = SteppingModel(Speaker(parts.story, case.build), parts.trigger, parts.steps)
    model = ScriptedChatModel(script, id_prefix=f"life{parts.life}")
    tools = parts.toolbox.tools()
    if case.build is Build.PLAIN:
        return create_agent(model, plain_tools(tools), checkpointer=saver)
    clock = DyingClock(parts.trigger)
    ports = Ports(
        clock=clock,
        executor=executor or DyingExecutor(parts.trigger, clock),
        observers=(Watcher(parts.trigger, parts.steps, parts.life),),
    )
    specs = parts.toolbox.specs()
    assert journal is not None  # only a plain agent has none
    kept = cast(Journal, DyingJournal(journal, parts.trigger, case.broken))
    if case.build is Build.GRAPH:
        return build_agent(
            model, tools, config=CONFIG, specs=specs, ports=ports, checkpointer=saver, journal=kept
        )
    guard = AsyncGuardMiddleware(config=CONFIG, specs=specs, tools=tools, ports=ports, journal=kept)
    return create_agent(model, tools, middleware=guard_middleware([guard]), checkpointer=saver)


def input_of(parts: Parts) -> dict[str, Any]:
    """Return the client's first input to the agent."""
    goals = parts.story.goals()
    match parts.case.build:
        case Build.GRAPH:
            return {"tasks": goals}
        case Build.MIDDLEWARE:
            return {"messages": [], "tasks": goals}
        case Build.PLAIN:
            return {"messages": [("user", " ".join(goal["goal"] for goal in goals))]}
