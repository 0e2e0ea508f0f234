"""Places from which the values of gold calls come: the query, an earlier result, the schema, or none of them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from math import isclose
from typing import Any

from asyncguard_benchmark.harness.pointers import leaves, parts
from asyncguard_benchmark.harness.scenario import Source, SourceKind, SubTask
from asyncguard_benchmark.harness.task_quality import in_query
from asyncguard_benchmark.suites.nestful.rows import Call, Row, Spec

EMPTY = "the empty result of an earlier call"
NORMALISED = "normalised from the query"
ARITHMETIC = "arithmetic of grounded numbers"
NOWHERE = "stands nowhere"
_LARGEST = 1e15
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?")
_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen", "twenty"),
)
_KINDS: Mapping[SourceKind, str] = {
    SourceKind.QUERY: "literal of the query",
    SourceKind.RESULT: "earlier result",
    SourceKind.SCHEMA: "schema",
}


def sources_of(
    row: Row, call: Call, arguments: Mapping[str, Any], results: Sequence[Any]
) -> dict[str, Source]:
    """Return the source of each part of the arguments of a gold call.

    Args:
        row: The task.
        call: The call in its symbolic form, whose references say exactly what comes from a result.
        arguments: Its concrete arguments.
        results: Results of the earlier calls.

    Returns:
        JSON pointer into the arguments -> source; the pointers cover every leaf once.
    """
    found = {each.pointer: _result(each.call, results[each.call]) for each in call.references}
    numbers = {*_numbers(row.query), *(each for each in results if _is_number(each))}
    for pointer, value in leaves(dict(call.arguments)):
        if pointer and pointer not in found:
            found[pointer] = _literal(
                row.query, value, row.tools[call.name], parts(pointer)[0], numbers
            )
    return found


def _result(call: int, value: Any) -> Source:
    if value is None:  # an agent is told the word None, which is not JSON
        return Source(kind=SourceKind.DERIVED, how=EMPTY, uses=frozenset({call}))
    return Source(kind=SourceKind.RESULT, call=call, pointer="")


def _literal(query: str, value: Any, spec: Spec, argument: str, numbers: Iterable[float]) -> Source:
    """Return the source of a value that was written out: the first that holds."""
    if in_query(query, value):
        return Source(kind=SourceKind.QUERY)
    if _in_schema(value, spec, argument):
        return Source(kind=SourceKind.SCHEMA)
    how = NOWHERE
    if _normalised(query, value):
        how = NORMALISED
    elif _is_number(value) and value in _computed(numbers):
        how = ARITHMETIC
    return Source(kind=SourceKind.DERIVED, how=how)


def _in_schema(value: Any, spec: Spec, argument: str) -> bool:
    schema = spec.parameters["properties"].get(argument, {})
    fixed = [*schema.get("enum", ()), *([schema["default"]] if "default" in schema else ())]
    doc = f"{spec.description}\n{schema.get('description', '')}"
    return isinstance(value, bool) or value in fixed or in_query(doc, value)


def _normalised(query: str, value: Any) -> bool:
    """Return True if the query says a value in another form: other case or spacing, a number in words."""
    if isinstance(value, str):
        wanted = _bare(value)
        return bool(wanted) and wanted in _bare(query)
    if not _is_number(value):
        return False
    word = _WORDS[int(value)] if value in range(len(_WORDS)) else None
    said = word is not None and re.search(rf"\b{word}\b", query, re.IGNORECASE) is not None
    return said or value in _numbers(query)


def _bare(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _numbers(query: str) -> set[float]:
    return {float(each.replace(",", "")) for each in _NUMBER.findall(query)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class _Computed(frozenset[float]):
    """Numbers, which hold those that differ by rounding only."""

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and any(
            isclose(value, each, rel_tol=1e-9) for each in self
        )


def _computed(numbers: Iterable[float]) -> _Computed:
    """Return what one operation makes of two of the numbers, or of one with itself."""
    # Larger numbers overflow, and an agent does not compute with them in passing.
    small = [each for each in numbers if abs(each) < _LARGEST]
    pairs = (*permutations(small, 2), *((each, each) for each in small))
    return _Computed(each for one, other in pairs for each in _made(one, other))


def _made(one: float, other: float) -> Iterator[float]:
    yield from (one + other, one - other, one * other)
    if other:
        yield one / other


def shares(tasks: Sequence[SubTask]) -> dict[str, int]:
    """Return how many parts of arguments have which source, over tasks."""
    found = Counter(
        _KINDS.get(source.kind) or str(source.how)
        for task in tasks
        for call in task.gold
        for source in call.sources.values()
    )
    names = (*_KINDS.values(), EMPTY, NORMALISED, ARITHMETIC, NOWHERE)
    return {name: found[name] for name in names}
