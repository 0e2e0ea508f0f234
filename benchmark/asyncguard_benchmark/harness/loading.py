"""Scenarios from and to JSON; every complaint names the place."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from pydantic import TypeAdapter

from asyncguard_benchmark.errors import DataError, UnknownNameError
from asyncguard_benchmark.harness.saved_form import Text, parse, saved_form
from asyncguard_benchmark.harness.scenario import (
    Category,
    Composition,
    Kind,
    Split,
    SubTask,
    Suite,
)
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.services.catalogue import names_of, toolset_of

_PACKAGE = "asyncguard_benchmark"
_SUB_TASK = TypeAdapter(SubTask)
_COMPOSITION = TypeAdapter(Composition)


@saved_form()
@dataclass(frozen=True, kw_only=True)
class _Named:
    """A composition that names its sub-tasks by their ids."""

    id: Text
    kind: Kind
    sub_tasks: tuple[str, ...]


@saved_form()
@dataclass(frozen=True, kw_only=True)
class _Suites:
    main: tuple[Any, ...]
    four: tuple[Any, ...]
    lite: tuple[str, ...]


_NAMED = TypeAdapter(_Named)
_SUITES = TypeAdapter(_Suites)
_LIST = TypeAdapter(list[Any])


def sub_task_from_json(value: Any, where: str) -> SubTask:
    """Read one sub-task and check it against the tools of its category.

    Raises:
        DataError: format, API list or initial state is wrong.
    """
    where = _place(value, where)
    match value:
        case {"category": str(code)}:
            try:
                value = {**value, "category": toolset_of(code).category}
            except UnknownNameError as problem:
                raise DataError(f"{where}.category", str(problem)) from problem
    task = parse(_SUB_TASK, value, where)
    foreign = bool(registry().suite_of(task.category).task_tools)
    if foreign != (task.origin is not None):
        has = "lacks the" if foreign else "may not have an"
        raise DataError(f"{where}.origin", f"a task of category {task.category} {has} origin")
    if not foreign:
        _check_tools(task, where)
    wrong = toolset_of(task.category).state_problem(task.initial_state)
    if wrong is not None:
        raise DataError(f"{where}.initial_state{wrong.json_path[1:]}", wrong.message[:300])
    if foreign:  # its state describes its tools
        _check_tools(task, where)
    return task


def _check_tools(task: SubTask, where: str) -> None:
    unknown = sorted(set(task.tools) - names_of(task))
    if unknown:
        raise DataError(where, f"category {task.category} has no tools {unknown}")
    if len(set(task.tools)) != len(task.tools):
        raise DataError(f"{where}.tools", "names a tool twice")


def _place(value: Any, where: str) -> str:
    """Return the place of a sub-task in an error: the id is easier to find than the index."""
    named = isinstance(value, Mapping) and "id" in value
    return f"{where} ({str(value['id'])[:40]})" if named else where


def sub_task_to_json(task: SubTask) -> dict[str, Any]:
    """Return the inverse of `sub_task_from_json`."""
    return dict(_SUB_TASK.dump_python(task, exclude=set() if task.origin else {"origin"}))


def composition_from_json(value: Any, where: str) -> Composition:
    """Read a composition that holds its sub-tasks in full, as saved episodes do.

    Compositions that hold the same sub-task share it: its ground truth is executed once for all of them.

    Raises:
        DataError: it breaks the format.
    """
    match value:
        case {"sub_tasks": list(tasks)}:
            read = [_shared(task, f"{where}.sub_tasks[{n}]") for n, task in enumerate(tasks)]
            value = {**value, "sub_tasks": read}
    return parse(_COMPOSITION, value, where)


def _shared(value: Any, where: str) -> SubTask:
    try:
        return _sub_task(json.dumps(value))
    except DataError as problem:
        raise DataError(f"{where}{problem.where}", problem.problem) from problem


@lru_cache(maxsize=4096)
def _sub_task(text: str) -> SubTask:
    return sub_task_from_json(json.loads(text), "")


def composition_to_json(composition: Composition) -> dict[str, Any]:
    """Return the inverse of `composition_from_json`; a clean composition has the form that it had before faults."""
    left_out: dict[str, Any] = {} if composition.faults else {"faults": True}
    if composition.sub_tasks[0].origin is None:
        left_out["sub_tasks"] = {"__all__": {"origin"}}
    return dict(_COMPOSITION.dump_python(composition, exclude=left_out))


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
    suites = parse(_SUITES, _read_json("compositions.json"), "compositions.json")
    if suite is Suite.FOUR:
        return _suite(suites.four, "compositions.json.four")
    main = _suite(suites.main, "compositions.json.main")
    if suite is Suite.MAIN:
        return main
    chosen = set(suites.lite)
    unknown = sorted(chosen - {each.id for each in main})
    if unknown:
        raise DataError(
            "compositions.json.lite", f"compositions that main does not hold: {unknown}"
        )
    return tuple(each for each in main if each.id in chosen)


def _suite(values: Sequence[Any], where: str) -> tuple[Composition, ...]:
    known = by_id(shipped_sub_tasks())
    return tuple(
        named_composition(value, known, f"{where}[{number}]") for number, value in enumerate(values)
    )


def named_composition(value: Any, known: Mapping[str, SubTask], where: str) -> Composition:
    """Read a composition that names its sub-tasks by their ids.

    Raises:
        DataError: it breaks the format, or names something unknown.
    """
    named = parse(_NAMED, value, where)
    unknown = [task_id for task_id in named.sub_tasks if task_id not in known]
    if unknown:
        raise DataError(where, f"unknown sub-tasks {unknown}")
    tasks = tuple(known[task_id] for task_id in named.sub_tasks)
    return Composition(id=named.id, kind=named.kind, sub_tasks=tasks)


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


def read_list(name: str, package: str = _PACKAGE) -> list[Any]:
    """Return the JSON list in a data file.

    Args:
        name: File in the folder `data` of the package.
        package: A suite that keeps its data in its own folder.

    Raises:
        DataError: the file cannot be read or holds something else.
    """
    return parse(_LIST, _read_json(name, package), name)


def _read_json(name: str, package: str = _PACKAGE) -> Any:
    try:
        return json.loads((files(package) / "data" / name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise DataError(name, f"cannot be read: {problem}") from problem
