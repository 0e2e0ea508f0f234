"""The published form of gold calls and of tools, as dialogues and result files have it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from asyncguard_benchmark.errors import DataError, DataErrors
from asyncguard_benchmark.harness.saved_form import Text, Whole, parse
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, Node, Tool, graph_problems
from asyncguard_benchmark.suites.missions.terms import object_of


@dataclass(frozen=True, kw_only=True)
class _Action:
    name: Text
    arguments: Any


@dataclass(frozen=True, kw_only=True)
class _Node:
    idx: Whole
    action: _Action
    dependency_list: tuple[Whole, ...]
    observation: Any = None
    user_input: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Function:
    name: Text
    description: str | None = None
    parameters: dict[str, Any] | None = None


_NODES = TypeAdapter(list[_Node])
_FUNCTIONS = TypeAdapter(list[_Function])


def tools_of(value: Any, where: str) -> dict[str, Tool]:
    """Read the tools of a dialogue: functions, or objects that hold one under `function`.

    Raises:
        DataError: it holds something else, or two tools of one name.
    """
    bare = [
        each["function"] if isinstance(each, dict) and "function" in each else each
        for each in (value if isinstance(value, list) else [value])
    ]
    found: dict[str, Tool] = {}
    for each in parse(_FUNCTIONS, bare, where):
        if each.name in found:
            raise DataError(where, f"two tools have the name {each.name[:80]!r}")
        found[each.name] = Tool(
            name=each.name, description=each.description or "", parameters=each.parameters or {}
        )
    return found


def graph_of(value: Any, tools: Mapping[str, Tool], where: str) -> GoldGraph:
    """Read the gold of a mission.

    Raises:
        DataError: it breaks the form, names unknown tools, or its dependencies are not sound; it lists all of these.
    """
    read = parse(_NODES, value, where)
    for place, each in enumerate(read):
        if each.idx != place:
            raise DataError(
                f"{where}[{place}].idx", f"must be the position {place}, not {each.idx}"
            )
    nodes = [_node(each, f"{where}[{place}]") for place, each in enumerate(read)]
    if found := [
        DataError(f"{where}{field}", text) for field, text in graph_problems(nodes, tools)
    ]:
        raise DataErrors(found)
    return GoldGraph(tuple(nodes))


def _node(read: _Node, where: str) -> Node:
    arguments = object_of(read.action.arguments)
    if arguments is None:
        text = f"expected an object, found {str(read.action.arguments)[:60]!r}"
        raise DataError(f"{where}.action.arguments", text)
    return Node(
        name=read.action.name,
        arguments=arguments,
        needs=read.dependency_list,
        observation=read.observation,
        reply=read.user_input,
    )


def schema_breaches(nodes: Sequence[Node], tools: Mapping[str, Tool]) -> list[str]:
    """Return what the gold's own calls lack or invent by the schemas of their tools: no run can pass such a mission."""
    found = []
    for number, node in enumerate(nodes):
        if (tool := tools.get(node.name)) is None:
            continue
        found += [
            f"node {number}: {node.name} lacks the required {name!r}"
            for name in tool.required
            if name not in node.arguments
        ]
        found += [
            f"node {number}: {node.name} has no argument {name[:60]!r}"
            for name in node.arguments
            if name not in tool.properties
        ]
    return found
