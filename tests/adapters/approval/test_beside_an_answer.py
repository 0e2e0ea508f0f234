"""Input that comes beside an answer: tasks and unreadable commands are refused.

A resume continues the tasks that exist, so that new tasks cannot come with it.
"""

import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import CallerError, ToolSpec
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, AgentOf, Frontend, Outcome, script

TASKS = {"tasks": [{"id": "b", "goal": "Look up y."}]}
UPDATES: dict[str, Any] = {
    "a dict": TASKS,
    "pairs": [("tasks", TASKS["tasks"])],
    "with more": {**TASKS, "cancel": ["a"]},
}
THREAD: Any = {"configurable": {"thread_id": "t"}}
BUILT = pytest.mark.parametrize("frontend", [Frontend.GRAPH], ids=["build_agent"])


def _agent(agent_of: AgentOf) -> Agent:
    pay = scripted_tool("pay", lambda _: "paid")
    model = ScriptedChatModel(script(calls(("pay", {}))))
    made: Agent = agent_of(
        model, [pay], specs=[ToolSpec(name="pay", approval=True)], checkpointer=InMemorySaver()
    )
    return made


async def _drained(stream: AsyncIterator[Any]) -> None:
    async for _ in stream:
        pass


@BUILT
@pytest.mark.parametrize("update", UPDATES.values(), ids=UPDATES)
@pytest.mark.parametrize("resume", [True, None], ids=["with an answer", "without one"])
def test_they_are_refused_before_the_answer_is_taken(
    agent_of: AgentOf, update: Any, resume: Any
) -> None:
    """The question stays open, and is answered by the next resume; then the tasks can be given."""
    agent = _agent(agent_of)

    async def main() -> Outcome:
        await agent.say(tasks=[{"id": "a", "goal": "Pay x."}], thread="t")
        command: Command[Any] = Command(resume=resume, update=update)
        with pytest.raises(CallerError, match=r'"tasks".*as an input of their own'):
            await agent.go(command, "t")
        with pytest.raises(CallerError, match='"tasks"'):
            await _drained(agent.graph.astream(command, THREAD))
        with pytest.raises(CallerError, match='"tasks"'):
            await _drained(agent.graph.astream_events(command, THREAD, version="v2"))
        paid = await agent.resume(value=True, thread="t")
        assert paid.states("a") == {"done": 1}
        return await agent.say(tasks=TASKS["tasks"], thread="t")

    assert [task["id"] for task in run_virtual(main()).result.report["tasks"]] == ["a", "b"]


@BUILT
def test_the_sync_entries_refuse_them_as_well(agent_of: AgentOf) -> None:
    """``invoke`` and ``stream`` refuse new tasks beside an answer as well."""
    agent = _agent(agent_of)
    agent.run_sync("Pay x.", thread="t")
    command: Command[Any] = Command(resume=True, update=TASKS)
    with pytest.raises(CallerError, match='"tasks"'):
        agent.go_sync(command, "t")
    with pytest.raises(CallerError, match='"tasks"'):
        list(agent.graph.stream(command, THREAD))
    assert "paid" in agent.go_sync(Command(resume=True), "t").text


@pytest.mark.parametrize("frontend", [Frontend.MIDDLEWARE], ids=["create_agent"])
def test_in_create_agent_they_are_logged(
    agent_of: AgentOf, caplog: pytest.LogCaptureFixture
) -> None:
    """LangGraph has taken the answer before the guard is asked, so it counts; the log tells of the tasks."""
    agent = _agent(agent_of)

    async def main() -> Outcome:
        await agent.say("Pay x.", thread="t")
        with caplog.at_level(logging.WARNING, logger="asyncguard"):
            return await agent.go(Command(resume=True, update=TASKS), "t")

    outcome = run_virtual(main()).result
    assert "paid" in outcome.text
    assert "as an input of their own" in caplog.text


@BUILT
@pytest.mark.parametrize(
    "command",
    [
        Command(resume=True, update={"messages": 5}),
        Command(resume=True, update={"messages": [("nobody", "Thanks.")]}),
        Command(resume={1: True}),
        Command(resume={("main", "pay#1"): True}),
        Command(resume=None),
        Command(),
    ],
    ids=["no messages", "no role", "a number as key", "a tuple as key", "no answer", "nothing"],
)
def test_a_command_that_cannot_be_read_leaves_the_question_open(
    agent_of: AgentOf, command: Command[Any]
) -> None:
    """Taken by LangGraph it would be read again in each later run, and raise for ever."""
    agent = _agent(agent_of)

    async def main() -> Outcome:
        await agent.say("Pay x.", thread="t")
        with pytest.raises(CallerError):
            await agent.go(command, "t")
        return await agent.resume(value=True, thread="t")

    assert "paid" in run_virtual(main()).result.text


@BUILT
def test_other_updates_pass(agent_of: AgentOf) -> None:
    """Messages and tasks to cancel are accepted beside an answer."""
    agent = _agent(agent_of)

    async def main() -> Outcome:
        await agent.say("Pay x.", thread="t")
        return await agent.go(
            Command(resume=True, update={"messages": [("user", "Thanks.")], "tasks": []}), "t"
        )

    assert "Thanks." in run_virtual(main()).result.text
