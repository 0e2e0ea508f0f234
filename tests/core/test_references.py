"""Operands: finding references, putting values in."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.core.dependencies import as_reference, references, substitute

scalars = st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5)
documents = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("ab/~01", max_size=3), inner, max_size=3)
    ),
)


@pytest.mark.parametrize(
    "value",
    [
        {"from_call": 1},
        {"from_call": "a#1", "pointer": 1},
        {"from_call": "a#1", "pointer": "/x", "more": 1},
        {"pointer": "/x"},
        {},
        "a#1",
        None,
        ["from_call"],
    ],
)
def test_what_only_looks_like_a_reference(value: Any) -> None:
    """Anything but a label and perhaps a pointer is an ordinary value."""
    assert as_reference(value) is None
    assert not list(references({"argument": value}))


def test_references_are_found_where_they_stand() -> None:
    """Each with its path, in order; a reference is not searched for others."""
    one, two = {"from_call": "a#1"}, {"from_call": "b#2", "pointer": "/id"}
    found = list(references({"x": one, "y": [1, {"z": two}]}))
    assert [(item.path, item.label, item.pointer) for item in found] == [
        (("x",), "a#1", ""),
        (("y", 1, "z"), "b#2", "/id"),
    ]


@given(documents, st.data())
def test_substitution_replaces_what_was_found_and_nothing_else(
    document: Any, data: st.DataObject
) -> None:
    """References planted at random are all found; replacing them by what stood there gives the document back."""
    planted: dict[tuple[str | int, ...], Any] = {}

    def plant(value: Any, path: tuple[str | int, ...]) -> Any:
        if path and data.draw(st.booleans()):
            planted[path] = value
            return {"from_call": "a#1", "pointer": ""}
        if isinstance(value, dict):
            return {name: plant(item, (*path, name)) for name, item in value.items()}
        if isinstance(value, list):
            return [plant(item, (*path, position)) for position, item in enumerate(value)]
        return value

    arguments = plant(document, ())
    before = json.dumps(arguments)
    assert {item.path for item in references(arguments)} == set(planted)
    assert substitute(arguments, planted) == document
    assert json.dumps(arguments) == before
