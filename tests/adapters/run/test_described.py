"""Schemas of an agent's input and output, from which servers and Studio make forms."""

from langgraph.graph.state import CompiledStateGraph

from asyncguard.testing import ScriptedChatModel
from tests.adapters.harness import AgentOf


def test_input_and_output_have_a_schema(agent_of: AgentOf) -> None:
    """Tasks and messages go in, messages and a report come out."""
    graph = agent_of(ScriptedChatModel(["hello"]), []).graph
    assert isinstance(graph, CompiledStateGraph)
    assert {"tasks", "messages"} <= set(graph.get_input_jsonschema()["properties"])
    assert {"messages", "report"} <= set(graph.get_output_jsonschema()["properties"])
