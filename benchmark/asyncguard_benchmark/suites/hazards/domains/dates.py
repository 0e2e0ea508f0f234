"""Days of a calendar: counting on from one, and which of two comes first."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.declarations import Invariant


def days_after(day: str, days: int) -> str:
    """Return the day so many days after another, both in ISO 8601.

    Raises:
        ToolFailure: there is no such day, as the 30th of February.
    """
    try:
        return (date.fromisoformat(day) + timedelta(days=days)).isoformat()
    except ValueError as problem:
        raise ToolFailure(f"{day!r} is not a day of the calendar.") from problem


def not_before(later: str, earlier: str) -> Invariant:
    """Return the rule that the day in field `later` is not before the day in field `earlier`."""

    def rule(_arguments: Mapping[str, Any], result: Any) -> str | None:
        first, second = _day(result, earlier), _day(result, later)
        return (
            f"{later} is before {earlier}"
            if first is not None and second is not None and second < first
            else None
        )

    return rule


def _day(result: Any, name: str) -> date | None:
    value = result.get(name) if isinstance(result, Mapping) else None
    try:
        return date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:  # a malformed day is for the schema to say
        return None
