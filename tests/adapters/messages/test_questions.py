"""Questions to the user: the run rests with one that a user interface can show, and goes on with the reply."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import GuardConfig, UIEvent
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import Agent, AgentOf, Outcome, script

ASKED = "Which one, the Mira or the Roma?"


def hotel() -> Any:
    """A booking."""
    return scripted_tool("book", lambda a: f"booked {a['id']}", args={"id": str})


def agent(agent_of: AgentOf, *steps: Any, **options: Any) -> Agent:
    """An agent that books."""
    model = ScriptedChatModel(script(*steps))
    return agent_of(model, [hotel()], checkpointer=InMemorySaver(), **options)


def marker(outcome: Outcome) -> dict[str, Any] | None:
    """The marker of the last message."""
    data: dict[str, Any] | None = outcome.messages[-1].additional_kwargs.get("lc_data")
    return data


def test_a_question_after_a_refusal_is_marked_and_reported(agent_of: AgentOf) -> None:
    """The message keeps its text and place; the report names the task that waits."""
    made = agent(agent_of, calls(("book", {"id": "<hotel_id>"})), ASKED)
    outcome = made.run("Book a hotel.", thread="t")
    assert outcome.last == ASKED
    assert marker(outcome) == {"kind": "question", "tasks": ["main"]}
    assert outcome.report["waits_for_user"] == ["main"]
    assert outcome.report["reason"] == "complete"
    assert len([each for each in outcome.messages if each.type == "ai"]) == 2


def test_the_next_run_goes_on_with_the_reply(agent_of: AgentOf) -> None:
    """The answer is told to the model after its question, and nothing waits any more."""
    made = agent(agent_of, ASKED, calls(("book", {"id": "Roma"})), "The Roma is booked.")
    made.run("Book a hotel.", thread="t")
    outcome = made.run("The Roma.", thread="t")
    assert [each.text for each in made.model.requests[1].messages][-2:] == [ASKED, "The Roma."]
    assert outcome.last == "The Roma is booked."
    assert marker(outcome) is None
    assert "waits_for_user" not in outcome.report
    made.check_histories()


@pytest.mark.parametrize(
    "said",
    ["Anything else?", "Is that what you wanted? If not, say so."],
)
def test_a_question_after_finished_work_holds_up_nothing(said: str, agent_of: AgentOf) -> None:
    """Politeness does not count as a clarification."""
    outcome = agent(agent_of, calls(("book", {"id": "Roma"})), said).run(
        "Book the Roma.", thread="t"
    )
    assert marker(outcome) is None
    assert "waits_for_user" not in outcome.report


@pytest.mark.parametrize("said", ["It is booked.", "Why not? I did it.\n\nIt is booked.", "a?b"])
def test_a_text_without_a_question_at_its_end_is_an_answer(said: str, agent_of: AgentOf) -> None:
    """A question mark within a word, or in an earlier paragraph, asks the user nothing."""
    assert marker(agent(agent_of, said).run("Book a hotel.", thread="t")) is None


@pytest.mark.parametrize(
    "said", [ASKED, "**Which one?**", "Which one? I need it.", "\u54ea\u4e00\u4e2a\uff1f"]
)
def test_questions_in_several_forms(said: str, agent_of: AgentOf) -> None:
    """Also with emphasis, with a reason after it, and in another script."""
    outcome = agent(agent_of, said).run("Book a hotel.", thread="t")
    assert marker(outcome) == {"kind": "question", "tasks": ["main"]}


def test_the_task_that_waits_is_named_among_several(agent_of: AgentOf) -> None:
    """A task that is done is not."""
    tasks = [{"id": "a", "goal": "Book the Roma."}, {"id": "b", "goal": "Book a hotel."}]
    made = agent(
        agent_of,
        calls(("book", {"id": "Roma", "task_id": "a"}), ("book", {"id": "<id>", "task_id": "b"})),
        f"a is done. {ASKED}",
        f"a is done. {ASKED}",
    )
    outcome = made.run(tasks=tasks, thread="t")
    assert outcome.report["waits_for_user"] == ["b"]


def test_shadow_mode_marks_nothing(agent_of: AgentOf) -> None:
    """It changes no message of the agent."""
    outcome = agent(agent_of, ASKED, config=GuardConfig(shadow=True)).run("Book it.", thread="t")
    assert marker(outcome) is None


def test_the_stream_tells_of_the_question(agent_of: AgentOf) -> None:
    """The event names the message and the tasks."""
    made = agent(agent_of, ASKED)
    place = {"configurable": {"thread_id": "t"}}
    given = made.input("Book a hotel.", None)
    told: list[UIEvent] = list(made.graph.stream(given, place, stream_mode="custom"))
    events = [event for event in told if event["type"] == "asyncguard.question"]
    last = made.graph.get_state(place).values["messages"][-1]
    assert events == [
        {"type": "asyncguard.question", "version": 1, "message_id": last.id, "tasks": ["main"]}
    ]
