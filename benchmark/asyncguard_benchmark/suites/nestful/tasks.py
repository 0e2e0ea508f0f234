"""Rows of NESTFUL as sub-tasks: concrete gold calls with the sources of their values, and the tools of the row."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.scenario import GoldCall, Narration, Origin, SubTask
from asyncguard_benchmark.services.declarations import TASK_ARGUMENT
from asyncguard_benchmark.services.service import serialise
from asyncguard_benchmark.suites.nestful.check import Download
from asyncguard_benchmark.suites.nestful.functions import Library
from asyncguard_benchmark.suites.nestful.replay import Replayed
from asyncguard_benchmark.suites.nestful.rows import Row, Spec
from asyncguard_benchmark.suites.nestful.sources import sources_of
from asyncguard_benchmark.suites.nestful.terms import TOOLS, NestfulCategory

_GENERATES = re.compile(r"generate|create|random", re.IGNORECASE)
_FORMATS = re.compile(r"format|convert|parse|encode", re.IGNORECASE)
_NUMBERS = frozenset({"integer", "number"})


@dataclass(frozen=True, kw_only=True)
class Making:
    """Tasks that were made of rows, and why other rows made none."""

    tasks: tuple[SubTask, ...]
    left_out: Mapping[str, str]
    """Id of a row -> reason."""


def make_tasks(download: Download, replayed: Iterable[Replayed]) -> Making:
    """Make a task of every row that replayed clean and has two calls or more.

    Args:
        download: The data.
        replayed: Its rows with their results.
    """
    tasks, left_out = [], {}
    for each in replayed:
        why = _unfit(each)
        if why is None:
            tasks.append(_task(each, download))
        else:
            left_out[each.row.id] = why
    return Making(tasks=tuple(tasks), left_out=left_out)


def _unfit(replayed: Replayed) -> str | None:
    row = replayed.row
    if not replayed.clean:
        return replayed.refused or replayed.error or replayed.ended
    if len(row.calls) < 2:
        return "its gold has fewer than two calls"
    reserved = [call.name for call in row.calls if _is_reserved(row.tools[call.name])]
    return f"{reserved[0]} has an argument {TASK_ARGUMENT}, which is reserved" if reserved else None


def _is_reserved(spec: Spec) -> bool:
    return TASK_ARGUMENT in spec.parameters["properties"]


def _task(replayed: Replayed, download: Download) -> SubTask:
    row, results = replayed.row, replayed.results
    specs = {name: spec for name, spec in row.tools.items() if not _is_reserved(spec)}
    gold = []
    for index, call in enumerate(row.calls):
        arguments = call.resolved(results)
        sources = sources_of(row, call, arguments, results[:index])
        gold.append(GoldCall(tool=call.name, arguments=arguments, sources=sources))
    return SubTask(
        id=f"nestful-{re.sub(r'[^A-Za-z0-9*_-]', '-', row.id)}",
        category=category_of(row),
        query=row.query,
        narration=Narration.IN_ORDER,
        tools=tuple(specs),
        initial_state={
            TOOLS: {name: _described(spec, download.library) for name, spec in specs.items()}
        },
        gold=tuple(gold),
        origin=Origin(
            source="nestful",
            version=download.digest,
            id=row.id,
            kind="arithmetic" if row.arithmetic else "code",
            results=tuple(map(serialise, results)),
        ),
    )


def _described(spec: Spec, library: Library) -> dict[str, Any]:
    try:
        function = library.find(spec.name)
    except DataError:  # the map names a file that does not define it: there is no such function
        function = None
    digest = None if function is None or function.refused else function.digest
    return {"description": spec.description, "parameters": dict(spec.parameters), "sha256": digest}


def category_of(row: Row) -> NestfulCategory:
    """Return the category of a row, by the functions that its gold calls: the first that holds."""
    specs = [row.tools[call.name] for call in row.calls]
    if any(_GENERATES.search(spec.name) for spec in specs):
        return NestfulCategory.GENERATION
    if any(_FORMATS.search(spec.name) for spec in specs):
        return NestfulCategory.FORMAT
    taken = [schema for spec in specs for schema in spec.parameters["properties"].values()]
    if all(
        _types(schema) and _types(schema) <= _NUMBERS
        for schema in (*taken, *(spec.returns for spec in specs))
    ):
        return NestfulCategory.NUMBERS
    types = {each for schema in taken for each in _types(schema)}
    return (
        NestfulCategory.STRINGS
        if "string" in types and "array" not in types
        else NestfulCategory.MANAGEMENT
    )


def _types(schema: Mapping[str, Any]) -> set[str]:
    told = schema.get("type", [])
    return {told} if isinstance(told, str) else set(told)
