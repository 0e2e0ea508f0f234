"""The end of a run: not before the work is done, and always some time."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage

from asyncguard import GuardConfig, Limits, Mode, Timing
from asyncguard.adapters.messages.markers import is_ours
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, pure, script

TASKS = [{"id": "a", "goal": "Look up x."}, {"id": "b", "goal": "Look up y."}]
BOTH = calls(("look", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"}))


def look(latency: float = 0.0) -> Any:
    """A lookup."""
    return scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str}, latency=latency)


def test_all_done_with_pending_calls_is_interim_and_the_run_waits(agent_of: AgentOf) -> None:
    """The text is kept, the results arrive, and only then does the run end."""
    quick = scripted_tool("quick", lambda a: "quick", args={})
    model = ScriptedChatModel(
        script(
            calls(("look", {"q": "x", "task_id": "a"}), ("quick", {"task_id": "b"})),
            "b is done, a follows",
            ever="all done",
        )
    )
    outcome = agent_of(model, [look(9.0), quick], specs=[pure("look"), pure("quick")]).run(
        tasks=TASKS
    )
    assert "b is done, a follows" in [message.content for message in outcome.messages]
    assert "found x" in outcome.text
    assert outcome.elapsed == pytest.approx(9.0, abs=0.05)
    assert outcome.last == "all done"


@pytest.mark.parametrize("task_view", [True, False])
@pytest.mark.parametrize("several", [True, False])
def test_a_model_that_is_not_kept_waiting_has_a_history_that_providers_take(
    several: bool, task_view: bool, agent_of: AgentOf
) -> None:
    """Its turn after "I wait." comes at once, with calls or another text."""
    made = ("look", {"q": "x", **({"task_id": "a"} if several else {})})
    other = ("look", {"q": "y", **({"task_id": "a"} if several else {})})
    model = ScriptedChatModel(
        script(calls(made), "I wait.", calls(other), "I wait.", "I wait."), latency=0.1
    )
    agent = agent_of(
        model,
        [look(1.0)],
        specs=[pure("look", takes_from=(), mode=Mode.BACKGROUND)],
        config=GuardConfig(waiting=False, task_view=task_view),
    )
    agent.run("Look up x and y.", tasks=TASKS if several else TASKS[:1])
    assert len(model.requests) > 4
    agent.check_histories()


def test_a_premature_all_done_is_replaced_by_the_reason(agent_of: AgentOf) -> None:
    """The model does not find its own "all done" in the history, which would make it repeat itself."""
    model = ScriptedChatModel(
        script(
            calls(("look", {"q": "x", "task_id": "a"})),
            "all done at once",
            calls(("look", {"q": "y", "task_id": "b"})),
        )
    )
    outcome = agent_of(model, [look()], specs=[pure("look")]).run(tasks=TASKS)
    nudged = model.requests[2].messages
    assert "all done at once" not in str(
        [message.content for message in nudged if message.type == "ai"]
    )
    assert any("b: no tool was called" in str(message.content) for message in nudged)
    assert "all done at once" not in [
        message.content for message in outcome.messages if message.type == "ai"
    ]
    assert outcome.states("b") == {"done": 1}


def test_a_model_that_heeds_the_view_is_not_asked_about_a_task_without_tools(
    agent_of: AgentOf,
) -> None:
    """The task view says how a task that needs no tool is answered, and such an answer ends the run."""
    answer = "a: x was found.\nb: no tool needed. It is 42."
    model = ScriptedChatModel(script(calls(("look", {"q": "x", "task_id": "a"})), answer))
    outcome = agent_of(model, [look()], specs=[pure("look")]).run(tasks=TASKS)
    assert 'say "b: no tool needed"' in str(model.requests[1].messages[-1].content)
    assert len(model.requests) == 2
    assert outcome.last == answer
    assert outcome.report["reason"] == "complete"


def test_a_task_is_named_once_and_the_model_may_insist(agent_of: AgentOf) -> None:
    """A model that always says "all done" is told once, and then believed."""
    model = ScriptedChatModel(script(ever="all done"))
    outcome = agent_of(model, [look()]).run(tasks=TASKS)
    assert len(model.requests) == 2
    assert outcome.report["reason"] == "complete"
    assert outcome.last == "all done"


def test_the_report_counts_calls_and_turns(agent_of: AgentOf) -> None:
    """Per task its state and calls, and how the run ended."""
    outcome = agent_of(ScriptedChatModel(script(BOTH)), [look()], specs=[pure("look")]).run(
        tasks=TASKS
    )
    assert outcome.report == {
        "reason": "complete",
        "turns": 2,
        "tasks": [{"id": name, "state": "closed", "calls": {"done": 1}} for name in "ab"],
        "open_calls": [],
        "in_doubt": [],
    }


def test_the_report_names_a_call_by_its_task_and_label(agent_of: AgentOf) -> None:
    """Both tasks have a look#1; questions to a person name a call in this way, too."""

    def look(q: str) -> str:
        """Break off."""
        raise ConnectionError(q)

    outcome = agent_of(ScriptedChatModel(script(BOTH)), [look]).run(tasks=TASKS)
    assert sorted(outcome.report["in_doubt"]) == ["a/look#1", "b/look#1"]


