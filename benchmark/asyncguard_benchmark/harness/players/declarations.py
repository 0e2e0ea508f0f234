"""The tools as the runtime is offered them, and their declarations in its own terms."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, no_type_check

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel

from asyncguard import Mode, ToolSpec
from asyncguard.adapters.tools.schemas import parameters_of
from asyncguard.core.footprints import EffectClass
from asyncguard.core.tool_spec import Fallback, Source
from asyncguard_benchmark.harness.players.translation import (
    IDLE_TOOL,
    UNKNOWN_TOOL,
    UNREADABLE_TOOL,
)
from asyncguard_benchmark.harness.pointers import parts
from asyncguard_benchmark.harness.scenario import Composition
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.services.catalogue import composition_tools, tools_named, toolset_of
from asyncguard_benchmark.services.common_tools import DESCRIBE
from asyncguard_benchmark.services.declarations import NO_REMEDIES, Alternative, Tool

_OBJECT: Mapping[str, Any] = {"type": "object"}
_TEXT: Mapping[str, Any] = {"type": "string"}


class _NoFields(BaseModel):
    """Input schema of a tool that LangGraph injects nothing into."""


def _no_fields(_: RunnableConfig | None = None) -> type[BaseModel]:
    return _NoFields


def _tool(name: str, description: str, parameters: Mapping[str, Any]) -> BaseTool:
    @no_type_check
    def unreachable(**arguments: Any) -> None:
        """Never called: the environment's executor makes the calls."""
        raise AssertionError(f"{name} was called past the environment")

    tool = StructuredTool(
        name=name, description=description, args_schema=dict(parameters), func=unreachable
    )
    # ToolNode looks for arguments to inject, in this schema and in the types of the function. LangChain would make a
    # class for each tool, in more than a millisecond. On the tool itself, as subclasses are converted at each use.
    vars(tool)["get_input_schema"] = _no_fields
    return tool


@cache
def unreachable_tool(tool: Tool) -> BaseTool:
    """Return a tool as the runtime is offered it; the environment's executor makes its calls."""
    return _tool(tool.name, tool.description, tool.parameters)


OWN_TOOLS = tuple(
    _tool(name, "Part of the protocol.", {"type": "object", "properties": properties})
    for name, properties in {
        IDLE_TOOL: {},
        UNREADABLE_TOOL: {"reason": _TEXT},
        UNKNOWN_TOOL: {"tool": _TEXT, "arguments": _OBJECT},
    }.items()
)


def specs_of(composition: Composition, *, declared: bool) -> list[ToolSpec]:
    """Return the declaration of every tool of a composition.

    Args:
        composition: The tasks.
        declared: True if they declare all they can, or leave everything at the cautious defaults.
    """
    mode = mode_of(composition)
    if not declared:
        return [ToolSpec(name=name, mode=mode) for name in composition_tools(composition)]
    if any(task.origin is not None for task in composition.sub_tasks):
        return _foreign_specs(composition, mode)
    return list(_specs(tuple((t.id, t.category, t.tools) for t in composition.sub_tasks), mode))


def _foreign_specs(composition: Composition, mode: Mode) -> list[ToolSpec]:
    """Return the declarations of tools that tasks bring with them; not kept, as tasks with one list may differ."""
    return [
        _spec(
            tool,
            tuple((task.id, task.tools) for task in composition.sub_tasks if name in task.tools),
            mode,
            None,
        )
        for name, tool in composition_tools(composition).items()
    ]


def mode_of(composition: Composition) -> Mode:
    """Return the mode in which no caller waits for a call; the runtime waits by default if there is a single task."""
    return Mode.BACKGROUND if len(composition.sub_tasks) == 1 else Mode.AUTO


def specs_of_tools(tools: Mapping[str, Tool], task: str, mode: Mode) -> list[ToolSpec]:
    """Return the declarations of the tools of one task of which no solutions are known, each for itself.

    Remedies against faults are not declared. They were written for the hazard suite and its data: a user of a mission
    may ask for the very difference between two sources, and its state may hold other values than results had there.

    Args:
        tools: The tools by name.
        task: Id of the task.
        mode: Whether a caller waits for a call.
    """
    plain = (replace(tool, remedies=NO_REMEDIES) for tool in tools.values())
    return [_spec(tool, ((task, tuple(tools)),), mode, None) for tool in plain]


@cache
def own_specs(mode: Mode) -> tuple[ToolSpec, ...]:
    """Return the declarations of the tools that are part of the protocol."""
    instant = ToolSpec(
        name="", effect=EffectClass.PURE, reads=(), mode=Mode.FOREGROUND, takes_from=()
    )
    plain = {UNKNOWN_TOOL: ToolSpec(name="", mode=mode)}
    return tuple(
        replace(plain.get(tool.name, instant), name=tool.name, parameters=parameters_of(tool))
        for tool in OWN_TOOLS
    )


