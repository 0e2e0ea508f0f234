"""The published comparison of arguments (`compat`): calls pass at a similarity of 0.7.

Looks like a list of accidents because it is one: every branch is what the published functions do. An exception there
makes the whole mission wrong; it is raised here as `PublishedArgumentError`, so that it is counted apart.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from asyncguard_benchmark.suites.missions.gold_graph import Tool
from asyncguard_benchmark.suites.missions.scorers.published_paths import PublishedRuleError
from asyncguard_benchmark.suites.missions.scorers.tokens import rouge_l

PASS = 0.7
"""Least score of a call that passes, and greatest of a text that is tagged as wrong."""
_TWO_DECIMALS = re.compile(r"^\d+\.\d+,\d+\.\d+$")
_BLANKS = re.compile(r"\s+")


class Tag(StrEnum):
    """Faults of an argument, the first the most severe."""

    MISSING = "miss required params"
    UNKNOWN = "param hallucination"
    TYPE = "type error"
    INVENTED = "param value hallucination"
    VALUE = "param value error"


class PublishedArgumentError(ValueError):
    """The published comparison raises an exception on these arguments, which counts as an error of the mission."""


@dataclass(frozen=True)
class Compared:
    """Similarity of a predicted and a gold call, from 0 to 1, and what was found wrong."""

    score: float
    tags: tuple[Tag, ...] = ()


@dataclass
class _Comparison:
    """One call against one gold call."""

    tags: list[Tag] = field(default_factory=list)

    def arguments(self, predicted: Any, gold: Mapping[str, Any], tool: Tool) -> float:
        if isinstance(predicted, str):
            predicted = json.loads(predicted)
        if not isinstance(predicted, dict):
            raise TypeError("the arguments are not an object")
        if any(name not in predicted for name in tool.required):
            return self._wrong(Tag.MISSING)
        if not predicted and not gold:
            return 1.0
        return _mean(self._argument(name, value, gold, tool) for name, value in predicted.items())

    def _argument(self, name: str, value: Any, gold: Mapping[str, Any], tool: Tool) -> float:
        properties = tool.parameters["properties"]
        if name not in properties:
            return self._wrong(Tag.UNKNOWN)
        if name not in gold:
            return self._default(value, properties[name])
        return self._value(value, gold[name], properties[name])

    def _wrong(self, tag: Tag) -> float:
        self.tags.append(tag)
        return 0.0

    def _default(self, value: Any, schema: Mapping[str, Any]) -> float:
        """Score an argument that the gold lacks: the description has to name its value."""
        description, text = str(schema.get("description", "")).lower(), str(value).lower()
        if text in description or (text == "none" and "null" in description):
            return 1.0
        return self._wrong(Tag.INVENTED)

    def _value(self, one: Any, other: Any, schema: Mapping[str, Any]) -> float:
        one, other = (float(each) if type(each) is int else each for each in (one, other))
        if type(one) is not type(other):
            return self._wrong(Tag.TYPE)
        if one == other or (isinstance(one, str) and _alike(one, other)):
            return 1.0
        if isinstance(one, dict):
            return self._object(one, other, schema)
        match schema["type"]:
            case "integer" | "boolean" | "float" | "number":
                return self._wrong(Tag.VALUE)
            case "string":
                return self._text(one, other)
            case "array":
                return self._array(one, other, schema)
            case unknown:
                raise TypeError(f"values of type {unknown} cannot be compared")

    def _text(self, one: str, other: str) -> float:
        if _TWO_DECIMALS.match(one) and _TWO_DECIMALS.match(other):
            return 1.0
        score = rouge_l(one, other)
        if score <= PASS:
            self.tags.append(Tag.VALUE)
        return score

    def _array(self, one: Any, other: Any, schema: Mapping[str, Any]) -> float:
        if len(one) != len(other):
            return 0.0
        items = schema.get("items", {"type": "string"})
        items = items.get("properties", items)
        pairs = zip(sorted(one, key=_sorted_text), sorted(other, key=_sorted_text), strict=True)
        return _mean(self._value(mine, theirs, items) for mine, theirs in pairs)

    def _object(
        self, one: dict[str, Any], other: dict[str, Any], schema: Mapping[str, Any]
    ) -> float:
        if not one:
            return 0.0
        known = schema.get("items", schema.get("properties", schema))
        known = known.get("properties", known)
        scores = []
        for name, value in one.items():
            if name not in known:
                return self._wrong(Tag.UNKNOWN)
            if name in other:
                scores.append(self._value(value, other[name], known[name]))
            else:
                scores.append(self._default(value, known[name]))
        return _mean(scores)


def compare(predicted: Any, gold: Mapping[str, Any], tool: Tool) -> Compared:
    """Compare a call with a gold call of the same tool.

    Args:
        predicted: Arguments as the model wrote them.
        gold: Arguments of the gold.
        tool: Their schema.

    Raises:
        PublishedArgumentError: the published code raises.
        MissingTokenizerError: texts with Chinese characters differ, and jieba is not installed.
    """
    comparison = _Comparison()
    try:
        score = comparison.arguments(predicted, gold, tool)
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as problem:
        raise PublishedArgumentError(f"{type(problem).__name__}: {str(problem)[:200]}") from problem
    return Compared(score, tuple(comparison.tags))


@dataclass(frozen=True)
class JudgedCall:
    """A predicted call after it was paired."""

    passed: bool
    tags: tuple[Tag, ...]
    """Of the gold call that it was compared with last, which need not be the one that it was paired with."""


def judge_calls(
    predicted: Sequence[tuple[str, Any]],
    gold: Sequence[tuple[str, Mapping[str, Any]]],
    tools: Mapping[str, Tool],
) -> tuple[JudgedCall, ...]:
    """Pair calls with gold calls of their name, greedily and in order, and judge each.

    Args:
        predicted: Names and arguments of a mission's calls; as many of each name as in the gold.
        gold: Names and arguments of the gold.
        tools: Schemas by name.

    Raises:
        PublishedArgumentError: the published code raises.
        PublishedRuleError: a name is called more often than in the gold, which a stored label hides.
        MissingTokenizerError: texts with Chinese characters differ, and jieba is not installed.
    """
    left = list(range(len(gold)))
    judged = []
    for name, arguments in predicted:
        rivals = [number for number in left if gold[number][0] == name]
        if not rivals:
            raise PublishedRuleError(
                f"more calls of {name} than the gold has, though the names count as right"
            )
        found = [_compared(name, arguments, gold[number][1], tools) for number in rivals]
        best = max(range(len(found)), key=lambda place: found[place].score)
        left.remove(rivals[best])
        judged.append(JudgedCall(found[best].score >= PASS, found[-1].tags))
    return tuple(judged)


def _compared(
    name: str, predicted: Any, gold: Mapping[str, Any], tools: Mapping[str, Tool]
) -> Compared:
    if name not in tools:
        raise PublishedArgumentError(f"there is no schema of {name}")
    return compare(predicted, gold, tools[name])


def _alike(one: str, other: str) -> bool:
    """Return True if texts are equal but for case, or for case and white space."""
    one, other = one.lower(), other.lower()
    return one == other or _BLANKS.sub("", one) == _BLANKS.sub("", other)


def _sorted_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _mean(scores: Iterable[float]) -> float:
    """Return the mean, summed from left to right; without scores it raises, as the published code does."""
    total, count = 0.0, 0
    for score in scores:
        total, count = total + score, count + 1
    return total / count
