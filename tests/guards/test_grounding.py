"""Grounding: guesses of pending results."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.config import GuardConfig
from asyncguard.core.admission import ADMIT
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards import enabled, grounding
from tests.core.builders import Scene, object_schema, pure, rejection

TOOL = pure(
    "find",
    id="string",
    limit={"type": "integer", "default": 20},
    unit={"enum": ["km", "miles"]},
    kind={"const": "exact"},
    page={"anyOf": [{"$ref": "#/$defs/Page"}, {"type": "null"}]},
    tags={"type": "array", "items": "string", "default": ["new", "hot"]},
)
assert TOOL.parameters is not None
TOOL.parameters["properties"]["tags"]["items"] = {"type": "string"}
TOOL.parameters["$defs"] = {
    "Page": {"type": "object", "properties": {"size": {"type": "integer", "default": 50}}}
}


def told() -> Scene:
    """A scene in which the user named one customer."""
    scene = Scene(TOOL)
    scene.board.evidence.add_common("Find the orders of customer C-17.")
    return scene


def test_a_guess_is_rejected_while_a_call_is_open() -> None:
    """The value, its place and the pending call are named; the model waits for it."""
    scene = told()
    key = scene.start("find", {"id": "C-17"})
    verdict = rejection(scene.judge(grounding.judge, "find", {"id": "ord_4711"}), "grounding")
    assert verdict.on == (key,)
    assert 'id="ord_4711"' in verdict.reason
    assert "find#1" in verdict.reason


@pytest.mark.parametrize("state", ["none", "done", "other task", "same message"])
def test_it_cannot_fire_without_an_earlier_open_call(state: str) -> None:
    """Nothing pending, a finished call, another task's call, and a call of the same message."""
    scene = told()
    if state == "done":
        scene.finished("find", {"id": "C-17"})
    elif state == "other task":
        scene.start("find", {"id": "C-17"}, task="t2")
    elif state == "same message":
        scene.start("find", {"id": "C-17"}, message="m")
    assert scene.judge(grounding.judge, "find", {"id": "ord_4711"}, message="m") == ADMIT


@pytest.mark.parametrize(
    "given_values",
    [
        {"id": "C-17"},
        {"id": "c-17"},
        {"limit": 20},
        {"limit": 20.0},
        {"unit": "miles"},
        {"kind": "exact"},
        {"page": {"size": 50}},
        {"tags": ["new", "hot"]},
        {"id": {"from_call": "find#1", "pointer": "/secret"}},
        {"page": {"size": {"from_call": "find#1", "pointer": "/secret"}}},
        {},
    ],
)
def test_grounded_values_pass(given_values: dict[str, Any]) -> None:
    """Values that were said, values of the schema (also below references) and operands pass."""
    scene = told()
    scene.start("find", {"id": "C-17"})
    assert scene.judge(grounding.judge, "find", given_values) == ADMIT


@pytest.mark.parametrize(
    "given_values",
    [
        {"limit": 21},
        {"unit": "yards"},
        {"page": {"size": 51}},
        {"tags": ["new", "cold"]},
        {"page": {"offset": 50}},
        {"id": "C-17", "unit": "exact"},
        {"limit": 10**400},
    ],
)
def test_values_beside_the_schema_are_guesses(given_values: dict[str, Any]) -> None:
    """One off the default, another field's constant, a list that is not the default."""
    scene = told()
    scene.start("find", {"id": "C-17"})
    rejection(scene.judge(grounding.judge, "find", given_values), "grounding")


SHARE = pure("share")
assert SHARE.parameters is not None
SHARE.parameters["properties"] = {
    "parts": {"type": "object", "additionalProperties": {"type": "integer"}},
    "body": {"type": "object"},
    "dated": {"type": "object", "patternProperties": {"^.+$": {"type": "integer"}}},
    "chosen": {
        "type": "object",
        "propertyNames": {"enum": ["east", "west"]},
        "additionalProperties": {"type": "integer"},
    },
    "page": {
        "type": "object",
        "properties": {"size_2": {"type": "integer"}},
        "additionalProperties": {"type": "integer"},
    },
    "lists": {"type": "array", "items": {"$ref": "#/$defs/Parts"}},
    "usual": {"additionalProperties": {"type": "integer"}, "default": {"Bob": 100}},
}
SHARE.parameters["$defs"] = {"Parts": SHARE.parameters["properties"]["parts"]}


