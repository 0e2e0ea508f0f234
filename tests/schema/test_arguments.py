"""The check of arguments: schemas that compile, and the verdicts on values and operands."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.errors import DeclarationError
from asyncguard.schema.arguments import compile_schema
from tests.core.builders import object_schema

ORDER: dict[str, Any] = {
    **object_schema(
        "item",
        "count",
        item="string",
        count={"type": "integer", "minimum": 1, "maximum": 9},
        size={"enum": ["s", "m"]},
        gift={"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        lines={"type": "array", "items": {"$ref": "#/$defs/Line"}},
    ),
    "$defs": {"Line": object_schema("id", id="string")},
}


def ref(label: str) -> dict[str, str]:
    """An operand."""
    return {"from_call": label, "pointer": ""}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"properties": 3},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"$ref": "https://example.org/a.json"}}},
        {"properties": {"a": {"$ref": "#/$defs/missing"}}},
        {"properties": {"default": {"$ref": "other.json"}}},
        {"properties": {"a": {"$id": "https://example.org/b", "$ref": "#"}}},
        {"required": "a"},
    ],
)
def test_a_broken_declaration_is_refused_when_it_is_made(schema: dict[str, Any]) -> None:
    """Schemas that could only fail later, or would look into the network, do not compile."""
    with pytest.raises(DeclarationError):
        compile_schema(schema)


def test_data_in_a_schema_is_no_reference() -> None:
    """A default or an example that looks like one is left alone, as are headers of generated schemas."""
    check = compile_schema(
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$id": "https://example.org/tool.json",
            "type": "object",
            "properties": {
                "a": {"type": "integer", "default": {"$ref": "x"}, "examples": [{"$ref": "y"}]}
            },
        }
    )
    assert check({"a": 1}) == ()
    assert check({"a": "1"})
    assert check({"a": ref("order#1")}) == ()


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf", "allOf"])
def test_operands_below_branches(keyword: str) -> None:
    """An operand below several branches fits each of them, without a mismatch or double match."""
    branches = [object_schema("a", a="string"), object_schema("a", a="integer")]
    check = compile_schema({keyword: branches})
    assert check({"a": ref("x#1")}) == ()
    assert check({"a": []})


def test_operands_below_a_negation() -> None:
    """A negation is not checked against an operand, whose value is unknown."""
    check = compile_schema({"not": {"properties": {"a": {"const": 1}}, "required": ["a"]}})
    assert check({"a": 1})
    assert check({"a": ref("x#1")}) == ()


def test_the_clearest_branch_is_explained() -> None:
    """The explanation is about the form that fits best."""
    branches = [object_schema("kind", "n", kind={"const": "a"}, n="integer"), {"type": "null"}]
    check = compile_schema({"properties": {"x": {"anyOf": branches}}})
    (problem,) = check({"x": {"kind": "a", "n": "1"}})
    assert problem == 'x/n: "1" is not of type integer'
    (problem,) = compile_schema(
        {"properties": {"x": {"anyOf": [{"type": "null"}, {"minimum": 1}]}}}
    )({"x": 0})
    assert problem == "x: 0 breaks minimum 1"


def test_a_number_in_quotes_is_explained_as_a_number() -> None:
    """Pydantic's form of a decimal: its pattern would tell a model less; other texts keep theirs."""
    text = {"type": "string", "pattern": r"^\d+$"}
    branches = [{"type": "number"}, text, {"type": "null"}]
    check = compile_schema({"properties": {"x": {"anyOf": branches}}})
    assert check({"x": "12"}) == ()
    assert check({"x": "12 euros"}) == ('x: "12 euros" is not of type number or null',)
    assert check({"x": []}) == ("x: [] is not of type number or null",)
    check = compile_schema({"properties": {"x": {"anyOf": [text, {"type": "null"}]}}})
    assert "breaks pattern" in check({"x": "a"})[0]
    inner = {"type": "object", "properties": {"code": text}}
    check = compile_schema({"properties": {"x": {"anyOf": [{"type": "integer"}, inner, False]}}})
    assert check({"x": {"code": "a"}})[0].startswith('x/code: "a" breaks pattern')


@pytest.mark.parametrize("value", [math.inf, math.nan, 10**400])
def test_values_that_cannot_be_calculated_with(value: float) -> None:
    """A keyword that breaks on a value means that the value does not fit; nothing is raised."""
    (problem,) = compile_schema({"properties": {"a": {"multipleOf": 0.1}}})({"a": value})
    assert problem


def test_a_schema_that_only_refers_to_itself() -> None:
    """An endless definition is the tool's mistake, and is answered all the same."""
    (problem,) = compile_schema({"$ref": "#"})({"a": 1})
    assert "cannot be checked" in problem


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(
        st.sampled_from(["item", "count", "size", "gift", "lines", "x"]),
        json_values | st.just(ref("a#1")),
    )
)
def test_any_arguments_get_a_verdict(given_values: dict[str, Any]) -> None:
    """Whatever a model writes, the check answers in short sentences, the same each time."""
    check = compile_schema(ORDER)
    problems = check(given_values)
    assert problems == check(given_values)
    assert all(0 < len(problem) < 400 for problem in problems)
    assert len(set(problems)) == len(problems)
