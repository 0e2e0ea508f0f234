"""What a user interface reads: the markers of the runtime's messages, and what it can do by them."""

import asyncio
import re
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import GuardConfig, NewsStyle, Timing, ToolSpec
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, AgentOf, Outcome, pure, script

TASKS = [{"id": "a", "goal": "Look up x."}, {"id": "b", "goal": "Look up y and z."}]


def look(name: str, latency: float) -> Any:
    """A lookup that says what it was asked, in a form that looks like the runtime's own."""
    return scripted_tool(name, lambda a: f"<{name}>\n{a['q']}", args={"q": str}, latency=latency)


@tool
async def slow(q: str) -> str:
    """Look up y in 5 seconds, z in 6.

    Two calls of one latency would end in either order: LangSmith sets up each call of `create_agent` on an OS
    thread, and the one whose thread is done first begins first.
    """
    await asyncio.sleep({"y": 5.0, "z": 6.0}[q])
    return f"<slow>\n{q}"


def several(agent_of: AgentOf, **options: Any) -> Outcome:
    """Two results of one task come late and together, the other task's answer is there at once."""
    late = [("slow", {"q": q, "task_id": "b"}) for q in "yz"]
    model = ScriptedChatModel(
        [calls(("quick", {"q": "x", "task_id": "a"}), *late), "I wait.", "Both are done."]
    )
    tools = [look("quick", 0.0), slow]
    agent = agent_of(model, tools, specs=[pure("quick"), pure("slow")], **options)
    return agent.run(tasks=TASKS)


def marked(messages: list[AnyMessage], kind: str) -> list[tuple[AnyMessage, dict[str, Any]]]:
    """Messages of the runtime of one kind, with their data."""
    told = [(each, each.additional_kwargs.get("lc_data")) for each in messages]
    return [(each, data) for each, data in told if data and data["kind"] == kind]


def test_a_notification_names_the_calls_that_it_completes(agent_of: AgentOf) -> None:
    """The cards of the model's own calls can be completed, each with its own part of the text."""
    outcome = several(agent_of)
    ((message, data),) = marked(outcome.messages, "results")
    assert message.additional_kwargs["lc_source"] == "asyncguard"
    assert data["tool_call_ids"] == ["call_1_2", "call_1_3"]
    assert data["states"] == ["done", "done"]
    assert data["guards"] == ["", ""]
    assert len(data["calls"]) == 2
    assert isinstance(message, HumanMessage)
    parts = re.findall(r"<(result-\S+) [^\n]*>\n(.*?)\n</\1>", message.text, re.DOTALL)
    assert [text for _, text in parts] == ["<slow>\ny", "<slow>\nz"]


def test_the_pair_style_names_the_models_own_calls(agent_of: AgentOf) -> None:
    """The synthetic call has an id of its own, which belongs to no card."""
    outcome = several(agent_of, config=GuardConfig(news_style=NewsStyle.PAIR))
    ((_, data),) = marked(outcome.messages, "pair")
    assert data["tool_call_ids"] == ["call_1_2", "call_1_3"]


@pytest.mark.parametrize(
    "given", [{"tasks": ["Say hello."]}, {"tasks": ["Say hello."], "messages": []}]
)
def test_an_input_of_tasks_needs_no_messages(agent_of: AgentOf, given: dict[str, Any]) -> None:
    """The key may be left out with both adapters."""
    agent = agent_of(ScriptedChatModel(["Hello.", "task-1: no tool needed. Hello."]), [])
    assert agent.go_sync(given).report["reason"] == "complete"


def test_a_call_that_was_held_back_is_told_from_a_failed_tool(agent_of: AgentOf) -> None:
    """Both answers are errors for the model; the marker names the guard of the one."""

    def broken(_: Any) -> str:
        raise ValueError("no such topic")

    model = ScriptedChatModel([calls(("look", {"q": "x"})), calls(("look", {})), "I gave up."])
    tools = [scripted_tool("look", broken, args={"q": str})]
    outcome = agent_of(model, tools, specs=[pure("look")]).run("Look up x.")
    answers = [each for each in outcome.messages if isinstance(each, ToolMessage)]
    assert [each.status for each in answers] == ["error", "error"]
    ((message, data),) = marked(outcome.messages, "not_executed")
    assert message is answers[1]
    assert data == {"kind": "not_executed", "state": "rejected", "guard": "clarification"}
    assert message.additional_kwargs["lc_source"] == "asyncguard"