@pytest.mark.parametrize(
    ("given_values", "refused"),
    [
        ({"parts": {"ada@x.org": 100}}, ""),
        ({"parts": {"eve@evil.org": 100}}, 'The key "eve@evil.org" of parts was found'),
        ({"parts": {"Bob": 100}}, 'The key "Bob" of parts was found'),
        ({"parts": {"from_call": "share#1", "pointer": "/parts"}}, ""),
        ({"lists": [{"ada@x.org": 100}, {"eve@evil.org": 100}]}, "lists/1 was found"),
        ({"body": {"eve@evil.org": 100}}, "of body was found"),
        ({"body": {"to": {"eve@evil.org": 100}}}, "of body/to was found"),
        ({"body": {"gross-amount": 100, "unit_price": 100}}, ""),
        ({"dated": {"2026-05-27": 100}}, "of dated was found"),
        ({"dated": {"2026-05-26": 100}}, ""),
        ({"chosen": {"west": 100}}, ""),
        ({"usual": {"Bob": 100}}, ""),
        ({"usual": {"Bob": 100, "ada@x.org": 100}}, "of usual was found"),
        ({"page": {"size_2": 100}}, ""),
        ({"page": {"size_3": 100}}, "of page was found"),
    ],
)
def test_a_key_is_a_value_where_no_schema_names_it(given_values: Any, refused: str) -> None:
    """An address or a name as a key; names of fields, declared or in an open object, are the tool's."""
    scene = Scene(SHARE)
    scene.board.evidence.add_common("Pay 100 to ada@x.org on May 26, 2026.")
    scene.start("share", {"page": {}})
    verdict = scene.judge(grounding.judge, "share", given_values)
    if refused:
        assert refused in rejection(verdict, "grounding").reason
    else:
        assert verdict == ADMIT


def test_a_key_of_a_free_argument_needs_no_source() -> None:
    """As its values: the model words the whole argument."""
    scene = Scene(replace(SHARE, free=("parts",)))
    scene.start("share", {"page": {}})
    assert scene.judge(grounding.judge, "share", {"parts": {"Bob": "a"}}) == ADMIT


def test_what_an_operand_became_is_not_judged() -> None:
    """An operand's result that is put in at release is not yet evidence, and not a guess."""
    scene = told()
    slow = scene.start("find", {"id": "C-17"})
    source = scene.start("find", {"id": "C-17", "limit": 20})
    key = scene.defer("find", (source,), {"id": {"from_call": "find#2", "pointer": "/id"}})
    scene.end(source)
    released = scene.again(key)
    substituted = replace(released, call=replace(released.call, arguments={"id": "ord_4711"}))
    assert scene.ledger.record(slow).open
    assert grounding.judge(substituted, scene.board) == ADMIT


def test_after_the_result_the_value_is_grounded() -> None:
    """The rejected call passes when the text that holds its value was delivered, other calls still being open."""
    scene = told()
    scene.start("find", {"id": "C-17"})
    scene.start("find", {"id": "C-17", "limit": 20})
    rejection(scene.judge(grounding.judge, "find", {"id": "ord_4711"}), "grounding")
    scene.board.evidence.add("t1", '{"id":"ord_4711"}')
    assert scene.judge(grounding.judge, "find", {"id": "ord_4711"}) == ADMIT


values = (
    st.text(max_size=12) | st.integers() | st.floats() | st.lists(st.text(max_size=4), max_size=2)
)
steps = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from(["t1", "t2"]), st.dictionaries(st.text(max_size=4), values, max_size=2)
        ),
        max_size=3,
    ),
    max_size=5,
)


