"""Shared fixtures of this folder: tools that wait for a gate instead of a clock, and agents."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool, tool

from asyncguard import GuardConfig, Ports, build_agent, guard_middleware, guarded
from asyncguard.adapters.middleware.middleware import AsyncGuardMiddleware
from tests.support.openai_server import ModelRequest, OpenAIServer, Role, Surface

PATIENCE = 20.0
"""Seconds after which a test fails whose gate is not opened."""


class FrontEnd(Enum):
    """The two adapters with which a guarded agent is built."""

    GRAPH = "build_agent"
    MIDDLEWARE = "create_agent"


@dataclass(kw_only=True)
class Tools:
    """Tools that count their executions; ``slow`` returns when the gate of its topic is opened."""

    executed: Counter[str] = field(default_factory=Counter)
    gates: dict[str, threading.Event] = field(default_factory=dict)

    def gate(self, topic: str) -> threading.Event:
        """The gate of a topic."""
        return self.gates.setdefault(topic, threading.Event())

    def all(self) -> list[BaseTool]:
        """The tools as an agent takes them."""

        @guarded(effect="pure", reads=["web"])
        @tool
        def look(topic: str, depth: int = 1) -> str:
            """Look a topic up at once."""
            self.executed[f"look {topic}"] += 1
            return f"seen {topic}"

        @guarded(effect="pure", reads=["archive"])
        @tool
        def dig(topic: str) -> str:
            """Dig a topic out, which takes long."""
            self.executed[f"dig {topic}"] += 1
            assert self.gate(topic).wait(PATIENCE), f"nobody opened the gate of {topic}"
            return f"found {topic}"

        @guarded(effect="at_most_once", reads=[], writes=["desk"])
        @tool
        def send(text: str) -> str:
            """Send a text."""
            self.executed[f"send {text}"] += 1
            return f"sent {text}"

        return [look, dig, send]


def agent_of(
    front_end: FrontEnd,
    model: BaseChatModel | str,
    tools: Sequence[BaseTool],
    *,
    config: GuardConfig | None = None,
    options: dict[str, Any] | None = None,
    ports: Ports | None = None,
    **more: Any,
) -> Any:
    """An agent of an adapter; ``options`` go to the binding of the tools."""
    if front_end is FrontEnd.GRAPH:
        return build_agent(model, tools, config=config, bind_options=options, ports=ports, **more)
    outside: list[AgentMiddleware[Any, Any, Any]] = [_Settings(options)] if options else []
    guard = AsyncGuardMiddleware(config=config, ports=ports)
    agent = create_agent(
        model, list(tools), middleware=guard_middleware(outside, guard=guard), **more
    )
    return agent.with_config({"recursion_limit": 1_000})


class _Settings(AgentMiddleware[Any, Any, Any]):
    """Sets what ``create_agent`` passes to ``bind_tools``."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self._settings = settings

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(request.override(model_settings=self._settings))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        return await handler(request.override(model_settings=self._settings))


def tasks(*names: str) -> dict[str, Any]:
    """The input of so many tasks; each is to dig and look for its own name."""
    goals = [
        {"id": name, "goal": f"Find out about {name}, then send what you found."} for name in names
    ]
    return {"tasks": goals, "messages": []}


def one(text: str) -> dict[str, Any]:
    """The input of a single task."""
    return {"messages": [{"role": "user", "content": text}]}


def told(request: ModelRequest, text: str) -> bool:
    """Return True if a message that the model did not write contains a text."""
    return any(
        text in message.text for message in request.messages if message.role is not Role.ASSISTANT
    )


def sent_messages(server: OpenAIServer) -> list[list[str]]:
    """Each request's messages as the bytes that were sent."""
    field_of = {Surface.CHAT: "messages", Surface.RESPONSES: "input"}
    return [
        [json.dumps(item) for item in view.body[field_of[view.surface]]] for view in server.views
    ]
