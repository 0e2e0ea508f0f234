"""A message that is added to a thread while its run rests: with the answer to the question, or by ``update_state``."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import Inbox, Mode, Ports, ToolSpec
from asyncguard.testing import (
    Provider,
    ScriptedChatModel,
    calls,
    check_history_all,
    run_virtual,
    scripted_tool,
)
from tests.adapters.harness import AgentOf, Outcome, script

PLACE: Any = {"configurable": {"thread_id": "t"}}
SPECS = [
    ToolSpec(name="pay", approval=True, reads=(), writes=()),
    ToolSpec(name="wire", approval=True, interrupts=True, reads=(), writes=()),
    ToolSpec(name="bank", mode=Mode.EXTERNAL, token_argument="token", reads=(), writes=()),
]
WORD = "And tell Bob."


class Office:
    """Payments that a person approves, and a bank that answers by post."""

    def __init__(self, agent_of: AgentOf, *steps: Any) -> None:
        self.agent_of, self.saver, self.inbox = agent_of, InMemorySaver(), Inbox()
        self.paid: list[str] = []
        self.tokens: list[str] = []
        self.process(*steps)

    def process(self, *steps: Any) -> None:
        """Begin a new process."""
        pay = scripted_tool("pay", lambda a: self._pays(a["q"]), args={"q": str})
        wire = scripted_tool("wire", self._wires, args={"q": str})
        bank = scripted_tool(
            "bank", lambda a: self._starts(a["token"]), args={"q": str, "token": str}
        )
        look = scripted_tool("look", lambda a: f"saw {a['q']}", args={"q": str}, latency=2.0)
        self.model = ScriptedChatModel(script(*steps, ever="all said"))
        self.agent = self.agent_of(
            self.model,
            [pay, wire, bank, look],
            specs=SPECS,
            checkpointer=self.saver,
            ports=Ports(inbox=self.inbox),
        )

    def _pays(self, what: str) -> str:
        self.paid.append(what)
        return f"paid {what}"

    def _wires(self, arguments: Any) -> str:
        interrupt(f"wire {arguments['q']}?")
        return self._pays(arguments["q"])

    def _starts(self, token: str) -> str:
        self.tokens.append(token)
        return "started"

    async def with_the_answer(self, answer: Any) -> Outcome:
        """Answer and say something in one command."""
        return await self.agent.go(
            Command(resume=answer, update={"messages": [HumanMessage(content=WORD)]}), "t"
        )

    async def before_the_answer(self, answer: Any) -> Outcome:
        """Put the message into the state, then answer."""
        await self.agent.graph.aupdate_state(PLACE, {"messages": [HumanMessage(content=WORD)]})
        return await self.agent.resume(answer, "t")


YES = True
Way = Callable[[Office, Any], Awaitable[Outcome]]
WAYS: list[Way] = [Office.with_the_answer, Office.before_the_answer]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize(
    ("answer", "paid"), [(True, ["x", "y"]), (False, []), ({"pay#2": True}, ["y"])], ids=str
)
def test_an_answer_stands_and_the_message_is_told_behind_the_results(
    agent_of: AgentOf, way: Way, restarted: bool, answer: Any, paid: list[str]
) -> None:
    """The answer counts although a message came with it; the message is shown after the results."""
    office = Office(agent_of, calls(("pay", {"q": "x"}), ("look", {"q": "z"}), ("pay", {"q": "y"})))

    async def main() -> Outcome:
        assert (await office.agent.say("Pay x and y.", thread="t")).interrupts
        if restarted:
            office.process()
        return await way(office, answer)

    outcome = run_virtual(main()).result
    assert sorted(office.paid) == paid
    assert not outcome.interrupts
    assert outcome.report["reason"] == "complete"
    assert outcome.report["open_calls"] == []
    (request,) = office.model.requests[-1:]
    assert request.messages[-1].content == WORD
    assert [message.type for message in outcome.messages] == [
        "human",
        "ai",
        "tool",
        "tool",
        "tool",
        "human",
        "ai",
    ]
    check_history_all(
        outcome.messages[:-1], providers=[Provider.OPENAI, Provider.ANTHROPIC, Provider.GEMINI]
    )


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("restarted", [False, True])
def test_a_message_for_a_parked_run(agent_of: AgentOf, way: Way, restarted: bool) -> None:
    """A message for a parked run is shown with the delivery; the resume value only wakes it."""
    office = Office(agent_of, calls(("bank", {"q": "x"})))

    async def main() -> Outcome:
        assert (await office.agent.say("Ask the bank.", thread="t")).interrupts
        if not restarted:
            office.inbox.deliver(office.tokens[0], "granted")
            return await way(office, "look")
        office.process()
        return await way(office, "look")

    outcome = run_virtual(main()).result
    if not restarted:
        assert "granted" in outcome.text
        assert outcome.report["reason"] == "complete"
        assert WORD in [message.content for message in office.model.requests[-1].messages]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_model_may_use_what_was_said(agent_of: AgentOf, way: Way) -> None:
    """A value that stands in the added message is one that the user gave."""
    office = Office(agent_of, calls(("pay", {"q": "x"})), calls(("look", {"q": "Bob"})))

    async def main() -> Outcome:
        await office.agent.say("Pay x.", thread="t")
        return await way(office, YES)

    assert "saw Bob" in run_virtual(main()).result.text


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_between_two_tasks(agent_of: AgentOf, way: Way) -> None:
    """The message is shown once placeholders are answered and another task's question is asked."""
    steps = calls(("pay", {"q": "x", "task_id": "a"}), ("look", {"q": "z", "task_id": "b"}))
    office = Office(agent_of, steps, calls(("pay", {"q": "y", "task_id": "b"})))

    async def main() -> Outcome:
        tasks = [{"id": "a", "goal": "Pay x."}, {"id": "b", "goal": "Look z up, and pay y."}]
        outcome = await office.agent.say(tasks=tasks, thread="t")
        while outcome.interrupts:
            outcome = await way(office, YES)
        return outcome

    outcome = run_virtual(main()).result
    assert sorted(office.paid) == ["x", "y"]
    assert outcome.report["reason"] == "complete"


