"""Properties of the functions on numbers, texts and notations, for all arguments that fit."""

import json
from collections.abc import Mapping
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from asyncguard_benchmark.services import data_format, number_operations, string_manipulation
from asyncguard_benchmark.services.declarations import Effect, Tool
from asyncguard_benchmark.services.service import Executor
from tests.benchmark.builders import SUB_TASKS
from tests.support.examples import examples

TOOLSETS = (number_operations.TOOLSET, string_manipulation.TOOLSET, data_format.TOOLSET)
TOOLS = [tool for each in TOOLSETS for tool in each.tools.values()]
ODD_TEXTS = [
    "\ud800",
    "\x00",
    "٣",
    "<a/>",
    "{}",
    "1,5",
    "%",
    "a=b",
    "00",
    "+",
    "http://[",
    "2026-13-45",
    "\u00a0",
    "-",
]
ODD_NUMBERS = [0, -1, 0.1, 1e-300, 5e-324, 999_999_999_999_999, -1e15, 2.675, 600]


def values(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a schema allows, odd ones among them."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "integer":
            least, most = schema.get("minimum", 0), schema.get("maximum", 10**6)
            near = st.integers(least, min(most, least + 50))
            return near | st.integers(least, most)
        case "number":
            return st.sampled_from(ODD_NUMBERS) | st.floats(-1e15, 1e15) | st.integers(1, 600)
        case "array":
            return st.lists(values(schema["items"]), min_size=schema.get("minItems", 0), max_size=5)
        case "object":
            return st.dictionaries(
                st.sampled_from(["a", "b", "\ud800"]),
                st.sampled_from(["x", 1, "\ud800"]),
                max_size=3,
            )
    longest = min(schema.get("maxLength", 30), 30)
    odd = [each for each in ODD_TEXTS if len(each) <= longest]
    return (
        st.sampled_from(odd)
        | st.text(min_size=1, max_size=longest)
        | st.text("ab1;=, ./", min_size=1, max_size=longest)
    )


def arguments_of(tool: Tool) -> st.SearchStrategy[dict[str, Any]]:
    """Arguments for a tool."""
    properties = tool.parameters["properties"]
    optional = {name: values(properties[name]) for name in tool.defaults}
    return st.fixed_dictionaries(
        {n: values(s) for n, s in properties.items() if n not in optional}, optional=optional
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_any_arguments_get_an_answer_that_is_json(tool: Tool) -> None:
    """No function raises, and none answers with a number that JSON does not know."""

    @settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
    @given(arguments_of(tool))
    def answers(arguments: dict[str, Any]) -> None:
        executor = Executor({tool.name: tool}, {})
        answer = executor.call(tool.name, arguments)
        json.dumps(json.loads(answer), allow_nan=False)
        assert executor.call(tool.name, arguments) == answer
        assert executor.public_state() == {}

    answers()


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_function_has_neither_state_nor_footprint(tool: Tool) -> None:
    """Answers have more than one field, so that a chain must use the right one."""
    assert (tool.effect, tool.reads, tool.writes) == (Effect.PURE, (), ())
    calls = [call for task in SUB_TASKS.values() for call in task.gold if call.tool == tool.name]
    assert calls
    for call in calls:
        assert len(json.loads(Executor({tool.name: tool}, {}).call(tool.name, call.arguments))) >= 2
