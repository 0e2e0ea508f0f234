"""Shadow mode: guards report what they would do, and nothing is changed."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AnyMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from asyncguard import Details, GuardConfig, Inbox, Limits, Mode, Ports, Timing, ToolSpec
from asyncguard.config import FEATURE_NAMES, GUARD_NAMES
from asyncguard.core import events as ev
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, pure, script, shape

TASKS = [
    {"id": "a", "goal": "Find flights to Rome and book one."},
    {"id": "b", "goal": "Find hotels in Oslo."},
]
SHADOW = GuardConfig(shadow=True, timing=Timing(grace=0.0, linger=0.0))


class Stage:
    """A run under a configuration, with its events."""

    def __init__(
        self, agent_of: AgentOf, config: GuardConfig, *steps: Any, tools: list[Any], **more: Any
    ) -> None:
        self.events: list[ev.Event] = []
        self.model = ScriptedChatModel(script(*steps))
        numbers = iter(range(100))
        ports = Ports(observers=(self.note,), new_id=lambda: f"id{next(numbers)}")
        self.agent = agent_of(self.model, tools, config=config, ports=ports, **more)

    def note(self, details: Details) -> None:
        self.events.append(details.event)

    def objections(self) -> list[tuple[str, str]]:
        return [
            (event.guard, event.objection.value)
            for event in self.events
            if isinstance(event, ev.CallObjected)
        ]

    def run(self) -> Outcome:
        return self.agent.run(tasks=TASKS)


def find(latency: float = 3.0) -> Any:
    """A slow search."""
    return scripted_tool("find", lambda a: {"id": "ZX81"}, args={"city": str}, latency=latency)


def book(latency: float = 0.0) -> Any:
    """A booking."""
    return scripted_tool("book", lambda a: f"booked {a['id']}", args={"id": str}, latency=latency)


FLOW = [
    ToolSpec(name="find", writes=("offers",)),
    ToolSpec(name="book", reads=("offers",), writes=("bookings",)),
]
"""The booking reads what the search writes."""


def guessing() -> tuple[Any, ...]:
    """A search, and in the same message a booking with an invention; then an end with a task untouched."""
    return (
        calls(("find", {"city": "Rome", "task_id": "a"}), ("book", {"id": "QQ77", "task_id": "a"})),
        "all done",
    )


TASK = st.sampled_from("ab")
CALL = st.one_of(
    st.tuples(st.just("find"), st.fixed_dictionaries({"city": st.sampled_from(("Rome", "Oslo"))})),
    st.tuples(st.just("book"), st.fixed_dictionaries({"id": st.sampled_from(("ZX81", "QQ77"))})),
)
MESSAGE = st.lists(st.tuples(CALL, TASK), min_size=1, max_size=3).map(
    lambda made: calls(*((tool, {**args, "task_id": task}) for (tool, args), task in made))
)
MODES = st.sampled_from((Mode.AUTO, Mode.FOREGROUND, Mode.BACKGROUND))
SECONDS = st.sampled_from((0.0, 0.005, 1.0, 3.0))


def plain(*steps: Any, tools: list[Any], task: AnyMessage) -> tuple[Any, Any]:
    """The conversation of ``create_agent`` alone, and the requests that its model got."""
    untold = [
        step if isinstance(step, str) else calls(*((name, _own(args)) for name, args in step.calls))
        for step in steps
    ]
    model = ScriptedChatModel(script(*untold))
    agent = create_agent(model, tools)
    said = run_virtual(agent.ainvoke({"messages": [task]})).result["messages"]
    return _without_tasks(said), [_without_tasks(item.messages) for item in model.requests]


def _own(args: Any) -> dict[str, Any]:
    return {name: value for name, value in args.items() if name != "task_id"}


def _made(tool: Any) -> list[tuple[float, str]]:
    """Start and arguments of each call; those of one message start together, in no certain order."""
    return sorted((call.started, str(call.args)) for call in tool.calls)


def _without_tasks(messages: Any) -> list[tuple[Any, ...]]:
    """The shape of messages, without the task argument that a plain agent lacks."""
    copies = [item.model_copy(deep=True) for item in messages]
    for item in copies:
        for call in getattr(item, "tool_calls", ()):
            call["args"].pop("task_id", None)
    return shape(copies)


def test_objections_are_told_and_calls_pass(agent_of: AgentOf) -> None:
    """Guards object to an invented value and a premature call; both calls are made as proposed."""
    booking = book()
    stage = Stage(agent_of, SHADOW, *guessing(), tools=[find(), booking], specs=FLOW)
    stage.run()

    assert {("grounding", "reject"), ("dependency", "defer")} <= set(stage.objections())
    assert [call.args["id"] for call in booking.calls] == ["QQ77"]
    kinds = [event.kind for event in stage.events]
    assert not {"call_rejected", "call_deferred", "call_held"} & set(kinds)


@pytest.mark.sampled(2)
@settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(st.lists(MESSAGE, max_size=5), st.tuples(MODES, MODES), st.tuples(SECONDS, SECONDS))
def test_the_model_sees_nothing_of_it(
    agent_of: AgentOf, steps: list[Any], modes: tuple[Mode, Mode], seconds: tuple[float, float]
) -> None:
    """Calls, messages and requests are those of a plain agent, whatever the tools' modes and times."""
    tools = [find(seconds[0]), book(seconds[1])]
    specs = [ToolSpec(name=tool.name, mode=mode) for tool, mode in zip(tools, modes, strict=True)]
    steps = [*steps, "I am waiting."]
    stage = Stage(agent_of, SHADOW, *steps, tools=tools, specs=specs)
    outcome = stage.run()
    same = [find(seconds[0]), book(seconds[1])]
    told, requests = plain(*steps, tools=same, task=outcome.messages[0])

    assert _without_tasks(outcome.messages) == told
    assert [_without_tasks(item.messages) for item in stage.model.requests] == requests
    for ours, theirs in zip(tools, same, strict=True):
        assert _made(ours) == _made(theirs)
    assert outcome.report["open_calls"] == []