_Api = tuple[str, str, tuple[str, ...]]
"""A sub-task's id, its category, and the names of its tools."""


# An ablation plays each composition under many arms.
@lru_cache(maxsize=512)
def _specs(tasks: tuple[_Api, ...], mode: Mode) -> tuple[ToolSpec, ...]:
    tools = {
        name: tool for _, each, names in tasks for name, tool in tools_named(each, names).items()
    }
    sources = {name: takes_from(each, name) for _, each, names in tasks for name in names}
    return tuple(
        _spec(
            tool,
            tuple((task, names) for task, _, names in tasks if tool.name in names),
            mode,
            # Only what is in the composition can be declared.
            None if (found := sources[tool.name]) is None else tuple(filter(tools.get, found)),
        )
        for tool in tools.values()
    )


def takes_from(category: str, tool: str) -> tuple[str, ...] | None:
    """Return the tools on whose results a tool's arguments can rest, by name.

    A tool can take an argument from another if in any solution of the suite some tool of the category took an argument
    of that name from it.

    Returns:
        None if that is not known: no solution has an argument of the name, or the suite has no `solved`.
    """
    suite = registry().suite_of(category)
    if not suite.solved:
        return None
    known, names = _sources(suite.name), toolset_of(category).tools[tool].parameters["properties"]
    if any((category, name) not in known for name in names):
        return None
    return tuple(sorted({source for name in names for source in known[category, name]}))


@cache
def _sources(suite_name: str) -> Mapping[tuple[str, str], Collection[str]]:
    """Return (category, name of an argument) -> tools from which it was taken."""
    suite = registry().suite(suite_name)
    found: dict[tuple[str, str], set[str]] = {}
    for task in suite.load(suite.solved)():
        for call in task.gold:
            for name in call.arguments:
                found.setdefault((task.category, name), set())
            for place, source in call.sources.items():
                taken = {task.gold[needed].tool for needed in source.needs()}
                found[task.category, parts(place)[0]] |= taken
    return found


# A tool is declared alike in many compositions.
@lru_cache(maxsize=8192)
def _spec(
    tool: Tool,
    users: tuple[tuple[str, tuple[str, ...]], ...],
    mode: Mode,
    sources: tuple[str, ...] | None,
) -> ToolSpec:
    # What one of the tasks may not call is nothing that a runtime could fall back on.
    common = set.intersection(*(set(names) for _, names in users)) - {tool.name}
    return ToolSpec(
        name=tool.name,
        effect=EffectClass.PROBED
        if tool.remedies.probe in common
        else EffectClass(tool.effect.value),
        reads=tool.reads,
        writes=tool.writes,
        mode=mode,
        atomic=True,  # a simulated tool refuses before it changes anything
        tasks=frozenset(task for task, _ in users),
        trusted_output=True,
        contract=DESCRIBE if DESCRIBE in common else None,
        takes_from=sources,
        parameters=_parameters(tool),
        **_remedies(tool, common),
    )


# The runtime would read them from the tool again in each episode.
@cache
def _parameters(tool: Tool) -> Mapping[str, Any]:
    return parameters_of(unreachable_tool(tool))


def _remedies(tool: Tool, callable_tools: Collection[str]) -> Mapping[str, Any]:
    remedies = tool.remedies
    verifier = remedies.verifier
    fallbacks = [other for other in remedies.fallbacks if other.tool in callable_tools]
    sources = [other for other in remedies.sources if other.tool in callable_tools]
    return {
        "result_schema": None if remedies.returns is None else _wrapped(remedies.returns),
        "invariants": remedies.invariants,
        "sources": tuple(
            Source(tool=other.tool, arguments=other.arguments, trusted=other.trusted)
            for other in sources
        ),
        "compared": remedies.compared,
        "dated": remedies.dated,
        "verifier": _fallback(verifier)
        if verifier is not None and verifier.tool in callable_tools
        else None,
        "probe": remedies.probe if remedies.probe in callable_tools else None,
        "fallbacks": tuple(_fallback(other) for other in fallbacks),
    }


def _wrapped(returns: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form of a result, with the fields in which services put a whole answer or a quantity with its unit."""
    schema: dict[str, Any] = {**returns, "wrappers": ["data", "attributes"]}
    if "properties" in returns:
        schema["properties"] = {
            name: _quantity(inner) for name, inner in returns["properties"].items()
        }
    return schema


def _quantity(field: Mapping[str, Any]) -> Mapping[str, Any]:
    if "properties" in field:
        return {
            **field,
            "properties": {name: _quantity(inner) for name, inner in field["properties"].items()},
        }
    return {**field, "wrappers": ["value", "amount", "quantity"]} if "unit" in field else field


def _fallback(other: Alternative) -> Fallback:
    return Fallback(tool=other.tool, arguments=other.arguments)
