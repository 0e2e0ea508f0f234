"""Shadow mode: guards report what they would do, and nothing is changed."""

from dataclasses import replace
from typing import Any

from asyncguard import Details, GuardConfig, Limits, Ports, Timing, ToolSpec
from asyncguard.config import FEATURE_NAMES, GUARD_NAMES
from asyncguard.core import events as ev
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, pure, script, shape

TASKS = [
    {"id": "a", "goal": "Find flights to Rome and book one."},
    {"id": "b", "goal": "Find hotels in Oslo."},
]
SHADOW = GuardConfig(shadow=True, timing=Timing(grace=0.0, linger=0.0))
OFF = replace(SHADOW, shadow=False).with_switches(dict.fromkeys(GUARD_NAMES, False))
"""The same features without guards."""


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


def find() -> Any:
    """A slow search."""
    return scripted_tool("find", lambda a: {"id": "ZX81"}, args={"city": str}, latency=3.0)


def book() -> Any:
    """A booking."""
    return scripted_tool("book", lambda a: f"booked {a['id']}", args={"id": str})


def guessing() -> tuple[Any, ...]:
    """A search, a booking with an invention while it runs, the same booking again, and an end with a task untouched."""
    return (
        calls(("find", {"city": "Rome", "task_id": "a"})),
        calls(("book", {"id": "QQ77", "task_id": "a"})),
        "all done",
    )


def test_objections_are_told_and_calls_pass(agent_of: AgentOf) -> None:
    """Guards object to an invented value and a premature call; both calls are made as proposed."""
    booking = book()
    stage = Stage(agent_of, SHADOW, *guessing(), tools=[find(), booking])
    stage.run()

    assert stage.objections() == [("grounding", "reject"), ("dependency", "defer")]
    assert [call.args["id"] for call in booking.calls] == ["QQ77"]
    kinds = [event.kind for event in stage.events]
    assert not {"call_rejected", "call_deferred", "call_held"} & set(kinds)


def test_the_model_sees_nothing_of_it(agent_of: AgentOf) -> None:
    """Messages and requests are those of the same features without guards."""
    told = []
    for config in (SHADOW, OFF):
        stage = Stage(agent_of, config, *guessing(), tools=[find(), book()])
        outcome = stage.run()
        requests = [
            (shape(request.messages), str(request.tools)) for request in stage.model.requests
        ]
        told.append((shape(outcome.messages), requests))

    assert told[0][0] == told[1][0]
    # References cannot be offered in shadow mode; all else is the same.
    assert [messages for messages, _ in told[0][1]] == [messages for messages, _ in told[1][1]]


def test_the_end_of_the_run_is_judged_and_not_prevented(agent_of: AgentOf) -> None:
    """The run ends although calls are open; the event says what the guard would have answered."""
    stage = Stage(
        agent_of, SHADOW, calls(("find", {"city": "Rome", "task_id": "a"})), tools=[find()]
    )
    outcome = stage.run()

    judged = [event for event in stage.events if isinstance(event, ev.CompletionJudged)]
    assert [(event.verdict.value, event.enforced) for event in judged] == [("wait", False)]
    assert "not every task looks finished" not in outcome.text
    assert outcome.report["reason"] == "complete"


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
    stage = Stage(agent_of, config, *guessing(), tools=[find(), book()])
    stage.run()

    assert stage.objections() == [("dependency", "defer")]


def test_features_stay_as_switched() -> None:
    """Shadow mode turns no switch; references alone are not offered."""
    assert all(getattr(SHADOW, name) for name in (*GUARD_NAMES, *FEATURE_NAMES))
    assert GuardConfig().offers_references
    assert not SHADOW.offers_references
