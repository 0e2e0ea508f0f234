"""A structured answer ends the run as a text does, and is judged as one: both adapters alike."""

from typing import Any

import pytest
from langchain.agents.structured_output import (
    ProviderStrategy,
    StructuredOutputError,
    ToolStrategy,
)
from langchain_core.messages import AIMessage
from pydantic import BaseModel

from asyncguard import CallerError, build_agent
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, pure, script


class Trip(BaseModel):
    """The trip that was planned."""

    city: str
    nights: int


ROMA = ("Trip", {"city": "Roma", "nights": 2})
TASKS = [{"id": "a", "goal": "Look up x."}, {"id": "b", "goal": "Look up y."}]


def look(latency: float = 5.0) -> Any:
    """A slow lookup."""
    return scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str}, latency=latency)


def test_the_answer_is_parsed_and_returned(agent_of: AgentOf) -> None:
    """The call of the answer is answered in the history, and no guard sees it."""
    model = ScriptedChatModel([calls(("look", {"q": "x"})), calls(ROMA)])
    agent = agent_of(model, [look()], specs=[pure("look")], response_format=ToolStrategy(Trip))
    outcome = agent.run("Plan a trip.")
    assert outcome.state["structured_response"] == Trip(city="Roma", nights=2)
    assert outcome.report["reason"] == "complete"
    assert outcome.states("main") == {"done": 1}
    assert [tool["function"]["name"] for tool in model.requests[0].tools] == ["look", "Trip"]


def test_a_schema_alone_is_enough(agent_of: AgentOf) -> None:
    """Without a strategy the model gets the answer as a tool, unless its profile says more."""
    agent = agent_of(ScriptedChatModel([calls(ROMA)]), [], response_format=Trip)
    assert agent.run("Plan a trip.").state["structured_response"].city == "Roma"


def test_a_premature_answer_is_taken_back(agent_of: AgentOf) -> None:
    """While a call is open the answer is only interim: the run waits and asks the model again."""
    both = calls(("look", {"q": "x", "task_id": "a"}), ("peek", {"q": "y", "task_id": "b"}))
    model = ScriptedChatModel([both, calls(("Trip", {"city": "?", "nights": 0})), calls(ROMA)])
    tools = [look(), scripted_tool("peek", lambda a: "seen", args={"q": str})]
    specs = [pure("look"), pure("peek")]
    agent = agent_of(model, tools, specs=specs, response_format=ToolStrategy(Trip))
    outcome = agent.run(tasks=TASKS)
    assert outcome.state["structured_response"].city == "Roma"
    assert "'?'" not in outcome.text
    assert outcome.elapsed >= 5.0
    assert [each.type for each in outcome.messages] == [
        *["human", "ai", "tool", "tool", "human"],
        *["ai", "tool"],
    ]


def test_an_answer_that_does_not_fit_is_asked_for_again(agent_of: AgentOf) -> None:
    """The model is told what is wrong; with handle_errors=False the run fails."""
    wrong = ("Trip", {"city": "Roma", "nights": "many"})
    model = ScriptedChatModel([calls(wrong), calls(ROMA)])
    outcome = agent_of(model, [], response_format=ToolStrategy(Trip)).run("Plan a trip.")
    assert outcome.state["structured_response"].nights == 2
    assert "nights" in outcome.answer("call_1_1")
    strict = ToolStrategy(Trip, handle_errors=False)
    agent = agent_of(ScriptedChatModel([calls(wrong)]), [], response_format=strict)
    with pytest.raises(StructuredOutputError):
        agent.run("Plan a trip.")


def test_the_providers_own_form_is_read_from_the_text(agent_of: AgentOf) -> None:
    """The model is bound with the schema; its text is the answer."""
    model = ScriptedChatModel(['{"city": "Roma", "nights": 2}'])
    outcome = agent_of(model, [], response_format=ProviderStrategy(Trip)).run("Plan a trip.")
    assert outcome.state["structured_response"] == Trip(city="Roma", nights=2)


@pytest.mark.parametrize("latency", [0.0, 5.0])
def test_an_answer_beside_other_calls_waits_for_their_results(
    agent_of: AgentOf, latency: float
) -> None:
    """The answer is refused, the calls are run, and the model answers with their results."""
    both = calls(
        ("look", {"q": "x", "task_id": "a"}),
        ("look", {"q": "y", "task_id": "b"}),
        ("Trip", {"city": "?", "nights": 0}),
    )
    model = ScriptedChatModel(script(both, ever=calls(ROMA)))
    look_up = look(latency)
    agent = agent_of(model, [look_up], specs=[pure("look")], response_format=ToolStrategy(Trip))
    outcome = agent.run(tasks=TASKS)
    assert outcome.state["structured_response"] == Trip(city="Roma", nights=2)
    assert "alone" in outcome.answer("call_1_3")
    assert "found x" in outcome.text
    assert "found y" in outcome.text
    assert outcome.report["reason"] == "complete"
    assert outcome.states("a") == outcome.states("b") == {"done": 1}
    assert len(look_up.calls) == 2


def test_an_answer_beside_a_call_that_is_refused_is_not_taken(agent_of: AgentOf) -> None:
    """The model wanted to make the call first, so it is told why it was not made."""
    model = ScriptedChatModel([calls(("look", {}), ROMA), calls(("look", {"q": "x"})), calls(ROMA)])
    agent = agent_of(model, [look(0.0)], specs=[pure("look")], response_format=ToolStrategy(Trip))
    outcome = agent.run("Plan a trip.")
    assert outcome.answer("call_2_1") == "found x"
    assert outcome.report["turns"] == 3
    assert outcome.states("main") == {"rejected": 1, "done": 1}


def test_an_answer_beside_a_call_that_cannot_be_read_is_not_taken(agent_of: AgentOf) -> None:
    """The model is told which call was unreadable, and answers when it has made it."""
    answer = {"name": "Trip", "args": {"city": "?", "nights": 0}, "id": "c1", "type": "tool_call"}
    unread = {
        "name": "look",
        "args": '{"q": ',
        "id": "c2",
        "error": None,
        "type": "invalid_tool_call",
    }
    garbled = AIMessage(content="", tool_calls=[answer], invalid_tool_calls=[unread])
    model = ScriptedChatModel([garbled, calls(("look", {"q": "x"})), calls(ROMA)])
    agent = agent_of(model, [look(0.0)], specs=[pure("look")], response_format=ToolStrategy(Trip))
    outcome = agent.run("Plan a trip.")
    assert outcome.state["structured_response"].city == "Roma"
    assert "alone" in outcome.answer("c1")
    assert outcome.answer("call_2_1") == "found x"
    assert outcome.report["turns"] == 3


def test_what_cannot_be_a_format_is_refused() -> None:
    """At the place where the caller can mend it."""
    with pytest.raises(CallerError, match="response_format"):
        build_agent(ScriptedChatModel([]), [], response_format=5)
    with pytest.raises(CallerError, match=r"response_format are both named 'look'"):
        build_agent(
            ScriptedChatModel([]), [look()], response_format={"title": "look", "type": "object"}
        )
