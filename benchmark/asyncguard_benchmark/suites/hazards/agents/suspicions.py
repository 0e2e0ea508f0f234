"""Conclusions that an attentive reader draws from the words of a failure or a note."""

import re
from collections.abc import Iterable
from enum import StrEnum

_STATUS = re.compile(r"(?:\b(?:status|error|http\S*|code)\W{1,3}|^)([45]\d\d)\b", re.IGNORECASE)
_PASSING_STATUS = frozenset({"408", "425", "429"})
_PASSING = re.compile(
    r"time[ds]?[ -]?out|connection|reset|broken pipe|unavailable|temporar|too many|rate limit|retry|try again|"
    r"\bOS ?error|\bI/?O ?error|input/output|overload",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"invalid|malformed|missing|required|unexpected|unknown (?:field|argument|parameter|property)|not allowed|"
    r"validation|schema|must be|unprocessable|bad request|additional propert|not of type|not (?:a )?valid",
    re.IGNORECASE,
)
_UNTOUCHED = re.compile(
    r"\b429\b|too many requests|rate limit|connection ?refused|\bnot sent\b", re.IGNORECASE
)
_DOUBT = re.compile(
    r"disagree|differ|conflict|contradict|doubt|uncertain|suspicious|stale|does not hold|"
    r"un(?:verified|confirmed)|(?:not|never) (?:be |been )?(?:verified|confirmed|checked)",
    re.IGNORECASE,
)


class Suspicion(StrEnum):
    """Suspected reason of a failure."""

    PASSING = "passing"
    """The tool or the way to it broke, and may work again."""
    REFUSED = "refused"
    """It did not like the arguments, and has done nothing."""
    UNKNOWN = "unknown"


def suspect(words: str) -> Suspicion:
    """Return the suspected reason of a failure: from a status if there is one, else from words."""
    status = _STATUS.search(words)
    if status is not None:
        passing = status[1] in _PASSING_STATUS or status[1].startswith("5")
        return Suspicion.PASSING if passing else Suspicion.REFUSED
    if _PASSING.search(words):
        return Suspicion.PASSING
    return Suspicion.REFUSED if _REFUSED.search(words) else Suspicion.UNKNOWN


def left_untouched(words: str) -> bool:
    """Return True if a failure says that the tool has not begun."""
    return _UNTOUCHED.search(words) is not None


def is_doubtful(note: str) -> bool:
    """Return True if a note says that an answer may be wrong."""
    return _DOUBT.search(note) is not None


def named_in(words: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that a text mentions, in its order."""
    found = ((re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", words), name) for name in names)
    return tuple(
        name
        for _, name in sorted((place.start(), name) for place, name in found if place is not None)
    )
