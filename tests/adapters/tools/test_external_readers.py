"""External tools that only read: what comes from outside is kept for them as for those with effects."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import CallState, Inbox, Mode, Ports, ToolSpec, UnknownTokenError
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, pure, script
from tests.adapters.processes import Machine

ASK = calls(("survey", {"q": "x"}))
READS = [pure("survey", mode=Mode.EXTERNAL, token_argument="token")]


@pytest.fixture
def machine(agent_of: AgentOf, tmp_path: Path) -> Iterator[Machine]:
    """A machine with a disk."""
    made = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    yield made
    made.close()


def survey(tokens: list[str]) -> Any:
    """A tool that asks an office outside."""

    def start(arguments: Any) -> str:
        tokens.append(arguments["token"])
        return "started"

    return scripted_tool("survey", start, args={"q": str, "token": str})


async def test_a_delivery_is_taken_with_a_journal(machine: Machine) -> None:
    """Its token is good, once, although a call without an effect need not be known to have begun."""
    tokens: list[str] = []
    process = machine.process([survey(tokens)], READS, ASK)
    await process.say("Survey x.")
    process.inbox.deliver(tokens[0], "12 people")
    with pytest.raises(UnknownTokenError):
        process.inbox.deliver(tokens[0], "13 people")
    outcome = await process.agent.resume("look", "t")
    assert "12 people" in outcome.text
    assert outcome.states("main") == {"done": 1}


async def test_a_delivery_reaches_the_next_process(machine: Machine) -> None:
    """The work is not started again, and what came meanwhile is its result."""
    tokens: list[str] = []
    first = machine.process([survey(tokens)], READS, ASK)
    await first.say("Survey x.")
    await first.die()
    second = machine.process([survey(tokens)], READS)
    parked = await second.agent.go(None, "t")
    assert parked.interrupts[0]["type"] == "parked"
    second.inbox.deliver(tokens[0], "12 people")
    outcome = await second.agent.resume("look", "t")
    assert len(tokens) == 1
    assert "12 people" in outcome.text
    assert [entry.state for entry in second.journal.entries()] == [CallState.DONE]


async def test_a_thread_is_not_parked_for_nothing(agent_of: AgentOf) -> None:
    """Without a journal the delivery of a process that is gone reaches no later one; the call is in doubt then."""
    tokens: list[str] = []
    saver = InMemorySaver()
    specs = [ToolSpec(name="survey", mode=Mode.EXTERNAL, token_argument="token")]

    def process(number: int, *steps: Any) -> Any:
        model = ScriptedChatModel(script(*steps), id_prefix=f"p{number}")
        ports = Ports(inbox=Inbox())
        return agent_of(model, [survey(tokens)], specs=specs, checkpointer=saver, ports=ports)

    await process(1, ASK).say("Have x surveyed.", thread="t")
    outcome = await process(2).go(None, "t")
    assert outcome.interrupts == []
    assert outcome.report["in_doubt"] == ["main/survey#1"]
