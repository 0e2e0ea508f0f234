"""Saved forms, and the fast check of schemas."""

import json
from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.saved_form import Truth, Whole, json_value, parse, saved_form
from asyncguard_benchmark.services.catalogue import toolsets
from asyncguard_benchmark.services.schema_check import fast_check
from tests.support.examples import examples


@saved_form("note")
@dataclass(frozen=True, kw_only=True)
class Item:
    """One thing."""

    size: Whole = 0
    sold: Truth = False
    note: str = ""


ITEMS = TypeAdapter(dict[str, list[Item]])


@pytest.mark.parametrize(
    ("item", "place", "said"),
    [
        ({"size": 1}, "file.a[1]", "lacks 'sold'"),
        ({"size": 1, "sold": True, "colour": 2}, "file.a[1]", "unknown keys 'colour'"),
        ({"size": "1", "sold": True}, "file.a[1].size", "valid integer, not '1'"),
        ({"size": True, "sold": True}, "file.a[1].size", "valid integer"),
        ({"size": 1, "sold": 1}, "file.a[1].sold", "valid boolean"),
        ("x", "file.a[1]", "Item"),
    ],
)
def test_a_wrong_part_is_refused_with_its_place(item: Any, place: str, said: str) -> None:
    """Nothing is converted, filled in or dropped."""
    with pytest.raises(DataError) as caught:
        parse(ITEMS, {"a": [{"size": 1, "sold": False, "note": "n"}, item]}, "file")
    assert caught.value.where == place
    assert said in caught.value.problem


@pytest.mark.parametrize(
    "text",
    ['{"a": "\\ud800"}', "[" * 500 + "]" * 500, "[1, 1.0, -0.0, 1e400, 12345678901234567890]"],
)
def test_all_that_python_reads_as_json_is_read(text: str) -> None:
    """Half a character and deep nesting too, which the fast reader does not take."""
    assert repr(json_value(text.encode())) == repr(json.loads(text))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.floats()
    | st.sampled_from(["", "a", "2026-01-02", "AB-1", "/docs"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
SCHEMAS = [
    schema
    for toolset in toolsets().values()
    for tool in toolset.tools.values()
    for schema in (tool.parameters, *tool.parameters["properties"].values())
]


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(SCHEMAS), st.data())
def test_what_surely_fits_fits(schema: dict[str, Any], data: st.DataObject) -> None:
    """The fast check never accepts what jsonschema refuses."""
    check = fast_check(schema)
    assert check is not None
    properties = schema.get("properties")
    value = data.draw(
        VALUES if not properties else st.fixed_dictionaries(dict.fromkeys(properties, VALUES))
    )
    if check(value):
        assert Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    "schema",
    [
        {"required": "all"},
        {"pattern": "("},
        {"minLength": -1},
        {"type": "text"},
        {"$ref": "#"},
        {"enum": [1]},
    ],
    ids=str,
)
def test_an_odd_schema_is_left_to_jsonschema(schema: dict[str, Any]) -> None:
    """A malformed keyword, or one that is unknown here, has no fast check."""
    assert fast_check(schema) is None
