"""A tool that hands over to another agent of the same graph, by a command to the graph around its own."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState
from langgraph.types import Command, interrupt

from asyncguard import guarded
from asyncguard.testing import ScriptedChatModel, calls, check_history_all
from tests.adapters.harness import Frontend, build

THREAD: Any = {"configurable": {"thread_id": "t"}}
IN_DOUBT = 13
"""Amount whose payment is in doubt."""
OWN_THREADS = pytest.mark.parametrize("own", [None, True], ids=["no-thread", "own-thread"])


def handing_to(name: str, *, words: bool = True) -> Any:
    """Return a tool that hands the conversation over, as LangGraph's documents write it."""

    @tool(f"to_{name}")
    def hand_over(
        state: Annotated[dict[str, Any], InjectedState],
        tool_call_id: Annotated[str, InjectedToolCallId],
    ) -> Command[Any]:
        """Hand over."""
        answer = ToolMessage(f"{name} goes on", name=f"to_{name}", tool_call_id=tool_call_id)
        update = {"messages": [*state["messages"], answer]} if words else None
        return Command(goto=name, update=update, graph=Command.PARENT)

    return hand_over


class Desk:
    """Two agents, a and b, that pay and hand over to each other."""

    def __init__(
        self,
        frontend: Frontend,
        *,
        own: Any,
        a: list[Any],
        b: list[Any],
        words: bool = True,
        approval: bool = False,
    ) -> None:
        self.paid: list[int] = []
        self.saver = InMemorySaver()
        self.models = {
            name: ScriptedChatModel(steps, id_prefix=name) for name, steps in (("a", a), ("b", b))
        }
        self._made = frontend, own, words, approval
        self.open()

    def open(self) -> None:
        """Build the graph, as a new process would."""
        frontend, own, words, approval = self._made

        @guarded(effect="at_most_once", approval=approval)
        def pay(n: int) -> str:
            """Pay."""
            self.paid.append(n)
            if n == IN_DOUBT:
                raise ConnectionError("lost")
            return f"paid {n}"

        graph = StateGraph(MessagesState)
        for name, other in (("a", "b"), ("b", "a")):
            tools = [pay, handing_to(other, words=words)]
            made = build(frontend, self.models[name], tools, checkpointer=own)
            graph.add_node(name, made.graph, destinations=(other,))
        graph.add_edge(START, "a")
        self.graph: Any = graph.compile(checkpointer=self.saver)

    def say(self, given: Any) -> Any:
        """Return the state after an input or an answer."""
        given = {"messages": [("user", given)]} if isinstance(given, str) else given
        return asyncio.run(self.graph.ainvoke(given, THREAD))

    def results(self, state: Any) -> list[str]:
        """Return the texts of all results, after a check of every request to a model."""
        for model in self.models.values():
            for request in model.requests:
                check_history_all(request.messages)
        return [message.text for message in state["messages"] if message.type == "tool"]


@OWN_THREADS
@pytest.mark.parametrize("frontend", Frontend)
def test_the_next_agent_reads_what_the_earlier_ones_did(frontend: Frontend, own: Any) -> None:
    """Also the results of the message that hands over: else it would pay again."""
    desk = Desk(
        frontend,
        own=own,
        a=[calls(("pay", {"n": 1})), calls(("pay", {"n": 2}), ("to_b", {})), "the end"],
        b=[calls(("pay", {"n": 3})), calls(("to_a", {}))],
    )
    results = desk.results(desk.say("Pay."))
    assert results == ["paid 1", "paid 2", "b goes on", "paid 3", "a goes on"]
    assert desk.paid == [1, 2, 3]


