"""Clarification: missing values and stand-ins."""

from dataclasses import replace
from typing import Any

import pytest

from asyncguard.config import GuardConfig
from asyncguard.core.admission import ADMIT
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards import clarification
from tests.core.builders import Scene, object_schema, pure, rejection

CRM = ToolSpec(
    name="crm",
    parameters=object_schema(
        "city",
        city="string",
        note="string",
        mode={"enum": ["unknown", "fast"]},
        label={"type": "string", "default": "TBD"},
        address={"type": "object", "properties": {"street": {"type": "string"}}},
        tags={"type": "array", "items": {"anyOf": [{"const": "n/a"}, {"type": "string"}]}},
        api_key="string",
    ),
)


def test_a_missing_value_is_asked_for() -> None:
    """The user is named as the source, and the value by its name."""
    verdict = rejection(Scene(CRM).judge(clarification.judge, "crm", {}), "clarification")
    assert "Ask the user for city" in verdict.reason
    assert verdict.on == ()


def test_a_missing_value_may_come_from_a_pending_call() -> None:
    """While an earlier call of the task is open the advice is to wait for it, by its label."""
    scene = Scene(CRM)
    key = scene.start("crm", {"city": "Oslo"})
    scene.start("crm", {"city": "Oslo"}, task="t2")
    verdict = rejection(scene.judge(clarification.judge, "crm", {}), "clarification")
    assert "wait for the result" in verdict.reason
    assert "crm#1" in verdict.reason
    assert verdict.on == (key,)


def test_without_the_ledger_nobody_knows_of_pending_calls() -> None:
    """With the ledger switched off the advice is to ask the user."""
    scene = Scene(CRM, config=GuardConfig(ledger=False))
    scene.start("crm", {"city": "Oslo"})
    assert rejection(scene.judge(clarification.judge, "crm", {}), "clarification").on == ()


def test_a_misnamed_argument_is_asked_for_if_no_other_guard_says_so() -> None:
    """The guard ``arguments`` says more of it; with that guard switched off the call is refused here."""
    given = {"town": "Lisbon"}
    assert Scene(CRM).judge(clarification.judge, "crm", given) == ADMIT
    scene = Scene(CRM, config=GuardConfig(arguments=False))
    rejection(scene.judge(clarification.judge, "crm", given), "clarification")


STAND_INS = (
    "unknown",
    "TBD",
    " todo ",
    "N/A",
    "none given",
    "Not specified",
    "placeholder",
    "to be determined",
    "not provided.",
    "<city>",
    "<insert city name here>",
    "<your city>",
    "<...>",
    "<TBD>",
    "[your city]",
    "your_city_here",
    "YOUR-CITY-HERE",
    "your city here",
    "???",
    "??",
    "xxx",
    "XXXX",
    "xxx-xxx-xxxx",
    "...",
    "____",
)
VALUES = (
    "Oslo",
    "",
    " ",
    "x",
    "xx",
    "?",
    "N",
    "a/n",
    "Nada",
    "none",
    "here",
    "your city",
    "todo list",
    "Unknown Street 4",
    "Not specified anywhere by the customer",
    "<p>Hello</p>",
    "5 < 6 > 4",
    0,
    None,
    False,
    [],
)


@pytest.mark.parametrize("value", STAND_INS)
def test_a_stand_in_is_no_value(value: str) -> None:
    """In any spelling, also where the user's text happens to hold the argument's name."""
    scene = Scene(CRM)
    scene.board.evidence.add_common("What is the weather in my city? The name is here.")
    verdict = rejection(scene.judge(clarification.judge, "crm", {"city": value}), "clarification")
    assert "city" in verdict.reason
    assert "stand-in" in verdict.reason


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_no_stand_in(value: Any) -> None:
    """The empty string, words that contain a stand-in, markup and other types pass."""
    assert Scene(CRM).judge(clarification.judge, "crm", {"city": value}) == ADMIT


@pytest.mark.parametrize(
    "value", ["unknown", "TODO", "n/a", "xxx", "<div>", "<br>", "<city>", "<user_id>"]
)
def test_what_was_really_said_is_a_value(value: str) -> None:
    """The user may well ask for the list called todo, or for a tag."""
    scene = Scene(CRM)
    scene.board.evidence.add("t1", f"Look for {value} please")
    assert scene.judge(clarification.judge, "crm", {"city": value}) == ADMIT
    rejection(scene.judge(clarification.judge, "crm", {"city": value}, task="t2"), "clarification")


