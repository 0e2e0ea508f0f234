"""An agent loop as one writes it by hand on LangGraph, and the floor under every graph: a super-step of nothing."""

from typing import Annotated, Any, TypedDict

from langchain_core.messages import AnyMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from chat import ScriptedChat, scripted_chat, scripted_tool
from peers.create_agent import fold
from peers.graphs import graph_peer, saved_graph_peer
from peers.two_rows import TwoRows, recorded, recorded_graph_peer
from script import Script


class _Messages(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class _Deltas(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(fold)]


def _hand_written(script: Script, saver: BaseCheckpointSaver[Any] | None) -> Any:
    return loop(scripted_chat(script), scripted_tool(script), saver, _Messages)


def _with_delta_channel(script: Script, saver: BaseCheckpointSaver[Any] | None) -> Any:
    return loop(scripted_chat(script), scripted_tool(script), saver)


def _with_two_rows(script: Script, saver: BaseCheckpointSaver[Any], rows: TwoRows) -> Any:
    return loop(scripted_chat(script), recorded(scripted_tool(script), rows), saver)


def loop(
    model: ScriptedChat,
    tool: BaseTool,
    saver: BaseCheckpointSaver[Any] | None,
    schema: type[Any] = _Deltas,
) -> Any:
    """Return a graph of a model and a tool, with nothing beside them."""

    async def think(state: Any) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    async def act(state: Any) -> dict[str, Any]:
        calls = state["messages"][-1].tool_calls
        return {
            "messages": [
                ToolMessage(await tool.ainvoke(call["args"]), tool_call_id=call["id"])
                for call in calls
            ]
        }

    # Asynchronous: LangGraph hands a plain function to a thread, which costs 18 % of a step.
    async def more(state: Any) -> str:
        return "act" if state["messages"][-1].tool_calls else END

    graph = StateGraph(schema)
    graph.add_node("think", think)
    graph.add_node("act", act)
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", more, ["act", END])
    graph.add_edge("act", "think")
    return graph.compile(checkpointer=saver)


class _Count(TypedDict):
    count: int


def _super_steps(script: Script, saver: BaseCheckpointSaver[Any] | None) -> Any:
    async def tick(state: _Count) -> _Count:
        script.executed += 1
        return {"count": script.executed}

    async def more(state: _Count) -> str:
        return "tick" if script.executed < script.steps else END

    graph = StateGraph(_Count)
    graph.add_node("tick", tick)
    graph.add_edge(START, "tick")
    graph.add_conditional_edges("tick", more, ["tick", END])
    return graph.compile(checkpointer=saver)


LOOP = graph_peer("hand-written StateGraph", _hand_written)
LOOP_SAVED = saved_graph_peer(
    "hand-written StateGraph+DeltaChannel",
    _with_delta_channel,
    durability="sync",
)
"""As `build_agent` stores its steps, with nothing but a model and a tool in them: less than this no graph can have."""
LOOP_RECORDED = recorded_graph_peer(
    "hand-written StateGraph+DeltaChannel", _with_two_rows, durability="sync"
)
"""The same with the least that a journal costs."""
SUPER_STEP = graph_peer("an empty super-step", _super_steps)
