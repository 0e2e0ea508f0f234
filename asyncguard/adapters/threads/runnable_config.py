"""Typed readers of a node's configuration: thread id and path of the agent."""

from langchain_core.runnables import RunnableConfig


def namespace_of(config: RunnableConfig) -> str:
    """Return the agent's path among nested agents, empty for the outermost.

    It is the checkpoint namespace without the task ids, which change from run to run.
    """
    path = str(config.get("configurable", {}).get("checkpoint_ns") or "")
    if "|" not in path:
        return ""
    parents = path.split("|")[:-1]
    return "|".join(part.split(":")[0] for part in parents)


def thread_of(config: RunnableConfig) -> str:
    """Return the caller's id of the thread, empty if there is none."""
    return str(config.get("configurable", {}).get("thread_id") or "")
