"""The nodes of the graph around a node, and the tools in them."""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode

from asyncguard.adapters.langgraph_internals.run import run_of


def place_of(node: str, step: int) -> dict[str, Any]:
    """Return the place of a node's execution, as LangGraph writes it into the metadata.

    Why: a node that is run within the super-step of another one has no task of its own. With other
    keys or values the code in such a node finds the place of the first node.

    Args:
        node: Name of the node.
        step: Number of its super-step.
    """
    return {
        "langgraph_node": node,
        "langgraph_step": step,
        "langgraph_triggers": (f"branch:to:{node}",),
        "langgraph_path": ("__pregel_pull", node),
    }


def nodes_of(config: RunnableConfig) -> list[str]:
    """Return the names of the nodes of the graph that a node belongs to, in the order of the graph.

    Why: ``create_agent`` shows a middleware nothing of the others, and their order decides what the
    guard protects. Without the names a wrong order is not reported.

    Args:
        config: Of a node.
    """
    return list(getattr(run_of(config), "nodes", ()))


def tools_of(config: RunnableConfig) -> list[BaseTool]:
    """Return the tools of the graph that a node belongs to.

    Why: ``create_agent`` shows a middleware only the tools that others have left in a request.
    Without the tools a declaration of one that was left out is refused.

    Args:
        config: Of a node.
    """
    nodes = getattr(run_of(config), "nodes", {}).values()
    bound = [node for each in nodes if isinstance(node := getattr(each, "bound", 0), ToolNode)]
    return [tool for node in bound for tool in node.tools_by_name.values()]


INJECTION = ToolNode._inject_tool_args.__code__  # noqa: SLF001 - see below
"""Code object of the method that injects values from the graph into the arguments of a tool.

Why: only its frame in a traceback shows that the injection has failed, so that the tool was not
called. Without the method the module cannot be imported, which the first test of a new LangGraph
shows.
"""
