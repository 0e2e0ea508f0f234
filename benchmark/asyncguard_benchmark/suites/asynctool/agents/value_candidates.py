"""Values that stand in a question or in results and might be meant for an argument, by type, look and neighbourhood."""

import json
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator

from asyncguard_benchmark.harness.agents.tool_match import placed_words, telling, words
from asyncguard_benchmark.harness.pointers import leaves, parts

_NUMBER = re.compile(
    r"(?<![\w.-])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w])|(?<![\w.-])-?\d+(?:\.\d+)?(?![\w-]|\.\d)"
)
_LIST = re.compile(r"\[[^\[\]]*\]")
_SERIES = re.compile(r"[\w.-]+(?:, [\w.-]+)+,? (?:and|or) [\w.-]+|-?[\d.]+(?:, -?[\d.]+)+")
_TEXTS = (
    (4.0, re.compile(r"(?<!\w)[\"“']([^\"”']+)[\"”'](?!\w)")),
    (3.5, re.compile(r"(?<!\w)(/[\w./*-]*[\w*])")),
    (3.5, re.compile(r"\b([\w.+-]+@[\w.-]+\w)")),
    (3.2, re.compile(r"\b(\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?)\b")),
    (3.0, re.compile(r"\b([\w-]+\.[a-z]{2,4})\b")),
    (2.8, re.compile(r"\b((?=\w*[A-Za-z_-])[\w-]*\d[\w-]*)\b")),
    (2.5, re.compile(r"\b(\w+_\w+)\b")),
    (2.5, re.compile(r"\b([A-Z]{2,6})\b")),
    (2.0, re.compile(r"(?<=[a-z,;:] )([A-Z][\w'-]+(?: [A-Z][\w'-]+)*)")),
    (1.0, re.compile(r"\b([a-z]{4,})\b")),
)
_FAR = 12
"""Words from which on nearness to an argument's name counts for nothing."""


@dataclass(frozen=True, kw_only=True)
class Copied:
    """A value that could be copied into an argument."""

    value: Any
    score: float
    """Confidence; only the order matters."""


def candidates(
    name: str, schema: Mapping[str, Any], question: str, results: Sequence[str]
) -> list[Copied]:
    """Return the values that an argument could have, best first, each once.

    Args:
        name: The argument's name.
        schema: Its JSON schema.
        question: Question of the user.
        results: Results of the sub-task's calls, in order. Their values go before those of the question.
    """
    found = [*_from_results(name, schema, results), *_from_question(name, schema, question)]
    unique: dict[str, Copied] = {}
    for each in sorted(found, key=lambda copied: -copied.score):
        unique.setdefault(json.dumps(each.value, sort_keys=True), each)
    return list(unique.values())


def _from_results(name: str, schema: Mapping[str, Any], results: Sequence[str]) -> Iterator[Copied]:
    wanted = set(telling(name))
    for age, text in enumerate(reversed(results)):
        value = _read(text)
        if not isinstance(value, dict) or "error" in value:
            continue
        for field, leaf in _fields(value):
            if not fits(leaf, schema):
                continue
            named = field == name or bool(wanted & set(telling(field)))
            score = (8.0 if field == name else 5.0 if named else 4.5) - age
            yield Copied(value=leaf, score=score)


def _fields(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every part of a result under the name of the field that holds it: leaves, and lists as a whole."""
    for pointer, leaf in leaves(value):
        named = [part for part in parts(pointer) if not part.isdecimal()]
        yield (named[-1] if named else ""), leaf
    for field, part in value.items():
        if isinstance(part, list | dict) and part:
            yield field, part


def _from_question(name: str, schema: Mapping[str, Any], question: str) -> Sequence[Copied]:
    return _said(name, json.dumps(schema, sort_keys=True), question)


@lru_cache(maxsize=4096)
def _said(name: str, schema_text: str, question: str) -> tuple[Copied, ...]:
    # The same question is read for the same arguments in every turn, and some are as long as a page.
    schema = json.loads(schema_text)
    if "enum" in schema:
        asked = set(words(question))
        options = (each for each in schema["enum"] if set(words(str(each))) <= asked)
        return tuple(Copied(value=each, score=6.0) for each in options)
    told = {*telling(name), *telling(schema.get("description", ""))}
    return tuple(
        Copied(value=value, score=look + _nearness(told, question, start))
        for value, look, start in _spoken(schema, question)
    )


def _spoken(schema: Mapping[str, Any], question: str) -> Iterator[tuple[Any, float, int]]:
    """Yield the values of the schema's type in the question: value, how much it looks like one, and where it stands."""
    match schema.get("type"):
        case "integer" | "number":
            found = _numbers(question)
        case "array":
            found = _lists(question)
        case "object":
            found = _objects(question)
        case "boolean":
            return
        case _:
            found = _texts(question)
    yield from (each for each in found if fits(each[0], schema))


def _numbers(question: str) -> Iterator[tuple[Any, float, int]]:
    for found in _NUMBER.finditer(question):
        number = float(found[0].replace(",", ""))
        yield (int(number) if number.is_integer() else number), 2.0, found.start()


def _lists(question: str) -> Iterator[tuple[Any, float, int]]:
    for found in (*_LIST.finditer(question), *_SERIES.finditer(question)):
        yield _series(found[0]), 3.0, found.start()


def _objects(question: str) -> Iterator[tuple[Any, float, int]]:
    for found in re.finditer(r"\{", question):
        value = _read_from(question, found.start())
        if isinstance(value, dict):
            yield value, 3.0, found.start()


def _texts(question: str) -> Iterator[tuple[Any, float, int]]:
    for look, pattern in _TEXTS:
        for found in pattern.finditer(question):
            yield found[1], look, found.start(1)


def _series(text: str) -> list[Any]:
    value = _read(text)
    if isinstance(value, list):
        return value
    return [_plain(part) for part in re.split(r",? and |,? or |, ", text.strip("[]"))]


def _plain(text: str) -> Any:
    value = _read(text)
    return text.strip("\"'") if value is None else value


def _nearness(told: Collection[str], question: str, start: int) -> float:
    """Return 0 to 2, by how few words lie between a value and one that speaks of the argument."""
    starts, stems = _placed(question)
    at = bisect_left(starts, start)
    before, after = stems[max(0, at - _FAR) : at][::-1], stems[at + 1 : at + 1 + _FAR]
    nearest = min(
        (
            distance
            for side in (before, after)
            for distance, word in enumerate(side)
            if word in told
        ),
        default=_FAR,
    )
    return 2 * (1 - nearest / _FAR)


@lru_cache(maxsize=1024)
def _placed(question: str) -> tuple[list[int], list[str]]:
    found = placed_words(question)
    return [start for start, _ in found], [word for _, word in found]


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return True if the schema allows a value."""
    return _validator(json.dumps(schema, sort_keys=True)).is_valid(value)


@lru_cache(maxsize=4096)
def _validator(schema: str) -> Draft202012Validator:
    # Making one costs more than many uses, and the same arguments come up in every turn.
    return Draft202012Validator(json.loads(schema))


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _read_from(text: str, start: int) -> Any:
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except ValueError:
        return None
