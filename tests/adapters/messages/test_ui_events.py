"""Events for user interfaces in the stream ``custom``: cards, tasks, recovery, questions, and when they come."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asyncguard import (
    AsyncGuardMiddleware,
    GuardConfig,
    Inbox,
    Limits,
    Mode,
    Ports,
    ToolFault,
    ToolSpec,
    guard_middleware,
)
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import Agent, AgentOf, Frontend, pure, shape

TASKS = [{"id": "a", "goal": "Look up x."}, {"id": "b", "goal": "Look up y."}]
THREAD = {"configurable": {"thread_id": "t"}}


def look(name: str = "look", *, latency: float = 0.0, answer: Any = None) -> Any:
    """A lookup."""
    found = answer or (lambda a: f"found {a['q']}")
    return scripted_tool(name, found, args={"q": str}, latency=latency)


async def events(agent: Agent, given: Any) -> list[tuple[float, dict[str, Any]]]:
    """What one run writes into the stream, each with the seconds since it began."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    stream = agent.graph.astream(given, THREAD, stream_mode="custom")
    return [(round(loop.time() - began, 3), event) async for event in stream]


def streamed(agent: Agent, given: Any) -> list[tuple[float, dict[str, Any]]]:
    """The same of a whole run in virtual time."""
    found: list[tuple[float, dict[str, Any]]] = run_virtual(events(agent, given)).result
    return found


def cards(told: list[tuple[float, dict[str, Any]]], call_id: str) -> list[Mapping[str, Any]]:
    """The events about one call."""
    about = [event for _, event in told if event.get("tool_call_id") == call_id]
    return [event for event in about if event["type"] == "asyncguard.call"]


def of_type(told: list[tuple[float, dict[str, Any]]], name: str) -> list[dict[str, Any]]:
    """The events of one type."""
    return [event for _, event in told if event["type"] == f"asyncguard.{name}"]


def pair(agent_of: AgentOf, **options: Any) -> Agent:
    """One message with a quick and a slow call of one task."""
    model = ScriptedChatModel([calls(("quick", {"q": "x"}), ("slow", {"q": "y"})), "Both."])
    tools = [look("quick", latency=0.2), look("slow", latency=5.0)]
    return agent_of(model, tools, specs=[pure("quick"), pure("slow")], **options)


ONE = {"messages": [("user", "Look up x and y.")]}


def test_results_of_one_message_come_as_each_ends(agent_of: AgentOf) -> None:
    """The quick one does not wait for the slow one, although the model is told both together."""
    told = streamed(pair(agent_of), ONE)
    ended = [(at, each["content"]) for at, each in told if each.get("state") == "done"]
    assert ended == [(0.2, "found x"), (5.0, "found y")]
    assert [each["state"] for each in cards(told, "call_1_1")] == ["queued", "pending", "done"]
    assert {each["late"] for each in cards(told, "call_1_1")} == {False}


def test_a_sync_caller_gets_them_as_each_ends_too(agent_of: AgentOf) -> None:
    """The first card is complete while the second call still runs."""
    model = ScriptedChatModel([calls(("quick", {"q": "x"}), ("slow", {"q": "y"})), "Both."])
    slow = look("slow", latency=0.4)
    agent = agent_of(model, [look("quick"), slow], specs=[pure("quick"), pure("slow")])
    seen = [
        (event["tool_call_id"], len(model.requests))
        for event in agent.graph.stream(ONE, stream_mode="custom")
        if event.get("state") == "done"
    ]
    assert seen == [("call_1_1", 1), ("call_1_2", 1)]


def test_the_stream_changes_nothing_that_is_told_or_stored(agent_of: AgentOf) -> None:
    """The same requests and the same history as without it."""
    kept = []
    for mode in ("custom", "values"):
        agent = pair(agent_of, checkpointer=InMemorySaver())

        async def main(agent: Agent = agent, mode: str = mode) -> tuple[Any, int]:
            async for _ in agent.graph.astream(ONE, THREAD, stream_mode=mode):
                pass
            state = await agent.graph.aget_state(THREAD)
            history = [each async for each in agent.graph.aget_state_history(THREAD)]
            return shape(state.values["messages"]), len(history)

        asked = [shape(request.messages) for request in agent.model.requests]
        kept.append((run_virtual(main()).result, asked))
    assert kept[0] == kept[1]


