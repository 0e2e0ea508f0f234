"""After the grace window a slow call of one task keeps no other task from its turn."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from asyncguard import Delivery, GuardConfig
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, pure, script

TASKS = [{"id": "a", "goal": "Search x."}, {"id": "b", "goal": "Look up y."}]
A_SLOW = ("slow", {"q": "x", "task_id": "a"})
A_FAST = ("fast", {"q": "x", "task_id": "a"})
B_FAST = ("fast", {"q": "y", "task_id": "b"})
SPECS = [pure("slow", takes_from=()), pure("fast", takes_from=())]


def tools() -> list[Any]:
    """Return a tool that takes minutes, and one that answers at once."""
    return [
        scripted_tool("slow", lambda a: f"found {a['q']}", args={"q": str}, latency=200.0),
        scripted_tool("fast", lambda a: f"saw {a['q']}", args={"q": str}),
    ]


def times(model: ScriptedChatModel) -> list[float]:
    """Return the times at which the model was asked."""
    return [request.at for request in model.requests]


@pytest.mark.parametrize(
    "first", [[A_SLOW], [A_SLOW, A_FAST], [A_FAST, A_SLOW], [A_SLOW, (*A_SLOW[:1], A_FAST[1])]]
)
@pytest.mark.parametrize("delivery", list(Delivery))
def test_an_untouched_task_gets_its_turn(
    agent_of: AgentOf, first: list[Any], delivery: Delivery
) -> None:
    """Any number of calls of one message get placeholders then, and are shown together."""
    model = ScriptedChatModel(script(calls(*first), calls(B_FAST)))
    agent = agent_of(model, tools(), specs=SPECS, config=GuardConfig(delivery=delivery))
    outcome = run_virtual(agent.say(tasks=TASKS)).result
    assert times(model)[1] < 1.0
    if delivery is Delivery.ALL and A_FAST in first:
        assert "has ended" in outcome.answer(f"call_1_{first.index(A_FAST) + 1}")
        together = [text for text in outcome.news() if "found x" in text]
        assert len(together) == 1
        assert "saw x" in together[0]
    assert [task["state"] for task in outcome.report["tasks"]] == ["closed", "closed"]


def test_a_word_that_leaves_it_alone_waits(agent_of: AgentOf) -> None:
    """The model was asked and had nothing to do for the other task: it is not asked again before there is news."""
    model = ScriptedChatModel(script(calls(A_SLOW, A_FAST), "I wait.", calls(B_FAST)))
    run = run_virtual(agent_of(model, tools(), specs=SPECS).say(tasks=TASKS))
    first, second, third, *_ = times(model)
    assert (first, second < 1.0, third >= 200.0) == (0.0, True, True)
    assert run.result.states("b") == {"done": 1}


def test_results_of_one_message_that_are_quick_cost_no_further_turn(agent_of: AgentOf) -> None:
    """Within the grace window they are answered in place, as ever."""
    model = ScriptedChatModel(
        script(calls(A_FAST, ("fast", {"q": "z", "task_id": "a"})), calls(B_FAST))
    )
    outcome = run_virtual(agent_of(model, tools(), specs=SPECS).say(tasks=TASKS)).result
    assert outcome.answer("call_1_1") == "saw x"
    assert len(model.requests) == 3


def test_a_task_that_was_begun_may_be_left_alone(agent_of: AgentOf) -> None:
    """Several calls for one task say that the others have nothing to do, once the model has worked on them."""
    steps = calls(A_FAST, B_FAST), calls(A_SLOW, ("slow", {"q": "z", "task_id": "a"}))
    model = ScriptedChatModel(script(*steps))
    run_virtual(agent_of(model, tools(), specs=SPECS).say(tasks=TASKS))
    assert times(model)[2] >= 200.0


def test_a_third_task_is_not_starved_by_two(agent_of: AgentOf) -> None:
    """A third task that the model has not touched gets its turn beside two slow ones."""
    tasks = [*TASKS, {"id": "c", "goal": "Look up z."}]
    slow_b = ("slow", {"q": "y", "task_id": "b"})
    model = ScriptedChatModel(
        script(calls(A_SLOW, slow_b), calls(("fast", {"q": "z", "task_id": "c"})))
    )
    outcome = run_virtual(agent_of(model, tools(), specs=SPECS).say(tasks=tasks)).result
    assert times(model)[1] < 1.0
    assert outcome.states("c") == {"done": 1}
    assert isinstance(outcome.messages[0], HumanMessage)
