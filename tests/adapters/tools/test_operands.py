"""Operand references: a call may name a pending result, and the value is filled in when it is there."""

from typing import Any

import pytest

from asyncguard import (
    Admit,
    BoardView,
    GuardConfig,
    GuardRule,
    Proposal,
    Reject,
    Timing,
    ToolSpec,
    Verdict,
)
from asyncguard.testing import ScriptedChatModel, calls, scripted_tool
from tests.adapters.harness import AgentOf, Outcome, pure, script

TASKS = [{"id": "a", "goal": "Chain."}, {"id": "b", "goal": "Wait."}]
EXACT = GuardConfig(timing=Timing(grace=0.0, linger=0.0))


def ref(label: str, pointer: str = "") -> dict[str, str]:
    """A reference as the model writes it."""
    return {"from_call": label, "pointer": pointer}


def chain_tools() -> list[Any]:
    """Tools whose results feed each other; the last has an effect."""
    return [
        scripted_tool("find", lambda a: {"items": [{"id": 41}, {"id": 42}]}, args={}, latency=2.0),
        scripted_tool("open", lambda a: {"text": f"item {a['id']}"}, args={"id": int}, latency=2.0),
        scripted_tool("count", lambda a: len(a["text"]), args={"text": str}, latency=2.0),
        scripted_tool("buy", lambda a: f"bought {a['id']}", args={"id": int}, latency=2.0),
    ]


SPECS = [pure("find"), pure("open"), pure("count"), ToolSpec(name="buy")]


def run(
    agent_of: AgentOf, *steps: Any, **options: Any
) -> tuple[Outcome, dict[str, Any], ScriptedChatModel]:
    """Run a script over the chain tools."""
    tools = chain_tools()
    model = ScriptedChatModel(script(*steps))
    outcome = agent_of(model, tools, specs=SPECS, **({"config": EXACT} | options)).run(tasks=TASKS)
    return outcome, {tool.name: tool for tool in tools}, model


def test_a_chain_runs_without_a_model_turn_for_each_link(agent_of: AgentOf) -> None:
    """Three dependent calls made in one message run one after the other with the real values."""
    outcome, tools, model = run(
        agent_of,
        calls(
            ("find", {"task_id": "a"}),
            ("open", {"id": ref("find#1", "/items/1/id"), "task_id": "a"}),
            ("count", {"text": ref("open#1", "/text"), "task_id": "a"}),
            ("count", {"text": "b", "task_id": "b"}),
        ),
        "b is done",
        "all done",
    )
    assert tools["open"].calls[0].args == {"id": 42}
    assert [call.args for call in tools["count"].calls] == [{"text": "b"}, {"text": "item 42"}]
    assert [request.at for request in model.requests] == pytest.approx([0.0, 2.0, 6.0])
    assert outcome.states("a") == {"done": 3}


def test_a_result_that_is_there_already_can_be_named(agent_of: AgentOf) -> None:
    """A reference to a call that ended is filled in at once."""
    outcome, tools, _ = run(
        agent_of,
        calls(("find", {"task_id": "a"}), ("count", {"text": "b", "task_id": "b"})),
        calls(("open", {"id": ref("find#1", "/items/0/id"), "task_id": "a"})),
        "all done",
    )
    assert tools["open"].calls[0].args == {"id": 41}
    assert outcome.report["reason"] == "complete"


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        (ref("find#1", "/items/7/id"), "leads nowhere"),
        (ref("find#1", "items"), "start with '/'"),
        (ref("find#1", "/items"), "do not fit"),
        (ref("find#9"), "not an earlier call"),
        (ref("count#1"), "not an earlier call"),
    ],
    ids=["nowhere", "no pointer", "wrong type", "no such call", "call of the other task"],
)
def test_a_bad_reference_runs_nothing_and_is_explained(
    argument: Any, said: str, agent_of: AgentOf
) -> None:
    """The model is told what is wrong with its reference, at the latest when the result is there."""
    outcome, tools, _ = run(
        agent_of,
        calls(
            ("count", {"text": "b", "task_id": "b"}),
            ("find", {"task_id": "a"}),
            ("open", {"id": argument, "task_id": "a"}),
        ),
        "done",
        "all done",
        "all done",
    )
    assert tools["open"].calls == []
    assert said in outcome.text


def test_tools_with_effects_do_not_take_references(agent_of: AgentOf) -> None:
    """An effect is decided on by a model that has seen the value."""
    outcome, tools, model = run(
        agent_of,
        calls(
            ("find", {"task_id": "a"}),
            ("buy", {"id": ref("find#1", "/items/0/id"), "task_id": "a"}),
            ("count", {"text": "b", "task_id": "b"}),
        ),
        calls(("buy", {"id": 41, "task_id": "a"})),
        "all done",
        "all done",
    )
    assert "does not take results by reference" in outcome.text
    assert [call.args for call in tools["buy"].calls] == [{"id": 41}]
    shown = {
        schema["function"]["name"]: schema["function"]["parameters"]
        for schema in model.requests[0].tools
    }
    assert "from_call" in str(shown["open"])
    assert "from_call" not in str(shown["buy"])


