from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncguard_benchmark.services.service import Toolset
from asyncguard_benchmark.suites.hazards.domains import treasury, warehouse, weather
from asyncguard_benchmark.suites.hazards.domains.questions import Question
from asyncguard_benchmark.suites.hazards.domains.result_rules import (
    adds_up,
    difference,
    echoes,
    not_above,
    product,
)
from tests.support.examples import examples


@pytest.fixture(
    params=[treasury.TOOLSET, warehouse.TOOLSET, weather.TOOLSET], ids=lambda each: each.category
)
def toolset(request: pytest.FixtureRequest) -> Toolset:
    """The tools of one domain after the other."""
    found: Toolset = request.param
    return found


def test_schemas_are_closed_and_say_what_each_field_means(toolset: Toolset) -> None:
    """Every field of every result is required and described; arguments are described, too."""
    annotated: set[str] = set()
    for tool in toolset.tools.values():
        assert tool.remedies.returns is not None
        for _, schema in _objects_in(tool.remedies.returns):
            assert schema["additionalProperties"] is False
            assert set(schema["required"]) == set(schema["properties"])
            assert all(field.get("description") for field in schema["properties"].values())
            annotated |= {key for field in schema["properties"].values() for key in field}
            annotated |= {
                f"aliases of {type(field.get('aliases')).__name__}"
                for field in schema["properties"].values()
            }
        assert all(field.get("description") for field in tool.parameters["properties"].values())
    assert {"unit", "pattern", "enum", "format", "aliases of list", "aliases of dict"} <= annotated


def _objects_in(schema: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield where, schema
        for name, item in schema.items():
            yield from _objects_in(item, f"{where}/{name}")
    elif isinstance(schema, list):
        for item in schema:
            yield from _objects_in(item, where)


def test_other_spellings_of_a_word_lead_to_its_values(toolset: Toolset) -> None:
    """No spelling leads to a word that the schema does not have, or is one of its words."""
    for tool in toolset.tools.values():
        for _, schema in _objects_in(tool.remedies.returns):
            for field in schema["properties"].values():
                spellings = field.get("aliases", {})
                if isinstance(spellings, dict):
                    assert set(spellings.values()) <= set(field.get("enum", []))
                    assert not set(spellings) & set(field.get("enum", []))
                else:
                    assert not set(spellings) & set(schema["properties"])


def test_rules_of_results_judge_only_what_they_can_read() -> None:
    """Missing fields, other types and arguments under other names are left to the schema."""
    rules = (
        adds_up("total", "parts"),
        adds_up("total", "parts", "size"),
        product("total", "a", "b"),
        difference("total", "a", "b"),
        not_above("a", "b"),
        echoes("asked", "said"),
    )
    odd: tuple[Any, ...] = (
        None,
        [],
        "12",
        {},
        {"total": "12", "parts": 3},
        {"total": 1, "parts": [None]},
        {"total": 2, "a": "1", "b": True},
    )
    assert [rule({}, result) for rule in rules for result in odd] == [None] * (
        len(rules) * len(odd)
    )


@settings(max_examples=examples(60))
@given(
    cents=st.lists(st.integers(0, 3_000_000), min_size=1, max_size=12), off=st.integers(2, 10**6)
)
def test_a_sum_holds_to_the_cent(cents: list[int], off: int) -> None:
    """Binary fractions raise no false alarm, and a total that is two cents off is found."""
    rule = adds_up("total", "parts")
    parts = [part / 100 for part in cents]
    assert rule({}, {"total": sum(cents) / 100, "parts": parts}) is None
    assert rule({}, {"total": (sum(cents) + off) / 100, "parts": parts}) is not None
    assert rule({}, {"total": (sum(cents) - off) / 100, "parts": parts}) is not None


def test_a_question_is_declared_with_equal_arguments_and_a_known_authority() -> None:
    """A slip in the declaration of who can answer what is found at once."""
    question = partial(Question, returns={}, echoed=("a",), compared=("",))
    with pytest.raises(ValueError, match="equally many"):
        question(askable={"one": ("a",), "other": ("a", "b")}, trusted="other")
    with pytest.raises(ValueError, match="equally many"):
        question(askable={"one": ("a", "b"), "other": ("c", "d")}, trusted="other")
    with pytest.raises(ValueError, match="does not answer"):
        question(askable={"one": ("a",), "other": ("b",)}, trusted="third")
