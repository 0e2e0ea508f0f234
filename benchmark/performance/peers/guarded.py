"""asyncguard, through both of its front ends."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from asyncguard import AsyncGuardMiddleware, GuardConfig, build_agent
from chat import scripted_chat, scripted_tool
from peers.create_agent import agent, overridden_hooks, with_empty_hooks
from peers.graphs import graph_peer, saved_graph_peer
from script import Script


def _graph(script: Script, saver: BaseCheckpointSaver[Any] | None) -> Any:
    return build_agent(scripted_chat(script), [scripted_tool(script)], config=GuardConfig(), checkpointer=saver)


def _middleware(script: Script, saver: BaseCheckpointSaver[Any] | None) -> Any:
    guard = AsyncGuardMiddleware(tools=[scripted_tool(script)], config=GuardConfig())
    return agent(script, saver, middleware=[guard])


GRAPH = graph_peer("build_agent", _graph)
GRAPH_SAVED = saved_graph_peer("build_agent", _graph)
MIDDLEWARE = graph_peer("AsyncGuardMiddleware", _middleware)
MIDDLEWARE_SAVED = saved_graph_peer("AsyncGuardMiddleware", _middleware)
EMPTY_HOOKS = graph_peer("create_agent, the same hooks empty", with_empty_hooks(overridden_hooks(AsyncGuardMiddleware)))