@given(steps)
def test_it_never_fires_in_serial_execution(
    messages: list[list[tuple[str, dict[str, Any]]]],
) -> None:
    """No call is refused if each message's results are awaited, whatever the values."""
    scene = Scene(TOOL)
    for number, calls in enumerate(messages):
        proposals = [
            scene.propose("find", given, task=task, message=f"m{number}") for task, given in calls
        ]
        assert all(grounding.judge(proposal, scene.board) == ADMIT for proposal in proposals)
        scene.admit_and_finish(proposals)


@pytest.mark.parametrize("switch", ["grounding", "ledger"])
def test_the_switch(switch: str) -> None:
    """Off, guesses pass; without the ledger pending calls are unknown."""
    for on in (True, False):
        config = GuardConfig.none(grounding=True, ledger=True).with_switches({switch: on})
        scene = Scene(TOOL, config=config)
        scene.start("find", {})
        verdict = scene.admit(scene.propose("find", {"id": "guess"}), enabled(config))
        assert (verdict == ADMIT) is not on


def two_tools(effect_tool: ToolSpec, tasks: tuple[str, ...]) -> Scene:
    """A search that runs in message "m", beside a tool of another name."""
    scene = Scene(TOOL, effect_tool, tasks=tasks)
    scene.board.evidence.add_common("Find the orders of customer C-17 and cancel the last.")
    scene.start("find", {"id": "C-17"}, message="m")
    return scene


CANCEL = ToolSpec(name="cancel", parameters=object_schema(order="string"))


def test_an_effect_must_not_guess_at_a_call_of_its_own_message() -> None:
    """With several tasks, ``[find, cancel(guess)]`` is the same guess as one message later."""
    scene = two_tools(CANCEL, ("t1", "t2"))
    verdict = rejection(
        scene.judge(grounding.judge, "cancel", {"order": "ord_4711"}, message="m"), "grounding"
    )
    assert "find#1" in verdict.reason
    assert scene.judge(grounding.judge, "cancel", {"order": "C-17"}, message="m") == ADMIT


@pytest.mark.parametrize("why", ["one task", "no effect"])
def test_calls_of_one_message_are_else_independent(why: str) -> None:
    """One task is as in ``create_agent``; a wrong guess of a pure call harms nothing."""
    tool = CANCEL if why == "one task" else pure("cancel", order="string")
    scene = two_tools(tool, ("t1",) if why == "one task" else ("t1", "t2"))
    assert scene.judge(grounding.judge, "cancel", {"order": "ord_4711"}, message="m") == ADMIT


NOTE = "The reservation ZFA04Y was made more than 72 hours ago, so a refund of 340 is out."


def judged(tool: ToolSpec, given_values: dict[str, Any]) -> bool:
    """Whether a call passes while another one of its task is open."""
    scene = Scene(TOOL, tool)
    scene.start("find", {})
    return scene.judge(grounding.judge, tool.name, given_values) == ADMIT


def test_running_text_of_a_pure_tool_is_the_models_own() -> None:
    """A note of many words passes; a short text, a text with a form, and one of an effect do not."""
    assert judged(pure("think", note="string"), {"note": NOTE})
    assert judged(
        pure("think", notes={"type": "array", "items": {"type": "string"}}), {"notes": [NOTE]}
    )
    assert not judged(pure("think", note="string"), {"note": "ZFA04Y has 72 hours"})
    assert not judged(pure("think", note={"type": "string", "pattern": "."}), {"note": NOTE})
    assert not judged(
        ToolSpec(name="mail", parameters=object_schema(body="string")), {"body": NOTE}
    )


def test_a_free_argument_needs_no_source() -> None:
    """The declaration exempts the argument and what is in it, and no other one."""
    mail = ToolSpec(name="mail", free=["body"], parameters=object_schema(body={}, to="string"))
    assert judged(mail, {"body": NOTE})
    assert judged(mail, {"body": {"amount": 340}})
    assert not judged(mail, {"body": NOTE, "to": "bob@example.org"})
