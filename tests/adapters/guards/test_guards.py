"""Each guard, seen from outside: what it prevents when it is on, and that its switch turns it off."""

from typing import Annotated, Any

import pytest
from langchain_core.tools import tool
from pydantic import Field

from asyncguard import GuardConfig, Limits, Timing, ToolSpec
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, pure, script

TASKS = [
    {"id": "a", "goal": "Find flights to Rome and book one."},
    {"id": "b", "goal": "Find hotels in Oslo."},
]
ON_OFF = pytest.mark.parametrize("on", [True, False], ids=["on", "off"])


def config(on: bool, guard: str, **more: Any) -> GuardConfig:
    """The default with exact timing, and one guard as given."""
    # What one guard lets pass, another must not catch.
    alone = GuardConfig(premature=False, timing=Timing(grace=0.0, linger=0.0), **more)
    return alone.with_switches({guard: on})


def find(latency: float = 3.0) -> Any:
    """A slow search."""
    return scripted_tool(
        "find", lambda a: {"id": "ZX81", "city": a["city"]}, args={"city": str}, latency=latency
    )


def book() -> Any:
    """A booking."""
    return scripted_tool("book", lambda a: f"booked {a['id']}", args={"id": str})


@ON_OFF
def test_arguments(on: bool, agent_of: AgentOf) -> None:
    """A call that breaks its tool's schema is refused before the tool sees it; without the guard the tool says so."""
    tool = find(0.0)
    model = ScriptedChatModel(
        script(
            calls(("find", {"town": "Rome", "city": ["Rome"]})), calls(("find", {"city": "Rome"}))
        )
    )
    outcome = agent_of(model, [tool], config=config(on, "arguments")).run("Go to Rome.")
    assert (
        "town" in outcome.answer("call_1_1") and "was not run" in outcome.answer("call_1_1")
    ) is on
    assert outcome.answer("call_2_1") == '{"id": "ZX81", "city": "Rome"}'
    assert [call.args for call in tool.calls] == [{"city": "Rome"}]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"count": "five"}, 'count: "five" is not of type integer'),
        ({"count": [5]}, "count: [5] is not of type integer."),
        ({"count": "0"}, ""),
        ({"count": 0}, "count: 0 breaks minimum 1"),
        ({"weight": "12 kg"}, 'weight: "12 kg" is not of type number'),
        ({"gift": "perhaps"}, 'gift: "perhaps" is not of type boolean'),
        ({"code": "abc"}, 'code: "abc" breaks pattern "^[A-Z]+$"'),
    ],
)
def test_arguments_are_explained_by_the_tools_own_types(
    given: dict[str, Any], words: str, agent_of: AgentOf
) -> None:
    """A number in quotes is accepted, as pydantic does; the form that it needs is none of the tool's words."""

    @tool
    def order(
        count: Annotated[int, Field(ge=1)] = 1,
        weight: float = 1.0,
        gift: bool = False,
        code: Annotated[str, Field(pattern="^[A-Z]+$")] = "A",
    ) -> str:
        """Order tea."""
        return "ordered"

    model = ScriptedChatModel(script(calls(("order", given))))
    told = agent_of(model, [order]).run("Order tea.").answer("call_1_1")
    assert words in told
    assert "[-+]" not in told
    assert told.count("pattern") == words.count("pattern")


@ON_OFF
def test_clarification(on: bool, agent_of: AgentOf) -> None:
    """The model has to ask the user for a value for which it holds only a placeholder."""
    tool = book()
    model = ScriptedChatModel(script(calls(("book", {"id": "<flight_id>"})), ever="Which flight?"))
    outcome = agent_of(model, [tool], config=config(on, "clarification")).run("Book my flight.")
    assert len(tool.calls) == (0 if on else 1)
    assert outcome.last == "Which flight?"
    assert len(model.requests) == 2


