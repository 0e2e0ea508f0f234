"""A call in doubt, and a user who says "try again": a person decides about an equal call, and the model never does."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import CallState, GuardConfig, Ports, ToolFault, ToolSpec, open_journal
from asyncguard.core import events as ev
from asyncguard.journal.port import Journal
from asyncguard.runtime.engine import Engine
from asyncguard.runtime.proposals import ParsedCall, propose_calls, reject_held_calls
from asyncguard.runtime.session.session import Session
from asyncguard.testing import ScriptedChatModel, Step, calls, scripted_tool
from tests.adapters.harness import Agent, AgentOf, Frontend, Outcome, build, script
from tests.adapters.processes import Machine

PAY = calls(("pay", {"q": "x"}))
YES, NO = {"main/pay#2": True}, {"main/pay#2": False}


class Bank:
    """A tool that declares nothing; its first call raises."""

    def __init__(self, error: Exception | None = None) -> None:
        self.entered = 0
        self.error = error or RuntimeError("the line is cut")
        self.tool = scripted_tool("pay", self._pay, args={"q": str})

    def _pay(self, _: Any) -> str:
        self.entered += 1
        if self.entered == 1:
            raise self.error
        return "paid"


@pytest.fixture(params=[True, False], ids=["journal", "no journal"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal | None]:
    """With a journal and without."""
    made = open_journal(tmp_path / "effects.db") if request.param else None
    yield made
    if made is not None:
        made.close()


def made(
    agent_of: AgentOf, bank: Bank, journal: Journal | None, *steps: Step, **options: Any
) -> Agent:
    """An agent with one tool that declares nothing."""
    model = ScriptedChatModel(script(*steps), id_prefix="m")
    given = {"checkpointer": InMemorySaver(), "config": GuardConfig(), **options}
    ports, config = given.pop("ports", Ports(journal=journal)), given.pop("config")
    # The steps of the model are in order, so a result has to be there before the next one on a busy machine, too.
    config = replace(config, timing=replace(config.timing, grace=60.0))
    return agent_of(model, [bank.tool], ports=ports, config=config, **given)


async def in_doubt(agent: Agent) -> Outcome:
    """Return the outcome of a first run: the tool raises, and an equal call is refused."""
    outcome = await agent.say("Pay x.", thread="t")
    assert outcome.report["in_doubt"] == ["main/pay#1"]
    assert outcome.interrupts == []
    return outcome


async def test_within_a_run_an_equal_call_is_refused(
    agent_of: AgentOf, journal: Journal | None
) -> None:
    """The model alone cannot have it made again, and no person is troubled."""
    bank = Bank()
    agent = made(agent_of, bank, journal, PAY, PAY, "I cannot tell.")
    outcome = await in_doubt(agent)
    assert outcome.states("main") == {"in_doubt": 1, "rejected": 1}
    assert bank.entered == 1


async def test_a_person_allows_what_a_sibling_had_begun(
    agent_of: AgentOf, journal: Journal | None
) -> None:
    """The doubt is about the sibling's attempt; the model calls the sibling itself after a new message."""
    bank, down = Bank(), ToolFault("down", started=False, transient=False)
    first = scripted_tool("first", [down], args={"q": str})
    model = ScriptedChatModel(script(calls(("first", {"q": "x"})), "Unknown.", PAY), id_prefix="m")
    agent = agent_of(
        model,
        [first, bank.tool],
        specs=[ToolSpec(name="first", fallbacks=("pay",))],
        checkpointer=InMemorySaver(),
        ports=Ports(journal=journal),
    )
    outcome = await agent.say("Pay x.", thread="t")
    assert outcome.report["in_doubt"] == ["main/first#1"]
    asked = await agent.say("Try again.", thread="t")
    (question,) = asked.interrupts
    assert "first#1 did the same and its outcome is unknown" in question["calls"][0]["reason"]
    final = await agent.resume({"main/pay#1": True}, thread="t")
    assert bank.entered == 2
    assert final.report["in_doubt"] == ["main/first#1"]


async def test_after_a_new_message_a_person_is_asked_and_allows_it(
    agent_of: AgentOf, journal: Journal | None
) -> None:
    """The question says what is unknown; allowed, the call is made, and the first one stays in doubt."""
    bank = Bank()
    agent = made(agent_of, bank, journal, PAY, "Unknown.", PAY, "Paid.", PAY)
    await in_doubt(agent)
    asked = await agent.say("Try again.", thread="t")
    (question,) = asked.interrupts
    assert question["type"] == "approval"
    assert "pay#1" in question["calls"][0]["reason"]
    assert "outcome is unknown" in question["calls"][0]["reason"]
    outcome = await agent.resume(YES, "t")
    assert bank.entered == 2
    assert outcome.states("main") == {"in_doubt": 1, "done": 1}
    assert (await agent.say("And once more.", thread="t")).interrupts, "one word allows one call"
    assert bank.entered == 2


async def test_a_person_who_refuses_is_heard(agent_of: AgentOf, journal: Journal | None) -> None:
    """A refusal runs no call, and the model is shown it."""
    bank = Bank()
    agent = made(agent_of, bank, journal, PAY, "Unknown.", PAY, "Then not.")
    await in_doubt(agent)
    await agent.say("Try again.", thread="t")
    outcome = await agent.resume(NO, "t")
    assert bank.entered == 1
    assert "A person refused the call" in outcome.text