def test_a_stream_that_is_not_asked_for_makes_no_event(
    agent_of: AgentOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is built for a caller that reads other modes."""

    def built(*_: Any) -> None:
        raise AssertionError("an event was built")

    monkeypatch.setattr("asyncguard.adapters.run.run.ui_events", built)
    assert pair(agent_of).run("Look up x and y.").last == "Both."
    with pytest.raises(AssertionError, match="was built"):
        streamed(pair(agent_of), ONE)


def test_an_ended_call_that_is_held_back_is_told_to_be_late(agent_of: AgentOf) -> None:
    """Its result waits for its sibling, so no tool message will hold it, and the model is told no lie."""
    first = calls(
        ("quick", {"q": "w", "task_id": "a"}),
        ("brief", {"q": "x", "task_id": "b"}),
        ("slow", {"q": "y", "task_id": "b"}),
    )
    model = ScriptedChatModel([first, "I wait.", "All."])
    tools = [look("quick", latency=0.2), look("brief", latency=0.1), look("slow", latency=5.0)]
    specs = [pure(each.name, takes_from=()) for each in tools]
    agent = agent_of(model, tools, specs=specs, checkpointer=InMemorySaver())
    told = streamed(agent, {"tasks": TASKS, "messages": []})
    ended = [each for each in cards(told, "call_1_2") if each["state"] == "done"]
    assert [(each["late"], each["content"]) for each in ended] == [
        (False, "found x"),
        (True, "found x"),
    ]
    answer = next(
        each
        for each in agent.graph.get_state(THREAD).values["messages"]
        if getattr(each, "tool_call_id", "") == "call_1_2"
    )
    data = answer.additional_kwargs["lc_data"]
    assert data == {"kind": "placeholder", "state": "pending"}
    assert answer.text.startswith("brief#1 has ended. Its result arrives in a later message")
    assert {each["late"] for each in cards(told, "call_1_1")} == {False}


def test_a_late_result_completes_its_card_when_it_comes(agent_of: AgentOf) -> None:
    """The message of the call stays a placeholder; the event holds the result."""
    first = calls(("quick", {"q": "x", "task_id": "a"}), ("slow", {"q": "y", "task_id": "b"}))
    model = ScriptedChatModel([first, "I wait.", "Both."])
    tools = [look("quick"), look("slow", latency=5.0)]
    agent = agent_of(model, tools, specs=[pure("quick"), pure("slow")])
    told = streamed(agent, {"tasks": TASKS, "messages": []})
    last = cards(told, "call_1_2")[-1]
    assert (last["state"], last["late"], last["content"]) == ("done", True, "found y")
    assert [at for at, each in told if each is last] == [5.0]
    assert [(each["task"], each["status"], each["goal"]) for each in of_type(told, "task")] == [
        ("a", "open", "Look up x."),
        ("b", "open", "Look up y."),
        ("a", "closed", ""),
        ("b", "closed", ""),
    ]
    assert of_type(told, "run") == [
        {
            "type": "asyncguard.run",
            "version": 1,
            "status": "ended",
            "tool_call_ids": [],
            "reason": "complete",
        }
    ]


def test_a_rejected_call_is_held_back_with_its_reason(agent_of: AgentOf) -> None:
    """It names the guard, and has no result: not an error of the tool."""
    model = ScriptedChatModel([calls(("look", {})), "I gave up."])
    told = streamed(agent_of(model, [look()], specs=[pure("look")]), ONE)
    (only,) = cards(told, "call_1_1")
    assert (only["state"], only["guard"], only["attempt"]) == ("rejected", "clarification", 0)
    assert "q" in only["reason"]
    assert only["content"] is None


def test_a_deferred_call_names_what_it_waits_for_until_it_runs(agent_of: AgentOf) -> None:
    """A released call shows neither the guard nor the reason any more."""
    model = ScriptedChatModel([calls(("write", {"q": "x"}), ("read", {"q": "x"})), "Read."])
    tools = [look("write", latency=1.0), look("read")]
    write = ToolSpec(name="write", reads=(), writes=("r:{q}",))
    read = ToolSpec(name="read", reads=("r:{q}",), writes=())
    told = streamed(agent_of(model, tools, specs=[write, read]), ONE)
    deferred, *later = cards(told, "call_1_2")
    assert (deferred["state"], deferred["waits_for"]) == ("deferred", ["call_1_1"])
    assert deferred["guard"]
    assert deferred["reason"]
    assert [each["state"] for each in later] == ["queued", "pending", "done"]
    assert {(each["guard"], each["reason"], *each["waits_for"]) for each in later} == {("", "")}


def test_attempts_and_recovery_are_told(agent_of: AgentOf) -> None:
    """The step with its back-off, and the number of the attempt that follows."""
    answers = iter([ToolFault("busy", transient=True, retry_after=7.5)])

    def busy(arguments: Mapping[str, Any]) -> str:
        for fault in answers:
            raise fault
        return f"found {arguments['q']}"

    model = ScriptedChatModel([calls(("look", {"q": "x"})), "Found."])
    told = streamed(agent_of(model, [look(answer=busy)], specs=[pure("look")]), ONE)
    (step,) = of_type(told, "recovery")
    assert (step["tool_call_id"], step["action"], step["attempt"]) == ("call_1_1", "retry", 1)
    assert (step["follows"], step["delay"], step["tool"]) == (True, 7.5, "look")
    assert step["reason"]
    states = [(each["state"], each["attempt"]) for each in cards(told, "call_1_1")]
    assert states == [("queued", 0), ("pending", 1), ("pending", 2), ("done", 2)]


def test_a_question_to_a_person_is_told_once(agent_of: AgentOf) -> None:
    """Not again when the node is executed with the answer, and the answer's run streams its own events."""
    spec = ToolSpec(name="look", approval=True, reads=(), writes=("x",))
    model = ScriptedChatModel([calls(("look", {"q": "x"})), "Done."])
    agent = agent_of(model, [look()], specs=[spec], checkpointer=InMemorySaver())

    async def main() -> tuple[Any, Any]:
        return await events(agent, ONE), await events(agent, Command(resume=True))

    asked, answered = run_virtual(main()).result
    (held,) = cards(asked, "call_1_1")
    assert (held["state"], held["guard"]) == ("held", "approval")
    (question,) = of_type(asked, "run")
    assert (question["status"], question["tool_call_ids"]) == ("asking", ["call_1_1"])
    assert [each["state"] for each in cards(answered, "call_1_1")] == ["queued", "pending", "done"]
    assert [each["status"] for each in of_type(answered, "run")] == ["ended"]


def test_a_question_of_a_tool_is_no_step_of_recovery(agent_of: AgentOf) -> None:
    """Nothing failed: the tool waits for the answer, with which it runs again."""
    spec = ToolSpec(name="look", interrupts=True, reads=(), writes=("x",))
    tools = [look(answer=lambda a: f"found {a['q']}, {interrupt('Where?')}")]
    model = ScriptedChatModel([calls(("look", {"q": "x"})), "Done."])
    agent = agent_of(model, tools, specs=[spec], checkpointer=InMemorySaver())

    async def main() -> tuple[Any, Any]:
        return await events(agent, ONE), await events(agent, Command(resume="here"))

    asked, answered = run_virtual(main()).result
    assert of_type([*asked, *answered], "recovery") == []
    assert asked[-1][1]["status"] == "asking"
    last = cards(answered, "call_1_1")[-1]
    assert (last["state"], last["content"]) == ("done", "found x, here")


def test_a_question_of_other_middleware_is_in_the_result_alone() -> None:
    """It stops the run in a node of its own, which the guard does not see; the answer continues the card."""
    model = ScriptedChatModel([calls(("look", {"q": "x"})), "Done."])
    reviewer = [HumanInTheLoopMiddleware({"look": True})]
    guard = AsyncGuardMiddleware(specs=[pure("look")])
    graph = create_agent(
        model,
        [look()],
        middleware=guard_middleware(reviewer, guard=guard),
        checkpointer=InMemorySaver(),
    )
    agent = Agent(graph=graph, model=model, frontend=Frontend.MIDDLEWARE)

    async def main() -> tuple[Any, Any, Any]:
        asked = await events(agent, ONE)
        state = await agent.graph.aget_state(THREAD)
        yes = {"decisions": [{"type": "approve"}]}
        return asked, state.interrupts, await events(agent, Command(resume=yes))

    asked, (question,), answered = run_virtual(main()).result
    assert question.value["action_requests"][0]["name"] == "look"
    assert [each["state"] for each in cards(asked, "call_1_1")] == ["queued"]
    assert of_type(asked, "run") == []
    assert [each["state"] for each in cards(answered, "call_1_1")] == ["pending", "done"]
    assert [each["status"] for each in of_type(answered, "run")] == ["ended"]


def test_a_parked_run_says_what_it_rests_for(agent_of: AgentOf) -> None:
    """The result that comes from outside completes the card in the run that goes on."""
    tokens: list[str] = []

    def start(arguments: Mapping[str, Any]) -> str:
        tokens.append(arguments["token"])
        return "started"

    bank = scripted_tool("bank", start, args={"q": str, "token": str})
    spec = ToolSpec(
        name="bank", mode=Mode.EXTERNAL, token_argument="token", reads=(), writes=("bank",)
    )
    model = ScriptedChatModel([calls(("bank", {"q": "x"})), "Done."])
    inbox = Inbox()
    ports = Ports(inbox=inbox)
    agent = agent_of(model, [bank], specs=[spec], checkpointer=InMemorySaver(), ports=ports)

    async def main() -> tuple[Any, Any]:
        first = await events(agent, ONE)
        inbox.deliver(tokens[0], "paid")
        return first, await events(agent, Command(resume=True))

    parked, woken = run_virtual(main()).result
    (rests,) = of_type(parked, "run")
    assert (rests["status"], rests["tool_call_ids"]) == ("parked", ["call_1_1"])
    last = cards(woken, "call_1_1")[-1]
    assert (last["state"], last["content"]) == ("done", "paid")


def test_an_event_holds_what_the_model_is_shown(agent_of: AgentOf) -> None:
    """Long results are cut at the same place."""
    config = GuardConfig(limits=Limits(max_output_bytes=2000))
    model = ScriptedChatModel([calls(("look", {"q": "x"})), "Long."])
    tools = [look(answer=lambda _: "y" * 9000)]
    agent = agent_of(model, tools, specs=[pure("look")], config=config)

    async def main() -> tuple[Any, Any]:
        told, final = [], None
        async for mode, value in agent.graph.astream(ONE, stream_mode=["custom", "values"]):
            told += [(0.0, value)] if mode == "custom" else []
            final = value if mode == "values" else final
        return told, final

    told, final = run_virtual(main()).result
    answer = next(each for each in final["messages"] if each.type == "tool")
    assert cards(told, "call_1_1")[-1]["content"] == answer.content
    assert len(answer.content) < 3000
