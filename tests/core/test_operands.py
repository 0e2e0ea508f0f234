"""Operands: finding references, following pointers, putting values in."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.core.operands import OperandError, as_reference, references, resolve, substitute

# The document and the pointers of RFC 6901, section 5.
DOCUMENT = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, 'k"l': 6, " ": 7, "m~n": 8}
POINTERS = [
    ("", DOCUMENT),
    ("/foo", ["bar", "baz"]),
    ("/foo/0", "bar"),
    ("/", 0),
    ("/a~1b", 1),
    ("/c%d", 2),
    ("/e^f", 3),
    ("/g|h", 4),
    ("/i\\j", 5),
    ('/k"l', 6),
    ("/ ", 7),
    ("/m~0n", 8),
]
scalars = st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=5)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~01", max_size=3), inner, max_size=3),
)


@pytest.mark.parametrize(("pointer", "value"), POINTERS)
def test_the_examples_of_the_standard(pointer: str, value: Any) -> None:
    """RFC 6901's own examples, on a value and on the same as JSON text."""
    assert resolve(DOCUMENT, pointer) == value
    assert resolve(json.dumps(DOCUMENT), pointer) == value


def test_escapes_are_undone_once() -> None:
    """``~01`` is the key ``~1`` and not a slash."""
    assert resolve({"~1": "tilde", "/": "slash"}, "/~01") == "tilde"


@pytest.mark.parametrize(
    "pointer",
    ["foo", "/none", *("/foo/" + rest for rest in ("2", "-", "-1", "01", "1.0", "x", "0/x", "٣", "9" * 5000))],
)
def test_a_pointer_that_leads_nowhere(pointer: str) -> None:
    """Wrong syntax, wrong keys and wrong indexes (leading zeros, too) are the caller's error and nothing worse."""
    with pytest.raises(OperandError):
        resolve(DOCUMENT, pointer)


@pytest.mark.parametrize("content", ["plain text", "{broken", "[" * 100_000, "NaN or never"])
def test_text_that_is_not_json_is_a_value(content: str) -> None:
    """The whole text is the value; nothing can be found inside."""
    assert resolve(content, "") == content
    with pytest.raises(OperandError):
        resolve(content, "/a")


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
def test_substitution_replaces_what_was_found_and_nothing_else(document: Any, data: st.DataObject) -> None:
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


@given(documents)
def test_every_node_has_a_pointer(document: Any) -> None:
    """Escaping the keys of a path gives a pointer that leads to its value."""

    def walk(value: Any, pointer: str) -> None:
        found = resolve({"root": document}, "/root" + pointer)
        assert found == value
        assert type(found) is type(value)
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for name, item in items:
            walk(item, f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}")

    walk(document, "")