async def test_what_is_known_not_to_have_begun_is_simply_allowed(
    agent_of: AgentOf, journal: Journal | None
) -> None:
    """No person is asked about an equal call if the first call is known not to have begun."""
    bank = Bank(ToolFault("closed", started=False))
    agent = made(agent_of, bank, journal, PAY, "It is closed.", PAY, "Paid.")
    outcome = await agent.say("Pay x.", thread="t")
    assert outcome.report["in_doubt"] == []
    outcome = await agent.say("Try again.", thread="t")
    assert outcome.interrupts == []
    assert bank.entered == 2


def test_where_nobody_can_be_asked_the_reason_says_how_to_go_on() -> None:
    """A call that is held for a doubt is refused with what the user can do."""
    session = Session(Engine(GuardConfig(), {"pay": ToolSpec(name="pay")}, Ports()), "t")
    session.record.run_started("r")
    session.record.task_opened("main", goal="Pay x.")
    propose_calls(
        session, "m", [ParsedCall(tool="pay", arguments={"q": "x"}, call_id="c", task="main")]
    )
    (call,) = session.ledger.calls()
    session.record.started(call.key, attempt=1, tool="pay", epoch="e")
    session.record.retired(call.key, outcome=ev.Outcome.IN_DOUBT, content="")
    session.record.delivered([call.key])
    session.record.run_started("r2")
    propose_calls(
        session, "m2", [ParsedCall(tool="pay", arguments={"q": "x"}, call_id="d", task="main")]
    )
    reject_held_calls(session)
    _, refused = session.ledger.calls()
    assert refused.state is CallState.REJECTED
    assert "outcome is unknown" in refused.reason
    assert "with a checkpointer and a thread_id" in refused.reason


@pytest.mark.parametrize("said", ["Try again.", None], ids=["message", "cancel alone"])
async def test_only_a_message_of_the_user_counts(frontend: Frontend, said: str | None) -> None:
    """An input that only cancels a task does not count as a message about the doubt."""
    bank = Bank()
    tasks = [{"id": "a", "goal": "Pay x."}, {"id": "b", "goal": "Rest."}]
    pay = calls(("pay", {"q": "x", "task_id": "a"}))
    agent = made(
        partial(build, frontend), bank, None, pay, "Unknown.", "Unknown.", pay, "Done.", "Done."
    )
    await agent.go(agent.input(None, tasks), "t")
    outcome = await agent.go({**agent.input(said, None), "cancel": ["b"]}, "t")
    assert bool(outcome.interrupts) == (said is not None)
    assert bank.entered == 1


async def test_in_shadow_mode_nobody_is_asked(agent_of: AgentOf, journal: Journal | None) -> None:
    """The call is run as proposed once the user has spoken; that a person would have been asked is an event."""
    bank, told = Bank(), list[Any]()
    ports = Ports(journal=journal, observers=[lambda details: told.append(details.event)])
    agent = made(
        agent_of, bank, journal, PAY, "Unknown.", PAY, config=GuardConfig(shadow=True), ports=ports
    )
    await in_doubt(agent)
    outcome = await agent.say("Try again.", thread="t")
    assert outcome.interrupts == []
    assert bank.entered == 2
    objections = [
        event.objection
        for event in told
        if isinstance(event, ev.CallObjected) and event.guard == "duplicate"
    ]
    assert objections == [ev.Objection.HOLD]


async def test_the_next_process_asks_too(agent_of: AgentOf, tmp_path: Path) -> None:
    """The next process reads from the thread that the user has spoken since the doubt."""
    saver, bank = InMemorySaver(), Bank()
    await in_doubt(made(agent_of, bank, None, PAY, "Unknown.", checkpointer=saver))
    model = ScriptedChatModel(script(PAY, "Paid."), id_prefix="later")
    later = agent_of(model, [bank.tool], checkpointer=saver)
    assert (await later.say("Try again.", thread="t")).interrupts
    assert "paid" in (await later.resume(YES, "t")).text
    assert bank.entered == 2


async def test_a_lost_attempt_is_told_before_the_model_answers_a_message(
    agent_of: AgentOf, tmp_path: Path
) -> None:
    """The process died during the call: the next turn is told the doubt, and not that the call is about to run."""
    machine, began = Machine(agent_of=agent_of, path=tmp_path / "effects.db"), asyncio.Event()

    async def pay(_: Any) -> str:
        began.set()
        return await asyncio.Future()

    tools = [scripted_tool("pay", pay, args={"q": str})]
    first = machine.process(tools, [], PAY)
    first.begin("Pay x.", durability="sync")
    await began.wait()
    await first.die()
    second = machine.process(tools, [], "It is unknown.")
    outcome = await second.say("What of it?", durability="sync")
    (asked,) = second.agent.model.requests
    assert "It is not known whether pay#1 took effect" in str(asked.messages)
    assert outcome.report["turns"] == 1
    assert outcome.report["in_doubt"] == ["main/pay#1"]
    machine.close()
