"""The channels of the state under what servers do to them."""

import operator
from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import InjectedState
from langgraph.types import Command

from asyncguard import AsyncGuardMiddleware, GuardedState, build_agent
from asyncguard.adapters.state import fold_messages
from asyncguard.errors import CallerError
from asyncguard.testing import ScriptedChatModel, calls
from tests.adapters.harness import shape


def test_a_snapshot_of_plain_values_is_folded_on() -> None:
    """A server that reads a thread's state unpacks messages as dictionaries, those of a snapshot included."""
    call = {"name": "look", "args": {"q": "x"}, "id": "c1", "type": "tool_call"}
    said = [HumanMessage(content="Look", id="1"), AIMessage(content="", tool_calls=[call], id="2")]
    plain = [message.model_dump() for message in said]
    answer = ToolMessage(content="no", tool_call_id="c1", name="look", status="error", id="3")
    assert shape(fold_messages(plain, [[answer.model_dump()]])) == shape([*said, answer])
    assert shape(fold_messages(plain, [[RemoveMessage(id="1")]])) == shape(said[1:])
    assert fold_messages(said, [[answer]]) == [*said, answer]


_GUARD = AsyncGuardMiddleware.__name__


def _look(q: str) -> str:
    """Look something up."""
    return f"found {q}"


async def _thread(said: Sequence[str], **options: Any) -> tuple[list[Any], int]:
    """A thread whose runs are made by one agent each, as after restarts; its last messages, and the bytes stored."""
    saver = InMemorySaver()
    for number, text in enumerate(said):
        model = ScriptedChatModel(
            [calls(("_look", {"q": text}), ids=[f"c{number}"]), f"It is {text}."]
        )
        agent: Any = create_agent(
            model, [_look], middleware=[AsyncGuardMiddleware()], checkpointer=saver, **options
        )
        final = await agent.ainvoke(
            {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "t"}}
        )
    size = sum(len(data) for _, data in saver.blobs.values())
    return shape(final["messages"]), size + sum(
        len(data) for writes in saver.writes.values() for _, _, (_, data), _ in writes.values()
    )


async def test_the_middlewares_state_stores_only_what_is_new() -> None:
    """Passed to `create_agent`, its schema changes no message, also over restarts, and stores less."""
    said = [f"key {number}" for number in range(12)]
    plain, before = await _thread(said)
    lean, after = await _thread(said, state_schema=AsyncGuardMiddleware.state_schema)
    assert lean == plain
    assert after < before / 2


@pytest.mark.parametrize(
    ("frontend", "first", "goto"),
    [
        pytest.param("graph", "prepare", "model", id="build_agent"),
        pytest.param("middleware", f"{_GUARD}.before_agent", "model", id="create_agent"),
    ],
)
async def test_a_thread_that_no_input_began_is_refused(
    frontend: str, first: str, goto: str
) -> None:
    """A state that was written by hand has no identity; each step would take the calls of another for its own."""
    model, saver = ScriptedChatModel([calls(("_look", {"q": "x"})), "It is x."]), InMemorySaver()
    agent: Any = (
        build_agent(model, [_look], checkpointer=saver, journal=False)
        if frontend == "graph"
        else create_agent(
            model, [_look], middleware=[AsyncGuardMiddleware(journal=False)], checkpointer=saver
        )
    )
    place = {"configurable": {"thread_id": "t"}}
    said = Command(goto=goto, update={"messages": [HumanMessage("Look.")]})
    await agent.aupdate_state(place, said, as_node=first)
    with pytest.raises(CallerError, match="was not begun"):
        await agent.ainvoke(None, place)
    assert model.requests == []


class _GraphShop(GuardedState, total=False):
    customer: str
    seen: Annotated[list[str], operator.add]


class _MiddlewareShop(AsyncGuardMiddleware.state_schema, total=False):  # type: ignore[misc, name-defined]
    customer: str
    seen: Annotated[list[str], operator.add]


@tool
def _remember(
    tool_call_id: Annotated[str, InjectedToolCallId],
    state: Annotated[dict[str, Any], InjectedState],
) -> Command[Any]:
    """Note the customer."""
    noted = ToolMessage("noted", tool_call_id=tool_call_id)
    return Command(update={"seen": [state["customer"]], "messages": [noted]})


@pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["without", "with"])
@pytest.mark.parametrize("front", ["graph", "middleware"])
def test_channels_of_the_callers_own(front: str, saver: Any) -> None:
    """They come with the input, tools read and write them, and they are part of the result."""
    model = ScriptedChatModel(lambda messages, tools: next(said))
    agent: Any = (
        build_agent(model, [_remember], state_schema=_GraphShop, checkpointer=saver)
        if front == "graph"
        else create_agent(
            model,
            [_remember],
            middleware=[AsyncGuardMiddleware()],
            state_schema=_MiddlewareShop,
            checkpointer=saver,
        )
    )
    thread: Any = {"configurable": {"thread_id": front}}
    said = iter([calls(("_remember", {})), "Noted."])
    given = {"messages": [("user", "Hello")], "customer": "Ann", "seen": ["Bob"]}
    result = agent.invoke(given, thread)
    assert (result["customer"], result["seen"]) == ("Ann", ["Bob", "Ann"])
    if saver is not None:
        agent.update_state(thread, {"customer": "Cy"})
        said = iter([calls(("_remember", {})), "Noted."])
        result = agent.invoke({"messages": [("user", "Again")]}, thread)
        assert result["seen"] == ["Bob", "Ann", "Cy"]
