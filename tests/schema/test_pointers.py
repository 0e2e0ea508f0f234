"""JSON pointers: followed into results and schemas, and written for paths."""

import json
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.errors import DeclarationError
from asyncguard.schema.arguments import compile_schema
from asyncguard.schema.compiled import check_schema
from asyncguard.schema.pointers import PointerError, in_result, in_schema, pointer_of, value_at

# The document and the pointers of RFC 6901, section 5.
DOCUMENT = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
}
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
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("ab/~01", max_size=3), inner, max_size=3)
    ),
)


@pytest.mark.parametrize(("pointer", "value"), POINTERS)
def test_the_examples_of_the_standard(pointer: str, value: Any) -> None:
    """RFC 6901's own examples, on a value and on the same as JSON text."""
    assert in_result(DOCUMENT, pointer) == value
    assert in_result(json.dumps(DOCUMENT), pointer) == value


def test_escapes_are_undone_once() -> None:
    """``~01`` is the key ``~1`` and not a slash."""
    assert in_result({"~1": "tilde", "/": "slash"}, "/~01") == "tilde"


@pytest.mark.parametrize(
    "pointer",
    [
        "foo",
        "/none",
        *("/foo/" + rest for rest in ("2", "-", "-1", "01", "1.0", "x", "0/x", "٣", "9" * 5000)),
    ],
)
def test_a_pointer_that_leads_nowhere(pointer: str) -> None:
    """Wrong syntax, wrong keys and wrong indexes (leading zeros, too) are the caller's error and nothing worse."""
    with pytest.raises(PointerError):
        in_result(DOCUMENT, pointer)


@pytest.mark.parametrize("content", ["plain text", "{broken", "[" * 100_000, "NaN or never"])
def test_text_that_is_not_json_is_a_value(content: str) -> None:
    """The whole text is the value; nothing can be found inside."""
    assert in_result(content, "") == content
    with pytest.raises(PointerError):
        in_result(content, "/a")


@given(documents)
def test_every_node_has_a_pointer(document: Any) -> None:
    """Escaping the keys of a path gives a pointer that leads to its value."""

    def walk(value: Any, pointer: str) -> None:
        found = in_result({"root": document}, "/root" + pointer)
        assert found == value
        assert type(found) is type(value)
        items = (
            value.items()
            if isinstance(value, dict)
            else enumerate(value)
            if isinstance(value, list)
            else ()
        )
        for name, item in items:
            walk(item, f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}")

    walk(document, "")


@given(documents)
def test_the_pointer_of_a_path_leads_back(document: Any) -> None:
    """The pointer written for a path is read as that path, whatever its names hold."""

    def walk(value: Any, path: tuple[str | int, ...]) -> None:
        assert value_at(document, pointer_of(path)) == value
        items = (
            value.items()
            if isinstance(value, dict)
            else enumerate(value)
            if isinstance(value, list)
            else ()
        )
        for name, item in items:
            walk(item, (*path, name))

    walk(document, ())


SCHEMA = {
    "$defs": {"A/b": {"type": "string"}},
    "prefixItems": [{"const": 1}],
    "properties": {"x": {"$anchor": "here"}},
}


@pytest.mark.parametrize(
    ("reference", "part"),
    [
        ("#", SCHEMA),
        ("#/$defs/A~1b", {"type": "string"}),
        ("#/prefixItems/0", {"const": 1}),
        ("#/prefixItems/00", None),
        ("#/$defs/B", None),
        ("#here", None),
        ("other.json/$defs/A~1b", None),
    ],
)
def test_a_local_reference_of_a_schema(reference: str, part: Any) -> None:
    """A pointer after ``#``, through lists, too; an anchor or another document is nothing in it."""
    assert in_schema(SCHEMA, reference) == part


@pytest.mark.parametrize(
    ("reference", "refused"), [("#/prefixItems/0", False), ("#here", True), ("Name", True)]
)
def test_arguments_and_results_refer_alike(reference: str, refused: bool) -> None:
    """One schema is taken for both or refused for both."""
    schema = {**SCHEMA, "items": {"$ref": reference}}
    with pytest.raises(DeclarationError, match="which is not in it") if refused else nullcontext():
        compile_schema(schema)
    with pytest.raises(DeclarationError, match="which is not in it") if refused else nullcontext():
        check_schema(schema, "a result")


def test_a_schema_is_checked_by_what_it_holds_now() -> None:
    """What is refused is refused again, and a change of a schema that passed is seen."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(2):
        check_schema(schema, "a result")
    schema["type"] = "no such type"
    for owner in ("a result", "a result", "another"):
        with pytest.raises(DeclarationError, match=f"The schema of {owner} is invalid"):
            check_schema(schema, owner)
    check_schema({"const": {1, 2}}, "a result that no JSON text tells")
    with pytest.raises(DeclarationError):  # as text it would be a list, and right
        check_schema({"required": ("a",)}, "a result")