def test_a_cancellation_alone_after_a_message(agent_of: AgentOf) -> None:
    """The message is not news of the input that cancels: the question of another task stays."""
    office = Office(agent_of, calls(("wire", {"q": "x", "task_id": "a"})))

    async def main() -> list[Outcome]:
        tasks = [{"id": "a", "goal": "Pay x."}, {"id": "b", "goal": "Look z up."}]
        await office.agent.say(tasks=tasks, thread="t")
        found = [await office.with_the_answer(YES)]
        found.append(await office.agent.go({"messages": [], "cancel": ["b"]}, "t"))
        return [*found, await office.agent.resume("sure", "t")]

    asked, again, outcome = run_virtual(main()).result
    assert asked.interrupts == again.interrupts == ["wire x?"]
    assert office.paid == ["x"]
    assert outcome.states("a") == {"done": 1}


def test_a_message_in_the_state_and_a_new_one(agent_of: AgentOf) -> None:
    """A new input withdraws the call, as always; both messages are shown after the answers."""
    office = Office(agent_of, calls(("pay", {"q": "x"})))

    async def main() -> Outcome:
        await office.agent.say("Pay x.", thread="t")
        await office.agent.graph.aupdate_state(PLACE, {"messages": [HumanMessage(content=WORD)]})
        return await office.agent.say("Stop.", thread="t")

    outcome = run_virtual(main()).result
    assert office.paid == []
    assert "pay#1 was not run: the user sent a new message" in outcome.text


def test_an_updated_state_without_a_rest_is_left_alone(agent_of: AgentOf) -> None:
    """Between two runs an update changes the state, and nothing is run."""
    office = Office(agent_of, "hello")

    async def main() -> Any:
        await office.agent.say("Hello.", thread="t")
        await office.agent.graph.aupdate_state(PLACE, {"messages": [HumanMessage(content=WORD)]})
        return await office.agent.graph.aget_state(PLACE)

    state = run_virtual(main()).result
    assert state.values["messages"][-1].content == WORD
