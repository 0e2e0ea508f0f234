"""Inspection of answers: the anomalies that are found, and what is not one."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.core.faults import AnomalyKind
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.errors import DeclarationError
from asyncguard.recovery.result_check import inspect, prepare, read_answer

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "total": {"type": "number", "minimum": 0, "unit": "EUR"},
        "weight": {"type": "number", "unit": "kg"},
        "status": {"enum": ["in_transit", "delayed"]},
        "eta": {"type": "string", "format": "date"},
        "code": {"type": "string", "pattern": "^LN-[0-9]{3}$"},
        "stops": {"type": "array", "items": {"$ref": "#/$defs/Stop"}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["total", "status", "eta", "code"],
    "additionalProperties": False,
    "$defs": {
        "Stop": {"type": "object", "properties": {"km": {"type": "integer"}}, "required": ["km"]}
    },
}
SPEC = ToolSpec(name="quote", result_schema=SCHEMA)
GOOD: dict[str, Any] = {
    "total": 12.5,
    "weight": 3,
    "status": "delayed",
    "eta": "2026-04-03",
    "code": "LN-204",
}


def found(value: Any, spec: ToolSpec = SPEC) -> list[tuple[AnomalyKind, str]]:
    """Kind and pointer of each anomaly of a value that came as JSON text."""
    text = value if isinstance(value, str) else json.dumps(value)
    return [(item.kind, item.pointer) for item in inspect(spec, {}, read_answer(text))]


def test_an_answer_as_declared_has_no_anomalies() -> None:
    """Another order, an integer for a number, and a declared null are not anomalies."""
    assert found(GOOD) == []
    assert (
        found({**dict(reversed(GOOD.items())), "total": 12, "note": None, "stops": [{"km": 4}]})
        == []
    )


def test_without_a_declaration_there_are_none() -> None:
    """A tool that says nothing about its results cannot break its word."""
    assert found("anything at all", ToolSpec(name="free")) == []


@pytest.mark.parametrize(
    ("change", "anomaly"),
    [
        ({"total": "12.5"}, (AnomalyKind.TYPE, "/total")),
        ({"total": True}, (AnomalyKind.TYPE, "/total")),
        ({"total": -1}, (AnomalyKind.BOUNDS, "/total")),
        ({"status": "Delayed"}, (AnomalyKind.VALUE, "/status")),
        ({"eta": "03/04/2026"}, (AnomalyKind.VALUE, "/eta")),
        ({"eta": "20260403"}, (AnomalyKind.VALUE, "/eta")),
        ({"eta": "2026-02-30"}, (AnomalyKind.VALUE, "/eta")),
        ({"code": "204"}, (AnomalyKind.VALUE, "/code")),
        ({"a/b~c": 1}, (AnomalyKind.UNEXPECTED, "/a~1b~0c")),
        ({"stops": [{"km": 1}, {"km": 1.5}]}, (AnomalyKind.TYPE, "/stops/1/km")),
        ({"stops": [{}]}, (AnomalyKind.MISSING, "/stops/0/km")),
        ({"note": 3}, (AnomalyKind.TYPE, "/note")),
    ],
)
def test_each_violation_has_its_kind_and_place(
    change: dict[str, Any], anomaly: tuple[AnomalyKind, str]
) -> None:
    """One thing wrong is one anomaly, at the right pointer."""
    assert found({**GOOD, **change}) == [anomaly]


def test_a_renamed_field_is_missing_and_unexpected() -> None:
    """Both sides of a rename are reported."""
    renamed = {("sum" if name == "total" else name): value for name, value in GOOD.items()}
    assert set(found(renamed)) == {
        (AnomalyKind.MISSING, "/total"),
        (AnomalyKind.UNEXPECTED, "/sum"),
    }


@pytest.mark.parametrize(
    "text", ["The total is 12.50.", '{"total": 12.5, "sta', '{"total": 1, "total": 2}', "{'a': 1}"]
)
def test_a_text_that_is_no_json_is_unreadable(text: str) -> None:
    """Prose, a document that breaks off, and one that gives a field twice are not JSON."""
    assert found(text) == [(AnomalyKind.UNREADABLE, "")]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_numbers_that_json_does_not_know_are_seen(number: str) -> None:
    """No limit holds for NaN, so that comparing would not find it."""
    assert found(json.dumps(GOOD).replace("12.5", number)) != []


@pytest.mark.parametrize(
    "beside",
    [
        {"currency": "USD"},
        {"total_currency": "USD"},
        {"weight_unit": "lb"},
        {"unit": "g"},
        {"weightUnit": "cm"},
        {"total": {"value": 3, "unit": "cents"}},
        {"weight": "3 lb"},
    ],
)
def test_another_unit_in_the_answer_is_seen(beside: dict[str, Any]) -> None:
    """Beside the number, around it, or in its text."""
    kinds = [kind for kind, _ in found({**GOOD, **beside})]
    assert AnomalyKind.UNIT in kinds


def test_a_field_that_is_called_unit_may_be_a_ward() -> None:
    """A declared text field called unit may hold other texts than a unit of that kind."""
    fields = {"dose": {"type": "number", "unit": "mg"}, "unit": {"type": "string"}}
    spec = ToolSpec(name="dose", result_schema={"type": "object", "properties": fields})
    assert [found({"dose": 5, "unit": unit}, spec) for unit in ("cardiology", "C", "mg")] == [
        [],
        [],
        [],
    ]
    assert found({"dose": 5, "unit": "g"}, spec) == [(AnomalyKind.UNIT, "/dose")]


@pytest.mark.parametrize(
    "beside",
    [
        {"currency": "eur"},
        {"currency": "euros"},
        {"weight_unit": "kilograms"},
        {"unit": "kg"},
        {"unit": "km"},
    ],
)
def test_the_declared_unit_in_another_spelling_is_no_anomaly(beside: dict[str, Any]) -> None:
    """Another spelling of the unit, or a unit of an undeclared field, is not an anomaly."""
    spec = ToolSpec(name="quote", result_schema={**SCHEMA, "additionalProperties": True})
    assert found({**GOOD, **beside}, spec) == []


def test_invariants_see_arguments_and_result() -> None:
    """A rule's message becomes a finding, and so does a rule that raises, without its message."""

    def adds_up(arguments: Mapping[str, Any], result: Any) -> str | None:
        return (
            None
            if result["total"] == arguments["parts"]
            else "The total is not the sum of the parts."
        )

    def careless(arguments: Mapping[str, Any], result: Any) -> str | None:
        raise KeyError("secret value")

    spec = ToolSpec(name="quote", result_schema=SCHEMA, invariants=(adds_up, careless))
    right, wrong = {"parts": 12.5}, {"parts": 13}
    (broken,) = inspect(spec, right, read_answer(json.dumps(GOOD)))
    assert broken.kind is AnomalyKind.INVARIANT
    assert "careless" in broken.message
    assert "KeyError" in broken.message
    assert "secret" not in broken.message
    assert len(inspect(spec, wrong, read_answer(json.dumps(GOOD)))) == 2
    # A rule is written for the declared structure: it is not asked about another one.
    assert {kind for kind, _ in found({"total": 1}, spec)} == {AnomalyKind.MISSING}