@pytest.mark.parametrize("restarted", [False, True], ids=["one-process", "restarted"])
@OWN_THREADS
@pytest.mark.parametrize("frontend", Frontend)
def test_the_next_agent_does_not_repeat_a_call_in_doubt(
    frontend: Frontend, own: Any, *, restarted: bool
) -> None:
    """Its own ledger does not know the call. After a new message a person is asked, as by one agent."""
    again = calls(("pay", {"n": IN_DOUBT}))
    desk = Desk(
        frontend,
        own=own,
        a=[calls(("pay", {"n": IN_DOUBT}), ("to_b", {})), *[calls(("to_b", {}))] * 2],
        b=[again, "b ends", again, "b ends", calls(("pay", {"n": 14})), "b ends"],
    )
    told = desk.results(desk.say("Pay."))[-1]
    assert "An earlier call of pay in this conversation did the same" in told
    assert desk.paid == [IN_DOUBT]
    if restarted:
        desk.open()
    (asked,) = desk.say("It was not paid: once more.")["__interrupt__"]
    assert "may happen twice" in asked.value["calls"][0]["reason"]
    desk.say(Command(resume=True))
    desk.say("And 14.")
    assert desk.paid == [IN_DOUBT, IN_DOUBT, 14]


@OWN_THREADS
@pytest.mark.parametrize("effect", ["at_most_once", "pure"])
@pytest.mark.parametrize("frontend", Frontend)
def test_the_next_agent_does_not_repeat_a_call_that_runs(
    frontend: Frontend, own: Any, effect: str
) -> None:
    """Its result comes from outside, and to the first agent; a lookup may be made again."""
    started: list[str] = []

    @guarded(mode="external", token_argument="token", effect=effect)  # type: ignore[call-overload]
    def order(n: int, token: str = "") -> str:
        """Order."""
        started.append(token)
        return "ordered"

    graph = StateGraph(MessagesState)
    made = calls(("order", {"n": 1}), ("to_b", {}))
    for name, other, steps in (("a", "b", [made]), ("b", "a", [calls(("order", {"n": 1})), "end"])):
        model = ScriptedChatModel(steps, id_prefix=name)
        agent = build(frontend, model, [order, handing_to(other)], checkpointer=own)
        graph.add_node(name, agent.graph, destinations=(other,))
    graph.add_edge(START, "a")
    compiled: Any = graph.compile(checkpointer=InMemorySaver())
    state = asyncio.run(compiled.ainvoke({"messages": [("user", "Order.")]}, THREAD))
    assert len(started) == (1 if effect == "at_most_once" else 2)
    assert bool(state.get("__interrupt__")) is (effect == "pure")


@pytest.mark.parametrize("frontend", Frontend)
def test_a_call_in_doubt_of_a_history_that_the_caller_brings_is_not_repeated(
    frontend: Frontend,
) -> None:
    """Without a checkpointer each request is a thread of its own, and no person can be asked."""
    again = calls(("pay", {"n": IN_DOUBT}))
    desk = Desk(frontend, own=False, a=[again, "a ends", again, "a ends"], b=[])
    first = asyncio.run(desk.graph.nodes["a"].bound.ainvoke({"messages": [("user", "Pay.")]}))
    said = [*first["messages"], ("user", "Once more.")]
    state = asyncio.run(desk.graph.nodes["a"].bound.ainvoke({"messages": said}))
    assert "no person can be asked" in desk.results(state)[-1]
    assert desk.paid == [IN_DOUBT]


@pytest.mark.parametrize("restarted", [False, True], ids=["one-process", "restarted"])
@pytest.mark.parametrize("frontend", Frontend)
def test_an_agent_takes_back_the_answers_that_it_has_handed_over(
    frontend: Frontend, *, restarted: bool
) -> None:
    """Its run ended with the command, before its own thread had them."""
    desk = Desk(
        frontend,
        own=True,
        a=[calls(("pay", {"n": 1}), ("to_b", {})), "a ends", calls(("to_b", {}))],
        b=[calls(("to_a", {})), "b ends"],
    )
    desk.say("Pay.")
    if restarted:
        desk.open()
    results = desk.results(desk.say("Once more."))
    assert results == ["paid 1", "b goes on", "a goes on", "b goes on"]
    assert desk.paid == [1]


