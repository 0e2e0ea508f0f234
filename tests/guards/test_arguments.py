"""Arguments: tools, schemas and operands."""

from typing import Any

import pytest

from asyncguard.config import GuardConfig
from asyncguard.core import events as ev
from asyncguard.core.admission import ADMIT
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards import arguments, enabled
from tests.core.builders import Scene, object_schema, pure, rejection

ORDER = pure(
    "order",
    "item",
    "count",
    item="string",
    count={"type": "integer", "minimum": 1, "maximum": 9},
    size={"enum": ["s", "m"]},
    gift={"anyOf": [{"type": "boolean"}, {"type": "null"}]},
    lines={"type": "array", "items": {"$ref": "#/$defs/Line"}},
)
assert ORDER.parameters is not None
ORDER.parameters["$defs"] = {"Line": object_schema("id", id="string")}
OFF = GuardConfig(clarification=False)


def ref(label: str, pointer: str = "") -> dict[str, str]:
    """An operand."""
    return {"from_call": label, "pointer": pointer}


def test_arguments_that_fit() -> None:
    """Plain and full arguments pass."""
    scene = Scene(ORDER)
    full = {"item": "tea", "count": 9, "size": "m", "gift": None, "lines": [{"id": "a"}]}
    assert scene.judge(arguments.judge, "order", {"item": "tea", "count": 1}) == ADMIT
    assert scene.judge(arguments.judge, "order", full) == ADMIT


@pytest.mark.parametrize(
    ("given_values", "words"),
    [
        ({"count": 0}, "count: 0 breaks minimum 1"),
        ({"count": 10}, "count: 10 breaks maximum 9"),
        ({"count": "2"}, 'count: "2" is not of type integer'),
        ({"count": 1.5}, "count: 1.5 is not of type integer"),
        ({"size": "xl"}, 'size: "xl" breaks enum ["s","m"]'),
        ({"gift": "yes"}, 'gift: "yes" is not of type boolean or null'),
        ({"lines": [{"id": "a"}, {}]}, "lines/1: 'id' is required and missing"),
        ({"lines": [{"id": "a", "x": 1}]}, "lines/0: 'x' is not known; known are id"),
        ({"colour": "red"}, "'colour' is not known; known are item, count"),
        ({"item": None}, "item: null is not of type string"),
    ],
)
def test_a_broken_schema_is_explained(given_values: dict[str, Any], words: str) -> None:
    """The place, the value and the rule are named."""
    verdict = rejection(
        Scene(ORDER).judge(arguments.judge, "order", {"item": "tea", "count": 2, **given_values}),
        "arguments",
    )
    assert words in verdict.reason


def test_missing_values_belong_to_clarification() -> None:
    """With that guard on, a missing top-level value alone is left to it, and other problems are still reported."""
    assert Scene(ORDER).judge(arguments.judge, "order", {"item": "tea"}) == ADMIT
    verdict = rejection(
        Scene(ORDER, config=OFF).judge(arguments.judge, "order", {"item": "tea"}), "arguments"
    )
    assert "'count' is required and missing" in verdict.reason
    both = rejection(
        Scene(ORDER).judge(arguments.judge, "order", {"size": "xl", "count": 1}), "arguments"
    )
    assert "size" in both.reason
    assert "item" not in both.reason


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("clarifies", [True, False])
def test_a_misnamed_argument_is_told_by_its_name(closed: bool, clarifies: bool) -> None:
    """The user is not asked for a value that the model gave under another name."""
    schema = object_schema("city", "day", city="string", day="string", note="string")
    if not closed:
        del schema["additionalProperties"]
    scene = Scene(
        ToolSpec(name="search", parameters=schema), config=GuardConfig(clarification=clarifies)
    )
    proposal = scene.propose("search", {"town": "Lisbon", "day": "Monday"})
    verdict = rejection(scene.admit(proposal, enabled(scene.board.config)), "arguments")
    assert (
        "arguments: 'town' is not known; known are city, day, note; "
        "arguments: 'city' is required and missing. Correct them" in verdict.reason
    )


