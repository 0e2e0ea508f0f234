"""The quick yes of schemas: never where the validator says no."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from asyncguard.schema.fast_check import FORMATS, compile_fast_check

NAMES = st.sampled_from(["a", "b", "from_call", "pointer"])
VALUES = st.recursive(
    st.sampled_from(
        [
            None,
            True,
            False,
            0,
            1,
            1.0,
            1.5,
            -7,
            "",
            "x",
            "1",
            "true",
            "2026-04-03",
            "2026-04-03T09:30:00Z",
            float("inf"),
        ]
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
TYPES = st.sampled_from(["string", "integer", "number", "boolean", "null", "object", "array"])
# Keywords that the quick check understands, and some that it must notice.
STRANGE = st.sampled_from(
    [
        {"minimum": 1},
        {"maximum": 1},
        {"exclusiveMinimum": 1},
        {"exclusiveMaximum": 1},
        {"minLength": 1},
        {"maxLength": 1},
        {"minItems": 1},
        {"pattern": "x"},
        {"format": "date"},
        {"format": "date-time"},
        {"format": "uri"},
        {"unit": "kg", "aliases": ["mass"]},
        {"const": 1},
        {"not": {}},
        {"minProperties": 2},
        {"maxItems": 1},
        {"prefixItems": [False]},
        {"propertyNames": {"maxLength": 1}},
        {"patternProperties": {"a": False}},
        {"dependentRequired": {"a": ["b"]}},
        {"allOf": [{"type": "string"}]},
        {"oneOf": [{}, {}]},
        {"if": {}, "then": False},
        {"contains": {"type": "null"}},
        {"uniqueItems": True},
        {"unevaluatedProperties": False},
        {"type": ["string", "null"]},
    ]
)


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    parts = {
        "type": TYPES,
        "enum": st.lists(VALUES, min_size=1, max_size=3),
        "title": st.just("T"),
        "default": VALUES,
        "properties": st.dictionaries(NAMES, inner, max_size=3),
        "required": st.lists(NAMES, max_size=2, unique=True),
        "additionalProperties": inner,
        "items": inner,
        "anyOf": st.lists(inner, min_size=1, max_size=3),
    }
    plain = st.fixed_dictionaries({}, optional=parts)
    scalar = TYPES.map(lambda name: {"type": name})
    table = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": parts["properties"]},
        optional={name: parts[name] for name in ("required", "additionalProperties", "title")},
    )
    strange = st.builds(lambda one, other: one | other, plain, STRANGE)
    return plain | scalar | table | strange


FORMAT_CHECKER = FormatChecker(formats=())
for _name, _check in FORMATS.items():
    FORMAT_CHECKER.checks(_name)(_check)
SCHEMAS = st.recursive(
    st.booleans() | TYPES.map(lambda name: {"type": name}), _schemas, max_leaves=8
)


@given(SCHEMAS, VALUES)
@settings(max_examples=100)
def test_a_quick_yes_is_the_validators_yes(schema: Any, value: Any) -> None:
    """A value that the quick check accepts is valid, whatever the schema."""
    check_quick_yes(schema, value)


@pytest.mark.full
@given(SCHEMAS, VALUES)
@settings(max_examples=5_000)
def test_every_quick_yes_is_the_validators_yes(schema: Any, value: Any) -> None:
    """Many more schemas and values give no wrong yes."""
    check_quick_yes(schema, value)


def check_quick_yes(schema: Any, value: Any) -> None:
    """No quick yes without one of the validator."""
    fits = compile_fast_check(schema)
    sure = fits is not None and fits(value)
    assert not sure or Draft202012Validator(schema, format_checker=FORMAT_CHECKER).is_valid(value)


PLAIN = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "title": "Key"},
        "count": {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^[0-9]+$"}]},
        "size": {"enum": ["s", "m"], "default": "m"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "at": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "on": {"type": "boolean"},
        "free": {},
    },
    "required": ["key"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"count": 3},
        {"size": "s"},
        {"tags": []},
        {"tags": ["a", "b"]},
        {"at": {"x": 1.5, "y": "free"}},
        {"note": None},
        {"on": False},
        {"free": [{}]},
    ],
)
def test_plain_arguments_need_no_validator(more: dict[str, Any]) -> None:
    """The common kinds of arguments are surely right."""
    fits = compile_fast_check(PLAIN)
    assert fits is not None
    assert fits({"key": "k", **more})


@pytest.mark.parametrize(
    "given_values",
    [
        {},
        {"key": 1},
        {"key": "k", "more": 1},
        {"key": "k", "count": True},
        {"key": "k", "count": "three"},
        {"key": "k", "size": "xl"},
        {"key": "k", "tags": ["a", 1]},
        {"key": "k", "at": {"y": 1}},
        {"key": "k", "on": 0},
        [],
    ],
)
def test_what_is_wrong_is_left_to_the_validator(given_values: Any) -> None:
    """A problem is never taken for a fit."""
    fits = compile_fast_check(PLAIN)
    assert fits is not None
    assert not fits(given_values)


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": r"\p{L}+"},
        {"$ref": "#/$defs/X", "$defs": {"X": {}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "type": "string"},
        {"required": ["a"]},
        False,
    ],
)
def test_what_is_not_understood_has_no_quick_check(schema: Any) -> None:
    """Patterns of other dialects, references, other drafts and objects that need not be some: nothing is raised."""
    assert compile_fast_check(schema) is None


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        ({"type": "number"}, 1, True),
        ({"type": "integer"}, 1, True),
        ({"type": "number"}, 1.5, float("nan")),
        ({"minimum": 1}, 1, 0.5),
        ({"maximum": 1}, 1, 1.5),
        ({"exclusiveMinimum": 1}, 1.5, 1),
        ({"exclusiveMaximum": 1}, 0.5, 1),
        ({"minLength": 1}, "x", ""),
        ({"maxLength": 1}, "x", "xx"),
        ({"minItems": 1}, [0], []),
        ({"maxItems": 1}, [0], [0, 0]),
        ({"pattern": "^x"}, "xy", "yx"),
        ({"const": "x"}, "x", "y"),
        ({"type": ["string", "null"]}, None, 0),
        ({"format": "date"}, "2026-04-03", "20260403"),
        ({"format": "date"}, "2028-02-29", "2026-02-29"),
        ({"format": "date-time"}, "2026-04-03T09:30:00Z", "2026-04-03"),
    ],
)
def test_limits_are_exact(schema: Any, right: Any, wrong: Any) -> None:
    """A value on a limit fits, one beyond it is left to the validator."""
    fits = compile_fast_check(schema)
    assert fits is not None
    assert fits(right)
    assert not fits(wrong)
