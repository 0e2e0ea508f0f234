"""Checks that an agent stores threads, and that a configuration names one.

Savers take the thread's id for granted: without these checks they raise ``KeyError: 'thread_id'``.
"""

from typing import Any

from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.graph.state import CompiledStateGraph

from asyncguard.errors import CallerError
from asyncguard.validation import check_value


def check_stores_threads(called: str, agent: Any, *, named: str) -> None:
    """Refuse anything but an agent with a checkpointer.

    Args:
        called: Name of the function that was called, for the message.
        agent: What it was given.
        named: Name of the parameter.

    Raises:
        CallerError: It is not a compiled graph, or has no checkpointer.
    """
    check_value(f"{called}: {named}", CompiledStateGraph, agent)
    if not agent.checkpointer:
        raise CallerError(
            f"{called}: the agent has no checkpointer, so it has no stored threads; build it with "
            "checkpointer=..."
        )


def check_names_thread(agent: Any, config: RunnableConfig | None) -> None:
    """Refuse a configuration that names no thread.

    Args:
        agent: The agent, whose own configuration counts, as does that of a graph around it.
        config: Configuration of the call.

    Raises:
        CallerError: None of them names a thread.
    """
    for each in (agent.config or {}, ensure_config(config)):
        if "thread_id" in each.get("configurable", {}):
            return
    raise CallerError(
        'A run of an agent with a checkpointer needs the id of a thread; pass config={"configurable'
        '": {"thread_id": ...}}.'
    )