def test_a_place_to_be_filled_in_the_system_prompt_is_no_value() -> None:
    """Prompts say how a call is formed, and a model copies it."""
    scene = Scene(CRM)
    scene.board.evidence.prompt = "Look a customer up as crm(city=<city>)."
    scene.board.evidence.add_common(scene.board.evidence.prompt)
    rejection(scene.judge(clarification.judge, "crm", {"city": "<city>"}), "clarification")


@pytest.mark.parametrize("mark", ["____", "???", "...", "<>"])
def test_a_mark_that_stands_by_itself_is_a_value(mark: str) -> None:
    """A teacher hides a word under "____"; what only ends or lengthens something else does not count."""
    said = Scene(CRM)
    said.board.evidence.add("t1", f'Hide the word under "{mark}", please')
    assert said.judge(clarification.judge, "crm", {"city": mark}) == ADMIT
    for text in (f"wait{mark} what{mark}", f"_?.<{mark}>._?", "nothing of the kind"):
        other = Scene(CRM)
        other.board.evidence.add("t1", text)
        rejection(other.judge(clarification.judge, "crm", {"city": mark}), "clarification")


@pytest.mark.parametrize("arguments", [{"mode": "unknown"}, {"label": "TBD"}, {"tags": ["n/a"]}])
def test_what_the_schema_offers_is_a_value(arguments: dict[str, Any]) -> None:
    """A choice, a default and a constant are the tool's own words, also inside a list."""
    assert Scene(CRM).judge(clarification.judge, "crm", {"city": "Oslo", **arguments}) == ADMIT


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"note": "TBD"}, "note"),
        ({"label": "unknown"}, "label"),
        ({"address": {"street": "<street>"}}, "address/street"),
        ({"tags": ["a", "todo"]}, "tags/1"),
        ({"api_key": "your_api_key_here"}, "api_key"),
    ],
)
def test_optional_and_nested_stand_ins_count(arguments: dict[str, Any], name: str) -> None:
    """An optional argument is better left out than invented; nested ones are named by their path."""
    verdict = rejection(
        Scene(CRM).judge(clarification.judge, "crm", {"city": "Oslo", **arguments}), "clarification"
    )
    assert name in verdict.reason


def test_an_operand_counts_as_present() -> None:
    """A reference is neither missing nor a stand-in."""
    assert (
        Scene(CRM).judge(
            clarification.judge, "crm", {"city": {"from_call": "unknown", "pointer": "/x"}}
        )
        == ADMIT
    )


def test_what_an_operand_became_is_not_judged() -> None:
    """A tool's own 'n/a', put in at release for a reference, is not taken for a stand-in."""
    scene = Scene(pure("crm", "city", city="string"))
    source = scene.start("crm", {"city": "Oslo"})
    key = scene.defer("crm", (source,), {"city": {"from_call": "crm#1", "pointer": ""}})
    scene.end(source, content="n/a")
    proposal = scene.again(key)
    substituted = {"city": "n/a"}
    released = scene.propose("crm", substituted)
    rejection(clarification.judge(released, scene.board), "clarification")
    substituting = replace(proposal, call=replace(proposal.call, arguments=substituted))
    assert clarification.judge(substituting, scene.board) == ADMIT


def test_an_undeclared_or_unreadable_call_is_not_its_business() -> None:
    """No schema, no tool, no readable arguments: other checks speak."""
    scene = Scene(ToolSpec(name="bare"), CRM)
    assert scene.judge(clarification.judge, "bare", {}) == ADMIT
    assert scene.judge(clarification.judge, "nothing", {}) == ADMIT
    assert (
        scene.judge(clarification.judge, "crm", {}, problem="The arguments are not JSON.") == ADMIT
    )


def test_long_values_are_not_repeated() -> None:
    """The reason stays short whatever the model wrote."""
    many = {f"argument{n}": "<" + "x" * 79 + ">" for n in range(40)}
    rejection(
        Scene(CRM).judge(clarification.judge, "crm", {"city": "Oslo", **many}), "clarification"
    )
