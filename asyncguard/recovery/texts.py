"""Texts around a value: JSON inside prose, labels before it, explanations after it, and words that make it doubtful."""

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from asyncguard.recovery.inspection import read_answer
from asyncguard.recovery.names import words
from asyncguard.recovery.units import Unit, equal, kindred, units_in

_LABEL = re.compile(r"(?P<label>[^\W\d][\w .()/%€£°-]{0,38}?)\s*(?:[:=]|->|=>)\s*(?P<core>\S.*)", re.DOTALL)
_EXPLAINED = re.compile(
    r"(?P<core>\S.*?)\s*"
    r"(?P<rest>\([^()]*\)|\[[^\[\]]*\]|(?:\s[-\u2013\u2014|#]\s|[;,]\s|\.\s).*)",
    re.DOTALL,
)
_PAIR = re.compile(r"[-*\u2022]?\s*(?P<name>[^\W\d][\w .()/-]{0,38}?)\s*[:=]\s*(?P<value>\S.*)")
_NO_JSON = re.compile(r"\[\s*(?!true\b|false\b|null\b)[A-Za-z.]")
_MAX_TEXT = 100_000
_MAX_STARTS = 50

_DOUBT_TEXT = (
    "stale outdated partial partially truncated incomplete error errors failed failure invalid wrong incorrect "
    "corrected correction unreliable estimate estimated thousand thousands million millions multiplied scaled scale "
    "instead actually approx approximately roughly about"
)
DOUBTS = frozenset(_DOUBT_TEXT.split())
"""Words beside a value after which it does not simply mean what it says."""
_HEDGE_TEXT = (
    "not no never minus less more fewer than over under below above between least most around nearly almost circa ca "
    "up until from to was were or and versus vs"
)
_HEDGES = frozenset(_HEDGE_TEXT.split())
"""Words in a sentence after which its only number is not simply the answer."""
_SIGNS = re.compile(r"[~<>\u00b1\u2248\u2264\u2265]")


def document_in(text: str) -> tuple[Any, str] | None:
    """The one JSON document in a text, and the words around it.

    Returns:
        ``None`` if there is none, more than one, or one that breaks off: what is inside a broken document is not it.
    """
    text = text.strip()
    if len(text) > _MAX_TEXT:
        return None
    whole = read_answer(text)
    if whole.parsed:
        return (whole.value, "") if isinstance(whole.value, dict | list | str) else None
    found: list[Any] = []
    prose: list[str] = []
    position = 0
    for _ in range(_MAX_STARTS):
        start = _next_start(text, position)
        if start is None:
            prose.append(text[position:])
            return (found[0], " ".join(prose)) if len(found) == 1 else _python_literal(text)
        try:
            value, end = json.JSONDecoder(parse_constant=_refuse).raw_decode(text, start)
        except (ValueError, RecursionError):
            return _python_literal(text)
        if not read_answer(text[start:end]).parsed:
            return None  # a field that is there twice
        found.append(value)
        prose.append(text[position:start])
        position = end
    return None


def _next_start(text: str, position: int) -> int | None:
    starts = [at for at in (text.find("{", position), text.find("[", position)) if at >= 0]
    while starts:
        start = min(starts)
        if not _NO_JSON.match(text, start):
            return start
        # A remark in brackets.
        after = start + 1
        starts = [at for at in (text.find("{", after), text.find("[", after)) if at >= 0]
    return None


def _refuse(_: str) -> Any:
    raise ValueError


def _python_literal(text: str) -> tuple[Any, str] | None:
    """What a Python program printed: single quotes, ``True``, ``None``."""
    if not text.startswith(("{", "[")):
        return None
    try:
        tree = ast.parse(text, mode="eval")
        if any(isinstance(node, ast.Dict) and _repeats(node) for node in ast.walk(tree)):
            return None
        value = ast.literal_eval(tree)
        return json.loads(json.dumps(value, allow_nan=False)), ""
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _repeats(node: ast.Dict) -> bool:
    keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
    return not all(isinstance(key, str) for key in keys) or len(set(keys)) != len(keys)


def pairs_in(text: str) -> dict[str, str] | None:
    """The fields of a text that is nothing but labels and values (``total: 3; city: Graz``)."""
    for separator in ("\n", ";", ", "):
        parts = [part.strip() for part in text.strip().split(separator) if part.strip()]
        matches = [match for part in parts if (match := _PAIR.fullmatch(part))]
        if len(parts) > 1 and len(matches) == len(parts):
            names = {match["name"].strip(): match["value"].strip() for match in matches}
            return names if len(names) == len(matches) else None
    single = _PAIR.fullmatch(text.strip())
    return {single["name"].strip(): single["value"].strip()} if single else None


def cores(text: str) -> list[tuple[str, str]]:
    """What may be the value in a text, each with the words around it: whole, without label, without explanation."""
    text = text.strip()
    found = [(text, "")]
    for core, rest in tuple(found):
        if (labelled := _LABEL.fullmatch(core)) is not None:
            found.append((labelled["core"].strip(), f"{labelled['label']} {rest}"))
    for core, rest in tuple(found):
        if (explained := _EXPLAINED.fullmatch(core)) is not None:
            found.append((explained["core"].strip(), f"{rest} {explained['rest']}"))
    return found


def doubtful(prose: str, units: frozenset[Unit] = frozenset()) -> bool:
    """Whether the words around a value may change what it means.

    Args:
        prose: The words.
        units: Declared units of the values: words that name another one of the kind make them doubtful.
    """
    if not DOUBTS.isdisjoint(words(prose)) or _SIGNS.search(prose):
        return True
    return any(kindred(one, other) and not equal(one, other) for one in units_in(prose) for other in units)


def hedged(sentence: str) -> bool:
    """Whether a sentence says something about a number other than that it is the value."""
    spelled = words(sentence)
    return not (_HEDGES | DOUBTS).isdisjoint(spelled) or _SIGNS.search(sentence) is not None


def truthy(value: Any) -> bool:
    """Whether a field says something at all."""
    return value not in (None, False, "", 0) and value != [] and value != {}


def doubtful_field(name: str, value: Any, units: frozenset[Unit] = frozenset()) -> bool:
    """Whether an undeclared field may change what the declared ones mean."""
    if not (_CHANGING | DOUBTS).isdisjoint(words(name)) and truthy(value):
        return True
    if isinstance(value, str):
        return doubtful(value, units)
    if isinstance(value, Mapping):
        return any(doubtful_field(key, item, units) for key, item in value.items())
    return False


_CHANGING_TEXT = (
    "factor multiplier exponent divisor unit units currency uom precision warning warnings next cursor more missing "
    "expired superseded replaced"
)
_CHANGING = frozenset(_CHANGING_TEXT.split())
"""Words in the name of a field that says how others are to be read, or that they are not all."""