@pytest.mark.parametrize("restarted", [False, True], ids=["one-process", "restarted"])
@pytest.mark.parametrize("frontend", Frontend)
def test_an_agent_that_has_handed_over_beside_a_call_in_doubt_can_be_run_again(
    frontend: Frontend, *, restarted: bool
) -> None:
    """Its thread knew the calls as running: their answers, coming back, were taken for a client's."""
    desk = Desk(
        frontend,
        own=True,
        a=[calls(("pay", {"n": IN_DOUBT}), ("pay", {"n": 1}), ("to_b", {})), "a ends"],
        b=["b ends"],
    )
    desk.say("Pay.")
    if restarted:
        desk.open()
    state = desk.say("And now?")
    assert state["messages"][-1].text == "a ends"
    assert len(desk.results(state)) == 3
    assert desk.paid == [IN_DOUBT, 1]


@pytest.mark.parametrize("frontend", Frontend)
def test_a_command_without_words_hands_over(frontend: Frontend) -> None:
    """The next agent has the conversation that the graph around has."""
    desk = Desk(frontend, own=None, a=[calls(("to_b", {}))], b=["b ends"], words=False)
    assert [message.text for message in desk.say("Go.")["messages"]] == ["Go.", "b ends"]


@OWN_THREADS
@pytest.mark.parametrize("frontend", Frontend)
def test_a_person_is_asked_before_the_agent_hands_over(frontend: Frontend, own: Any) -> None:
    """The command would end the run, and the question with it."""
    desk = Desk(
        frontend,
        own=own,
        a=[calls(("pay", {"n": 1}), ("to_b", {}))],
        b=["b ends"],
        approval=True,
    )
    asked = desk.say("Pay.")
    assert [call["tool"] for call in asked["__interrupt__"][0].value["calls"]] == ["pay"]
    state = desk.say(Command(resume=True))
    assert desk.results(state) == ["paid 1", "b goes on"]
    assert state["messages"][-1].text == "b ends"
    assert desk.paid == [1]


@pytest.mark.parametrize("frontend", Frontend)
def test_what_is_handed_over_stands_at_its_call_after_a_run_beside_another_agent(
    frontend: Frontend,
) -> None:
    """The graph around puts the messages of the agent beside before the answer, not the call."""

    @guarded(effect="pure")
    def look(n: int) -> str:
        """Look."""
        return f"seen {n}"

    scripts: dict[str, list[Any]] = {
        "a": [calls(("look", {"n": 1})), "beside"],
        "b": [calls(("look", {"n": 2}), ("to_c", {})), "b ends"],
        "c": ["c ends"],
    }
    models = {name: ScriptedChatModel(each, id_prefix=name) for name, each in scripts.items()}
    graph = StateGraph(MessagesState)
    for name, model in models.items():
        agent = build(frontend, model, [look, handing_to("c")], checkpointer=True).graph
        graph.add_node(name, agent, destinations=("c",) if name == "b" else ())
    graph.add_conditional_edges(
        START, lambda state: ["b"] if len(state["messages"]) > 1 else ["a", "b"], ["a", "b"]
    )
    desk = graph.compile(checkpointer=InMemorySaver())
    for text in ("Go.", "Once more."):
        state = asyncio.run(desk.ainvoke({"messages": [("user", text)]}, THREAD))
    assert state["messages"][-1].text == "b ends"
    for model in models.values():
        for request in model.requests:
            check_history_all(request.messages)


