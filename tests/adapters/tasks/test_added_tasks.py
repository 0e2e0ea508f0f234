"""Tasks that are added to a thread which has tasks already."""

import asyncio
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, pure


def _agent(agent_of: AgentOf, *answers: Any) -> Any:
    look = scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str})
    return agent_of(
        ScriptedChatModel(answers), [look], specs=[pure("look")], checkpointer=InMemorySaver()
    )


def _two_runs(agent: Any, first: list[Any], second: list[Any]) -> Outcome:
    async def run() -> Outcome:
        await agent.say(tasks=first, thread="t")
        await asyncio.sleep(1)
        outcome: Outcome = await agent.say(tasks=second, thread="t")
        return outcome

    return run_virtual(run()).result


def test_a_single_added_task_is_told_with_its_id(agent_of: AgentOf) -> None:
    """Calls have to name their task from the second task on, so the model has to be told the new one's name."""
    agent = _agent(
        agent_of,
        calls(("look", {"q": "x"})),
        "a is done",
        calls(("look", {"q": "y", "task_id": "b"})),
        "b is done",
    )
    outcome = _two_runs(
        agent, [{"id": "a", "goal": "Look up x."}], [{"id": "b", "goal": "Look up y."}]
    )
    asked = agent.model.requests[2].messages[-1]
    assert "[b] Look up y." in str(asked.content)
    assert outcome.states("b") == {"done": 1}


def test_tasks_without_ids_are_numbered_on(agent_of: AgentOf) -> None:
    """A second caller's plain text never takes over the task of the first one."""
    agent = _agent(
        agent_of,
        calls(("look", {"q": "x"})),
        "the first is done",
        calls(("look", {"q": "y", "task_id": "task-2"})),
        "the second is done",
    )
    outcome = _two_runs(agent, ["Look up x."], ["Look up y."])
    assert [task["id"] for task in outcome.report["tasks"]] == ["task-1", "task-2"]
    assert outcome.states("task-2") == {"done": 1}


def test_an_id_given_again_with_another_goal_is_an_untouched_task(agent_of: AgentOf) -> None:
    """What was called for the former goal does not count, so the model is told to act on this one."""
    agent = _agent(
        agent_of,
        calls(("look", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"})),
        "both are done",
        "both are done",
        calls(("look", {"q": "z", "task_id": "a"})),
        "now it is done",
    )
    first = [{"id": "a", "goal": "Look up x."}, {"id": "b", "goal": "Look up y."}]
    outcome = _two_runs(agent, first, [{"id": "a", "goal": "Look up z."}])
    nudge = str(agent.model.requests[3].messages)
    assert "a: no tool was called for it" in nudge
    assert "b: no tool was called for it" not in nudge
    assert (outcome.states("a"), outcome.last) == ({"done": 1}, "now it is done")
    assert outcome.states("b") == {"done": 1}


def test_calls_for_a_former_goal_are_not_counted_for_the_new_one(agent_of: AgentOf) -> None:
    """The report says what was called for a task as it is, as the reminder does."""
    answers = [calls(("look", {"q": "x"})), "a is done", "a: no tool needed. All is said."]
    agent = _agent(agent_of, *answers)
    first, second = ([{"id": "a", "goal": f"Look up {q}."}] for q in "xy")
    assert _two_runs(agent, first, second).states("a") == {}


def test_tasks_given_again_as_they_were_go_on(agent_of: AgentOf) -> None:
    """A caller may repeat an input; what was found for the same goals still answers them."""
    agent = _agent(
        agent_of,
        calls(("look", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"})),
        "both are done",
        "both are done, as I said",
    )
    tasks = [{"id": "a", "goal": "Look up x."}, {"id": "b", "goal": "Look up y."}]
    outcome = _two_runs(agent, tasks, tasks)
    assert outcome.last == "both are done, as I said"
    assert len(agent.model.requests) == 3
