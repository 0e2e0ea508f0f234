"""An answer that breaks the schema of a tool's question is an error for its caller, and the question stays."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.errors import is_invalid_resume
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import tool_node
from langgraph.types import Command, interrupt
from pydantic import BaseModel, ValidationError

from asyncguard import GuardConfig, Ports, ToolSpec, guarded
from asyncguard.journal.sql.journal import SqlJournal
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.journal.sql.sqlite import SqliteStore
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import Agent, AgentOf, script

pytestmark = pytest.mark.skipif(
    not hasattr(tool_node, "is_invalid_resume"),
    reason="the ToolNode of this langgraph-prebuilt makes a result of the error",
)
THREAD: Any = {"configurable": {"thread_id": "t"}}
TASKS = [{"id": "a", "goal": "Book x."}, {"id": "b", "goal": "Book y."}]
BAD, GOOD = {"nights": "many"}, {"nights": 2}


class Stay(BaseModel):
    """A number of nights."""

    nights: int


class Asked(TypedDict):
    """State of a graph that asks."""

    stay: Any


def nested(question: str) -> Any:
    """Return a graph that asks."""
    graph = StateGraph(Asked)
    graph.add_node("ask", lambda _: {"stay": interrupt(question, response_schema=Stay)})
    graph.add_edge(START, "ask")
    return graph.compile()


class Hotel:
    """A tool that asks up to three questions, the second of a form, and then books."""

    def __init__(self, agent_of: AgentOf, *, journal: Path | None, within: bool = False) -> None:
        self.booked: list[Any] = []
        self._agent_of, self._journal, self._within = agent_of, journal, within
        self._saver = InMemorySaver()
        self._opened: list[SqlJournal] = []

    def process(
        self, *said: Any, ever: str = "All said.", more: Sequence[Any] = (), **options: Any
    ) -> Agent:
        """Return the agent of a process of its own, whose model says this."""

        @guarded(interrupts=True, effect="at_most_once", reads=[], writes=["desk"])
        @tool
        async def book(q: str) -> str:
            """Book a room."""
            city = interrupt(f"Where {q}?")
            if self._within:
                stay = (await nested(f"How long {q}?").ainvoke({"stay": None}))["stay"]
            else:
                stay = interrupt(f"How long {q}?", response_schema=Stay)
            self.booked.append((q, city, stay.nights, interrupt(f"Sure {q}?")))
            return "booked"

        self.close()
        if self._journal is not None:
            self._opened.append(SqlJournal(SqliteStore(self._journal, ProcessKind.AGENT)))
        return self._agent_of(
            ScriptedChatModel(script(*said, ever=ever)),
            [book, *more],
            checkpointer=self._saver,
            ports=Ports(journal=self._opened[-1] if self._opened else None),
            **options,
        )

    async def answer(self, agent: Agent, by: str, given: Any, **options: Any) -> tuple[str, Any]:
        """Answer the one question that is out; return it, and the state if the answer fits."""
        (asked,) = (await agent.graph.aget_state(THREAD)).interrupts
        answer: Command[Any] = Command(resume={asked.id: given} if by == "id" else given)
        if given is not BAD:
            return asked.value, await agent.graph.ainvoke(answer, THREAD, **options)
        with pytest.raises(ValidationError, match="nights"):
            await agent.graph.ainvoke(answer, THREAD, **options)
        (left,) = (await agent.graph.aget_state(THREAD)).interrupts
        assert (left.id, left.value) == (asked.id, asked.value)
        return asked.value, None

    def close(self) -> None:
        """End the process."""
        if self._opened:
            self._opened.pop().close()


def questions_about(q: str) -> list[str]:
    """Return what is asked about a call if two answers of the wrong form are given."""
    return [f"Where {q}?", *[f"How long {q}?"] * 3, f"Sure {q}?"]


# Not "exit" with a nested graph, which has stored nothing then: LangGraph itself asks once more.
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("kept", "within"),
    [
        pytest.param(kept, within, id=f"{kept}-{'nested' if within else 'its-own'}")
        for kept in ("memory", "file", "exit")
        for within in (False, True)
        if kept != "exit" or not within
    ],
)
@pytest.mark.parametrize("restarted", [False, True], ids=["one-process", "processes"])
@pytest.mark.parametrize("by", ["id", "order"])
async def test_the_question_stays_and_takes_the_next_answer(
    agent_of: AgentOf, tmp_path: Path, by: str, kept: str, *, restarted: bool, within: bool
) -> None:
    """Its id is the same, the answers before it are kept, and its tool is run to the end once."""
    journal = tmp_path / "journal.db" if kept == "file" else None
    options: Any = {"durability": "exit"} if kept == "exit" else {}
    hotel = Hotel(agent_of, journal=journal, within=within)
    agent = hotel.process(calls(("book", {"q": "x"})), "Booked.")
    await agent.graph.ainvoke({"messages": [("user", "Book x.")]}, THREAD, **options)
    asked, state = [], None
    for given in ("Roma", BAD, BAD, GOOD, True):
        if restarted:
            agent = hotel.process("Booked.")
        question, state = await hotel.answer(agent, by, given, **options)
        asked.append(question)
    assert asked == questions_about("x")
    assert hotel.booked == [("x", "Roma", 2, True)]
    assert state is not None
    assert state["messages"][-1].text == "Booked."
    hotel.close()


@pytest.mark.parametrize("kept", ["one-process", "processes"])
async def test_calls_beside_it_are_run_once(agent_of: AgentOf, tmp_path: Path, kept: str) -> None:
    """Another call that asks is asked about in its turn, and one without a question is not repeated."""
    noted: list[str] = []

    def act(arguments: Any) -> str:
        noted.append(arguments["q"])
        return "noted"

    more: Any = {
        "more": [scripted_tool("note", act, args={"q": str}, latency=0.1)],
        "specs": [ToolSpec(name="note", reads=(), writes=("book",))],
        "config": GuardConfig(premature=False),
    }
    hotel = Hotel(agent_of, journal=tmp_path / "journal.db" if kept == "processes" else None)
    booked = [("book", {"q": q, "task_id": task}) for task, q in ("ax", "by")]
    agent = hotel.process(calls(*booked, ("note", {"q": "y", "task_id": "b"})), **more)
    await agent.go({"messages": [], "tasks": TASKS}, "t")
    if kept == "processes":
        await asyncio.sleep(0.2)  # no process dies within the call
    asked: list[str] = []
    for given in [each for q in "xy" for each in (q, BAD, BAD, GOOD, True)]:
        if kept == "processes":
            agent = hotel.process(**more)
        asked.append((await hotel.answer(agent, "order", given))[0])
    assert asked == [each for q in "xy" for each in questions_about(q)]
    assert sorted(hotel.booked) == [(q, q, 2, True) for q in "xy"]
    assert noted == ["y"]
    assert not (await agent.graph.aget_state(THREAD)).next
    hotel.close()


@pytest.mark.parametrize("restarted", [False, True], ids=["one-process", "processes"])
@pytest.mark.parametrize("by", ["id", "order"])
async def test_a_message_may_come_instead(
    agent_of: AgentOf, tmp_path: Path, by: str, *, restarted: bool
) -> None:
    """It withdraws the call, as it does before any answer."""
    hotel = Hotel(agent_of, journal=tmp_path / "journal.db")
    agent = hotel.process(calls(("book", {"q": "x"})), ever="Then not.")
    await agent.say("Book x.", thread="t")
    for given in ("Roma", BAD):
        await hotel.answer(agent, by, given)
    if restarted:
        agent = hotel.process(ever="Then not.")
    outcome = await agent.say("Leave it.", thread="t")
    assert (outcome.last, outcome.interrupts, hotel.booked) == ("Then not.", [], [])
    hotel.close()


@pytest.mark.parametrize("by", ["id", "order"])
def test_a_sync_caller_is_told(agent_of: AgentOf, by: str) -> None:
    """The error is LangGraph's own, and ``None`` changes nothing."""
    hotel = Hotel(agent_of, journal=None)
    agent = hotel.process(calls(("book", {"q": "x"})), "Booked.")
    agent.run_sync("Book x.", thread="t")
    for given in ("Roma", BAD, GOOD, True):
        (asked,) = agent.graph.get_state(THREAD).interrupts
        answer: Command[Any] = Command(resume={asked.id: given} if by == "id" else given)
        if given is BAD:
            with pytest.raises(ValidationError) as told:
                agent.go_sync(answer, "t")
            assert is_invalid_resume(told.value)
        else:
            agent.go_sync(answer, "t")
    assert hotel.booked == [("x", "Roma", 2, True)]