def test_external_results_are_there_before_the_next_turn(agent_of: AgentOf) -> None:
    """The model goes on with another task only after the delivery, as an agent without guards would."""
    inbox = Inbox()
    order: list[str] = []

    async def start(token: str) -> str:
        """Start work outside."""

        async def deliver() -> None:
            await asyncio.sleep(5.0)
            order.append("delivered")
            inbox.deliver(token, "printed")

        order.append("started")
        background.append(asyncio.create_task(deliver()))
        return "accepted"

    background: list[asyncio.Task[None]] = []
    outside = StructuredTool.from_function(coroutine=start, name="outside")

    def seen(_: Any) -> str:
        order.append("looked")
        return "seen"

    looking = scripted_tool("look", seen, args={})
    steps = (calls(("outside", {"task_id": "a"})), calls(("look", {"task_id": "b"})))
    specs = [ToolSpec(name="outside", mode=Mode.EXTERNAL, token_argument="token")]
    model = ScriptedChatModel(script(*steps))
    ports = Ports(inbox=inbox)
    agent = agent_of(model, [outside, looking], config=SHADOW, ports=ports, specs=specs)
    outcome = agent.run(tasks=TASKS)

    assert order == ["started", "delivered", "looked"]
    assert "printed" in str([message.content for message in model.requests[1].messages])
    assert outcome.report["open_calls"] == []


def test_the_end_of_the_run_is_judged_and_not_prevented(agent_of: AgentOf) -> None:
    """The run ends although a task is untouched; the event says what the guard would have answered."""
    stage = Stage(
        agent_of, SHADOW, calls(("find", {"city": "Rome", "task_id": "a"})), tools=[find()]
    )
    outcome = stage.run()

    judged = [event for event in stage.events if isinstance(event, ev.CompletionJudged)]
    assert [(event.verdict.value, event.enforced) for event in judged] == [("nudge", False)]
    assert "not every task looks finished" not in outcome.text
    assert outcome.report["reason"] == "complete"
    assert outcome.states("a") == {"done": 1}


def test_without_waiting_calls_stay_in_the_background(agent_of: AgentOf) -> None:
    """An agent that is used to pending calls is judged as it is: with them, and by the timing guards."""
    config = SHADOW.with_switches({"waiting": False})
    steps = (
        calls(("find", {"city": "Rome", "task_id": "a"})),
        calls(("book", {"id": "QQ77", "task_id": "a"})),
    )
    stage = Stage(agent_of, config, *steps, tools=[find(), book()])
    outcome = stage.run()

    assert {("grounding", "reject"), ("dependency", "defer")} <= set(stage.objections())
    judged = [event for event in stage.events if isinstance(event, ev.CompletionJudged)]
    assert [(event.verdict.value, event.enforced) for event in judged] == [("wait", False)]
    assert outcome.report["open_calls"] == ["a/find#1", "a/book#1"]


