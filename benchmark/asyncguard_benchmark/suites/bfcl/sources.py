"""Sources of the arguments of a ground truth that says none: the first of six places in which a value stands.

In order: literally in the query; in the result of an earlier call; in the schema (a truth value, an option, a default,
a word of the description); the same after normalisation; a sum, difference, product or quotient of two numbers that
stand in query or results; nowhere. The last three are derived values: an agent is told the value when the results that
it rests on are there.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import Any

from asyncguard_benchmark.harness.pointers import leaves, parts
from asyncguard_benchmark.harness.scenario import Source, SourceKind
from asyncguard_benchmark.harness.task_quality import in_query
from asyncguard_benchmark.suites.bfcl.calls import TruthCall
from asyncguard_benchmark.suites.bfcl.documents import Document

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w])")
_SHORTEST = 2
"""Characters of a normalised text that is looked for: a single letter stands everywhere."""
_MOST_NUMBERS = 60
"""Numbers of a task that are put together; the first ones, in the order in which they are told."""


class Place(StrEnum):
    """Where a value stands."""

    QUERY = "query"
    RESULT = "result"
    SCHEMA = "schema"
    NORMALISED = "normalised"
    ARITHMETIC = "arithmetic"
    NOWHERE = "nowhere"


@dataclass(frozen=True, kw_only=True)
class Told:
    """What is known when a call is made."""

    query: str
    results: Sequence[Any]
    """Results of the calls before it, as an agent reads them."""

    def values(self) -> Iterator[tuple[int, str, Any]]:
        """Yield call, pointer and value of each leaf of the results, the earliest first."""
        for number, result in enumerate(self.results):
            for pointer, value in leaves(result):
                yield number, pointer, value


def sources_of(
    call: TruthCall, told: Told, document: Document | None
) -> dict[str, tuple[Place, Source]]:
    """Return pointer into the arguments -> where the value stands, for every leaf of a call."""
    return {
        pointer: _source(pointer, value, told, document)
        for pointer, value in leaves(dict(call.arguments))
        if pointer
    }


def _source(
    pointer: str, value: Any, told: Told, document: Document | None
) -> tuple[Place, Source]:
    if value != "" and in_query(told.query, value):
        return Place.QUERY, Source(kind=SourceKind.QUERY)
    if not isinstance(value, bool) and value not in ("", None, [], {}):
        for number, place, found in told.values():
            if found == value and isinstance(found, bool) == isinstance(value, bool):
                return Place.RESULT, Source(kind=SourceKind.RESULT, call=number, pointer=place)
    if document is not None and _in_schema(pointer, value, document):
        return Place.SCHEMA, Source(kind=SourceKind.SCHEMA)
    uses = _normalised(value, told)
    if uses is not None:
        return Place.NORMALISED, _derived("the same, normalised", uses)
    uses = _arithmetic(value, told)
    if uses is not None:
        return Place.ARITHMETIC, _derived("arithmetic of two numbers", uses)
    return Place.NOWHERE, _derived("stands nowhere", frozenset())


def _derived(how: str, uses: frozenset[int]) -> Source:
    return Source(kind=SourceKind.DERIVED, how=how, uses=uses)


def _in_schema(pointer: str, value: Any, document: Document) -> bool:
    name = parts(pointer)[0]
    schema: Mapping[str, Any] = document.parameters["properties"].get(name, {})
    if isinstance(value, bool) or value in schema.get("enum", ()):
        return True
    if "default" in schema and schema["default"] == value:
        return True
    said = f"{document.description} {schema.get('description', '')}"
    items = schema.get("items", {})
    return value in items.get("enum", ()) or (value != "" and in_query(said, value))


def _normalised(value: Any, told: Told) -> frozenset[int] | None:
    """Return the calls in whose results a value stands once case, marks and spaces are taken away; None if nowhere."""
    plain = _plain(value)
    if len(plain) < _SHORTEST:
        return None
    if plain in _plain(told.query):
        return frozenset()
    for number, _, found in told.values():
        if plain in _plain(found):
            return frozenset({number})
    return None


def _plain(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return re.sub(r"[\W_]+", "", text.casefold())


def _arithmetic(value: Any, told: Told) -> frozenset[int] | None:
    """Return the calls whose numbers give a value with another number; None if no two do."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    numbers = list(_numbers(told))[:_MOST_NUMBERS]
    for (one, first), (other, second) in product(numbers, repeat=2):
        made = [one + other, one - other, one * other, *([one / other] if other else [])]
        if any(abs(each - value) <= 1e-9 * max(1.0, abs(value)) for each in made):
            return frozenset(each for each in (first, second) if each is not None)
    return None


def _numbers(told: Told) -> Iterator[tuple[float, int | None]]:
    for text in _NUMBER.findall(told.query):
        yield float(text.replace(",", "")), None
    for number, _, value in told.values():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield float(value), number
