"""Agents as nodes of one graph, which share its conversation."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send

from asyncguard import AsyncguardError, guarded
from asyncguard.testing import ScriptedChatModel, Step, calls, check_history_all
from tests.adapters.harness import Frontend, build

THREAD: Any = {"configurable": {"thread_id": "t"}}


def two_agents(
    frontend: Frontend, *paying: Any, models: list[ScriptedChatModel] | None = None
) -> Any:
    """Return a graph of two agents that each keep their own thread, one after the other."""
    graph = StateGraph(MessagesState)
    for name, (pay, steps) in zip("ab", paying, strict=True):
        model = ScriptedChatModel(steps, id_prefix=name)
        if models is not None:
            models.append(model)
        graph.add_node(name, build(frontend, model, [pay], checkpointer=True).graph)
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    return graph.compile(checkpointer=InMemorySaver())


class Meeting:
    """A number of tasks wait for each other, or a while."""

    def __init__(self, number: int) -> None:
        self._missing = number
        self._whole = asyncio.Event()

    async def all_here(self) -> None:
        """Wait until all have come, or no more of them can."""
        self._missing -= 1
        if not self._missing:
            self._whole.set()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._whole.wait(), 1.0)


def said(text: str) -> Any:
    """Return an input with a message of the user."""
    return {"messages": [("user", text)]}


@pytest.mark.parametrize("frontend", Frontend)
def test_the_second_agent_answers_the_second_request_too(frontend: Frontend) -> None:
    """The text of the agent before it is news, though it is a message of a model."""

    def pay(n: int) -> str:
        """Pay."""
        return f"paid {n}"

    def steps(n: int) -> list[Any]:
        return [calls(("pay", {"n": n})), f"{n}", calls(("pay", {"n": n + 1})), f"{n + 1}"]

    models: list[ScriptedChatModel] = []
    graph = two_agents(frontend, (pay, steps(10)), (pay, steps(20)), models=models)
    asyncio.run(graph.ainvoke(said("Pay."), THREAD))
    result = asyncio.run(graph.ainvoke(said("Once more."), THREAD))
    assert [m.text for m in result["messages"] if m.type == "tool"] == [
        "paid 10",
        "paid 20",
        "paid 11",
        "paid 21",
    ]
    for request in models[0].requests + models[1].requests:
        check_history_all(request.messages)  # no two messages of models in a row


@pytest.mark.parametrize("frontend", Frontend)
def test_a_new_request_withdraws_what_the_second_agent_has_asked(frontend: Frontend) -> None:
    """Its input ends with the answer of the first agent, not with the user's message."""
    done: list[str] = []

    def look(n: int) -> str:
        """Look."""
        return f"seen {n}"

    @guarded(effect="at_most_once", approval=True)
    def pay(n: int) -> str:
        """Pay."""
        done.append(f"paid {n}")
        return f"paid {n}"

    graph = two_agents(
        frontend,
        (look, [calls(("look", {"n": 1})), "seen", "seen again"]),
        (pay, [calls(("pay", {"n": 1})), "not paid"]),
    )
    asked = asyncio.run(graph.ainvoke(said("Pay."), THREAD))
    assert len(asked["__interrupt__"]) == 1
    result = asyncio.run(graph.ainvoke(said("No, only look."), THREAD))
    assert result["messages"][-1].text == "not paid"
    assert not done


@pytest.mark.parametrize("own", [True, InMemorySaver()], ids=["inherited", "own"])
@pytest.mark.parametrize("thread", [{}, THREAD], ids=["no-thread", "thread"])
@pytest.mark.parametrize("frontend", Frontend)
def test_an_agent_in_a_graph_without_a_checkpointer_stores_nothing(
    frontend: Frontend, own: Any, thread: Any
) -> None:
    """LangGraph lends an agent the checkpointer of the graph around it, or none."""

    def pay(n: int) -> str:
        """Pay."""
        return f"paid {n}"

    model = ScriptedChatModel([calls(("pay", {"n": 1})), "done"] * 2)
    graph = StateGraph(MessagesState)
    graph.add_node("agent", build(frontend, model, [pay], checkpointer=own).graph)
    graph.add_edge(START, "agent")
    desk = graph.compile()
    assert asyncio.run(desk.ainvoke(said("Pay."), thread))["messages"][-1].text == "done"
    assert desk.invoke(said("Pay."), thread)["messages"][-1].text == "done"