def test_nobody_is_asked(agent_of: AgentOf) -> None:
    """A destructive call in a tainted context is made; the guard's question is an event."""
    wiping = scripted_tool("wipe", lambda a: "wiped", args={})
    specs = [ToolSpec(name="wipe", destructive=True), pure("find", trusted_output=False)]
    steps = (calls(("find", {"city": "Rome", "task_id": "a"})), calls(("wipe", {"task_id": "a"})))
    config = replace(SHADOW, timing=Timing())
    quick = scripted_tool("find", lambda a: "found", args={"city": str})
    stage = Stage(agent_of, config, *steps, tools=[quick, wiping], specs=specs)
    stage.run()

    assert ("trust", "hold") in stage.objections()
    assert len(wiping.calls) == 1


@pytest.mark.parametrize("mode", [Mode.AUTO, Mode.BACKGROUND])
@pytest.mark.parametrize("of", ["a", "ab"], ids=["one call", "two calls"])
def test_the_question_of_an_undeclared_tool_reaches_the_person(
    agent_of: AgentOf, of: str, mode: Mode
) -> None:
    """A tool that interrupts asks as it does without guards, also beside other tasks; its effect comes once."""
    paid: list[Any] = []

    def pay(arguments: Any) -> str:
        paid.append((arguments["to"], interrupt(f"Pay {arguments['to']}?")))
        return f"paid {arguments['to']}"

    tool = scripted_tool("pay", pay, args={"to": str})
    step = calls(*(("pay", {"to": name, "task_id": name}) for name in of))
    specs = [ToolSpec(name="pay", mode=mode)]
    saver = InMemorySaver()
    stage = Stage(agent_of, SHADOW, step, tools=[tool], specs=specs, checkpointer=saver)

    async def main() -> Outcome:
        outcome = await stage.agent.say(tasks=TASKS, thread="t")
        assert outcome.interrupts
        while outcome.interrupts:
            outcome = await stage.agent.answer(lambda asked: f"yes: {asked}", "t")
        return outcome

    outcome = run_virtual(main()).result
    assert sorted(paid) == [(name, f"yes: Pay {name}?") for name in of]
    assert [outcome.answer(f"call_1_{k + 1}") for k in range(len(of))] == [
        f"paid {name}" for name in of
    ]


def test_results_are_not_cut(agent_of: AgentOf) -> None:
    """The capacity guard does not cut results in shadow mode, as that is an intervention, too."""
    dump = scripted_tool("dump", lambda a: "x" * 5000, args={})
    config = replace(SHADOW, limits=Limits(max_output_bytes=1000))
    stage = Stage(agent_of, config, calls(("dump", {"task_id": "a"})), tools=[dump])

    assert "cut off" not in stage.run().text


def test_what_cannot_be_run_is_refused_all_the_same(agent_of: AgentOf) -> None:
    """A tool that does not exist has to be answered; a declared approval is the developer's word."""
    stage = Stage(agent_of, SHADOW, calls(("nothing", {"task_id": "a"})), tools=[find()])

    assert "There is no tool" in stage.run().text


def test_guards_that_are_off_say_nothing(agent_of: AgentOf) -> None:
    """Guards that are switched off report nothing."""
    config = SHADOW.with_switches({"grounding": False})
    stage = Stage(agent_of, config, *guessing(), tools=[find(), book()], specs=FLOW)
    stage.run()

    guards = {guard for guard, _ in stage.objections()}
    assert "dependency" in guards
    assert "grounding" not in guards


def test_features_stay_as_switched() -> None:
    """Shadow mode turns no switch; references and the task view alone are not offered."""
    assert all(getattr(SHADOW, name) for name in (*GUARD_NAMES, *FEATURE_NAMES))
    assert GuardConfig().offers_references
    assert GuardConfig().shows_tasks
    assert not SHADOW.offers_references
    assert not SHADOW.shows_tasks
