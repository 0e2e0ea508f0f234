"""Cross-source conflict: one of several sources that answer the same question is wrong, or behind the times.

The answer keeps its form and its limits, so that nothing but another source, an invariant or another derivation can
tell.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, ClassVar

from typing_extensions import override

from asyncguard_benchmark.harness.fault_modes import Mode, Spot, Way, siblings
from asyncguard_benchmark.harness.faults import Failpoint, Hazard
from asyncguard_benchmark.harness.pointers import covers
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.suites.hazards.shapes import Schema, changed, field_at, fields, is_number

LEAST_SOURCES = 2
"""Other sources that must be declared, so that they can outvote the wrong one."""
_SHARES = {1: Decimal("0.02"), 2: Decimal("0.1"), 3: Decimal("0.35")}
_DAYS = {1: 1, 2: 5, 3: 30}


class Conflict(Mode):
    """Base of all modes in which sources disagree."""

    hazard: ClassVar[Hazard] = Hazard.CONFLICT
    failpoints: ClassVar[tuple[Failpoint, ...]] = (Failpoint.AFTER_EXTERNAL_CALL_BEFORE_PARSE,)

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        """Return numbers, words from a list and days in which sources have to agree."""
        remedies = tool.remedies
        if len(remedies.sources) < LEAST_SOURCES:
            return ()
        compared = [
            (place, schema)
            for place, schema in fields(remedies.returns)
            if any(covers(pointer, place) for pointer in remedies.compared)
            and place != remedies.dated
        ]
        return tuple(place for place, schema in compared if _can_differ(schema))

    @override
    def ways(self, spot: Spot) -> tuple[Way, ...]:
        return tuple(way for way in siblings(spot.tool) if way is not Way.FALLBACK)

    @override
    def hint(self, spot: Spot) -> str:
        return f"The answer of {spot.tool.name} may not be what other sources say."


@dataclass(frozen=True, kw_only=True)
class DisagreeingValue(Conflict):
    """A value is off: by 2, 10 or 35 percent, by 1, 5 or 30 days, or by another word."""

    name: ClassVar[str] = "disagreeing_value"

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        schema = field_at(spot.tool.remedies.returns, spot.site)
        return changed(result, spot.site, lambda value: _other(value, schema, spot))


@dataclass(frozen=True, kw_only=True)
class StaleValue(Conflict):
    """A value is that of an earlier day, 30 days a degree of severity, and the answer is dated so."""

    name: ClassVar[str] = "stale_value"

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        return super().sites(tool) if tool.remedies.dated is not None else ()

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        schema = field_at(spot.tool.remedies.returns, spot.site)
        earlier = timedelta(days=30 * spot.severity)
        stale = changed(result, spot.site, lambda value: _other(value, schema, spot))
        return changed(stale, spot.tool.remedies.dated or "", lambda value: _moved(value, -earlier))


def _can_differ(schema: Schema) -> bool:
    return is_number(schema) or len(schema.get("enum", ())) > 1 or schema.get("format") == "date"


def _other(value: Any, schema: Schema, spot: Spot) -> Any:
    """Return another value that the schema allows just as well."""
    if is_number(schema) and isinstance(value, int | float):
        return _off(value, schema, spot)
    if "enum" in schema:
        others = [other for other in schema["enum"] if other != value]
        return others[int(spot.draw("other") * len(others))]
    return _moved(value, timedelta(days=_DAYS[spot.severity]))


def _off(value: float, schema: Schema, spot: Spot) -> Any:
    """Return a number some percent away, with as many decimals, inside its limits; one step away where none is."""
    exact = Decimal(str(value))
    step = Decimal(1).scaleb(min(0, int(exact.as_tuple().exponent)))
    share = max(step, (abs(exact) * _SHARES[spot.severity]).quantize(step))
    signs = (1, -1) if spot.draw("sign") < 0.5 else (-1, 1)
    tried = [exact + sign * size for size in (share, step) for sign in signs]
    found = next((number for number in tried if _within(number, schema)), exact)
    return (
        int(found)
        if found == found.to_integral_value() and isinstance(value, int)
        else float(found)
    )


def _within(number: Decimal, schema: Mapping[str, Any]) -> bool:
    low, high = schema.get("minimum"), schema.get("maximum")
    return (low is None or number >= Decimal(str(low))) and (
        high is None or number <= Decimal(str(high))
    )


def _moved(value: Any, by: timedelta) -> Any:
    try:
        day = date.fromisoformat(value)
    except (TypeError, ValueError):
        return value
    return (day + by).isoformat()
