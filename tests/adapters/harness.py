"""Common interface to a guarded agent, the same for both adapters."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.types import Command

from asyncguard import (
    AsyncGuardMiddleware,
    EffectClass,
    GuardConfig,
    Ports,
    ToolSpec,
    build_agent,
    guard_middleware,
)
from asyncguard.adapters.messages.markers import is_ours
from asyncguard.adapters.messages.render import text_of
from asyncguard.testing import ScriptedChatModel, Step, StepFunction, check_history_all, run_virtual
from tests.support.histories import check_next_request


class Frontend(Enum):
    """Adapter with which an agent is built."""

    GRAPH = "build_agent"
    MIDDLEWARE = "create_agent"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Result of one run."""

    state: Mapping[str, Any]
    """The output of the graph."""
    elapsed: float = 0.0
    """Seconds of the loop on which it ran."""

    @property
    def messages(self) -> list[AnyMessage]:
        """The conversation."""
        return list(self.state["messages"])

    @property
    def report(self) -> Mapping[str, Any]:
        """The run's report, with the reason for which it ended."""
        return self.state["report"]

    @property
    def interrupts(self) -> list[Any]:
        """The values of the interrupts with which the run stopped."""
        return [item.value for item in self.state.get("__interrupt__", ())]

    @property
    def last(self) -> str:
        """The last message's text."""
        return text_of(self.messages[-1].content)

    @property
    def text(self) -> str:
        """Everything that was said, for looking up a phrase."""
        return "\n".join(text_of(message.content) for message in self.messages)

    def answer(self, call_id: str) -> str:
        """The text of the one tool message that answers a call."""
        found = [
            m for m in self.messages if isinstance(m, ToolMessage) and m.tool_call_id == call_id
        ]
        assert len(found) == 1, f"{len(found)} answers for {call_id}"
        return text_of(found[0].content)

    def news(self) -> list[str]:
        """The texts of the notifications of late results, in order."""
        return [
            text_of(message.content)
            for message in self.messages
            if is_ours(message)
            and message.additional_kwargs.get("lc_data", {}).get("kind") == "results"
        ]

    def states(self, task: str) -> Mapping[str, int]:
        """Return the number of calls of a task in each state."""
        return next(entry["calls"] for entry in self.report["tasks"] if entry["id"] == task)


def pure(name: str, **declaration: Any) -> ToolSpec:
    """The declaration of a tool without effects."""
    return ToolSpec(name=name, effect=EffectClass.PURE, **declaration)


def script(*steps: Step, ever: Step = "all done") -> StepFunction:
    """The steps in order, and then the same answer for ever."""
    left = deque(steps)
    return lambda messages, tools: left.popleft() if left else ever


