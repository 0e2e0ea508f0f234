"""Tools that a question seems to ask for, by its words alone."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

_WORD = re.compile(r"[A-Za-z][a-z]*|\d+")
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ed", "es", "s", "e", "y")
_LEAST_STEM = 3
_EVERYDAY = frozenset(
    re.findall(
        r"\w+",
        "a an and any are as at be been by can do does for from get give given has have how i if in into is "
        "it its just like me more my need new no not now of off on one only or our out please set should so "
        "some take than that the their them then there these they this those to up use want was what when "
        "where which whose will with would you your",
    )
)
_IN_NAME, _IN_DESCRIPTION, _IN_ARGUMENTS = 3.0, 1.0, 0.5


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, cut to their stems; names in snake or camel case fall apart."""
    return [_stem(word.lower()) for word in _WORD.findall(text)]


def placed_words(text: str) -> list[tuple[int, str]]:
    """Return the position of each word of a text, and its stem."""
    return [(found.start(), _stem(found[0].lower())) for found in _WORD.finditer(text)]


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
            return word.removesuffix(ending)
    return word


def telling(text: str) -> list[str]:
    """Return the words of a text that are not everyday words."""
    return [_stem(word) for word in map(str.lower, _WORD.findall(text)) if word not in _EVERYDAY]


@dataclass(frozen=True, kw_only=True)
class Match:
    """Fit of a tool to a question."""

    tool: str
    score: float
    place: int
    """Number of the question's word that first speaks of the tool."""


def rank(question: str, tools: Mapping[str, Mapping[str, Any]]) -> list[Match]:
    """Return the tools that share words with a question, best first.

    A word counts for more if few tools have it, and if it stands in a tool's name.

    Args:
        question: Question of the user.
        tools: Name -> name, description and parameters.
    """
    weights = {name: _weights(function) for name, function in tools.items()}
    having = Counter(word for each in weights.values() for word in each)
    asked = {word: place for place, word in reversed(list(enumerate(telling(question))))}
    found = [
        _match(
            name,
            asked,
            {word: weight * log(1 + len(tools) / having[word]) for word, weight in each.items()},
        )
        for name, each in weights.items()
    ]
    return sorted(
        (match for match in found if match.score > 0), key=lambda match: (-match.score, match.place)
    )


def _weights(function: Mapping[str, Any]) -> dict[str, float]:
    properties = function.get("parameters", {}).get("properties", {})
    parts = (
        (
            _IN_ARGUMENTS,
            [*properties, *(each.get("description", "") for each in properties.values())],
        ),
        (_IN_DESCRIPTION, [function.get("description", "")]),
        (_IN_NAME, [function["name"]]),
    )
    return {word: weight for weight, texts in parts for word in _telling_of(texts)}


def _telling_of(texts: Iterable[str]) -> list[str]:
    # In the order of the text: scores are sums of floats, and a set's order depends on Python's hash seed.
    return list(dict.fromkeys(word for text in texts for word in telling(text)))


def _match(name: str, asked: Mapping[str, int], weights: Mapping[str, float]) -> Match:
    shared: Sequence[str] = [word for word in weights if word in asked]
    score = sum(weights[word] for word in shared)
    # The word that says most places the tool in the order of the question.
    leading = max(shared, key=lambda word: weights[word], default=None)
    return Match(tool=name, score=score, place=asked[leading] if leading is not None else 0)