@pytest.mark.parametrize("by", ["id", "any"])
async def test_an_answer_that_outlives_its_process_and_does_not_fit_leaves_the_question(
    agent_of: AgentOf, by: str
) -> None:
    """The next process meets it, and may be given another one."""
    dies = False

    @guarded(interrupts=True, effect="pure", reads=[])
    @tool
    async def book() -> str:
        """Book a room."""
        if dies:
            get_stream_writer()("goes on")
            await asyncio.Event().wait()
        return f"booked {interrupt('How long?', response_schema=Stay).nights}"

    saver = InMemorySaver()

    def process(*said: Any) -> Agent:
        return agent_of(ScriptedChatModel(script(*said)), [book], checkpointer=saver)

    first = process(calls(("book", {})))
    (asked,) = (await first.graph.ainvoke(first.input("Go.", None), THREAD))["__interrupt__"]
    answer: Command[Any] = Command(resume={asked.id: BAD} if by == "id" else BAD)
    dies = True
    stream = first.graph.astream(answer, THREAD, stream_mode="custom", durability="sync")
    while await anext(stream) != "goes on":
        pass
    await stream.aclose()
    dies, second = False, process()
    with pytest.raises(ValidationError, match="nights"):
        await second.graph.ainvoke(None, THREAD)
    state = await second.graph.ainvoke(Command(resume={asked.id: GOOD}), THREAD)
    assert "booked 2" in [message.text for message in state["messages"]]