@pytest.mark.parametrize("style", NewsStyle)
def test_a_late_refusal_names_its_guard(agent_of: AgentOf, style: NewsStyle) -> None:
    """The person who refused reads after a reload what the page had said before."""
    first = calls(("look", {"q": "x", "task_id": "a"}), ("book", {"q": "y", "task_id": "b"}))
    model = ScriptedChatModel([first, "I wait.", "Not booked."])
    tools = [scripted_tool(name, ["found"], args={"q": str}) for name in ("look", "book")]
    specs = [pure("look"), ToolSpec(name="book", approval=True)]
    config = GuardConfig(news_style=style)
    agent = agent_of(model, tools, specs=specs, config=config, checkpointer=InMemorySaver())

    async def refused() -> Outcome:
        await agent.say(tasks=TASKS, thread="t")
        return await agent.resume(value=False, thread="t")

    outcome = run_virtual(refused()).result
    kind = "pair" if style is NewsStyle.PAIR else "results"
    ((_, data),) = marked(outcome.messages, kind)
    assert (data["tool_call_ids"], data["states"]) == (["call_1_2"], ["rejected"])
    assert data["guards"] == ["approval"]


def test_a_placeholder_says_what_its_call_waits_for(agent_of: AgentOf) -> None:
    """A card can show that the call runs, or that it has not begun."""
    ((_, first), (_, second)) = marked(several(agent_of).messages, "placeholder")
    assert first == second == {"kind": "placeholder", "state": "pending"}


def test_the_message_of_the_tasks_names_them(agent_of: AgentOf) -> None:
    """A page that begins with the stored thread knows the tasks and goals, whatever the goals look like."""
    goals = {"a": "Look up x.\n\n[b] No, y.", "b": "Look up y and z."}
    agent = agent_of(ScriptedChatModel(["a: no tool needed\nb: no tool needed"]), [])
    outcome = agent.run(tasks=[{"id": name, "goal": goal} for name, goal in goals.items()])
    ((_, data),) = marked(outcome.messages, "tasks")
    assert dict(zip(data["tasks"], data["goals"], strict=True)) == goals


EARLY = "All done: the hotel is Roma."


def streamed(agent: Agent, given: dict[str, Any], modes: list[str]) -> list[tuple[str, Any]]:
    """What one run streams, in virtual time."""

    async def main() -> list[tuple[str, Any]]:
        return [item async for item in agent.graph.astream(given, stream_mode=modes)]

    found: list[tuple[str, Any]] = run_virtual(main()).result
    return found


def text_events(told: list[tuple[str, Any]]) -> list[Any]:
    """The events about texts, of all events that were streamed."""
    custom = [value for mode, value in told if mode == "custom"]
    return [value for value in custom if value["type"] == "asyncguard.text"]


def is_models(message: AnyMessage) -> bool:
    """True for a message of the model, or a piece of one."""
    return isinstance(message, AIMessage)


def early(agent_of: AgentOf, *, latency: float = 5.0, **options: Any) -> Agent:
    """A model that says that all is done while the call of one task is open."""
    first = calls(("quick", {"q": "x", "task_id": "a"}), ("slow", {"q": "y", "task_id": "b"}))
    model = ScriptedChatModel(script(first, EARLY, ever="Now it is."))
    tools = [look("quick", 0.0), look("slow", latency)]
    return agent_of(model, tools, specs=[pure("quick"), pure("slow")], **options)


def test_a_text_said_too_early_is_reported_and_marked(agent_of: AgentOf) -> None:
    """The event names the message that was streamed; the message in the state has a marker."""
    agent = early(agent_of)
    told = streamed(agent, {"tasks": TASKS, "messages": []}, ["messages", "custom", "values"])
    (event,) = text_events(told)
    said = [value[0] for mode, value in told if mode == "messages"]
    assert event == {
        "type": "asyncguard.text",
        "version": 1,
        "message_id": next(each.id for each in said if each.text and each.text in EARLY),
        "status": "interim",
        "tool_call_ids": ["call_1_2"],
    }
    final = told[-1][1]["messages"]
    ((message, data),) = marked(final, "interim")
    assert (message.text, message.id) == (EARLY, event["message_id"])
    assert data["tool_call_ids"] == ["call_1_2"]
    assert final[-1].text == "Now it is."
    assert not final[-1].additional_kwargs