@pytest.mark.parametrize("goto", ["b", ["b"]], ids=["name", "list"])
@OWN_THREADS
@pytest.mark.parametrize("frontend", Frontend)
def test_an_agent_hands_over_in_the_process_that_has_the_answer(
    frontend: Frontend, own: Any, goto: Any, tmp_path: Path
) -> None:
    """The journal keeps the command, and the answer of the call itself, not the first one in it."""
    paid: list[int] = []

    @guarded(effect="at_most_once", approval=True)
    def pay(n: int) -> str:
        """Pay."""
        paid.append(n)
        return f"paid {n}"

    @tool
    def to_b(
        state: Annotated[dict[str, Any], InjectedState],
        tool_call_id: Annotated[str, InjectedToolCallId],
    ) -> Command[Any]:
        """Hand over."""
        answer = ToolMessage("b goes on", name="to_b", tool_call_id=tool_call_id)
        said = [*state["messages"], answer]
        return Command(
            goto=goto, update={**state, "messages": said, "active": "b"}, graph=Command.PARENT
        )

    def look() -> str:
        """Look."""
        return "seen"

    class Talk(MessagesState):
        active: str

    async def life(name: str, steps: dict[str, list[Any]], given: Any) -> Any:
        graph = StateGraph(Talk)
        for agent in "ab":
            model = ScriptedChatModel(steps.get(agent, []), id_prefix=f"{agent}{name}")
            tools = [look, pay, to_b] if agent == "a" else []
            made = build(frontend, model, tools, checkpointer=own).graph
            graph.add_node(agent, made, destinations=("b",) if agent == "a" else ())
            models.append(model)
        graph.add_edge(START, "a")
        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "desk.db")) as saver:
            desk = graph.compile(checkpointer=saver)
            return await desk.ainvoke(given, THREAD, durability="sync")

    models: list[ScriptedChatModel] = []
    steps = [calls(("look", {})), calls(("to_b", {}), ("pay", {"n": 1}))]
    asked = asyncio.run(life("1", {"a": steps}, {"messages": [("user", "Go.")]}))
    assert len(asked["__interrupt__"]) == 1
    state = asyncio.run(life("2", {"b": ["b ends"]}, Command(resume=True)))
    texts = [message.text for message in state["messages"] if message.text]
    assert texts == ["Go.", "seen", "b goes on", "paid 1", "b ends"]
    assert state["active"] == "b"
    assert paid == [1]
    for model in models:
        for request in model.requests:
            check_history_all(request.messages)


@pytest.mark.parametrize("first", ["ask", "to_b"])
@OWN_THREADS
@pytest.mark.parametrize("frontend", Frontend)
def test_a_tools_own_question_is_asked_before_the_agent_hands_over(
    frontend: Frontend, own: Any, first: str
) -> None:
    """The command would end the run, and the question would never be asked."""

    @guarded(interrupts=True)
    def ask() -> str:
        """Ask a person."""
        return f"answered {interrupt('which?')}"

    both = [("ask", {}), ("to_b", {})]
    a = calls(*(both if first == "ask" else reversed(both)))
    models = {
        name: ScriptedChatModel(steps, id_prefix=name)
        for name, steps in {"a": [a], "b": ["b ends"]}.items()
    }
    graph = StateGraph(MessagesState)
    for name, model in models.items():
        tools = [ask, handing_to("b")] if name == "a" else []
        made = build(frontend, model, tools, checkpointer=own).graph
        graph.add_node(name, made, destinations=("b",) if name == "a" else ())
    graph.add_edge(START, "a")
    desk = graph.compile(checkpointer=InMemorySaver())

    async def main() -> Any:  # one loop, as a call that runs goes on beside the question
        asked = await desk.ainvoke({"messages": [("user", "Go.")]}, THREAD)
        assert [each.value for each in asked["__interrupt__"]] == ["which?"]
        return await desk.ainvoke(Command(resume="this"), THREAD)

    texts = [message.text for message in asyncio.run(main())["messages"] if message.text]
    assert sorted(texts[1:3]) == ["answered this", "b goes on"]
    assert texts[3:] == ["b ends"]


@pytest.mark.parametrize("frontend", Frontend)
def test_an_agent_takes_back_the_answer_to_a_call_that_a_person_has_refused(
    frontend: Frontend,
) -> None:
    """It has ended for the thread, which was not told of it before the agent handed over."""
    desk = Desk(
        frontend,
        own=True,
        a=[calls(("pay", {"n": 1}), ("to_b", {})), "a ends"],
        b=[calls(("to_a", {}))],
        approval=True,
    )
    desk.say("Pay.")
    state = desk.say(Command(resume=False))
    refused = "pay#1 was not run. A person refused the call."
    assert desk.results(state) == [refused, "b goes on", "a goes on"]
    assert state["messages"][-1].text == "a ends"
    assert not desk.paid
