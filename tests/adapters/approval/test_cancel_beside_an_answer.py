"""A cancellation that comes with the answer to a question overrides the answer and nothing else."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import Inbox, Mode, Ports, ToolSpec
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, script

TASKS = [{"id": "a", "goal": "Pay x."}, {"id": "b", "goal": "Pay y."}]
SPECS = [
    ToolSpec(name="pay", approval=True, reads=(), writes=()),
    ToolSpec(name="bank", mode=Mode.EXTERNAL, token_argument="token", reads=(), writes=()),
]
PAY = calls(("pay", {"q": "x", "task_id": "a"}), ("pay", {"q": "y", "task_id": "b"}))
POST = calls(("bank", {"q": "x", "task_id": "a"}), ("bank", {"q": "y", "task_id": "b"}))


class Office:
    """Payments that a person approves, and a bank that answers by post."""

    def __init__(self, agent_of: AgentOf, step: Any) -> None:
        self.inbox = Inbox()
        self.paid: list[str] = []
        self.tokens: dict[str, str] = {}
        pay = scripted_tool("pay", self._pays, args={"q": str})
        bank = scripted_tool("bank", self._starts, args={"q": str, "token": str})
        model = ScriptedChatModel(script(step, ever="all said"))
        ports = Ports(inbox=self.inbox)
        self.agent = agent_of(
            model, [pay, bank], specs=SPECS, checkpointer=InMemorySaver(), ports=ports
        )

    def _pays(self, arguments: Any) -> str:
        self.paid.append(arguments["q"])
        return f"paid {arguments['q']}"

    def _starts(self, arguments: Any) -> str:
        self.tokens[arguments["q"]] = arguments["token"]
        return "started"

    async def answer(self, answer: Any, *cancelled: Any) -> Outcome:
        """Answer and cancel in one command."""
        return await self.agent.go(Command(resume=answer, update={"cancel": list(cancelled)}), "t")

    async def cancel(self, *cancelled: Any) -> Outcome:
        """Cancel by a command that answers nothing."""
        return await self.agent.go(Command(update={"cancel": list(cancelled)}), "t")


YES = True
STATES = {"a": "stopped", "b": "closed"}


@pytest.mark.parametrize("answer", [YES, {"a/pay#1": YES, "b/pay#1": YES}], ids=["all", "each"])
def test_an_approval_does_not_run_what_is_cancelled(agent_of: AgentOf, answer: Any) -> None:
    """The cancelled task stops without its payment; the other's is made."""
    office = Office(agent_of, PAY)

    async def main() -> Outcome:
        await office.agent.say(tasks=TASKS, thread="t")
        return await office.answer(answer, "a")

    outcome = run_virtual(main()).result
    assert office.paid == ["y"]
    assert {task["id"]: task["state"] for task in outcome.report["tasks"]} == {
        "a": "stopped",
        "b": "closed",
    }
    assert "the user cancelled the task" in outcome.text


def test_a_parked_run_takes_it_with_the_word_that_wakes(agent_of: AgentOf) -> None:
    """The cancelled task's external call is in doubt; the other one is waited for, alone."""
    office = Office(agent_of, POST)

    async def main() -> Outcome:
        await office.agent.say(tasks=TASKS, thread="t")
        parked = await office.answer("look", "a")
        assert parked.interrupts[0]["calls"] == [{"task": "b", "call": "bank#1"}]
        office.inbox.deliver(office.tokens["y"], "granted")
        return await office.agent.resume("look", "t")

    outcome = run_virtual(main()).result
    assert outcome.report["in_doubt"] == ["a/bank#1"]
    assert outcome.states("b") == {"done": 1}


@pytest.mark.parametrize("name", ["zzz", 5], ids=["unknown", "no id"])
def test_with_a_wrong_one_the_answer_refuses(agent_of: AgentOf, name: Any) -> None:
    """A wrong task name refuses the answer, as it may mean another task; the thread can be used."""
    office = Office(agent_of, PAY)

    async def main() -> Outcome:
        await office.agent.say(tasks=TASKS, thread="t")
        refused = await office.answer(YES, name)
        assert (
            "to cancel; the tasks are: a, b" in refused.text or '"cancel" takes ids' in refused.text
        )
        return await office.agent.say("And?", thread="t")

    outcome = run_virtual(main()).result
    assert office.paid == []
    assert outcome.states("a") == outcome.states("b") == {"rejected": 1}