def test_an_effectful_tool_can_be_declared_to_take_references(agent_of: AgentOf) -> None:
    """``references=True`` allows it, and the value is what was found."""
    tools = chain_tools()
    specs = [*SPECS[:3], ToolSpec(name="buy", references=True)]
    model = ScriptedChatModel(
        [
            calls(
                ("find", {"task_id": "a"}),
                ("buy", {"id": ref("find#1", "/items/0/id"), "task_id": "a"}),
                ("count", {"text": "b", "task_id": "b"}),
            ),
            *["all done"] * 2,
        ]
    )
    agent_of(model, tools, specs=specs, config=EXACT).run(tasks=TASKS)
    assert [call.args for call in tools[3].calls] == [{"id": 41}]


def test_references_can_be_switched_off(agent_of: AgentOf) -> None:
    """Without the feature they are neither offered nor taken."""
    outcome, tools, model = run(
        agent_of,
        calls(
            ("find", {"task_id": "a"}),
            ("open", {"id": ref("find#1", "/items/0/id"), "task_id": "a"}),
        ),
        *["all done"] * 4,
        config=GuardConfig(timing=EXACT.timing, references=False),
    )
    assert "from_call" not in str(model.requests[0].tools)
    assert tools["open"].calls == []
    assert "open" in outcome.text


def test_one_task_can_chain_calls_too(agent_of: AgentOf) -> None:
    """With a single task and foreground tools the whole chain runs in one message, too."""
    tools = chain_tools()
    model = ScriptedChatModel(
        [
            calls(
                ("find", {}), ("open", {"id": ref("find#1", "/items/1/id")}), ("buy", {"id": 41})
            ),
            "done",
        ]
    )
    outcome = agent_of(model, tools, specs=SPECS).run("Chain.")
    assert outcome.answer("call_1_2") == '{"text": "item 42"}'
    assert len(model.requests) == 2


BY_REFERENCE = ("pay", {"to": {"from_call": "find#1", "pointer": "/payee"}})
BY_VALUE = ("pay", {"to": "Eve"})
FIND = ("find", {})


def paying(
    agent_of: AgentOf, outcome: Any, *steps: Any, **config: Any
) -> tuple[Outcome, list[dict[str, Any]]]:
    """Run a script with a payment that takes references; gives what was paid."""
    find = scripted_tool("find", lambda a: {"payee": "Eve"}, args={}, latency=2.0)
    pay = scripted_tool("pay", lambda a: outcome, args={"to": str}, latency=2.0)
    specs = [pure("find"), ToolSpec(name="pay", references=True)]
    agent = agent_of(
        ScriptedChatModel(script(*steps)), [find, pay], specs=specs, config=GuardConfig(**config)
    )
    told = agent.run("Pay the payee, who is Eve.")
    return told, [dict(call.args) for call in pay.calls]


@pytest.mark.parametrize(
    "steps",
    [
        (calls(FIND, BY_REFERENCE), calls(BY_VALUE)),
        (calls(FIND), calls(BY_REFERENCE), calls(BY_VALUE)),
        (calls(FIND), calls(BY_VALUE), calls(BY_REFERENCE)),
        (calls(FIND), calls(BY_REFERENCE), calls(BY_REFERENCE)),
    ],
    ids=["deferred, value", "reference, value", "value, reference", "reference twice"],
)
def test_a_payment_in_doubt_is_not_repeated_in_the_other_form(
    steps: tuple[Any, ...], agent_of: AgentOf
) -> None:
    """A payment by reference and one by value are equal once the reference is filled in."""
    outcome, paid = paying(agent_of, RuntimeError("lost"), *steps)
    assert paid == [{"to": "Eve"}]
    assert "pay#2 was not run. pay#1 did the same" in outcome.text


@pytest.mark.parametrize(
    "steps",
    [(calls(FIND, BY_REFERENCE),), (calls(FIND), calls(BY_REFERENCE))],
    ids=["pending", "there"],
)
def test_a_guard_of_the_users_own_judges_the_value(
    steps: tuple[Any, ...], agent_of: AgentOf
) -> None:
    """A rule is asked about the value that a reference names, at the latest when the call is released."""

    def not_to_eve(proposal: Proposal, board: BoardView) -> Verdict:
        barred = proposal.call.arguments.get("to") == "Eve"
        return Reject(reason="Eve is barred.") if barred else Admit()

    rule = GuardRule(name="payees", judge=not_to_eve)
    outcome, paid = paying(agent_of, "paid", *steps, extra=(rule,))
    assert paid == []
    assert "pay#1 was not run. Eve is barred." in outcome.text