STUBBORN: dict[str, Any] = {
    "rejected for ever": calls(("nothing", {"task_id": "a"})),
    "rejected for ever, without a task": calls(("nothing", {})),
    "rejected for ever, in numbers": calls(
        *[("nothing", {"task_id": "a"}), ("nothing", {"task_id": "b"})] * 3
    ),
    "the same call for ever": calls(("look", {"q": "x", "task_id": "a"})),
    "calls for ever": BOTH,
    "broken arguments for ever": AIMessage(
        content="",
        invalid_tool_calls=[
            {
                "name": "look",
                "args": "{",
                "id": "i1",
                "error": "broken",
                "type": "invalid_tool_call",
            }
        ],
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("answer", STUBBORN.values(), ids=STUBBORN.keys())
@pytest.mark.parametrize("tasks", [TASKS, None], ids=["two tasks", "messages"])
def test_no_model_however_stubborn_loops_for_ever(
    answer: Any, tasks: Any, agent_of: AgentOf
) -> None:
    """The run ends with a report, a last word, and a history that providers take."""
    limits = Limits(max_model_turns=30, max_rejections=5)
    model = ScriptedChatModel(script(ever=answer))
    outcome = agent_of(model, [look(1.0)], config=GuardConfig(limits=limits)).run(
        None if tasks else "Go.", tasks=tasks
    )
    assert len(model.requests) <= 30
    assert outcome.report["reason"] in ("max_model_turns", "tasks_stopped", "complete")
    assert outcome.messages[-1].type == "ai"


def test_the_limit_on_turns_ends_the_run_with_a_report(agent_of: AgentOf) -> None:
    """Open calls are named in the last message and in the report; the history stays valid."""
    model = ScriptedChatModel(
        script(
            calls(("look", {"q": "x", "task_id": "a"}), ("quick", {"task_id": "b"})),
            ever=calls(("quick", {"task_id": "b"})),
        )
    )
    quick = scripted_tool("quick", lambda a: "quick", args={}, latency=1.0)
    config = GuardConfig(limits=Limits(max_model_turns=3), timing=Timing(grace=0.0))
    agent = agent_of(
        model, [look(500.0), quick], specs=[pure("look"), pure("quick")], config=config
    )
    outcome = agent.run(tasks=TASKS)
    assert len(model.requests) == 3
    assert outcome.report["reason"] == "max_model_turns"
    assert outcome.report["open_calls"] == ["a/look#1"]
    assert "look#1" in outcome.last
    assert is_ours(outcome.messages[-1])
    marker = {"kind": "ended", "reason": "max_model_turns"}
    assert outcome.messages[-1].additional_kwargs["lc_data"] == marker


@pytest.mark.parametrize("limits", [Limits(max_model_turns=1), Limits(max_rejections=1)])
def test_a_limit_that_ends_the_run_names_the_calls_in_doubt(
    limits: Limits, agent_of: AgentOf
) -> None:
    """The model has no turn to tell the user that the payment may have been made."""
    pay = scripted_tool("pay", [ConnectionError("lost")], args={"q": str})
    model = ScriptedChatModel(script(ever=calls(("pay", {"q": "x"}))))
    outcome = agent_of(model, [pay], config=GuardConfig(limits=limits)).run("Pay x.")
    assert outcome.report["in_doubt"] == ["main/pay#1"]
    assert outcome.last.endswith("In doubt, as they may have taken effect: main: pay#1.")


def test_the_limit_on_rejections_stops_one_task_only(agent_of: AgentOf) -> None:
    """The other task continues to its end."""
    model = ScriptedChatModel(
        script(
            *[calls(("nothing", {"task_id": "a"}))] * 4,
            calls(("look", {"q": "y", "task_id": "b"})),
            ever="all done",
        )
    )
    config = GuardConfig(limits=Limits(max_rejections=3))
    outcome = agent_of(model, [look()], specs=[pure("look")], config=config).run(tasks=TASKS)
    states = {entry["id"]: entry["state"] for entry in outcome.report["tasks"]}
    assert states == {"a": "stopped", "b": "closed"}
    assert outcome.states("b") == {"done": 1}


def test_the_sync_entry_ends_stubborn_models_too(agent_of: AgentOf) -> None:
    """The limit holds through ``invoke``, too."""
    model = ScriptedChatModel(script(ever=calls(("look", {"q": "x"}))))
    outcome = agent_of(
        model, [look()], config=GuardConfig(limits=Limits(max_model_turns=4))
    ).run_sync("Go.")
    assert len(model.requests) == 4
    assert outcome.report["reason"] == "max_model_turns"
