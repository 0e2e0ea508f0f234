"""asyncguard's state machine."""

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from asyncguard import GuardConfig, Limits, build_agent
from chains import Chains
from chat import scripted_chat, scripted_tool
from peers.graphs import graph_peer, saved_graph_peer
from script import Script

# A long run must not be ended by the limit that ends a model which goes in circles.
CONFIG = GuardConfig(limits=Limits(max_model_turns=100_000))


def _graph(script: Script, saver: BaseCheckpointSaver[Any] | None) -> Any:
    return build_agent(scripted_chat(script), [scripted_tool(script)], config=CONFIG, checkpointer=saver)


GRAPH = graph_peer("build_agent", _graph)
GRAPH_SAVED = saved_graph_peer("build_agent", _graph)


async def work(chains: Chains) -> None:
    """Gives all tasks of a workload at once; a turn acts on whatever results have come."""
    chains.task_argument = "task_id"
    agent = build_agent(chains.model(), [chains.tool()], config=CONFIG)
    await agent.ainvoke({"tasks": chains.tasks()})
