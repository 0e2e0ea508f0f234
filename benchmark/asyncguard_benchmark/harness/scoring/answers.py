"""Submitted answers in the form in which two answers are compared: each kind is read as strictly as its type is."""

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Strict

from asyncguard_benchmark.harness.saved_form import Real, Whole, saved_form


class AnswerKind(StrEnum):
    """Kind of an answer: how it is read."""

    NUMBER = "number"
    DATE = "date"
    """ISO 8601, a day."""
    CODE = "code"
    """An id; case does not matter."""
    ENUM = "enum"
    """One of several words; case does not matter."""


@saved_form()
@dataclass(frozen=True, kw_only=True)
class Answer:
    """The canonical answer of a task."""

    kind: AnswerKind
    value: Annotated[str, Strict()] | Whole | Real


class Ending(StrEnum):
    """Ending of a task; each task ends in exactly one way."""

    SUCCESS = "success"
    """The right answer, and exactly the effects of the ground truth."""
    WRONG_ANSWER = "wrong_answer"
    """Silently wrong: another answer was submitted, whatever the effects."""
    WRONG_EFFECTS = "wrong_effects"
    """The right answer, with effects missing, too many or others."""
    HONEST_FAILURE = "honest_failure"
    """A problem was reported and nothing submitted."""
    UNFINISHED = "unfinished"
    """Neither."""


_DECIMAL = re.compile(r"[+-]?\d+(?:\.\d+)?")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

CanonicalAnswer = Decimal | date | str
"""Equal if and only if the answers are."""


def canonical_answer(said: Any, kind: AnswerKind) -> CanonicalAnswer | None:
    """Return the meaning of an answer, read as one of a kind; None if it cannot be read so.

    A number may stand in a text, but alone: without unit, label or thousands separator. A truth
    value is not read as a number, nor a number as a code: 42 is not "0042".
    """
    text = said.strip() if isinstance(said, str) else None
    match kind:
        case AnswerKind.NUMBER:
            return _number(said if text is None else text)
        case AnswerKind.DATE:
            return _day(text or "")
        case AnswerKind.CODE | AnswerKind.ENUM:
            return text.casefold() if text else None


def is_right(said: Any, answer: Answer) -> bool:
    """Return True if a submitted answer is that of the task."""
    wanted = canonical_answer(answer.value, answer.kind)
    if wanted is None:
        raise ValueError(f"the task's own answer {answer.value!r} cannot be read as {answer.kind}")
    return canonical_answer(said, answer.kind) == wanted


def _number(said: Any) -> Decimal | None:
    if isinstance(said, str):
        return Decimal(said) if _DECIMAL.fullmatch(said) else None
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    number = Decimal(str(said))
    return number if number.is_finite() else None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DAY.fullmatch(text) else None
    except ValueError:
        return None