@pytest.mark.parametrize(
    "opened", [{"additionalProperties": {"type": "string"}}, {"patternProperties": {"^t": {}}}]
)
def test_an_argument_that_the_schema_lets_pass_is_not_misnamed(opened: dict[str, Any]) -> None:
    """A schema may take more arguments than it names; then a missing one is asked for."""
    schema = object_schema("city", city="string")
    del schema["additionalProperties"]
    schema |= opened
    scene = Scene(ToolSpec(name="search", parameters=schema))
    proposal = scene.propose("search", {"town": "Lisbon"})
    verdict = rejection(scene.admit(proposal, enabled(scene.board.config)), "clarification")
    assert "Ask the user for city" in verdict.reason


def test_five_problems_are_told() -> None:
    """At five all are listed; of more the rest is counted."""
    tool = pure("many", **{f"a{n}": "integer" for n in range(8)})
    five = rejection(
        Scene(tool).judge(arguments.judge, "many", {f"a{n}": "x" for n in range(5)}), "arguments"
    )
    six = rejection(
        Scene(tool).judge(arguments.judge, "many", {f"a{n}": "x" for n in range(6)}), "arguments"
    )
    assert "more" not in five.reason
    assert "a4" in five.reason
    assert "and 1 more" in six.reason
    assert "a5" not in six.reason


def test_payloads_are_not_repeated() -> None:
    """A large wrong value, name or constant is cut."""
    tool = pure("one", a={"enum": ["z" * 5000]})
    verdict = rejection(
        Scene(tool).judge(arguments.judge, "one", {"a": "y" * 5000, "n" * 5000: 1}), "arguments"
    )
    assert "y" * 90 not in verdict.reason
    assert "n" * 90 not in verdict.reason


def test_an_unknown_tool_is_answered_with_the_known() -> None:
    """Close names come first, at most twenty are listed, tools of other tasks are not offered."""
    others = [ToolSpec(name=f"tool{n:02}") for n in range(30)]
    scene = Scene(
        *others,
        ToolSpec(name="search_flights"),
        ToolSpec(name="search_fares", tasks=frozenset({"t2"})),
    )
    verdict = rejection(scene.judge(arguments.judge, "search_flight", {}), "arguments")
    assert "Use one of: search_flights, tool00" in verdict.reason
    assert "and 11 more" in verdict.reason
    assert "search_fares" not in verdict.reason
    rejection(scene.judge(arguments.judge, "x" * 10_000, {}), "arguments")
    assert (
        "Answer without tools"
        in rejection(Scene().judge(arguments.judge, "search", {}), "arguments").reason
    )


def test_what_could_not_be_read_is_said() -> None:
    """The problem found while reading the call is passed on."""
    verdict = Scene(ORDER).judge(
        arguments.judge, "order", {}, problem="The arguments are not JSON."
    )
    assert (
        "order#1 could not be read: The arguments are not JSON."
        in rejection(verdict, "arguments").reason
    )


@pytest.mark.parametrize(
    "operand", [{"from_call": "order#1"}, ref("order#1"), ref("order#1", "/items/0")]
)
def test_an_operand_satisfies_any_schema(operand: dict[str, str]) -> None:
    """Wherever it stands, as long as its source can deliver."""
    scene = Scene(ORDER, config=OFF)
    scene.start("order", {"item": "tea", "count": 1})
    for given_values in (
        {"item": operand, "count": operand, "size": operand, "gift": operand, "lines": operand},
        {"item": "tea", "count": 1, "lines": [operand, {"id": operand}]},
    ):
        assert scene.judge(arguments.judge, "order", given_values) == ADMIT
    verdict = scene.judge(arguments.judge, "order", {"item": operand, "count": 10})
    assert "count: 10" in rejection(verdict, "arguments").reason


@pytest.mark.parametrize("state", ["pending", "deferred", "done"])
def test_operands_from_calls_that_deliver(state: str) -> None:
    """A source may be running, held back itself, or done."""
    scene = Scene(ORDER)
    first = scene.start("order", {"item": "tea", "count": 1})
    if state == "deferred":
        scene.defer("order", (first,), {"item": "tea", "count": 2})
    elif state == "done":
        scene.end(first)
    label = "order#2" if state == "deferred" else "order#1"
    assert scene.judge(arguments.judge, "order", {"item": ref(label), "count": 1}) == ADMIT


