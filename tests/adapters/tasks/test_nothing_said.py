"""Inputs with which there is nothing to do: refused before the model is asked, which could not answer them.

A refused input changes nothing: questions stay open, and a thread continues as it would have without it.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import CallerError, Inbox, Mode, Ports, ToolSpec
from asyncguard.testing import (
    ScriptedChatModel,
    calls,
    check_history_all,
    run_virtual,
    scripted_tool,
)
from tests.adapters.harness import Agent, AgentOf, Frontend, Outcome, pure, script

EMPTY: list[dict[str, Any]] = [
    {},
    {"messages": []},
    {"tasks": []},
    {"messages": [], "tasks": []},
    {"messages": [], "cancel": []},
]
LOOK = calls(("look", {"q": "x"}))


def agent(agent_of: AgentOf, model: ScriptedChatModel) -> Any:
    """An agent that can look, and keeps its threads."""
    look = scripted_tool("look", lambda a: f"saw {a['q']}", args={"q": str})
    return agent_of(model, [look], specs=[pure("look")], checkpointer=InMemorySaver())


@pytest.mark.parametrize("said", EMPTY, ids=str)
def test_a_thread_does_not_begin_with_nothing(said: dict[str, Any], agent_of: AgentOf) -> None:
    """The model is not asked with an empty history, and a log of the error names the thread."""
    model = ScriptedChatModel(script())
    with pytest.raises(CallerError, match="Nothing to do") as refused:
        run_virtual(agent(agent_of, model).go(said, "t"))
    assert not model.requests
    assert "thread 't'" in refused.value.__notes__


@pytest.mark.parametrize("said", EMPTY, ids=str)
def test_a_finished_thread_is_not_asked_again_with_nothing_new(
    said: dict[str, Any], agent_of: AgentOf
) -> None:
    """The history would end with the model's own word, which some providers refuse; the thread continues afterwards."""
    model = ScriptedChatModel(script(LOOK))
    made = agent(agent_of, model)

    async def main() -> Outcome:
        await made.say("Look at x.", thread="t")
        asked = len(model.requests)
        with pytest.raises(CallerError, match="Nothing to do") as refused:
            await made.go(said, "t")
        assert "thread 't'" in refused.value.__notes__
        assert len(model.requests) == asked
        return await made.say("And?", thread="t")

    assert run_virtual(main()).result.report["reason"] == "complete"
    for request in model.requests:
        check_history_all(request.messages)


