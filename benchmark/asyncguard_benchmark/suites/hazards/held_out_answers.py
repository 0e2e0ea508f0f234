"""Held out: calls and answers that go wrong under a contract that stands."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, ROUND_UP, Decimal
from typing import Any, ClassVar

from typing_extensions import override

from asyncguard_benchmark.harness.fault_modes import Spot, Way, siblings
from asyncguard_benchmark.harness.faults import Failpoint
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.suites.hazards.conflict_modes import Conflict
from asyncguard_benchmark.suites.hazards.output_modes import OutputDrift
from asyncguard_benchmark.suites.hazards.shapes import (
    Schema,
    changed,
    field_at,
    fields,
    holder_of,
    is_number,
    renamed,
    required_fields,
)
from asyncguard_benchmark.suites.hazards.transit_modes import Mangling


@dataclass(frozen=True, kw_only=True)
class ArgumentRespelled(Mangling):
    """A gateway respells the name of an argument: `travel_date` arrives as `travelDate`, `origin` as `Origin`."""

    name: ClassVar[str] = "argument_respelled"

    @override
    def transit(self, arguments: Mapping[str, Any], spot: Spot) -> Mapping[str, Any]:
        first, *rest = spot.site[1:].split("_")
        other = first + "".join(map(str.capitalize, rest)) if rest else first.capitalize()
        arrived: Mapping[str, Any] = renamed(arguments, spot.site, other)
        return arrived


@dataclass(frozen=True, kw_only=True)
class NumberLocalised(OutputDrift):
    """A number is written for readers of some country: 1,234.50 (severity 1), 1.234,50 (2), 1 234,50 (3).

    There are never just three decimals, so that a separator can be read in one way only.
    """

    name: ClassVar[str] = "number_localised"
    failpoints: ClassVar[tuple[Failpoint, ...]] = (Failpoint.AFTER_WRAPPER_TRANSFORM,)

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        return tuple(place for place, schema in fields(tool.remedies.returns) if is_number(schema))

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        thousands, point = {1: (",", "."), 2: (".", ","), 3: ("\N{NO-BREAK SPACE}", ",")}[
            spot.severity
        ]

        def localised(value: Any) -> Any:
            if isinstance(value, bool) or not isinstance(value, int | float):
                return value
            whole, _, decimals = f"{Decimal(str(value)):,f}".partition(".")
            width = 4 if len(decimals) == 3 else 2
            return f"{whole.replace(',', thousands)}{point}{decimals:0<{width}}"

        return changed(result, spot.site, localised)


@dataclass(frozen=True, kw_only=True)
class DeprecationNoted(OutputDrift):
    """The answer says beside its fields that the service is on its way out.

    A flag (severity 1), an object with a day and a successor (2), or a list of warnings with codes and a flag (3).
    """

    name: ClassVar[str] = "deprecation_noted"
    failpoints: ClassVar[tuple[Failpoint, ...]] = (Failpoint.AFTER_WRAPPER_TRANSFORM,)

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        """Return the answer as a whole, where the declaration leaves no room for more fields."""
        return (
            super().sites(tool)
            if (tool.remedies.returns or {}).get("additionalProperties") is False
            else ()
        )

    @override
    def hint(self, spot: Spot) -> str:
        return f"The answer of {spot.tool.name} holds more than was declared; what was declared is all there."

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        if not isinstance(result, Mapping):
            return result
        sunset = f"2027-{1 + int(spot.draw('month') * 12):02}-01"
        match spot.severity:
            case 1:
                return {"deprecated": True, **result}
            case 2:
                return {
                    **result,
                    "_meta": {"deprecated": True, "sunset": sunset, "successor": "/v4"},
                }
            case _:
                warning = {"code": 299, "text": f"This service will be switched off on {sunset}."}
                return {"warnings": [warning], **result, "deprecated": True}


@dataclass(frozen=True, kw_only=True)
class FieldWithheld(OutputDrift):
    """A field is there without its value: null (severity 1), not at all (2), or an error in its place (3)."""

    name: ClassVar[str] = "field_withheld"
    failpoints: ClassVar[tuple[Failpoint, ...]] = (Failpoint.AFTER_WRAPPER_TRANSFORM,)

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        """Return the required fields that are declared to be one simple value."""
        returns = tool.remedies.returns
        simple = ("string", "number", "integer", "boolean")
        return tuple(
            place
            for place in required_fields(returns)
            if field_at(returns, place).get("type") in simple
        )

    @override
    def ways(self, spot: Spot) -> tuple[Way, ...]:
        """Return the use of another tool: there is no other way to get the value back."""
        return siblings(spot.tool)

    @override
    def hint(self, spot: Spot) -> str:
        return f"The answer of {spot.tool.name} is incomplete and will be again."

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        match spot.severity:
            case 1:
                return changed(result, spot.site, lambda _: None)
            case 2:
                above, name = holder_of(spot.site)
                return changed(result, above, lambda holder: _without(holder, name))
            case _:
                return changed(result, spot.site, lambda _: {"error": "upstream unavailable"})


def _without(holder: Any, name: str) -> Any:
    return (
        {key: item for key, item in holder.items() if key != name}
        if isinstance(holder, Mapping)
        else holder
    )


@dataclass(frozen=True, kw_only=True)
class RoundedValue(Conflict):
    """A source rounds where the others do not.

    To the finest step that changes the number (severity 1), to the next coarser one (2) or the one after that (3), as
    far as the declared limits allow.
    """

    name: ClassVar[str] = "rounded_value"

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        returns = tool.remedies.returns
        return tuple(place for place in super().sites(tool) if is_number(field_at(returns, place)))

    @override
    def hint(self, spot: Spot) -> str:
        return f"{spot.tool.name} may round where other sources do not."

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        schema = field_at(spot.tool.remedies.returns, spot.site)

        def rounded(value: Any) -> Any:
            if isinstance(value, bool) or not isinstance(value, int | float):
                return value
            steps = _roundings(Decimal(str(value)), schema)
            chosen = steps[min(spot.severity, len(steps)) - 1] if steps else Decimal(str(value))
            return int(chosen) if chosen == chosen.to_integral_value() else float(chosen)

        return changed(result, spot.site, rounded)


_STEPS = tuple(Decimal(text) for text in ("0.1", "0.5", "1", "5", "10", "50", "100", "500", "1000"))


def _roundings(value: Decimal, schema: Schema) -> list[Decimal]:
    """Return roundings of a number, from fine to coarse, each once; inside its limits, never the number itself.

    If no rounding lies inside (2 of at least 1), it is rounded up; zero cannot be rounded to
    anything else.
    """
    low, high = (
        Decimal(str(schema.get(key, default)))
        for key, default in (("minimum", "-1e9"), ("maximum", "1e9"))
    )
    for direction in (ROUND_HALF_UP, ROUND_UP):
        tried = [(value / step).quantize(Decimal(1), rounding=direction) * step for step in _STEPS]
        found = [other for other in dict.fromkeys(tried) if other != value and low <= other <= high]
        if found:
            return found
    return []