@pytest.mark.parametrize("answer", [True, False, 0, ["The total is wrong."]])
def test_a_rule_that_returns_no_text_is_a_finding(answer: Any) -> None:
    """The effect has happened: a rule that says True where it holds must not end the run by an error."""

    def holds(arguments: Mapping[str, Any], result: Any) -> Any:
        return answer

    spec = ToolSpec(name="quote", result_schema=SCHEMA, invariants=(holds,))
    (unable,) = inspect(spec, {}, read_answer(json.dumps(GOOD)))
    assert unable.kind is AnomalyKind.INVARIANT
    said = f"The rule holds could not judge the answer: it returned {type(answer).__name__}, not a text or None."
    assert unable.message == said


def test_a_declared_text_may_read_like_json() -> None:
    """The text that came counts, if a text is declared."""
    spec = ToolSpec(name="code", result_schema={"type": "string"})
    assert [found(text, spec) for text in ("007", "null", "plain", '"quoted"')] == [[], [], [], []]


def test_content_blocks_and_data_are_read() -> None:
    """Text in blocks is text; data need no reading; a list of texts is data."""
    blocks = [{"type": "text", "text": '{"a":'}, {"type": "text", "text": "1}"}]
    assert read_answer(blocks).value == {"a": 1}
    assert read_answer({"a": 1}).value == {"a": 1}
    assert read_answer(["a", "b"]).value == ["a", "b"]
    assert read_answer([{"type": "image", "url": "x"}]).text is None
    assert not read_answer("no json").parsed


@pytest.mark.parametrize(
    "schema", [{"type": "strin"}, {"$ref": "#/$defs/Gone"}, {"type": "string", "pattern": "("}]
)
def test_a_broken_declaration_is_refused(schema: dict[str, Any]) -> None:
    """A broken declaration is refused before the first call, with the tool's name."""
    with pytest.raises(DeclarationError, match="quote"):
        prepare(ToolSpec(name="quote", result_schema=schema))
    prepare(SPEC)


SECRET = "S3CR3T"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.just(SECRET),
        lambda inner: st.lists(inner, max_size=3),
    )
)
def test_messages_hold_no_values(value: Any) -> None:
    """The messages name fields and limits only, whatever is wrong."""
    for name in ("total", "status", "stops", "note", "extra"):
        for item in inspect(SPEC, {}, read_answer({**GOOD, name: value})):
            assert SECRET not in item.message


@given(
    st.dictionaries(
        st.sampled_from([*GOOD, "extra"]),
        st.none() | st.integers() | st.floats() | st.text(max_size=5),
    )
)
def test_anything_can_be_inspected(value: dict[str, Any]) -> None:
    """No answer makes inspection raise, and what is silent fits the schema."""
    if not inspect(SPEC, {}, read_answer(value)):
        assert set(SCHEMA["required"]) <= value.keys() <= SCHEMA["properties"].keys()