@ON_OFF
def test_scope(on: bool, agent_of: AgentOf) -> None:
    """A tool that belongs to one task is not run for another."""
    tool = book()
    model = ScriptedChatModel(
        script(calls(("book", {"id": "R1", "task_id": "b"})), ever="all done")
    )
    specs = [ToolSpec(name="book", tasks=frozenset({"a"}))]
    outcome = agent_of(model, [tool], specs=specs, config=config(on, "scope")).run(
        "R1", tasks=TASKS
    )
    assert len(tool.calls) == (0 if on else 1)
    assert ("does not belong to task b" in outcome.text) is on


@ON_OFF
def test_duplicate(on: bool, agent_of: AgentOf) -> None:
    """A call that is still running is not started a second time."""
    tool = find()
    made = ("find", {"city": "Rome", "task_id": "a"})
    other = ("find", {"city": "Oslo", "task_id": "b"})
    model = ScriptedChatModel(script(calls(made), calls(made, other)))
    outcome = agent_of(model, [tool], specs=[pure("find")], config=config(on, "duplicate")).run(
        tasks=TASKS
    )
    # The order in which the calls of one message begin is not defined.
    assert sorted(call.args["city"] for call in tool.calls) == (
        ["Oslo", "Rome"] if on else ["Oslo", "Rome", "Rome"]
    )
    assert ("is the same call" in outcome.text) is on


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"to": "007", "amount": 5}, {"to": 7}),
        ({"to": 7}, {"to": 7, "amount": 5}),
        ({"to": 7, "urgent": False}, {"to": "7", "urgent": "no"}),
    ],
)
def test_a_duplicate_has_what_the_tool_receives(
    first: dict[str, Any], second: dict[str, Any], agent_of: AgentOf
) -> None:
    """A payment is not made twice because a default or a number is spelt in another way."""
    pay = scripted_tool(
        "pay",
        lambda a: "paid",
        args={"to": int, "amount": (int, 5), "urgent": (bool, False)},
        latency=5.0,
    )
    model = ScriptedChatModel(
        script(*(calls(("pay", {**each, "task_id": "a"})) for each in (first, second)))
    )
    spec = ToolSpec(name="pay", takes_from=(), free=("to",))
    outcome = agent_of(model, [pay], specs=[spec]).run(tasks=TASKS)
    assert len(pay.calls) == 1
    assert "is the same call" in outcome.text


def test_calls_keep_their_order_by_what_the_tool_receives(agent_of: AgentOf) -> None:
    """The account "01" is the account 1 to a tool that takes numbers."""
    pay = scripted_tool("pay", lambda a: "paid", args={"to": int, "note": str}, latency=5.0)
    made: list[tuple[str, dict[str, Any]]] = [
        ("pay", {"to": "01", "note": "rent", "task_id": "a"}),
        ("pay", {"to": 1, "note": "gift", "task_id": "b"}),
    ]
    spec = ToolSpec(
        name="pay", reads=(), writes=("account:{to}",), takes_from=(), free=("to", "note")
    )
    agent_of(ScriptedChatModel(script(calls(*made))), [pay], specs=[spec]).run(tasks=TASKS)
    (first, second) = pay.calls
    assert first.finished is not None
    assert second.started >= first.finished


@ON_OFF
def test_grounding(on: bool, agent_of: AgentOf) -> None:
    """A value that the running search has yet to tell is a guess, and is not booked."""
    searching, booking = find(), book()
    model = ScriptedChatModel(
        script(
            calls(("find", {"city": "Rome", "task_id": "a"})),
            calls(
                ("book", {"id": "QQ77", "task_id": "a"}), ("find", {"city": "Oslo", "task_id": "b"})
            ),
            "I wait.",
            calls(("book", {"id": "ZX81", "task_id": "a"})),
        )
    )
    specs = [pure("find"), ToolSpec(name="book", reads=(), writes=("booking:{id}",))]
    outcome = agent_of(
        model, [searching, booking], specs=specs, config=config(on, "grounding")
    ).run(tasks=TASKS)
    booked = [call.args["id"] for call in booking.calls]
    assert booked == (["ZX81"] if on else ["QQ77", "ZX81"])
    assert ("found nowhere" in outcome.text) is on


