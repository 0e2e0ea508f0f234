"""Words of the two benchmarks: action types, relations between missions, patterns."""

import json
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Any

from asyncguard_benchmark.errors import DataError

ASK = "ask_user_for_required_parameters"
"""Pseudo tool: a question to the user; never offered to a model."""
ANSWER = "prepare_to_answer"
"""Pseudo tool: the final text of a mission; never offered to a model."""
PSEUDO = frozenset({ASK, ANSWER})


class Letter(StrEnum):
    """Action type of a mission."""

    SINGLE = "s"
    MULTI = "m"
    CLARIFY = "c"
    CHAT = "t"


LETTERS = tuple(Letter)
"""In the order in which the heat map shows them."""


class Relation(StrEnum):
    """Relation of a later mission to an earlier one."""

    REFERENCE = "reference"
    ELLIPSIS = "ellipsis"
    LONG_MEMORY = "long memory"


class Subtype(StrEnum):
    """Dependencies between the tool calls of a mission."""

    PARALLEL = "P"
    SERIAL = "S"
    COMBINED = "S+P"


_LETTERS = {
    "单": Letter.SINGLE,
    "多": Letter.MULTI,
    "反": Letter.CLARIFY,
    "拒": Letter.CHAT,
    **{each.value: each for each in Letter},
}
_RELATIONS = {
    "指代理解": Relation.REFERENCE,
    "省略成分": Relation.ELLIPSIS,
    "长期记忆": Relation.LONG_MEMORY,
    **{each.value: each for each in Relation},
}
_TRUTHS = {True: True, False: False, "真": True, "假": False, "true": True, "false": False}


def letters_of(said: Any, where: str) -> tuple[Letter, ...]:
    """Return the action types in a text or a list of texts.

    Raises:
        DataError: a letter is unknown.
    """
    parts = said if isinstance(said, list) else [said]
    if not all(isinstance(each, str) for each in parts):
        raise DataError(where, "expected a text or a list of texts")
    text = "".join(each.strip() for each in parts)
    if unknown := sorted({each for each in text if each not in _LETTERS}):
        raise DataError(
            where, f"unknown action types {unknown}; expected 单, 多, 反, 拒 or s, m, c, t"
        )
    return tuple(_LETTERS[each] for each in text)


def relations_of(
    turn_type: Any, subtypes: Any, missions: int, where: str
) -> tuple[Relation | None, ...]:
    """Return the relation of each mission to earlier ones; None where it needs none of them.

    Subtypes are as many as missions, or as many as missions that need earlier ones: then they go to these in order.

    Raises:
        DataError: counts do not fit, or a word is unknown.
    """
    depends = [_truth(each, f"{where}.turn_type") for each in _items(turn_type)]
    said = _items(subtypes)
    if len(depends) != missions:
        raise DataError(f"{where}.turn_type", f"has {len(depends)} items for {missions} missions")
    if len(said) == sum(depends) != missions:
        later = iter(said)
        said = [next(later) if each else None for each in depends]
    if len(said) != missions:
        text = f"has {len(said)} items; expected {missions}, or {sum(depends)} for those that depend on earlier ones"
        raise DataError(f"{where}.turn_subtypes", text)
    return tuple(
        relation_of(name, f"{where}.turn_subtypes") if needed else None
        for name, needed in zip(said, depends, strict=True)
    )


def relation_of(name: Any, where: str) -> Relation:
    """Return a relation by its name.

    Raises:
        DataError: there is none of this name.
    """
    if not isinstance(name, str) or name.strip() not in _RELATIONS:
        raise DataError(where, f"unknown relation {str(name)[:60]!r}")
    return _RELATIONS[name.strip()]


def _items(said: Any) -> list[Any]:
    if isinstance(said, list):
        return said
    return [] if said is None else [said]


def _truth(said: Any, where: str) -> bool:
    key = said.strip().lower() if isinstance(said, str) else said
    if not isinstance(key, bool | str) or key not in _TRUTHS:
        raise DataError(where, f"expected true, false, 真 or 假, not {str(said)[:60]!r}")
    return _TRUTHS[key]


def switches(pattern: Sequence[Letter]) -> int:
    """Return PTF: the number of neighbouring missions with different action types."""
    return sum(one is not other for one, other in pairwise(pattern))


def object_of(said: Any) -> dict[str, Any] | None:
    """Return arguments as an object; a text is read as JSON; None if they are something else."""
    if isinstance(said, str):
        try:
            said = json.loads(said)  # the fast reader takes no text with half a character
        except (ValueError, RecursionError):
            return None
    return said if isinstance(said, dict) else None
