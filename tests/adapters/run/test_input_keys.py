"""Keys of an input and of its tasks that the agent does not know: none is dropped silently."""

import operator
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.managed import RemainingSteps
from langgraph.prebuilt import InjectedState

from asyncguard import AsyncGuardMiddleware, CallerError, GuardedState, build_agent
from asyncguard.testing import ScriptedChatModel, calls
from tests.adapters.harness import script

THREAD: Any = {"configurable": {"thread_id": "t"}}
ASKED: dict[str, Any] = {"messages": [("user", "Who am I?")]}


class Desk(GuardedState, total=False):
    """A state with a channel, one with a reducer, and a managed value."""

    user: str
    notes: Annotated[list[str], operator.add]
    remaining_steps: RemainingSteps


@tool
def who(user: Annotated[str, InjectedState("user")]) -> str:
    """Tell who the user is."""
    return f"You are {user}."


def agent_of(**options: Any) -> Any:
    """An agent that asks its tool who the user is."""
    model = ScriptedChatModel(script(calls(("who", {}))))
    return build_agent(model, [who], checkpointer=InMemorySaver(), **options)


@pytest.mark.parametrize("key", ["user", "task", "message", 5])
def test_an_unknown_key_is_refused_by_its_name(key: Any) -> None:
    """A channel that was not declared, or a misspelt key; nothing is stored, and the error says what to do."""
    agent = agent_of()
    with pytest.raises(CallerError, match=rf"key {key!r}.*state_schema"):
        agent.invoke({**ASKED, key: "Ada"}, THREAD)
    with pytest.raises(CallerError, match=rf"key {key!r}"):
        next(agent.stream({**ASKED, key: "Ada"}, THREAD))
    assert list(agent.get_state_history(THREAD)) == []


@pytest.mark.parametrize("adapter", ["graph", "middleware"])
@pytest.mark.parametrize(
    ("task", "key"),
    [
        ({"id": "a", "goal": "Who am I?", "tools": ["who"]}, "tools"),
        ({"id": "a", "gaol": "Who am I?"}, "gaol"),
        ({"goal": "Who am I?", 5: "a"}, 5),
    ],
)
def test_an_unknown_key_of_a_task_is_refused_by_its_name(adapter: str, task: Any, key: Any) -> None:
    """A caller who gives one expects it to do something; the thread keeps its former state."""
    if adapter == "graph":
        agent = agent_of()
    else:
        model = ScriptedChatModel(script(calls(("who", {}))))
        guard = [AsyncGuardMiddleware()]
        agent = create_agent(model, [], middleware=guard, checkpointer=InMemorySaver())
    said = rf"Task 2 has the key {key!r}, which no task has; a task is .*\"id\".*\"goal\""
    with pytest.raises(CallerError, match=said):
        agent.invoke({"messages": [], "tasks": ["Be polite.", task]}, THREAD)
    assert not agent.get_state(THREAD).values.get("messages")


def test_a_declared_channel_is_read_by_tools_and_returned() -> None:
    """The input reaches the tool, reducers apply, and later runs of the thread see it."""
    agent = agent_of(state_schema=Desk)
    first = agent.invoke({**ASKED, "user": "Ada", "notes": ["a"]}, THREAD)
    assert "You are Ada." in [message.text for message in first["messages"]]
    second = agent.invoke({**ASKED, "notes": ["b"]}, THREAD)
    assert (second["user"], second["notes"]) == ("Ada", ["a", "b"])


def test_a_result_may_be_passed_on_as_an_input() -> None:
    """Its report and other channels of the runtime are left out, as before."""
    result = agent_of().invoke(ASKED, THREAD)
    more = {**result, "__interrupt__": [], "messages": [*result["messages"], ("user", "And?")]}
    assert agent_of().invoke(more, THREAD)["report"]["reason"] == "complete"


class Around(MessagesState):
    """State of a graph around the agent, with a channel that the agent does not know."""

    budget: int


def test_a_graph_around_passes_on_its_whole_state() -> None:
    """LangGraph hands the node every channel; those that the agent does not know are left out."""
    parent = StateGraph(Around)
    parent.add_node("desk", build_agent(ScriptedChatModel(["Hello."]), []))
    parent.add_edge(START, "desk")
    said = parent.compile().invoke({"messages": [("user", "Hi.")], "budget": 5})
    assert said["messages"][-1].text == "Hello."
