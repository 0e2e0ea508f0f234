"""Rows of NESTFUL v2: one task a line, with its gold calls, its tools and the stored answer. Nothing is executed.

A gold call has a label, and an argument may name the result of an earlier call by it, at any depth: ``$var_1.result$``,
``$var1.output_0$``, with or without the last ``$``. So the references are the dependency graph, exactly; both the
symbolic form and the places of the references are kept.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.json_lines import Reading, check_size, gathered
from asyncguard_benchmark.harness.pointers import leaves, put
from asyncguard_benchmark.harness.saved_form import json_value
from asyncguard_benchmark.suites.nestful.argument_types import schema_of

ID = "sample_id"
_LABEL = re.compile(r"\$(var_?\d+)")
_REFERENCE = re.compile(r"\$(var_?\d+)\.(\w+)\$?")
_WEB = frozenset({"query_parameters", "path_parameters", "endpoint", "host", "method"})
"""Fields of the tools of v1, which are endpoints of web services."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A tool as its row describes it."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of the arguments: a closed object."""
    output: str
    """Name of its one result."""
    returns: Mapping[str, Any]
    """JSON Schema of the result."""
    unclear: tuple[str, ...] = ()
    """Types that were not understood; the schema asks for nothing there."""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Place in the arguments of a call at which the result of an earlier one belongs."""

    pointer: str
    """JSON pointer into the arguments."""
    call: int
    """Index of the earlier call."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """One gold call, in its symbolic form."""

    name: str
    label: str
    """Without its ``$``."""
    arguments: Mapping[str, Any]
    """References stand in it as they were written."""
    references: tuple[Reference, ...] = ()

    def resolved(self, results: Sequence[Any]) -> dict[str, Any]:
        """Return the arguments with the results of earlier calls in the places of the references."""
        found: Any = dict(self.arguments)
        for each in self.references:
            found = put(found, each.pointer, results[each.call])
        return dict(found)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One task."""

    id: str
    where: str
    """File, line and id, for messages."""
    query: str
    calls: tuple[Call, ...]
    tools: Mapping[str, Spec]
    answers: tuple[Any, ...] = field(compare=False)
    """The stored answer; where it is a text of JSON, its value, too."""

    @property
    def arithmetic(self) -> bool:
        """Return True if it comes from the arithmetic half of the data, whose labels have an underscore."""
        return self.calls[0].label.startswith("var_")

    @cached_property
    def ancestors(self) -> tuple[frozenset[int], ...]:
        """By call: all earlier calls on whose results it rests, directly or not."""
        found: list[frozenset[int]] = []
        for call in self.calls:
            direct = {each.call for each in call.references}
            found.append(frozenset(direct).union(*(found[each] for each in direct)))
        return tuple(found)


def read_rows(path: Path) -> Reading[Row]:
    """Read a file of tasks.

    Args:
        path: JSON lines.

    Returns:
        The tasks that can be read, and what is wrong with the others, by file, line and id.

    Raises:
        OSError: the file cannot be read.
    """
    found, problems = gathered(path, partial(_row, specs={}), ID)
    seen: dict[str, str] = {}
    kept = []
    for row in found:
        if (first := seen.setdefault(row.id, row.where)) != row.where:
            problems.append(
                DataError(row.where, f"the id stands at {first} already; rename or remove one")
            )
        else:
            kept.append(row)
    return Reading(found=tuple(kept), problems=tuple(problems))


def _row(where: str, value: dict[str, Any], specs: dict[str, Spec]) -> Row:
    tools = _tools(_json(value, "tools", where), f"{where}.tools", specs)
    calls = _calls(_json(value, "output", where), tools, f"{where}.output")
    name, query = value.get(ID), value.get("input")
    if not isinstance(name, str) or not name:
        raise DataError(
            f"{where}.{ID}", f"expected the id of the task as a text, found {str(name)[:60]!r}"
        )
    if not isinstance(query, str) or not query.strip():
        raise DataError(
            f"{where}.input", f"expected the query as a text, found {str(query)[:60]!r}"
        )
    if "gold_answer" not in value:
        raise DataError(where, "has no gold_answer; expected a task of NESTFUL v2")
    return Row(
        id=name,
        where=where,
        query=query,
        calls=calls,
        tools=tools,
        answers=_answers(value["gold_answer"]),
    )


def _answers(value: Any) -> tuple[Any, ...]:
    if isinstance(value, str):
        try:
            return value, json_value(value)
        except (ValueError, RecursionError):
            return (value,)
    return (value,)


def _json(value: Mapping[str, Any], name: str, where: str) -> list[Any]:
    """Return a field that is a list, or a text of JSON that is one."""
    if name not in value:
        raise DataError(where, f"has no {name}; expected a task of NESTFUL v2")
    found = value[name]
    if isinstance(found, str):
        try:
            found = json_value(found)
        except (ValueError, RecursionError) as problem:
            raise DataError(
                f"{where}.{name}",
                f"expected a list or the JSON text of one, found {found[:60]!r}: {problem}",
            ) from problem
        check_size({name: found}, where)
    if not isinstance(found, list) or not found:
        raise DataError(
            f"{where}.{name}", f"expected a list that is not empty, found {str(found)[:60]!r}"
        )
    return found