@dataclass(kw_only=True)
class Agent:
    """A guarded agent and its model."""

    frontend: Frontend
    graph: Any
    model: ScriptedChatModel
    outcomes: list[Outcome] = field(default_factory=list)

    def input(
        self, said: str | Sequence[Any] | None, tasks: Sequence[Any] | None
    ) -> dict[str, Any]:
        """Return a run's input; ``create_agent`` needs the key ``messages`` even if it is empty."""
        messages = [("user", said)] if isinstance(said, str) else list(said or ())
        given: dict[str, Any] = (
            {"messages": messages} if messages or self.frontend is Frontend.MIDDLEWARE else {}
        )
        return given | ({"tasks": list(tasks)} if tasks is not None else {})

    async def go(self, payload: Any, thread: str | None = None, **config: Any) -> Outcome:
        """Invoke on the running loop."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        state = await self.graph.ainvoke(payload, _config(thread, config))
        return self._noted(state, loop.time() - began)

    async def say(
        self,
        said: str | Sequence[Any] | None = None,
        *,
        tasks: Sequence[Any] | None = None,
        thread: str | None = None,
    ) -> Outcome:
        """A new message or new tasks, on the running loop."""
        return await self.go(self.input(said, tasks), thread)

    async def resume(self, value: Any, thread: str) -> Outcome:
        """Answer an interrupt."""
        return await self.go(Command(resume=value), thread)

    async def answer(self, value: Any, thread: str) -> Outcome:
        """Answer all that the latest run asked, each question alike or by a function of the question."""
        asked = self.outcomes[-1].state["__interrupt__"]
        answers = {item.id: value(item.value) if callable(value) else value for item in asked}
        return await self.resume(answers if len(answers) > 1 else answers[asked[0].id], thread)

    def run(
        self,
        said: str | None = None,
        *,
        tasks: Sequence[Any] | None = None,
        thread: str | None = None,
    ) -> Outcome:
        """A whole run on a loop with virtual time."""
        return run_virtual(self.say(said, tasks=tasks, thread=thread)).result

    def run_sync(
        self,
        said: str | None = None,
        *,
        tasks: Sequence[Any] | None = None,
        thread: str | None = None,
    ) -> Outcome:
        """A whole run through the sync entry, in real time."""
        return self.go_sync(self.input(said, tasks), thread)

    def go_sync(self, payload: Any, thread: str | None = None) -> Outcome:
        """Invoke through the sync entry."""
        return self._noted(self.graph.invoke(payload, _config(thread, {})), 0.0)

    def _noted(self, state: Mapping[str, Any], elapsed: float) -> Outcome:
        outcome = Outcome(state=state, elapsed=elapsed)
        self.outcomes.append(outcome)
        return outcome

    def check_histories(self) -> None:
        """Every request, and every final history as the next request would show it, is one that a provider takes."""
        for request in self.model.requests:
            check_history_all(request.messages)
        for outcome in self.outcomes:
            if not outcome.interrupts and outcome.messages:
                check_next_request(outcome.messages)


AgentOf = Callable[..., Agent]
"""``agent_of(model, tools, *, config, specs, checkpointer, ports, ...)``."""


def build(
    frontend: Frontend,
    model: ScriptedChatModel,
    tools: Sequence[Any],
    *,
    config: GuardConfig | None = None,
    specs: Sequence[ToolSpec] = (),
    ports: Ports | None = None,
    **options: Any,
) -> Agent:
    """Build a guarded agent; ``options`` are those that ``build_agent`` and ``create_agent`` share.

    With the option ``tools_met`` the middleware is given the tools; else it meets them when the model is asked.
    ``outside`` is other middleware of ``create_agent``, around the guard.
    """
    met = tools if options.pop("tools_met", False) else ()
    own: Any = {"config": config, "specs": specs, "ports": ports}
    if "journal" in options:
        own["journal"] = options.pop("journal")
    if frontend is Frontend.GRAPH:
        graph = build_agent(model, tools, **own, **options)
    else:
        guard = AsyncGuardMiddleware(tools=met, **own)
        outside = options.pop("outside", ())
        graph = create_agent(
            model, tools, middleware=guard_middleware([*outside, guard]), **options
        )
    return Agent(frontend=frontend, graph=graph, model=model)


def shape(messages: Sequence[AnyMessage]) -> list[tuple[Any, ...]]:
    """Messages as what matters in them: who, what, and which call."""
    return [_shape_of(message) for message in messages]


def _shape_of(message: AnyMessage) -> tuple[Any, ...]:
    match message:
        case AIMessage():
            made = tuple(
                (call["name"], str(call["args"]), call["id"]) for call in message.tool_calls
            )
            return ("ai", str(message.content), made)
        case ToolMessage():
            return (
                "tool",
                str(message.content),
                message.tool_call_id,
                message.name,
                message.status,
            )
        case _:
            return (message.type, str(message.content))


def _config(thread: str | None, more: Mapping[str, Any]) -> dict[str, Any]:
    place = {"configurable": {"thread_id": thread}} if thread is not None else {}
    return {**place, **more}
