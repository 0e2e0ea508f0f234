"""Proof of the quality bar of single tasks, by executing them.

Shares no code with any guard: a defect in the judgement of groundedness there must not be able to hide here.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from asyncguard_benchmark.harness.pointers import PointerError, covers, leaves, resolve
from asyncguard_benchmark.harness.scenario import (
    GoldCall,
    Source,
    SourceKind,
    Split,
    SubTask,
)
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.services.catalogue import fresh_executor, tools_of

LEAST_DISTRACTORS = 2
"""Tools on the API list that the gold calls do not use."""


def problems(task: SubTask, split: Split = Split.MAIN, *, ordered: bool = True) -> tuple[str, ...]:
    """Return everything that is wrong with one task; empty if it meets the bar.

    Args:
        task: Task to prove.
        split: In the wild split every task has a derived value, in the main split none has.
        ordered: No two neighbouring calls may change places.
    """
    results: list[Any] = [
        json.loads(text) if text != "None" else None for text in run_gold(task, task.gold)
    ]
    failed = [f"gold call {n} fails: {r['error']}" for n, r in enumerate(results) if _is_error(r)]
    if failed:
        return tuple(failed)
    # Tasks of a suite that closes them say by their workflow which of their calls are independent of each other.
    strict = ordered and not registry().suite_of(task.category).closing
    unordered = _unordered(task) if strict else ()
    return (
        *_derived(task, split),
        *_ungrounded(task, results),
        *unordered,
        *_named_tools(task),
        *_easy(task),
    )


def _derived(task: SubTask, split: Split) -> Iterator[str]:
    derived = any(
        source.kind is SourceKind.DERIVED for call in task.gold for source in call.sources.values()
    )
    if derived and split is Split.MAIN:
        yield "has a derived value, which belongs to the wild split"
    if not derived and split is Split.WILD:
        yield "has no derived value, so it belongs to the main split"


def run_gold(task: SubTask, calls: Sequence[GoldCall]) -> list[str]:
    """Return the results of the calls on a fresh executor."""
    executor = fresh_executor(task)
    return [executor.call(call.tool, call.arguments) for call in calls]


def _is_error(result: Any) -> bool:
    return isinstance(result, dict) and "error" in result


def _ungrounded(task: SubTask, results: Sequence[Any]) -> Iterator[str]:
    for position, call in enumerate(task.gold):
        for pointer, value in leaves(call.arguments):
            naming = [source for place, source in call.sources.items() if covers(place, pointer)]
            if value == {} and pointer == "":
                continue  # a call without arguments needs no source
            if len(naming) != 1:
                yield f"gold call {position}: {pointer} has {len(naming)} sources, not one"
        for pointer, source in call.sources.items():
            complaint = _source_problem(task, call, pointer, source, results)
            if complaint:
                yield f"gold call {position}: {pointer} {complaint}"


def _source_problem(
    task: SubTask, call: GoldCall, pointer: str, source: Source, results: Sequence[Any]
) -> str | None:
    try:
        value = resolve(call.arguments, pointer)
        match source.kind:
            case SourceKind.QUERY:
                missing = [leaf for _, leaf in leaves(value) if not in_query(task.query, leaf)]
                return f"holds {missing}, which the query does not say" if missing else None
            case SourceKind.RESULT:
                found = resolve(results[source.call or 0], source.pointer or "")
                same = found == value and isinstance(found, bool) == isinstance(value, bool)
                return None if same else f"is {value!r} but the result says {found!r}"
            case SourceKind.DERIVED:
                said = [leaf for _, leaf in leaves(value) if in_query(task.query, leaf)]
                return f"holds {said}, which the query says: not derived" if said else None
            case SourceKind.SCHEMA:
                return (
                    None
                    if _fixed(task, call, pointer, value)
                    else f"is {value!r}, which the schema does not fix"
                )
    except PointerError as problem:
        return str(problem)


def in_query(query: str, value: Any) -> bool:
    """Return True if the query has a value: a text literally, outside a longer word; a number in a usual spelling."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    if isinstance(value, str):
        return re.search(rf"(?<![\w]){re.escape(value)}(?![\w])", query) is not None
    spellings = {str(value), f"{value:,}", f"{value:.2f}", f"{value:,.2f}"}
    return any(
        re.search(rf"(?<![\w.]){re.escape(text)}(?![\w]|[.,]\d)", query) for text in spellings
    )


def _fixed(task: SubTask, call: GoldCall, pointer: str, value: Any) -> bool:
    """Return True if the schema leaves no other value: the default, a constant, or the only option."""
    properties: Mapping[str, Any] = tools_of(task)[call.tool].parameters["properties"]
    schema = properties.get(pointer.removeprefix("/"), {})
    return value in [schema[key] for key in ("default", "const") if key in schema] or schema.get(
        "enum"
    ) == [value]


def _unordered(task: SubTask) -> Iterator[str]:
    """Yield the neighbours that could change places unnoticed."""
    plain = run_gold(task, task.gold)
    state = _final_state(task, task.gold)
    for first, second in pairwise(range(len(task.gold))):
        if first in task.gold[second].needs():
            continue
        swapped = list(task.gold)
        swapped[first], swapped[second] = swapped[second], swapped[first]
        results = run_gold(task, swapped)
        results[first], results[second] = results[second], results[first]
        if results == plain and _final_state(task, swapped) == state:
            yield f"gold calls {first} and {second} can change places"


def _final_state(task: SubTask, calls: Sequence[GoldCall]) -> dict[str, Any]:
    executor = fresh_executor(task)
    for call in calls:
        executor.call(call.tool, call.arguments)
    return executor.public_state()


def _named_tools(task: SubTask) -> Iterator[str]:
    for tool in tools_of(task):
        spelling = re.escape(tool).replace("_", "[ _-]?")
        if re.search(rf"\b{spelling}\b", task.query, re.IGNORECASE):
            yield f"the query names the tool {tool!r}"


def _easy(task: SubTask) -> Iterator[str]:
    distractors = set(task.tools) - {call.tool for call in task.gold}
    if len(distractors) < LEAST_DISTRACTORS:
        yield f"the API list has only {len(distractors)} distractors"
