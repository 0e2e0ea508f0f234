"""Scenarios from and to JSON; every complaint names the place."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from asyncguard_benchmark.errors import DataError, UnknownNameError
from asyncguard_benchmark.harness.faults import FAULT_SCHEMA, fault_from_json, fault_to_json
from asyncguard_benchmark.harness.scenario import (
    Category,
    Composition,
    GoldCall,
    Kind,
    Narration,
    Source,
    SourceKind,
    Split,
    SubTask,
    Suite,
)
from asyncguard_benchmark.services.catalogue import names_of, toolset_of

_SOURCE = {
    "anyOf": [
        {"enum": ["query", "schema"]},
        {
            "type": "object",
            "properties": {
                "call": {"type": "integer", "minimum": 0},
                "pointer": {"type": "string"},
            },
            "required": ["call", "pointer"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {
                "derived": {"type": "string", "minLength": 1},
                "uses": {
                    "type": "array",
                    "items": {"type": "integer", "minimum": 0},
                    "uniqueItems": True,
                },
            },
            "required": ["derived", "uses"],
            "additionalProperties": False,
        },
    ]
}
_CALL = {
    "type": "object",
    "properties": {
        "tool": {"type": "string"},
        "arguments": {"type": "object"},
        "sources": {"type": "object", "additionalProperties": _SOURCE},
    },
    "required": ["tool", "arguments", "sources"],
    "additionalProperties": False,
}
_SUB_TASK = {
    "type": "object",
    "properties": {
        # The id is shown to agents between single quotes.
        "id": {"type": "string", "pattern": "^[A-Za-z0-9*_-]+$"},
        "category": {"type": "string"},
        "query": {"type": "string", "minLength": 1},
        "narration": {"enum": [each.value for each in Narration]},
        "tools": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "initial_state": {"type": "object"},
        "gold": {"type": "array", "items": _CALL, "minItems": 2},
    },
    "required": ["id", "category", "query", "narration", "tools", "initial_state", "gold"],
    "additionalProperties": False,
}
_COMPOSITION = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "minLength": 1},
        "kind": {"enum": [each.value for each in Kind]},
        "sub_tasks": {"type": "array"},
        "faults": {"type": "array", "items": FAULT_SCHEMA, "minItems": 1},
    },
    "required": ["id", "kind", "sub_tasks"],
    "additionalProperties": False,
}
_SUITES = {
    "type": "object",
    "properties": {
        "main": {"type": "array"},
        "four": {"type": "array"},
        "lite": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["main", "four", "lite"],
    "additionalProperties": False,
}


def check(value: Any, schema: Mapping[str, Any], where: str) -> None:
    """Check a JSON value.

    Raises:
        DataError: the value breaks the schema.
    """
    problem = best_match(Draft202012Validator(schema).iter_errors(value))
    if problem is not None:
        raise DataError(f"{where}{problem.json_path[1:]}", problem.message[:300])


def sub_task_from_json(value: Any, where: str) -> SubTask:
    """Read one sub-task and check it against the tools of its category.

    Raises:
        DataError: format, API list or initial state is wrong.
    """
    check(value, _SUB_TASK, where)
    where = f"{where} ({value['id']})"
    try:
        toolset = toolset_of(value["category"])
        unknown = sorted(set(value["tools"]) - names_of(toolset.category))
        if unknown:
            raise ValueError(f"category {value['category']} has no tools {unknown}")
        task = SubTask(
            id=value["id"],
            category=toolset.category,
            query=value["query"],
            tools=tuple(value["tools"]),
            initial_state=value["initial_state"],
            gold=tuple(_gold_call(call) for call in value["gold"]),
            narration=Narration(value["narration"]),
        )
    except (ValueError, UnknownNameError) as problem:
        raise DataError(where, str(problem)) from problem
    check(value["initial_state"], toolset.state_schema, f"{where}.initial_state")
    return task


def _gold_call(value: Mapping[str, Any]) -> GoldCall:
    sources = {pointer: _source(source) for pointer, source in value["sources"].items()}
    return GoldCall(tool=value["tool"], arguments=value["arguments"], sources=sources)


def _source(value: Any) -> Source:
    if isinstance(value, str):
        return Source(kind=SourceKind(value))
    if "derived" in value:
        return Source(kind=SourceKind.DERIVED, how=value["derived"], uses=frozenset(value["uses"]))
    return Source(kind=SourceKind.RESULT, call=value["call"], pointer=value["pointer"])


def sub_task_to_json(task: SubTask) -> dict[str, Any]:
    """Return the inverse of `sub_task_from_json`."""
    return {
        "id": task.id,
        "category": task.category.value,
        "query": task.query,
        "narration": task.narration.value,
        "tools": list(task.tools),
        "initial_state": dict(task.initial_state),
        "gold": [_gold_call_to_json(call) for call in task.gold],
    }


def _gold_call_to_json(call: GoldCall) -> dict[str, Any]:
    sources = {pointer: _source_to_json(source) for pointer, source in call.sources.items()}
    return {"tool": call.tool, "arguments": dict(call.arguments), "sources": sources}


def _source_to_json(source: Source) -> Any:
    match source.kind:
        case SourceKind.RESULT:
            return {"call": source.call, "pointer": source.pointer}
        case SourceKind.DERIVED:
            return {"derived": source.how, "uses": sorted(source.uses)}
        case _:
            return source.kind.value


def composition_from_json(value: Any, where: str) -> Composition:
    """Read a composition that holds its sub-tasks in full, as saved episodes do.

    Raises:
        DataError: it breaks the format.
    """
    check(value, _COMPOSITION, where)
    tasks = [
        sub_task_from_json(task, f"{where}.sub_tasks[{n}]")
        for n, task in enumerate(value["sub_tasks"])
    ]
    try:
        faults = tuple(fault_from_json(fault) for fault in value.get("faults", ()))
        return Composition(
            id=value["id"], kind=Kind(value["kind"]), sub_tasks=tuple(tasks), faults=faults
        )
    except ValueError as problem:
        raise DataError(where, str(problem)) from problem


def composition_to_json(composition: Composition) -> dict[str, Any]:
    """Return the inverse of `composition_from_json`."""
    faults = [fault_to_json(fault) for fault in composition.faults]
    return {
        "id": composition.id,
        "kind": composition.kind.value,
        "sub_tasks": [sub_task_to_json(task) for task in composition.sub_tasks],
        **({"faults": faults} if faults else {}),
    }


def shipped_sub_tasks(split: Split = Split.MAIN) -> tuple[SubTask, ...]:
    """Return all single tasks of a split that ship with the package, by category; those of the hazard suite are apart.

    Raises:
        DataError: a file breaks the format, or two tasks share an id.
    """
    tasks = tuple(task for category in Category for task in category_sub_tasks(category, split))
    by_id(tasks)
    return tasks


@cache
def category_sub_tasks(category: Category, split: Split = Split.MAIN) -> tuple[SubTask, ...]:
    """Return the single tasks of one category and split that ship with the package.

    Raises:
        DataError: the file is missing or breaks the format, or two tasks share an id.
    """
    kind = "tasks" if split is Split.MAIN else "wild"
    # "TP*" is not a valid file name on every system.
    name = f"{kind}_{category.value.lower().replace('*', '_star')}.json"
    tasks = tuple(
        sub_task_from_json(task, f"{name}[{n}]") for n, task in enumerate(read_list(name))
    )
    by_id(tasks)
    return tasks


def shipped_compositions(suite: Suite = Suite.MAIN) -> tuple[Composition, ...]:
    """Return the compositions of a suite that ship with the package; their file names sub-tasks by id.

    Raises:
        DataError: the file breaks the format or names something unknown.
    """
    value = _read_json("compositions.json")
    check(value, _SUITES, "compositions.json")
    if suite is not Suite.LITE:
        return _suite(value[suite.value], f"compositions.json.{suite}")
    chosen = set(value["lite"])
    main = _suite(value["main"], "compositions.json.main")
    unknown = sorted(chosen - {each.id for each in main})
    if unknown:
        raise DataError(
            "compositions.json.lite", f"compositions that main does not hold: {unknown}"
        )
    return tuple(each for each in main if each.id in chosen)


def _suite(values: Sequence[Mapping[str, Any]], where: str) -> tuple[Composition, ...]:
    known = by_id(shipped_sub_tasks())
    return tuple(
        _composition(value, known, f"{where}[{number}]") for number, value in enumerate(values)
    )


def _composition(value: Mapping[str, Any], known: Mapping[str, SubTask], where: str) -> Composition:
    check(value, _COMPOSITION, where)
    unknown = [task_id for task_id in value["sub_tasks"] if task_id not in known]
    if unknown:
        raise DataError(where, f"unknown sub-tasks {unknown}")
    tasks = tuple(known[task_id] for task_id in value["sub_tasks"])
    return Composition(id=value["id"], kind=Kind(value["kind"]), sub_tasks=tasks)


def by_id(tasks: Iterable[SubTask]) -> dict[str, SubTask]:
    """Return sub-tasks under their ids.

    Raises:
        DataError: two share an id.
    """
    found: dict[str, SubTask] = {}
    for task in tasks:
        if task.id in found:
            raise DataError(task.id, "two sub-tasks share this id")
        found[task.id] = task
    return found


def read_list(name: str) -> list[Any]:
    """Return the JSON list in a data file of the package.

    Raises:
        DataError: the file cannot be read or holds something else.
    """
    value = _read_json(name)
    check(value, {"type": "array"}, name)
    return list(value)


def _read_json(name: str) -> Any:
    try:
        return json.loads(
            (files("asyncguard_benchmark") / "data" / name).read_text(encoding="utf-8")
        )
    except (OSError, ValueError) as problem:
        raise DataError(name, f"cannot be read: {problem}") from problem
