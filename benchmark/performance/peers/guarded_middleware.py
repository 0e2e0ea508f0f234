"""`create_agent` under asyncguard's middleware, and under one that has the same hooks and does nothing in them."""

from functools import partial
from typing import Any

from langchain.agents import create_agent
from langgraph.checkpoint.base import BaseCheckpointSaver

from asyncguard import AsyncGuardMiddleware, Journal
from chains import Chains, Work
from chat import scripted_chat, scripted_tool
from peers.create_agent import (
    DeltaState,
    agent,
    empty_middleware,
    overridden_hooks,
    with_empty_hooks,
)
from peers.graphs import graph_peer, saved_graph_peer
from peers.guarded_graph import CONFIG, journaled_graph_peer
from peers.two_rows import TwoRows, recorded, recorded_graph_peer
from script import Script


def _guarded(script: Script, saver: BaseCheckpointSaver[Any] | None) -> Any:
    guard = AsyncGuardMiddleware(tools=[scripted_tool(script)], config=CONFIG, journal=False)
    return agent(script, saver, middleware=[guard])


def _guarded_with_its_state(
    script: Script, saver: BaseCheckpointSaver[Any] | None, journal: Journal | bool = False
) -> Any:
    guard = AsyncGuardMiddleware(tools=[scripted_tool(script)], config=CONFIG, journal=journal)
    return agent(script, saver, middleware=[guard], state_schema=guard.state_schema)


GUARDED = graph_peer("AsyncGuardMiddleware", _guarded)
GUARDED_SAVED = saved_graph_peer("AsyncGuardMiddleware", _guarded)
GUARDED_DELTA = saved_graph_peer("AsyncGuardMiddleware+its state", _guarded_with_its_state)
GUARDED_JOURNALED = journaled_graph_peer("AsyncGuardMiddleware+its state", _guarded_with_its_state)
GUARDED_SYNC = saved_graph_peer(
    "AsyncGuardMiddleware+its state", _guarded_with_its_state, durability="sync"
)
GUARDED_SYNC_JOURNALED = journaled_graph_peer(
    "AsyncGuardMiddleware+its state", _guarded_with_its_state, durability="sync"
)
HOOKS = overridden_hooks(AsyncGuardMiddleware)
EMPTY_HOOKS = graph_peer("create_agent, the same hooks empty", with_empty_hooks(HOOKS))
EMPTY_HOOKS_DELTA = saved_graph_peer(
    "create_agent+DeltaChannel, the same hooks empty",
    with_empty_hooks(HOOKS, state_schema=DeltaState),
)


def _empty_with_two_rows(script: Script, saver: BaseCheckpointSaver[Any], rows: TwoRows) -> Any:
    return create_agent(
        scripted_chat(script),
        [recorded(scripted_tool(script), rows)],
        middleware=[empty_middleware(HOOKS)],
        checkpointer=saver,
        state_schema=DeltaState,
    )


EMPTY_HOOKS_RECORDED = recorded_graph_peer(
    "create_agent+DeltaChannel, the same hooks empty", _empty_with_two_rows
)


def work(chains: Chains) -> Work:
    """Give all tasks of a workload at once; a turn acts on whatever results have come."""
    chains.task_argument = "task_id"
    tools = [chains.tool()]
    guarded: Any = create_agent(
        chains.model(), tools, middleware=[AsyncGuardMiddleware(tools=tools, config=CONFIG)]
    )
    return partial(guarded.ainvoke, {"tasks": chains.tasks()})
