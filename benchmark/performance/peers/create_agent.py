"""LangChain's `create_agent`: alone, with its messages in a delta channel, and under middleware that does nothing."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Annotated, Any

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.message import add_messages
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from chat import scripted_chat, scripted_tool
from peers.graphs import Build, graph_peer, saved_graph_peer
from script import Script

Middleware = AgentMiddleware[Any, Any, Any]


class _EmptyHooks(AgentMiddleware[Any, Any, Any]):
    """Every hook: those that become nodes of the graph and those that wrap a call."""

    async def abefore_agent(self, state: Any, runtime: Any) -> None:
        """Do nothing."""

    async def abefore_model(self, state: Any, runtime: Any) -> None:
        """Do nothing."""

    async def aafter_model(self, state: Any, runtime: Any) -> None:
        """Do nothing."""

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        """Do nothing."""

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Pass the request on."""
        return await handler(request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Pass the request on."""
        return await handler(request)


HOOKS = tuple(name for name in vars(_EmptyHooks) if not name.startswith("_"))


def overridden_hooks(kind: type[Middleware]) -> tuple[str, ...]:
    """List the asynchronous hooks that a middleware class has: the same cost without its work is the fair measure."""
    return tuple(
        name for name in HOOKS if getattr(kind, name) is not getattr(AgentMiddleware, name)
    )


def empty_middleware(names: Iterable[str]) -> Middleware:
    """Return middleware that has the named hooks and does nothing in them."""
    kind: type[Middleware] = type(
        "EmptyHooks", (AgentMiddleware,), {name: vars(_EmptyHooks)[name] for name in names}
    )
    return kind()


def with_empty_hooks(names: Iterable[str], **options: Any) -> Build:
    """Return a builder of `create_agent` under middleware that has the named hooks and does nothing in them."""
    hooks = tuple(names)
    return lambda script, saver: agent(
        script, saver, middleware=[empty_middleware(hooks)], **options
    )


def agent(script: Script, saver: BaseCheckpointSaver[Any] | None, **options: Any) -> Any:
    """Build `create_agent` around a script."""
    return create_agent(
        scripted_chat(script), [scripted_tool(script)], checkpointer=saver, **options
    )


def fold(messages: list[AnyMessage], writes: Sequence[Any]) -> Any:
    """Return a history with the writes of a step."""
    result: Any = messages
    for write in writes:
        result = add_messages(result, write)
    return result


class DeltaState(AgentState[Any]):
    """State that stores of its messages what is new."""

    messages: Annotated[list[AnyMessage], DeltaChannel(fold)]


def _with_delta_channel(script: Script, saver: BaseCheckpointSaver[Any] | None) -> Any:
    return agent(script, saver, state_schema=DeltaState)


PLAIN = graph_peer("create_agent", agent)
SAVED = saved_graph_peer("create_agent", agent)
DELTA = saved_graph_peer("create_agent+DeltaChannel", _with_delta_channel)
EMPTY_HOOKS = graph_peer("create_agent, every hook empty", with_empty_hooks(HOOKS))
