"""The task argument: shown with several tasks only, stripped before the tool, renamed on collision, checked."""

from typing import Any

import pytest

from asyncguard import CallerError
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, pure

A_AND_B = [{"id": "a", "goal": "Look up x."}, {"id": "b", "goal": "Look up y."}]


def look() -> Any:
    """A lookup."""
    return scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str})


def properties(model: ScriptedChatModel, tool: str = "look", request: int = 0) -> dict[str, Any]:
    """The properties of a tool as the model was shown them."""
    schema = next(s for s in model.requests[request].tools if s["function"]["name"] == tool)
    shown: dict[str, Any] = schema["function"]["parameters"]["properties"]
    return shown


def test_the_tool_never_sees_the_task_argument(agent_of: AgentOf) -> None:
    """The model says which task a call is for, and the tool is called without it."""
    tool = look()
    model = ScriptedChatModel(
        [
            calls(("look", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"})),
            "all done",
        ]
    )
    agent_of(model, [tool], specs=[pure("look")]).run(tasks=A_AND_B)
    assert sorted(call.args["q"] for call in tool.calls) == ["x", "y"]
    assert {name for call in tool.calls for name in call.args} == {"q"}
    assert properties(model)["task_id"]["enum"] == ["a", "b"]


@pytest.mark.parametrize("tasks", [None, A_AND_B[:1]], ids=["messages", "one task"])
def test_a_single_task_is_shown_no_task_argument(tasks: Any, agent_of: AgentOf) -> None:
    """With one task there is nothing to tell apart."""
    model = ScriptedChatModel([calls(("look", {"q": "x"})), "done"])
    outcome = agent_of(model, [look()]).run(None if tasks else "Look up x.", tasks=tasks)
    assert "task_id" not in properties(model)
    assert outcome.answer("call_1_1") == "found x"


def test_a_tool_with_an_argument_of_that_name_keeps_it(agent_of: AgentOf) -> None:
    """The runtime's argument takes another name for all tools, and the tool's own reaches the tool."""
    own = scripted_tool("close", lambda a: f"closed {a['task_id']}", args={"task_id": str})
    model = ScriptedChatModel(
        [
            calls(
                ("close", {"task_id": "T-9", "task_id_": "a"}),
                ("look", {"q": "y", "task_id_": "b"}),
            ),
            "all done",
        ]
    )
    outcome = agent_of(model, [look(), own], specs=[pure("look"), pure("close")]).run(tasks=A_AND_B)
    assert "task_id_" in properties(model)
    assert own.calls[0].args == {"task_id": "T-9"}
    assert outcome.answer("call_1_1") == "closed T-9"


@pytest.mark.parametrize(
    "given",
    [{"q": "x"}, {"q": "x", "task_id": "c"}, {"q": "x", "task_id": 7}, {"q": "x", "task_id": None}],
)
def test_a_wrong_or_missing_task_is_answered_and_runs_nothing(
    given: dict[str, Any], agent_of: AgentOf
) -> None:
    """The call gets its answer with the names of the tasks, and the model can correct itself."""
    tool = look()
    model = ScriptedChatModel(
        [
            calls(("look", given)),
            calls(("look", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"})),
            "all done",
        ]
    )
    outcome = agent_of(model, [tool], specs=[pure("look")]).run(tasks=A_AND_B)
    assert "task_id" in outcome.answer("call_1_1")
    assert "a, b" in outcome.answer("call_1_1")
    assert sorted(call.args["q"] for call in tool.calls) == ["x", "y"]


def test_tasks_may_be_plain_text(agent_of: AgentOf) -> None:
    """Tasks given as text are numbered."""
    model = ScriptedChatModel(
        [
            calls(
                ("look", {"q": "x", "task_id": "task-1"}), ("look", {"q": "y", "task_id": "task-2"})
            ),
            "all done",
        ]
    )
    outcome = agent_of(model, [look()], specs=[pure("look")]).run(
        tasks=["Look up x.", "Look up y."]
    )
    assert outcome.states("task-1") == outcome.states("task-2") == {"done": 1}


@pytest.mark.parametrize(
    "tasks",
    [
        [{"id": "a", "goal": ""}],
        [{"id": "a"}],
        [{"id": "a", "goal": "x"}, {"id": "a", "goal": "y"}],
        [{"id": 3, "goal": "x"}],
        [3],
        [{"id": str(n), "goal": "x"} for n in range(257)],
    ],
    ids=["no goal", "goal missing", "same id", "id no text", "no task", "too many"],
)
def test_unusable_tasks_are_refused_before_the_model_is_asked(
    tasks: Any, agent_of: AgentOf
) -> None:
    """The caller is told what is wrong; nothing runs."""
    model = ScriptedChatModel(["never"])
    with pytest.raises(CallerError):
        agent_of(model, [look()]).run(tasks=tasks)
    assert model.requests == []


def test_tasks_beside_messages_both_reach_the_model(agent_of: AgentOf) -> None:
    """A message and tasks may be given together."""
    model = ScriptedChatModel(
        [
            calls(("look", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"})),
            "all done",
        ]
    )
    agent_of(model, [look()], specs=[pure("look")]).run("Be quick about it.", tasks=A_AND_B)
    asked = str(model.requests[0].messages)
    assert all(part in asked for part in ("Be quick about it.", "[a] Look up x.", "[b] Look up y."))
