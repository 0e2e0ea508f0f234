"""Runs that cannot be resumed: without a checkpointer no question is asked and no run is parked."""

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from asyncguard import Inbox, Mode, Ports, ToolSpec, build_agent
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, script

SPECS = [
    ToolSpec(name="pay", approval=True),
    ToolSpec(name="bank", mode=Mode.EXTERNAL, token_argument="token", reads=(), writes=()),
]
PLACE: Any = {"configurable": {"thread_id": "t"}}


class Office:
    """A payment that a person approves, and a bank that answers by post."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self.tokens: list[str] = []
        self.paid: list[str] = []

    def tools(self) -> list[Any]:
        """Return both tools."""
        pay = scripted_tool("pay", lambda a: self._pays(a["q"]), args={"q": str})
        bank = scripted_tool(
            "bank", lambda a: self._starts(a["token"]), args={"q": str, "token": str}
        )
        return [pay, bank]

    def _pays(self, what: str) -> str:
        self.paid.append(what)
        return f"paid {what}"

    def _starts(self, token: str) -> str:
        self.tokens.append(token)
        return "started"

    async def answers(self) -> None:
        """The bank answers after an hour."""
        await asyncio.sleep(3600)
        self.inbox.deliver(self.tokens[0], "granted")


@pytest.mark.parametrize("thread", [None, "t"])
@pytest.mark.parametrize("saver", [None, False])
def test_without_a_checkpointer_an_approval_is_refused_with_that_reason(
    agent_of: AgentOf, saver: Any, thread: str | None
) -> None:
    """A thread id in the configuration, which services pass always, changes nothing."""
    office = Office()
    model = ScriptedChatModel(script(calls(("pay", {"q": "x"}), ("pay", {"q": "y"}))))
    agent = agent_of(model, office.tools(), specs=SPECS, checkpointer=saver)
    outcome = run_virtual(agent.say("Pay x and y.", thread=thread)).result
    assert not outcome.interrupts
    assert office.paid == []
    for call in ("call_1_1", "call_1_2"):
        assert "in this run no person can be asked" in outcome.answer(call)
    assert outcome.report["reason"] == "complete"


@pytest.mark.parametrize("thread", [None, "t"])
def test_without_a_checkpointer_an_external_call_is_waited_for(
    agent_of: AgentOf, thread: str | None
) -> None:
    """The run waits in the process, and ends with the delivery."""
    office = Office()
    model = ScriptedChatModel(script(calls(("bank", {"q": "x"}))))
    agent = agent_of(model, office.tools(), specs=SPECS, ports=Ports(inbox=office.inbox))

    async def main() -> Outcome:
        outcome, _ = await asyncio.gather(
            agent.say("Ask the bank.", thread=thread), office.answers()
        )
        return outcome

    run = run_virtual(main())
    assert not run.result.interrupts
    assert "granted" in run.result.text
    assert run.result.states("main") == {"done": 1}
    assert run.elapsed >= 3600


class _State(TypedDict, total=False):
    messages: list[Any]
    report: dict[str, Any]


def _inside(agent: Any, saver: Any, *, called: bool) -> Any:
    """A graph that has the agent as a node, or calls it in one."""

    async def call(state: Any) -> Any:
        return await agent.ainvoke(state)

    graph = StateGraph(_State)
    graph.add_node("agent", call if called else agent)
    graph.add_edge(START, "agent")
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("called", [True, False])
@pytest.mark.parametrize(
    ("outer", "inner", "asks"), [(True, None, True), (True, False, False), (False, None, False)]
)
def test_an_agent_inside_of_a_graph(outer: bool, inner: Any, asks: bool, called: bool) -> None:
    """The agent uses the checkpointer of the graph around it, unless it is built to have none."""
    office = Office()
    model = ScriptedChatModel(script(calls(("pay", {"q": "x"}))))
    agent = build_agent(model, office.tools(), specs=SPECS, checkpointer=inner)
    graph = _inside(agent, InMemorySaver() if outer else None, called=called)

    async def main() -> Any:
        state = await graph.ainvoke({"messages": [("user", "Pay x.")]}, PLACE)
        assert bool(state.get("__interrupt__")) is asks
        return await graph.ainvoke(Command(resume=True), PLACE) if asks else state

    state = run_virtual(main()).result
    assert office.paid == (["x"] if asks else [])
    assert state["report"]["reason"] == "complete"