def test_a_wrong_one_does_not_wake_a_parked_run_for_ever(agent_of: AgentOf) -> None:
    """The run parks as before, and takes its delivery."""
    office = Office(agent_of, POST)

    async def main() -> Outcome:
        await office.agent.say(tasks=TASKS, thread="t")
        parked = await office.answer("look", "zzz")
        assert len(parked.interrupts[0]["calls"]) == 2
        for token in office.tokens.values():
            office.inbox.deliver(token, "granted")
        return await office.agent.resume("look", "t")

    outcome = run_virtual(main()).result
    assert outcome.states("a") == outcome.states("b") == {"done": 1}


@pytest.mark.parametrize("step", [PAY, POST], ids=["a question", "a parked run"])
def test_words_beside_the_cancellation_of_every_task_are_heard(
    agent_of: AgentOf, step: Any
) -> None:
    """The run does not end by the stop of its tasks: the model answers the user."""
    office = Office(agent_of, step)

    async def main() -> Outcome:
        await office.agent.say(tasks=TASKS, thread="t")
        update = {"cancel": ["a", "b"], "messages": [("user", "Tell me a joke instead.")]}
        return await office.agent.go(Command(resume=YES, update=update), "t")

    outcome = run_virtual(main()).result
    assert office.paid == []
    assert outcome.last == "all said"
    request = office.agent.model.requests[-1].messages
    assert "Tell me a joke instead." in [message.text for message in request]
    assert outcome.report["reason"] == "complete"
    assert {task["id"]: task["state"] for task in outcome.report["tasks"]} == {
        "a": "stopped",
        "b": "stopped",
        "main": "closed",
    }


def test_alone_it_leaves_the_question_about_the_other_task(agent_of: AgentOf) -> None:
    """Command(update=...) stops the task at once, and the run asks about what is left."""
    office = Office(agent_of, PAY)

    async def main() -> Outcome:
        await office.agent.say(tasks=TASKS, thread="t")
        asked = await office.cancel("a")
        assert [each["key"] for each in asked.interrupts[0]["calls"]] == ["b/pay#1"]
        return await office.agent.go(Command(resume=YES), "t")

    outcome = run_virtual(main()).result
    assert office.paid == ["y"]
    assert {task["id"]: task["state"] for task in outcome.report["tasks"]} == STATES


def test_alone_it_leaves_a_parked_run_with_the_other_task(agent_of: AgentOf) -> None:
    """It parks for the other call; if none is left, it goes on."""
    office = Office(agent_of, POST)

    async def main() -> Outcome:
        await office.agent.say(tasks=TASKS, thread="t")
        parked = await office.cancel("a")
        assert parked.interrupts[0]["calls"] == [{"task": "b", "call": "bank#1"}]
        return await office.cancel("b")

    outcome = run_virtual(main()).result
    assert outcome.report["in_doubt"] == ["a/bank#1", "b/bank#1"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("step", [PAY, POST], ids=["asked", "parked"])
@pytest.mark.parametrize("names", [("a", "a"), ("zzz", "a"), ("a", "zzz")], ids="-".join)
@pytest.mark.parametrize("answered", [True, False])
def test_one_after_another(
    agent_of: AgentOf, step: Any, names: tuple[str, str], answered: bool
) -> None:
    """The same once more, or after a wrong one: the thread can be used."""
    office = Office(agent_of, step)

    async def main() -> Outcome:
        await office.agent.say(tasks=TASKS, thread="t")
        for name in names:
            await (office.answer(YES, name) if answered and step is POST else office.cancel(name))
        stopped = await office.answer(YES, "a")
        assert "'a'" not in str([item["calls"] for item in stopped.interrupts])
        return await office.agent.say("And?", thread="t")

    outcome = run_virtual(main()).result
    assert "x" not in office.paid
    assert outcome.text


@pytest.mark.parametrize("wrong", [["zzz"], ["a", "zzz"], [5]], ids=str)
def test_a_wrong_one_alone_does_not_refuse_a_later_answer(
    agent_of: AgentOf, wrong: list[Any]
) -> None:
    """LangGraph keeps it until the next step is stored; the person's yes counts all the same."""
    office = Office(agent_of, PAY)

    async def main() -> Outcome:
        await office.agent.say(tasks=TASKS, thread="t")
        asked = await office.cancel(*wrong)
        assert len(asked.interrupts[0]["calls"]) == 2
        return await office.agent.go(Command(resume=YES), "t")

    outcome = run_virtual(main()).result
    assert office.paid == (["y"] if "a" in wrong else ["x", "y"])
    assert outcome.report["reason"] == "complete"