def test_an_operand_of_nobody() -> None:
    """Unknown labels, labels of other tasks, the call itself and later calls are refused, with what could be named."""
    scene = Scene(ORDER)
    scene.start("order", {"item": "tea", "count": 1})
    scene.start("order", {"item": "tea", "count": 1}, task="t2")
    scene.start("order", {"item": "tea", "count": 2}, task="t2")
    early = scene.propose("order", {"item": ref("order#3"), "count": 1}, message="one")
    scene.propose("order", {"item": "tea", "count": 3}, message="one")
    verdicts = [
        scene.judge(arguments.judge, "order", {"item": ref(x), "count": 1})
        for x in ("find#1", "order#9")
    ]
    verdicts += [scene.judge(arguments.judge, "order", {"item": ref("order#6"), "count": 1})]
    verdicts += [arguments.judge(early, scene.board)]
    for verdict in verdicts:
        assert "order#1" in rejection(verdict, "arguments").reason
    other = scene.judge(arguments.judge, "order", {"item": ref("order#4"), "count": 1}, task="t2")
    assert "is not an earlier call of this task" in rejection(other, "arguments").reason


@pytest.mark.parametrize("outcome", [ev.Outcome.FAILED, ev.Outcome.IN_DOUBT])
def test_an_operand_without_result(outcome: ev.Outcome) -> None:
    """A source that failed or is in doubt has nothing to give."""
    scene = Scene(ORDER)
    scene.end(scene.start("order", {"item": "tea", "count": 1}), outcome)
    verdict = scene.judge(arguments.judge, "order", {"item": ref("order#1"), "count": 1})
    assert "order#1 has no result to use" in rejection(verdict, "arguments").reason


def test_an_operand_of_a_rejected_call() -> None:
    """A call that never ran has nothing to give either."""
    scene = Scene(ORDER)
    scene.reject("order")
    rejection(
        scene.judge(arguments.judge, "order", {"item": ref("order#1"), "count": 1}), "arguments"
    )


def test_a_pointer_starts_with_a_slash() -> None:
    """A pointer that cannot be resolved is refused at once."""
    scene = Scene(ORDER)
    scene.start("order", {"item": "tea", "count": 1})
    verdict = scene.judge(arguments.judge, "order", {"item": ref("order#1", "items/0"), "count": 1})
    assert "start with '/'" in rejection(verdict, "arguments").reason


@pytest.mark.parametrize("switch", ["references", "ledger", "dependency"])
def test_operands_can_be_switched_off(switch: str) -> None:
    """Without references, or without what would hold the call back, the model is told to wait for the value."""
    scene = Scene(ORDER, config=GuardConfig().with_switches({switch: False}))
    key = scene.start("order", {"item": "tea", "count": 1})
    verdict = rejection(
        scene.judge(arguments.judge, "order", {"item": ref("order#1"), "count": 1}), "arguments"
    )
    assert "Wait for the result of order#1" in verdict.reason
    assert verdict.on == (() if switch == "ledger" else (key,))


@pytest.mark.parametrize("label", ["order#2", "ordr#1", "order#9"])
def test_no_result_is_waited_for_that_cannot_come(label: str) -> None:
    """Neither that of the call itself, nor that of one that was never made."""
    scene = Scene(ORDER, config=GuardConfig(references=False))
    scene.start("order", {"item": "tea", "count": 1})
    proposal = scene.propose("order", {"item": ref(label), "count": 1})
    verdict = rejection(arguments.judge(proposal, scene.board), "arguments")
    assert f"{label} is not an earlier call of this task" in verdict.reason
    assert "Wait" not in verdict.reason
    assert verdict.on == ()


def test_tools_with_effects_take_operands_only_if_declared() -> None:
    """The declaration decides, and the effect class where it says nothing."""
    schema = object_schema("to", to="string")
    for spec, taken in (
        (ToolSpec(name="send", parameters=schema), False),
        (ToolSpec(name="send", parameters=schema, references=True), True),
        (pure("send", "to", to="string"), True),
    ):
        scene = Scene(ORDER, spec)
        scene.start("order", {"item": "tea", "count": 1})
        verdict = scene.judge(arguments.judge, "send", {"to": ref("order#1")})
        assert (verdict == ADMIT) is taken


def test_the_switch() -> None:
    """With the guard off a broken schema passes; what cannot be run at all does not."""
    scene = Scene(ORDER, config=GuardConfig.none())
    guards = enabled(scene.board.config)
    assert scene.admit(scene.propose("order", {"count": "many"}), guards) == ADMIT
    rejection(scene.admit(scene.propose("ordr", {}), guards), "readable")
    rejection(
        scene.admit(scene.propose("order", {}, problem="The arguments are not JSON."), guards),
        "readable",
    )
