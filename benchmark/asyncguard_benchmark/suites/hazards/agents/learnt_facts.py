"""Facts from calls that are not in the plan: contracts, outcomes of effects, answers of other sources."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from asyncguard_benchmark.harness.scoring.canonical import freeze
from asyncguard_benchmark.suites.hazards.agents.course import Course, Made, Purpose


def looks(course: Course, step: int, tool: str) -> list[Made]:
    """Return the calls that asked for a tool's contract because of a step."""
    return [
        each
        for each in course.of(step, Purpose.CONTRACT)
        if each.attempt.arguments.get("tool") == tool
    ]


def contract_of(course: Course, step: int, tool: str) -> Mapping[str, Any] | None:
    """Return the live contract of a tool, if it was read because of a step."""
    for each in reversed(looks(course, step, tool)):
        if (
            each.answer is not None
            and not each.answer.failed
            and isinstance(each.answer.value, dict)
        ):
            return each.answer.value
    return None


def said_to_have_happened(probe: Made) -> bool | None:
    """Return the answer of a probe; None if it says nothing."""
    value = probe.answer.value if probe.answer is not None else None
    said = value.get("happened") if isinstance(value, dict) else None
    return said if isinstance(said, bool) else None


def happened(course: Course, step: int) -> Any:
    """Return the result of an effect that a probe has found; None if none has."""
    for probe in course.of(step, Purpose.PROBE):
        if said_to_have_happened(probe) and probe.answer is not None:
            return probe.answer.value.get("result")
    return None


def same_question(one: Made, other: Made) -> bool:
    """Return True if two tools were asked the same: with the same values, and answered in the same form."""
    if one.move.tool == other.move.tool or one.answer is None or other.answer is None:
        return False
    first, second = one.answer.value, other.answer.value
    if not (
        isinstance(first, dict) and isinstance(second, dict) and first and set(first) == set(second)
    ):
        return False
    asked = [Counter(map(freeze, made.attempt.arguments.values())) for made in (one, other)]
    return asked[0] == asked[1] and not one.answer.failed


def agreeing(voices: Sequence[Any]) -> int:
    """Return the number of voices that share the most frequent value."""
    return max(Counter(map(freeze, voices)).values(), default=0)


def majority(voices: Sequence[Any]) -> Any:
    """Return the value that most say; of equally many the first."""
    counted = Counter(map(freeze, voices))
    best, _ = max(counted.items(), key=lambda each: each[1])
    return next(value for value in voices if freeze(value) == best)
