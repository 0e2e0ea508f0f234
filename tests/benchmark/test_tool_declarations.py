"""Tools are declared by a decorator over a typed signature."""

from importlib import import_module
from inspect import getmodule
from typing import Annotated, Any, Literal

import pytest

from asyncguard_benchmark.services.arguments import Count, Several, Text, one_of, within
from asyncguard_benchmark.services.catalogue import toolsets
from asyncguard_benchmark.services.declarations import Effect, Remedies, State, Tool, tool

TOOLS = [each for toolset in toolsets().values() for each in toolset.tools.values()]


@tool(reads=("shelf:{task_id}",), writes=("shelf:{task_id}",))
def shelve(
    state: State,
    title: Annotated[Text, "Full title.", {"maxLength": 40}],
    copies: Count = 1,
    shelf: Annotated[Literal["left", "right"], "Which shelf."] = "left",
) -> Any:
    """Shelves a book.

    Tells how many copies
    there are.
    """
    state[shelf][title] = copies
    return {"copies": copies}


def test_a_function_is_all_that_a_tool_needs() -> None:
    """Name, description, schema and defaults follow from the function; keywords keep their order."""
    assert shelve.function_schema() == {
        "name": "shelve",
        "description": "Shelves a book. Tells how many copies there are.",
        "parameters": {
            "type": "object",
            "properties": {
                "title": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Full title.",
                    "maxLength": 40,
                },
                "copies": {"type": "integer", "minimum": 1, "default": 1},
                "shelf": {
                    "type": "string",
                    "enum": ["left", "right"],
                    "description": "Which shelf.",
                    "default": "left",
                },
            },
            "required": ["title"],
            "additionalProperties": False,
        },
    }
    title = shelve.parameters["properties"]["title"]
    assert list(title) == ["type", "minLength", "description", "maxLength"]
    assert shelve.defaults == {"copies": 1, "shelf": "left"}


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str | float, {"type": ["string", "number"]}),
        (dict[str, Any], {"type": "object"}),
        (
            Several[Annotated[float, within(0, 9)]],
            {
                "type": "array",
                "items": {"type": "number", "minimum": 0, "maximum": 9},
                "minItems": 1,
                "maxItems": 200,
            },
        ),
        (Annotated[str, one_of({"a": 1, "b": 2})], {"type": "string", "enum": ["a", "b"]}),
    ],
)
def test_an_annotation_stands_for_a_schema(annotation: Any, schema: dict[str, Any]) -> None:
    """Each kind of type has its keywords."""

    @tool()
    def look(_: State, item: annotation) -> None:
        """Look."""

    assert look.parameters["properties"] == {"item": schema}


def test_an_annotation_that_stands_for_no_schema_is_refused() -> None:
    """A tool would accept anything."""

    @tool()
    def look(_: State, item: set[str]) -> None:
        """Look."""

    with pytest.raises(ValueError, match="no JSON schema"):
        _ = look.parameters


def test_an_argument_without_an_annotation_is_refused() -> None:
    """When the tool is declared, not when it is used."""
    with pytest.raises(ValueError, match="look: no annotation of first, second"):

        @tool()
        def look(_: State, second, first, third: str) -> None:  # noqa: ANN001 (the mistake)
            """Look."""


def test_an_effect_that_the_writes_contradict_is_refused() -> None:
    """A guard would repeat it."""
    with pytest.raises(ValueError, match="pure"):

        @tool(effect=Effect.PURE, writes=("shelf",))
        def burn(_: State) -> None:
            """Burn."""


def test_a_tool_that_writes_is_not_repeated_unless_it_says_so() -> None:
    """The default of the effect is the safe one."""

    def run(_: State) -> None:
        """Do it."""

    assert tool()(run).effect is Effect.PURE
    assert tool(writes=("shelf",))(run).effect is Effect.AT_MOST_ONCE
    assert tool(effect=Effect.IDEMPOTENT, writes=("shelf",))(run).effect is Effect.IDEMPOTENT


def test_remedies_may_follow_from_the_name() -> None:
    """A question that several tools answer knows them by name."""

    @tool(remedies=lambda name: Remedies(probe=f"find_{name}"))
    def look(_: State) -> None:
        """Look."""

    assert look.remedies.probe == "find_look"


def test_no_declared_tool_is_left_out_of_its_toolset() -> None:
    """A toolset lists its tools by hand."""
    modules = {getmodule(each.run).__name__ for each in TOOLS}
    declared = {
        value.name
        for name in modules
        for value in vars(import_module(name)).values()
        if isinstance(value, Tool)
    }
    assert declared == {each.name for each in TOOLS}
    assert all(each.description for each in TOOLS)