def _tools(values: list[Any], where: str, specs: dict[str, Spec]) -> dict[str, Spec]:
    """Return the tools of a task.

    Args:
        values: Their descriptions.
        where: Place of these.
        specs: Tools of the file by their descriptions, as many tasks share them; new ones are added.
    """
    found: dict[str, Spec] = {}
    for index, value in enumerate(values):
        told = repr(value)
        spec = specs.get(told) or specs.setdefault(told, _spec(value, f"{where}[{index}]"))
        if found.setdefault(spec.name, spec) != spec:
            raise DataError(f"{where}[{index}]", f"two tools are named {spec.name!r} and differ")
    return found


def _spec(value: Any, where: str) -> Spec:
    if isinstance(value, dict) and "parameters" not in value and _WEB & value.keys():
        raise DataError(
            where,
            "is an endpoint of a web service: NESTFUL v1 has specifications only and cannot be executed; use v2",
        )
    match value:
        case {"name": str(name), "parameters": dict(parameters)} if name:
            pass
        case _:
            raise DataError(
                where, f"expected a tool with name and parameters, found {str(value)[:60]!r}"
            )
    schema, unclear = _parameters(parameters, f"{where} ({name[:60]}).parameters")
    output, returns = _output(value, f"{where} ({name[:60]})")
    return Spec(
        name=name,
        description=str(value.get("description") or f"Run {name}."),
        parameters=schema,
        output=output,
        returns=returns,
        unclear=unclear,
    )


def _parameters(value: dict[str, Any], where: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the schema of the arguments; arguments that are listed flat are all required."""
    inner = value.get("properties")
    # An argument of that name, listed flat, has the name of its type.
    nested = isinstance(inner, dict) and not isinstance(inner.get("type"), str)
    properties: dict[str, Any] = value["properties"] if nested else value
    required = value.get("required", []) if nested else list(properties)
    names = [*properties]  # also what cannot be a key can be compared
    if not isinstance(required, list) or not all(each in names for each in required):
        raise DataError(
            f"{where}.required", f"expected names of properties, found {str(required)[:60]!r}"
        )
    schemas, unclear = {}, list[str]()
    for name, each in properties.items():
        if not isinstance(each, dict):
            raise DataError(
                f"{where}.{name[:60]}", f"expected description and type, found {str(each)[:60]!r}"
            )
        schemas[name], strange = schema_of(each)
        unclear += [f"{name}: {told}" for told in strange]
    made = {
        "type": "object",
        "properties": schemas,
        "required": required,
        "additionalProperties": False,
    }
    return made, tuple(unclear)


def _output(value: dict[str, Any], where: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the schema of the one result of a tool."""
    told = value.get("output_parameters", value.get("output_parameter"))
    if isinstance(told, dict) and isinstance(told.get("properties"), dict):
        told = told["properties"]
    if not isinstance(told, dict) or len(told) != 1:
        raise DataError(
            where, f"expected output_parameters with one name, found {str(told)[:60]!r}"
        )
    ((name, described),) = told.items()
    return str(name), schema_of(described)[0] if isinstance(described, dict) else {}


def _calls(values: list[Any], tools: Mapping[str, Spec], where: str) -> tuple[Call, ...]:
    known: dict[str, tuple[int, str]] = {}
    made = []
    for index, value in enumerate(values):
        here = f"{where}[{index}]"
        match value:
            case {"name": str(name), "label": str(label), "arguments": dict(arguments)}:
                pass
            case _:
                raise DataError(
                    here,
                    f"expected a call with name, label and arguments, found {str(value)[:60]!r}",
                )
        if name not in tools:
            raise DataError(f"{here}.name", f"the tool {name[:60]!r} is not in tools")
        if not _LABEL.fullmatch(label):
            raise DataError(
                f"{here}.label", f"expected a label such as $var_1 or $var1, found {label[:60]!r}"
            )
        if label[1:] in known:
            raise DataError(f"{here}.label", f"the label {label} was given to an earlier call")
        references = tuple(_references(arguments, known, f"{here}.arguments"))
        made.append(Call(name=name, label=label[1:], arguments=arguments, references=references))
        known[label[1:]] = index, tools[name].output
    return tuple(made)


def _references(
    arguments: Any, known: Mapping[str, tuple[int, str]], where: str
) -> Iterator[Reference]:
    """Yield the references in arguments.

    Args:
        arguments: Of one call.
        known: Label -> index and name of the result of each earlier call.
        where: Place of the arguments.
    """
    for pointer, value in leaves(arguments):
        if not isinstance(value, str) or not _LABEL.match(value):
            continue
        here, fits = f"{where}{pointer}", _REFERENCE.fullmatch(value)
        if fits is None:
            raise DataError(
                here, f"expected a reference such as $var_1.result$, found {value[:60]!r}"
            )
        if fits[1] not in known:
            labels = ", ".join(f"${each}" for each in known) or "none"
            raise DataError(
                here, f"{value[:60]!r} refers to no earlier call; the labels before it are {labels}"
            )
        index, output = known[fits[1]]
        if fits[2] != output:
            raise DataError(
                here,
                f"{value[:60]!r} asks for {fits[2][:60]!r}; the tool's result is named {output!r}",
            )
        yield Reference(pointer=pointer, call=index)