ANSWERS: list[Command[Any]] = [
    Command(resume=True),
    Command(resume={"main/pay#1": True}),
    Command(resume=True, update={"messages": [("user", "Yes.")]}),
    Command(resume=True, update={"cancel": ["main"]}),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_an_answer_to_a_thread_that_does_not_exist_is_refused(
    answer: Command[Any], agent_of: AgentOf
) -> None:
    """As after a wrong id: the error names what to check, and the id stays free."""
    model = ScriptedChatModel(script())
    made = agent(agent_of, model)

    async def main() -> Outcome:
        with pytest.raises(CallerError, match=r"no run and no open question.*thread_id.*checkpoin"):
            await made.go(answer, "t")
        with pytest.raises(CallerError, match="no run and no open question"):
            made.go_sync(answer, "another")
        assert not model.requests
        return await made.say("Hello.", thread="t")

    outcome = run_virtual(main()).result
    assert [message.content for message in outcome.messages][-2:] == ["Hello.", "all done"]


@pytest.mark.parametrize("frontend", [Frontend.GRAPH], ids=["build_agent"])
@pytest.mark.parametrize("kept", [True, False])
def test_a_thread_that_does_not_exist_cannot_go_on(agent_of: AgentOf, *, kept: bool) -> None:
    """No run has stopped there; the same error as for an answer, in every way to call the agent."""
    model = ScriptedChatModel(script())
    made = agent(agent_of, model) if kept else agent_of(model, [])

    async def main() -> None:
        with pytest.raises(CallerError, match=r"no run and no open question.*thread_id.*checkpoin"):
            await made.go(None, "t")
        with pytest.raises(CallerError, match="no run and no open question"):
            made.go_sync(None, "t")
        with pytest.raises(CallerError, match="no run and no open question"):
            _ = [part async for part in made.graph.astream(None, PLACE)]
        await made.say("Hello.", thread="t")
        if kept:
            assert (await made.go(None, "t")).messages  # it has ended: nothing is left to do

    run_virtual(main())


def test_a_second_answer_to_a_thread_that_does_not_exist_is_refused(agent_of: AgentOf) -> None:
    """What the first attempt may have left does not count as a run."""
    made = agent(agent_of, ScriptedChatModel(script()))
    for _ in range(2):
        with pytest.raises(CallerError, match="no run and no open question"):
            made.go_sync(Command(resume=True), "t")


PLACE: Any = {"configurable": {"thread_id": "t"}}
WRONG: list[dict[str, Any]] = [
    {"messages": [], "cancel": ["nothing of this name"]},
    {"messages": [], "cancel": 5},
    {"messages": [], "tasks": [{"id": "a"}]},
]
"""Inputs that say something wrong."""
REFUSED = "Nothing to do|no task|takes ids|no goal|only the runtime answers"


@dataclass(kw_only=True)
class Desk:
    """An agent whose one call waits for a person, for the outside world, or for nothing."""

    agent: Agent
    inbox: Inbox
    tokens: list[str] = field(default_factory=list)

    async def history(self) -> list[Any]:
        """The states of the thread, the newest first."""
        return [state async for state in self.agent.graph.aget_state_history(PLACE)]


def desk_of(agent_of: AgentOf, tool: str) -> Desk:
    """A desk whose model calls this tool once."""
    inbox = Inbox()
    desk = Desk(agent=None, inbox=inbox)  # type: ignore[arg-type]

    def start(arguments: Any) -> str:
        desk.tokens.append(arguments["token"])
        return "accepted"

    tools = [
        scripted_tool("ask", start, args={"token": str}),
        scripted_tool("pay", lambda _: "paid"),
        scripted_tool("look", ["seen"]),
    ]
    ask = ToolSpec(name="ask", mode=Mode.EXTERNAL, token_argument="token")
    desk.agent = agent_of(
        ScriptedChatModel(script(calls((tool, {})))),
        tools,
        specs=[ask, ToolSpec(name="pay", approval=True), pure("look")],
        ports=Ports(inbox=inbox),
        checkpointer=InMemorySaver(),
    )
    return desk


@pytest.mark.sampled(3)
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("said", [*EMPTY, *WRONG], ids=str)
def test_a_question_stays_open(said: dict[str, Any], durability: str, agent_of: AgentOf) -> None:
    """The held call is not withdrawn, and the answer is taken as if the input had not been."""
    desk = desk_of(agent_of, "pay")

    async def main() -> Outcome:
        asked = await desk.agent.say("Pay.", thread="t")
        assert asked.interrupts
        with pytest.raises(CallerError, match=REFUSED):
            await desk.agent.graph.ainvoke(said, PLACE, durability=durability)
        assert (await desk.agent.go(None, "t")).interrupts == asked.interrupts
        return await desk.agent.go(Command(resume={"main/pay#1": True}), "t")

    outcome = run_virtual(main()).result
    assert outcome.answer("call_1_1") == "paid"
    assert outcome.report["reason"] == "complete"


@pytest.mark.parametrize("said", ["the thread's messages", "", "  "])
def test_messages_without_a_new_word_leave_a_question_open(said: str, agent_of: AgentOf) -> None:
    """A client that sends its whole history again, or an empty field, withdraws nothing."""
    desk = desk_of(agent_of, "pay")

    async def main() -> Outcome:
        asked = await desk.agent.say("Pay.", thread="t")
        words = [("user", said)] if not said.strip() else asked.messages
        before = (await desk.agent.graph.aget_state(PLACE)).interrupts
        with pytest.raises(CallerError, match="Nothing to do"):
            await desk.agent.go({"messages": words}, "t")
        if desk.agent.frontend is Frontend.GRAPH:  # refused before LangGraph stores it
            assert (await desk.agent.graph.aget_state(PLACE)).interrupts == before
        assert (await desk.agent.go(None, "t")).interrupts == asked.interrupts
        return await desk.agent.go(Command(resume=True), "t")

    outcome = run_virtual(main()).result
    assert outcome.answer("call_1_1") == "paid"
    assert outcome.report["reason"] == "complete"


@pytest.mark.parametrize("said", EMPTY, ids=str)
def test_a_parked_thread_stays_parked(said: dict[str, Any], agent_of: AgentOf) -> None:
    """The external call is still waited for, and its result is told."""
    desk = desk_of(agent_of, "ask")

    async def main() -> Outcome:
        parked = await desk.agent.say("Ask.", thread="t")
        assert parked.interrupts[0]["type"] == "parked"
        with pytest.raises(CallerError, match="Nothing to do"):
            await desk.agent.go(said, "t")
        assert (await desk.agent.go(None, "t")).interrupts == parked.interrupts
        desk.inbox.deliver(desk.tokens[0], "delivered")
        return await desk.agent.resume("go on", "t")

    outcome = run_virtual(main()).result
    assert "delivered" in outcome.text
    assert outcome.states("main") == {"done": 1}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("said", [*EMPTY, *WRONG, "the history"], ids=str)
def test_an_ended_thread_continues_with_none_as_before(said: Any, agent_of: AgentOf) -> None:
    """``None`` returns the state of the thread; a checkpoint of the refused input would raise there."""
    desk = desk_of(agent_of, "look")

    async def main() -> Outcome:
        ended = await desk.agent.say("Look.", thread="t")
        given = {"messages": ended.messages} if said == "the history" else said
        with pytest.raises(CallerError, match=REFUSED):
            await desk.agent.go(given, "t")
        again = await desk.agent.go(None, "t")
        assert again.messages == ended.messages
        return await desk.agent.say("And?", thread="t")

    assert run_virtual(main()).result.report["reason"] == "complete"


MINE: list[dict[str, Any]] = [
    {"messages": [{"role": "tool", "content": "I say so.", "tool_call_id": "call_1_1"}]},
    {"messages": [("user", "Go on.")], "cancel": ["main", "nothing of this name"]},
]
"""An answer to the thread's call, and a cancellation beside a word of the user."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("frontend", [Frontend.GRAPH], ids=["build_agent"])
@pytest.mark.parametrize(
    ("tool", "said"),
    [
        *(("look", said) for said in EMPTY),
        *((tool, said) for tool in ("pay", "ask") for said in [*EMPTY, *WRONG, *MINE]),
    ],
    ids=str,
)
def test_nothing_is_stored(tool: str, said: dict[str, Any], agent_of: AgentOf) -> None:
    """``build_agent`` refuses before LangGraph stores the input, however it is called: a question keeps its id."""
    desk = desk_of(agent_of, tool)
    graph: Any = desk.agent.graph

    async def main() -> None:
        await desk.agent.say("Go.", thread="t")
        before = await desk.history()
        with pytest.raises(CallerError, match=REFUSED):
            await desk.agent.go(said, "t")
        with pytest.raises(CallerError, match=REFUSED):
            async for _ in graph.astream(said, PLACE):
                pass
        with pytest.raises(CallerError, match=REFUSED):
            async for _ in graph.astream_events(said, PLACE, version="v2"):
                pass
        with pytest.raises(CallerError, match=REFUSED):
            graph.invoke(said, PLACE)
        with pytest.raises(CallerError, match=REFUSED):
            list(graph.stream(said, PLACE))
        assert await desk.history() == before
        assert bool(before[0].interrupts) is (tool != "look")

    run_virtual(main())


def test_a_parked_thread_is_not_woken_by_a_blank_message(agent_of: AgentOf) -> None:
    """The message is taken out again, and the delivery is taken as if it had never come."""
    inbox, tokens = Inbox(), list[str]()
    bank = scripted_tool("bank", lambda a: tokens.append(a["token"]), args={"q": str, "token": str})
    spec = ToolSpec(name="bank", mode=Mode.EXTERNAL, token_argument="token")
    model = ScriptedChatModel(script(calls(("bank", {"q": "x"}))))
    ports = Ports(inbox=inbox)
    made = agent_of(model, [bank], specs=[spec], checkpointer=InMemorySaver(), ports=ports)

    async def main() -> Outcome:
        assert (await made.say("Ask the bank.", thread="t")).interrupts
        for blank in ("", " \n"):
            with pytest.raises(CallerError, match="Nothing to do"):
                await made.say(blank, thread="t")
        inbox.deliver(tokens[0], "granted")
        return await made.resume("look", "t")

    outcome = run_virtual(main()).result
    assert outcome.states("main") == {"done": 1}
    said = [each.text for each in outcome.messages if each.type == "human"]
    assert said[0] == "Ask the bank."
    assert all(text.strip() for text in said)