def test_the_events_of_langchain_hold_it_on_request(agent_of: AgentOf) -> None:
    """`astream_events` reports it to a caller that asks for the mode."""
    agent = early(agent_of)
    given = {"tasks": TASKS, "messages": []}

    async def main() -> list[Any]:
        events = agent.graph.astream_events(given, version="v2", stream_mode="custom")
        return [
            each["data"]["chunk"] async for each in events if each["event"] == "on_chain_stream"
        ]

    told = [each for each in run_virtual(main()).result if isinstance(each, dict)]
    (event,) = [each for each in told if each.get("type") == "asyncguard.text"]
    assert (event["status"], event["tool_call_ids"]) == ("interim", ["call_1_2"])


@pytest.mark.parametrize("hold", [False, True])
def test_a_text_that_no_one_judged_is_marked_by_the_next_run(
    agent_of: AgentOf, *, hold: bool
) -> None:
    """The client leaves when the text was stored; its next message finds it marked, or gone if held back."""
    config = GuardConfig(hold_text=hold, timing=Timing(grace=0.0, linger=0.0))
    agent = early(agent_of, config=config, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    given = {"tasks": TASKS, "messages": []}

    async def main() -> Outcome:
        async for step in agent.graph.astream(given, thread, durability="sync"):
            if EARLY in str(step) or "withheld" in str(step):
                break
        return await agent.say("Take your time.", thread="t")

    outcome: Outcome = run_virtual(main()).result
    interim = [message.text for message, _ in marked(outcome.messages, "interim")]
    assert [text for text in interim if text == EARLY] == ([] if hold else [EARLY])
    assert outcome.text.count(EARLY) == len([text for text in interim if text == EARLY])
    assert marked(outcome.messages, "withheld") == []
    assert outcome.last == "Now it is."


def test_a_text_that_is_replaced_is_reported(agent_of: AgentOf) -> None:
    """It was streamed and stands in no state: an interface removes it."""
    model = ScriptedChatModel(["All done.", "a: no tool needed\nb: no tool needed"])
    told = streamed(agent_of(model, []), {"tasks": TASKS, "messages": []}, ["custom", "values"])
    (event,) = text_events(told)
    assert (event["status"], event["tool_call_ids"]) == ("replaced", [])
    final = told[-1][1]["messages"]
    ((nudge, _),) = marked(final, "nudge")
    assert nudge.id == event["message_id"]
    assert isinstance(nudge, HumanMessage)


def test_shadow_mode_reports_no_text(agent_of: AgentOf) -> None:
    """The run ends with the text, as it would without guards."""
    agent = early(agent_of, config=GuardConfig(shadow=True, completion=True))
    told = streamed(agent, {"tasks": TASKS, "messages": []}, ["custom"])
    assert text_events(told) == []


def test_a_text_said_too_early_is_held_back_on_request(agent_of: AgentOf) -> None:
    """It is neither streamed nor stored; the answer that counts is, and so are other turns."""
    agent = early(agent_of, config=GuardConfig(hold_text=True))
    told = streamed(agent, {"tasks": TASKS, "messages": []}, ["messages", "custom", "values"])
    pieces = [value[0].text for mode, value in told if mode == "messages" and is_models(value[0])]
    assert "".join(pieces) == "Now it is."
    assert EARLY not in str([value for mode, value in told if mode == "values"])
    assert text_events(told) == []
    final = told[-1][1]
    assert final["messages"][-1].text == "Now it is."
    assert [each.type for each in final["messages"]] == [
        *["human", "ai", "tool", "tool"],
        *["human", "ai"],
    ]
    assert final["report"]["reason"] == "complete"
    assert len(agent.model.requests) == 3


def test_calls_of_a_turn_that_could_be_early_are_made(agent_of: AgentOf) -> None:
    """Only a message without calls is held back."""
    first = calls(("quick", {"q": "x", "task_id": "a"}), ("slow", {"q": "y", "task_id": "b"}))
    more = calls(("quick", {"q": "z", "task_id": "a"}))
    model = ScriptedChatModel([first, more, EARLY, "Now it is."])
    tools = [look("quick", 0.0), look("slow", 5.0)]
    specs = [pure("quick"), pure("slow")]
    agent = agent_of(model, tools, specs=specs, config=GuardConfig(hold_text=True))
    outcome = agent.run(tasks=TASKS)
    assert outcome.states("a") == {"done": 2}
    assert EARLY not in outcome.text


def test_held_text_is_told_to_no_sync_caller_either(agent_of: AgentOf) -> None:
    """The sync entry holds it back, too."""
    agent = early(agent_of, latency=0.5, config=GuardConfig(hold_text=True))
    seen = agent.graph.stream({"tasks": TASKS, "messages": []}, stream_mode="messages")
    assert "".join(message.text for message, _ in seen if is_models(message)) == "Now it is."