@pytest.mark.parametrize("frontend", Frontend)
def test_an_agent_with_an_inherited_checkpointer_is_run_by_a_graph_only(frontend: Frontend) -> None:
    """Called by itself it raises LangGraph's error, which says so."""
    agent = build(frontend, ScriptedChatModel(["done"]), [], checkpointer=True).graph
    with pytest.raises(RuntimeError, match="checkpointer=True cannot be used for root graphs"):
        agent.invoke(said("Pay."))


@pytest.mark.parametrize("frontend", Frontend)
def test_agents_side_by_side_go_on_in_another_process(frontend: Frontend, tmp_path: Path) -> None:
    """Each has a thread of its own, though the journal knows all of them by the caller's id."""
    done: list[int] = []

    @guarded(effect="at_most_once", approval=True)
    def pay(n: int) -> str:
        """Pay."""
        done.append(n)
        return f"paid {n}"

    def answer(messages: Sequence[BaseMessage], _: Sequence[str]) -> Step:
        if messages[-1].type == "tool":
            return "done"
        return calls(("pay", {"n": int(messages[-1].text)}))

    async def life(given: Any) -> Any:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "desk.db")) as saver:
            graph = StateGraph(MessagesState)
            graph.add_node("pay", build(frontend, ScriptedChatModel(answer), [pay]).graph)
            sent = [Send("pay", said(str(n))) for n in range(3)]
            graph.add_conditional_edges(START, lambda _: sent, ["pay"])
            return await graph.compile(checkpointer=saver).ainvoke(given, THREAD)

    asked = asyncio.run(life(said("Pay all.")))["__interrupt__"]
    assert len(asked) == 3
    answers = Command(resume={each.id: True for each in asked})
    assert "__interrupt__" not in asyncio.run(life(answers))
    assert sorted(done) == [0, 1, 2]


@pytest.mark.parametrize("frontend", Frontend)
@pytest.mark.parametrize("inner", Frontend)
def test_agents_that_tools_of_one_message_make_run_side_by_side(
    frontend: Frontend, inner: Frontend, tmp_path: Path
) -> None:
    """As the documents do it, each makes its own: to the journal all have the name of one path."""
    paid: list[int] = []
    meet = Meeting(3)

    @guarded(effect="at_most_once")
    async def pay(n: int) -> str:
        """Pay."""
        await meet.all_here()
        paid.append(n)
        return f"paid {n}"

    @guarded(effect="at_most_once", reads=[], writes=[], takes_from=())
    async def ask(n: int) -> str:
        """Ask an agent to pay."""
        agent = build(inner, ScriptedChatModel([calls(("pay", {"n": n})), f"made {n}"]), [pay])
        state = await agent.graph.ainvoke(said(f"Pay {n}."))
        return str(state["messages"][-1].text)

    async def life() -> Any:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "desk.db")) as saver:
            model = ScriptedChatModel([calls(*[("ask", {"n": n}) for n in range(3)]), "done"])
            agent = build(frontend, model, [ask], checkpointer=saver)
            return (await agent.say("Pay all.", thread="t")).state

    state = asyncio.run(life())
    assert [each.text for each in state["messages"] if each.type == "tool"] == [
        "made 0",
        "made 1",
        "made 2",
    ]
    assert sorted(paid) == [0, 1, 2]


