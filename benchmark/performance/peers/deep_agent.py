"""deepagents' `create_deep_agent`: the same tool among those that it brings."""

from typing import Any

from deepagents import create_deep_agent
from langgraph.checkpoint.base import BaseCheckpointSaver

from chat import scripted_chat, scripted_tool
from peers.graphs import graph_peer, saved_graph_peer
from script import Script


def _agent(script: Script, saver: BaseCheckpointSaver[Any] | None) -> Any:
    return create_deep_agent(scripted_chat(script), [scripted_tool(script)], checkpointer=saver)


AGENT = graph_peer("deepagents", _agent)
SAVED = saved_graph_peer("deepagents", _agent)
