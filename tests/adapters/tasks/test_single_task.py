"""One task: what a user of ``create_agent`` gets, to the message."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, ToolException, tool

from asyncguard import GuardConfig, Timing
from asyncguard.testing import Script, ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, shape

LATENCY = 0.5


def add_tools() -> list[Any]:
    """Fresh tools: a fast one, a slow one, one with defaults."""
    return [
        scripted_tool("fast", lambda a: f"fast {a['q']}", args={"q": str}, latency=1.0),
        scripted_tool(
            "slow", lambda a: {"slow": a["q"], "n": [1, 2]}, args={"q": str}, latency=3.0
        ),
        scripted_tool("plain", lambda a: a["n"] * 2, args={"n": (int, 21)}, latency=0.25),
    ]


@dataclass(frozen=True, kw_only=True)
class Story:
    """A script, and how long it takes."""

    script: Script
    elapsed: float


STORIES = {
    "no tools": Story(script=["Hello."], elapsed=0.5),
    "one call": Story(script=[calls(("fast", {"q": "a"})), "done"], elapsed=2.0),
    "text beside a call": Story(
        script=[calls(("fast", {"q": "a"}), text="Let me see."), "done"], elapsed=2.0
    ),
    "parallel calls": Story(
        script=[calls(("fast", {"q": "a"}), ("slow", {"q": "b"}), ("fast", {"q": "c"})), "done"],
        elapsed=4.0,
    ),
    "several rounds": Story(
        script=[
            calls(("slow", {"q": "a"})),
            calls(("fast", {"q": "b"}), ("plain", {})),
            calls(("plain", {"n": 3})),
            "ok",
        ],
        elapsed=3.0 + 1.0 + 0.25 + 4 * 0.5,
    ),
    "equal calls one after the other": Story(
        script=[calls(("fast", {"q": "a"})), calls(("fast", {"q": "a"})), "done"], elapsed=3.5
    ),
    "numbers as text": Story(script=[calls(("plain", {"n": "4"})), "done"], elapsed=1.25),
    "empty answer": Story(
        script=[calls(("fast", {"q": ""})), AIMessage(content="done")], elapsed=2.0
    ),
}


def plain_run(
    script: Script, tools: Callable[[], list[Any]], entry: str
) -> tuple[Outcome, ScriptedChatModel]:
    """The same script without asyncguard."""
    model = ScriptedChatModel(script, latency=LATENCY if entry == "async" else 0.0)
    agent = create_agent(model, tools())
    given: Any = {"messages": [("user", "Go.")]}
    if entry == "sync":
        return Outcome(state=agent.invoke(given)), model
    ran = run_virtual(agent.ainvoke(given))
    return Outcome(state=ran.result, elapsed=ran.elapsed), model


@pytest.mark.sampled(2)
@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
def test_a_single_task_takes_the_messages_turns_and_time_of_create_agent(
    story: Story, agent_of: AgentOf
) -> None:
    """Same messages in the same order, same requests to the model, same tools shown, same elapsed time."""
    plain, asked = plain_run(story.script, add_tools, "async")
    model = ScriptedChatModel(story.script, latency=LATENCY)
    outcome = agent_of(model, add_tools()).run("Go.")
    assert shape(outcome.messages) == shape(plain.messages)
    assert [shape(request.messages) for request in model.requests] == [
        shape(r.messages) for r in asked.requests
    ]
    assert [request.tools for request in model.requests] == [
        request.tools for request in asked.requests
    ]
    assert outcome.elapsed == pytest.approx(plain.elapsed, abs=1e-9)
    assert outcome.elapsed == pytest.approx(story.elapsed, abs=1e-9)


def quick_tools() -> list[Any]:
    """The same tools without latency."""
    return [
        scripted_tool("fast", lambda a: f"fast {a['q']}", args={"q": str}),
        scripted_tool("slow", lambda a: {"slow": a["q"], "n": [1, 2]}, args={"q": str}),
        scripted_tool("plain", lambda a: a["n"] * 2, args={"n": (int, 21)}),
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
def test_the_sync_entry_says_the_same_as_create_agent(story: Story, agent_of: AgentOf) -> None:
    """``invoke`` gives the messages that ``create_agent(...).invoke`` gives."""
    plain, asked = plain_run(story.script, quick_tools, "sync")
    model = ScriptedChatModel(story.script)
    outcome = agent_of(model, quick_tools()).run_sync("Go.")
    assert shape(outcome.messages) == shape(plain.messages)
    assert [shape(request.messages) for request in model.requests] == [
        shape(r.messages) for r in asked.requests
    ]


@tool
async def refusing(q: str) -> str:
    """A tool that handles its own error."""
    raise ToolException(f"no {q} today")


refusing.handle_tool_error = True


@tool(response_format="content_and_artifact")
async def drawing(q: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A tool whose result is content blocks and an artifact."""
    return [
        {"type": "text", "text": q},
        {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
    ], {"kept": q}


@tool
async def declining(q: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
    """A tool that answers with an error of its own, and data for the user interface."""
    return ToolMessage(
        f"no {q}",
        tool_call_id=tool_call_id,
        name="declining",
        status="error",
        artifact={"code": 51},
        additional_kwargs={"shown": q},
    )


@pytest.mark.parametrize("name", ["refusing", "drawing", "declining"])
def test_special_results_reach_the_model_as_in_create_agent(name: str, agent_of: AgentOf) -> None:
    """A handled error, content blocks and artifacts come through unchanged."""
    script: Script = [calls((name, {"q": "cake"})), "done"]
    tools = [refusing, drawing, declining]
    plain, _ = plain_run(script, lambda: tools, "async")
    outcome = agent_of(ScriptedChatModel(script, latency=LATENCY), tools).run("Go.")
    assert shape(outcome.messages) == shape(plain.messages)
    assert outcome.messages[2].artifact == plain.messages[2].artifact
    assert outcome.messages[2].additional_kwargs == plain.messages[2].additional_kwargs


def test_a_later_turn_of_the_conversation_goes_on_where_it_was(agent_of: AgentOf) -> None:
    """Messages given as history are kept, also those with tool calls in them."""
    first = agent_of(ScriptedChatModel([calls(("fast", {"q": "a"})), "one"]), add_tools()).run(
        "Go."
    )
    model = ScriptedChatModel([calls(("fast", {"q": "b"})), "two"], id_prefix="later")
    agent = agent_of(model, add_tools())
    history = [*first.messages, ("user", "Again.")]
    outcome = run_virtual(agent.say(history)).result
    assert [message.type for message in outcome.messages] == ["human", "ai", "tool", "ai"] * 2
    assert outcome.last == "two"


def test_the_system_prompt_stands_first_and_is_not_stored(agent_of: AgentOf) -> None:
    """The prompt is sent at each turn and never kept in the conversation."""
    model = ScriptedChatModel([calls(("fast", {"q": "a"})), "done"])
    outcome = agent_of(model, add_tools(), system_prompt="Be brief.").run("Go.")
    assert [request.messages[0].type for request in model.requests] == ["system", "system"]
    assert "system" not in {message.type for message in outcome.messages}


def test_results_of_one_message_stand_in_the_order_of_its_calls(agent_of: AgentOf) -> None:
    """The tool messages stand in the order of the calls, in whatever order the results come."""
    tools = [scripted_tool("look", _wait_as_told, args={"s": float})]
    model = ScriptedChatModel(
        [calls(("look", {"s": 3.0}), ("look", {"s": 1.0}), ("look", {"s": 2.0})), "done"]
    )
    outcome = agent_of(model, tools).run("Go.")
    assert [m.content for m in outcome.messages if m.type == "tool"] == ["3.0", "1.0", "2.0"]
    assert outcome.elapsed == pytest.approx(3.0)


async def _wait_as_told(arguments: Any) -> str:
    await asyncio.sleep(arguments["s"])
    return str(arguments["s"])


def test_a_fast_result_is_no_placeholder_because_a_sibling_starts_late(agent_of: AgentOf) -> None:
    """Through the sync entry the calls of a message start in threads, at any distance; without a grace window, too."""
    config = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
    made = calls(*(("fast", {"q": str(n)}) for n in range(12)))
    for _ in range(5):
        outcome = agent_of(
            ScriptedChatModel([made, "done"]), quick_tools(), config=config
        ).run_sync("Go.")
        assert [m.content for m in outcome.messages if m.type == "tool"] == [
            f"fast {n}" for n in range(12)
        ]
