"""Knowledge of a simulated agent: which tool comes next, and for each argument the source of its value.

A plan holds the literals of queries and schemas. Of a value that comes from a result it holds the
place only, so that an agent can only have it from a message. A derived value (wild split only) is
held back until every result that it is derived from has been read: it stands for an agent that
derives without a mistake.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from asyncguard_benchmark.harness.pointers import parts, put, resolve
from asyncguard_benchmark.harness.scenario import Composition, GoldCall, SourceKind, SubTask
from asyncguard_benchmark.services.catalogue import tools_of
from asyncguard_benchmark.services.declarations import Tool


@dataclass(frozen=True, kw_only=True)
class Operand:
    """A value that an earlier call of the same sub-task will have returned."""

    call: int
    """Index of that call in the plan."""
    pointer: str
    """JSON pointer into its result."""
    schema: Mapping[str, Any]
    """JSON schema of the argument, which the API list shows: all there is to guess by."""


@dataclass(frozen=True, kw_only=True)
class Derivation:
    """A value that an agent works out from results of the same sub-task."""

    uses: frozenset[int]
    """Indices of the calls in the plan that it must have read before."""
    value: Any


@dataclass(frozen=True, kw_only=True)
class PlanStep:
    """One call to make."""

    tool: str
    arguments: Mapping[str, Any]
    """With None wherever an operand belongs."""
    operands: Mapping[str, Operand]
    """JSON pointer into the arguments -> where the value comes from."""
    derivations: Mapping[str, Derivation] = field(default_factory=dict)
    """JSON pointer into the arguments -> what is worked out for it; empty but in the wild split."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """JSON schema of the arguments, as the API list shows it."""
    head: Tool | None = None
    """The tool itself if it is a pure function of ours without state, which an agent may compute in its head."""


@dataclass(frozen=True, kw_only=True)
class TaskPlan:
    """The calls of one sub-task in order."""

    task_id: str
    steps: tuple[PlanStep, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The calls of all sub-tasks."""

    composition_id: str
    tasks: tuple[TaskPlan, ...]


def plan_of(composition: Composition) -> Plan:
    """Return the symbolic plan of a composition."""
    tasks = tuple(
        TaskPlan(task_id=task.id, steps=tuple(_step(task, call) for call in task.gold))
        for task in composition.sub_tasks
    )
    return Plan(composition_id=composition.id, tasks=tasks)


def _step(task: SubTask, call: GoldCall) -> PlanStep:
    tool = tools_of(task)[call.tool]
    schema = tool.parameters
    arguments: Mapping[str, Any] = call.arguments
    operands, derivations = {}, {}
    for place, source in call.sources.items():
        if source.kind is SourceKind.DERIVED:
            derivations[place] = Derivation(uses=source.uses, value=resolve(call.arguments, place))
            arguments = put(arguments, place, None)
        elif source.call is not None and source.pointer is not None:
            operands[place] = Operand(
                call=source.call, pointer=source.pointer, schema=schema_at(schema, place)
            )
            arguments = put(arguments, place, None)
    return PlanStep(
        tool=call.tool,
        arguments=arguments,
        operands=operands,
        derivations=derivations,
        parameters=schema,
        head=None if tool.reads or tool.writes or tool.foreign else tool,
    )


def schema_at(schema: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
    """Return the schema of the value that a pointer into the arguments names; an empty schema if none is given."""
    for part in parts(pointer):
        schema = (
            schema.get("items", {})
            if part.isdecimal()
            else schema.get("properties", {}).get(part, {})
        )
    return schema