@pytest.mark.parametrize("frontend", Frontend)
@pytest.mark.parametrize("inner", Frontend)
def test_an_answer_is_for_the_agent_of_the_tool_that_asked(
    frontend: Frontend, inner: Frontend
) -> None:
    """The tools do not declare that they ask, and the agent that begins later asks first."""
    paid: list[int] = []
    begun, asks = threading.Event(), threading.Event()

    @guarded(effect="at_most_once", approval=True)
    def pay(n: int) -> str:
        """Pay."""
        paid.append(n)
        return f"paid {n}"

    def pays_once(messages: Sequence[BaseMessage], _: Sequence[str]) -> Step:
        if messages[-1].type == "tool":
            return "done"
        n = int(messages[-1].text)
        if n == 2:
            begun.set()
            asks.wait(0.5)  # until the first asks, which may take it some steps more
            time.sleep(0.1)
        asks.set()
        return calls(("pay", {"n": n}))

    @guarded(effect="at_most_once", reads=[], writes=[], takes_from=())
    def ask(n: int) -> str:
        """Ask an agent to pay."""
        if n == 1:
            begun.wait(1.0)
        agent = build(inner, ScriptedChatModel(pays_once), [pay])
        state = agent.graph.invoke(said(str(n)))
        return f"{n}: {next(each.text for each in state['messages'] if each.type == 'tool')}"

    model = ScriptedChatModel([calls(*[("ask", {"n": n}) for n in (1, 2)]), "done"])
    agent = build(frontend, model, [ask], checkpointer=InMemorySaver()).graph
    state = agent.invoke(said("Pay 1 and 2."), THREAD)
    for _ in range(4):
        if asked := state.get("__interrupt__", ()):
            sums = {each.id: each.value["calls"][0]["arguments"]["n"] for each in asked}
            answers = {each: n == 1 for each, n in sums.items()}
            given: Any = answers if len(asked) > 1 else next(iter(answers.values()))
            state = agent.invoke(Command(resume=given), THREAD)
    told = [each.text for each in state["messages"] if each.type == "tool"]
    assert told == ["1: paid 1", "2: pay#1 was not run. A person refused the call."]
    assert paid == [1]


@pytest.mark.parametrize("frontend", Frontend)
def test_agents_side_by_side_on_one_thread_are_refused_with_the_way_out(frontend: Frontend) -> None:
    """Run again, as the error says of other runs, each of them would answer the same request."""

    def pay(n: int) -> str:
        """Pay."""
        return f"paid {n}"

    def answer(messages: Sequence[BaseMessage], _: Sequence[str]) -> Step:
        if messages[-1].type == "tool":
            return "done"
        return calls(("pay", {"n": int(messages[-1].text)}))

    agent = build(frontend, ScriptedChatModel(answer), [pay], checkpointer=True).graph
    graph = StateGraph(MessagesState)
    graph.add_node("pay", agent)
    sent = [Send("pay", said(str(n))) for n in range(3)]
    graph.add_conditional_edges(START, lambda _: sent, ["pay"])
    desk = graph.compile(checkpointer=InMemorySaver())
    with pytest.raises(AsyncguardError, match=r"agent 'pay' at once .* without checkpointer=True"):
        asyncio.run(desk.ainvoke(said("Pay all."), THREAD))


@pytest.mark.parametrize("stored", ["memory", "sqlite"])
@pytest.mark.parametrize("frontend", Frontend)
def test_a_graph_goes_back_in_time_with_its_agents(
    frontend: Frontend, stored: str, tmp_path: Path
) -> None:
    """An agent with a thread of its own begins where that was then, and repeats no effect."""
    done: list[int] = []

    @guarded(effect="at_most_once")
    def pay(n: int) -> str:
        """Pay."""
        done.append(n)
        return f"paid {n}"

    async def main(saver: Any) -> list[str]:
        model = ScriptedChatModel([calls(("pay", {"n": 1})), "one", "two", "other two"])
        graph = StateGraph(MessagesState)
        graph.add_node("agent", build(frontend, model, [pay], checkpointer=True).graph)
        graph.add_edge(START, "agent")
        desk = graph.compile(checkpointer=saver)
        await desk.ainvoke(said("Pay."), THREAD)
        await desk.ainvoke(said("Go on."), THREAD)
        history = [each async for each in desk.aget_state_history(THREAD)]
        second = next(each for each in history if each.next == ("agent",))
        state = await desk.ainvoke(None, second.config)
        return [message.text for message in state["messages"]]

    async def on_file() -> list[str]:
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "desk.db")) as saver:
            return await main(saver)

    texts = asyncio.run(on_file() if stored == "sqlite" else main(InMemorySaver()))
    assert texts == ["Pay.", "", "paid 1", "one", "Go on.", "other two"]
    assert done == [1]
