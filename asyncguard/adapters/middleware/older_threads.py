"""Threads that an older release left in a hook which the guard has no more.

Up to 0.2.0rc1 the guard had the hooks ``before_model`` and ``after_model``, and each was a node of
the graph. A thread that rested or died there has no next node now: LangGraph would continue it
without doing anything, and without an error. Its next node becomes the model's, which waits, and
judges a message whose calls were not judged yet.
"""

from typing import Any

from langchain_core.runnables import RunnableConfig

from asyncguard.adapters.langgraph_internals.checkpoints import next_nodes
from asyncguard.adapters.thread_id import check_names_thread, check_stores_threads

_FORMER = (".before_model", ".after_model")


async def acontinue_older(agent: Any, config: RunnableConfig) -> bool:
    """Let a thread of an older release continue at the model; call it before the thread is resumed.

    A thread that does not stand in a former hook of the guard is not touched.

    Args:
        agent: Made by ``create_agent`` with the guard and a checkpointer.
        config: Names the thread.

    Returns:
        True if the thread stood in such a hook.

    Raises:
        CallerError: The agent has no checkpointer, or the configuration names no thread.
    """
    _check(agent, config)
    stored = await agent.checkpointer.aget_tuple(config)
    entry = _entry_beside(agent, next_nodes(stored))
    if entry:
        await agent.aupdate_state(config, {}, as_node=entry)
    return bool(entry)


def continue_older(agent: Any, config: RunnableConfig) -> bool:
    """See :func:`acontinue_older`; for agents with a sync checkpointer."""
    _check(agent, config)
    entry = _entry_beside(agent, next_nodes(agent.checkpointer.get_tuple(config)))
    if entry:
        agent.update_state(config, {}, as_node=entry)
    return bool(entry)


def _check(agent: Any, config: RunnableConfig) -> None:
    check_stores_threads("continue_older", agent, named="agent")
    check_names_thread(agent, config)


def _entry_beside(agent: Any, names: list[str]) -> str:
    """Return the guard's first node if a thread's next node is a former hook of it, else empty."""
    for name in names:
        for hook in _FORMER:
            entry = f"{name.removesuffix(hook)}.before_agent"
            if name.endswith(hook) and name not in agent.nodes and entry in agent.nodes:
                return entry
    return ""