def test_grounding_never_refuses_while_nothing_is_pending(agent_of: AgentOf) -> None:
    """In serial work a value of the model's own making passes."""
    booking = book()
    model = ScriptedChatModel(script(calls(("book", {"id": "QQ77"})), ever="done"))
    agent_of(model, [booking]).run("Book anything.")
    assert len(booking.calls) == 1


@ON_OFF
def test_capacity(on: bool, agent_of: AgentOf) -> None:
    """Calls above the limit of a message are refused in words; those below it run."""
    tool = find(0.0)
    model = ScriptedChatModel(
        script(calls(*(("find", {"city": f"c{n}"}) for n in range(4))), ever="done")
    )
    limited = config(on, "capacity", limits=Limits(max_calls_per_message=3))
    outcome = agent_of(model, [tool], config=limited).run("Go to c0, c1, c2 and c3.")
    assert len(tool.calls) == (3 if on else 4)
    assert ("at most 3 calls" in outcome.answer("call_1_4")) is on


def test_capacity_cuts_an_oversized_result_and_says_so(agent_of: AgentOf) -> None:
    """The model sees the beginning of the result, and how much is missing."""
    tool = scripted_tool("dump", lambda a: "x" * 5000, args={})
    model = ScriptedChatModel(script(calls(("dump", {})), ever="done"))
    outcome = agent_of(model, [tool], config=GuardConfig(limits=Limits(max_output_bytes=1000))).run(
        "Dump it."
    )
    assert outcome.answer("call_1_1").startswith("x" * 1000 + "\n[dump#1: 4000 of 5000 bytes")


@ON_OFF
def test_completion(on: bool, agent_of: AgentOf) -> None:
    """A last word with an untouched task is questioned once."""
    model = ScriptedChatModel(
        script(
            calls(("find", {"city": "Rome", "task_id": "a"})),
            "all done",
            calls(("find", {"city": "Oslo", "task_id": "b"})),
        )
    )
    tool = find(0.0)
    agent = agent_of(model, [tool], specs=[pure("find")], config=GuardConfig(completion=on))
    outcome = agent.run(tasks=TASKS)
    assert len(tool.calls) == (2 if on else 1)
    assert ("not every task looks finished" in outcome.text) is on


@ON_OFF
def test_task_view(on: bool, agent_of: AgentOf) -> None:
    """The state of the tasks is shown at the end of each request and never stored."""
    made = calls(
        ("find", {"city": "Rome", "task_id": "a"}), ("find", {"city": "Oslo", "task_id": "b"})
    )
    model = ScriptedChatModel(script(made))
    outcome = agent_of(model, [find()], specs=[pure("find")], config=config(on, "task_view")).run(
        tasks=TASKS
    )
    assert ("State of your tasks" in str(model.requests[-1].messages[-1].content)) is on
    assert "State of your tasks" not in outcome.text


@ON_OFF
def test_waiting(on: bool, agent_of: AgentOf) -> None:
    """Without the feature the model is asked while nothing can be decided."""
    made = calls(
        ("find", {"city": "Rome", "task_id": "a"}), ("find", {"city": "Oslo", "task_id": "b"})
    )
    model = ScriptedChatModel(script(made, *["Still waiting."] * 2), latency=1.0)
    agent_of(model, [find()], specs=[pure("find")], config=config(on, "waiting")).run(tasks=TASKS)
    assert (model.requests[1].at < 3.0) is not on


def test_without_any_guard_a_run_still_works_and_ends(agent_of: AgentOf) -> None:
    """``GuardConfig.none()`` guards nothing and breaks nothing."""
    tool = find(0.0)
    model = ScriptedChatModel(
        script(calls(("find", {"city": "Rome"}), ("nothing", {})), ever="done")
    )
    outcome = agent_of(model, [tool], config=GuardConfig.none()).run("Go to Rome.")
    assert "ZX81" in outcome.answer("call_1_1")
    assert "no tool" in outcome.answer("call_1_2")
    assert outcome.last == "done"
