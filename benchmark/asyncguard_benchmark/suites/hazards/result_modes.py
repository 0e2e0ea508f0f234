"""Specification drift of results: the service answers in another form, and its live contract says so."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from typing_extensions import override

from asyncguard_benchmark.harness.fault_modes import Mode, Spot, Way, siblings
from asyncguard_benchmark.harness.faults import Failpoint, Hazard
from asyncguard_benchmark.services.contracts import Contract
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.suites.hazards.field_names import new_name
from asyncguard_benchmark.suites.hazards.shapes import (
    Schema,
    changed,
    closed,
    field_at,
    fields,
    holder_of,
    is_number,
    renamed,
    required_fields,
    schema_changed,
    schema_renamed,
)


class ResultDrift(Mode):
    """Base of all modes in which results drift."""

    hazard: ClassVar[Hazard] = Hazard.SPECIFICATION
    failpoints: ClassVar[tuple[Failpoint, ...]] = (Failpoint.AFTER_WRAPPER_TRANSFORM,)
    visible: ClassVar[bool] = True

    @override
    def ways(self, spot: Spot) -> tuple[Way, ...]:
        return siblings(spot.tool, Way.NORMALISE, Way.REFRESH)

    @override
    def hint(self, spot: Spot) -> str:
        return f"{spot.tool.name} no longer answers as declared; ask for its live contract."

    def contract(self, spot: Spot, returns: Schema) -> Contract:
        """Return the declared contract with another result."""
        return Contract(parameters=spot.tool.parameters, returns=returns)


def returns_of(spot: Spot) -> Schema:
    """Return the declared schema of the result at a spot; a tool without one has no sites."""
    return spot.tool.remedies.returns or {}


@dataclass(frozen=True, kw_only=True)
class ResultRenamed(ResultDrift):
    """A field has another name.

    Severity 1 takes one that the declaration announces, if it does; 2 adds a word; 3 takes a code, of which the live
    contract tells no more than the type.
    """

    name: ClassVar[str] = "result_renamed"

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        return required_fields(tool.remedies.returns)

    @override
    def live(self, spot: Spot) -> Contract:
        def kept(schema: Schema) -> Schema:
            return {
                key: item
                for key, item in schema.items()
                if key != "description" or spot.severity < 3
            }

        returns = schema_changed(returns_of(spot), spot.site, kept)
        return self.contract(spot, schema_renamed(returns, spot.site, self._new(spot)))

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        return renamed(result, spot.site, self._new(spot))

    def _new(self, spot: Spot) -> str:
        declared = field_at(returns_of(spot), spot.site)
        aliases = declared.get("aliases", ())
        holder, old = holder_of(spot.site)
        beside = {
            name
            for place, _ in fields(returns_of(spot))
            for above, name in [holder_of(place)]
            if above == holder
        }
        return new_name(old, beside, spot, aliases if isinstance(aliases, list | tuple) else ())


@dataclass(frozen=True, kw_only=True)
class ResultRetyped(ResultDrift):
    """A number comes as text (severity 1), as text with two decimals at least (2), or as a list of one (3)."""

    name: ClassVar[str] = "result_retyped"

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        return tuple(place for place, schema in fields(tool.remedies.returns) if is_number(schema))

    @override
    def live(self, spot: Spot) -> Contract:
        def retyped(schema: Schema) -> Schema:
            if spot.severity == 3:
                return {"type": "array", "items": dict(schema), "minItems": 1, "maxItems": 1}
            kept = {
                key: item
                for key, item in schema.items()
                if key in ("description", "unit", "aliases")
            }
            return {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$", **kept}

        return self.contract(spot, schema_changed(returns_of(spot), spot.site, retyped))

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        def retyped(value: Any) -> Any:
            if isinstance(value, bool) or not isinstance(value, int | float):
                return value
            if spot.severity == 3:
                return [value]
            text = f"{Decimal(str(value)):f}"
            whole, _, decimals = text.partition(".")
            return text if spot.severity == 1 else f"{whole}.{decimals:0<2}"

        return changed(result, spot.site, retyped)


@dataclass(frozen=True, kw_only=True)
class ResultNested(ResultDrift):
    """Fields moved into an object: one of them (severity 1), all (2), all and one level deeper, with a head (3)."""

    name: ClassVar[str] = "result_nested"

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        return required_fields(tool.remedies.returns)

    @override
    def live(self, spot: Spot) -> Contract:
        returns = returns_of(spot)
        match spot.severity:
            case 1:
                holder, moved = holder_of(spot.site)
                inner = field_at(returns, spot.site)
                returns = schema_renamed(returns, spot.site, _DETAILS)
                returns = schema_changed(
                    returns, f"{holder}/{_DETAILS}", lambda _: closed({moved: inner})
                )
            case 2:
                returns = closed({"data": returns})
            case _:
                meta = closed({"version": {"type": "integer"}})
                returns = closed({"data": closed({"attributes": returns}), "meta": meta})
        return self.contract(spot, returns)

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        match spot.severity:
            case 1:
                holder, moved = holder_of(spot.site)
                nested = renamed(result, spot.site, _DETAILS)
                return changed(nested, f"{holder}/{_DETAILS}", lambda value: {moved: value})
            case 2:
                return {"data": result}
            case _:
                return {"data": {"attributes": result}, "meta": {"version": 2}}


_DETAILS = "details"

SMALLER: Mapping[str, tuple[str, int]] = {
    "EUR": ("cent", 100),
    "USD": ("cent", 100),
    "km": ("m", 1000),
    "m": ("cm", 100),
    "cm": ("mm", 10),
    "t": ("kg", 1000),
    "kg": ("g", 1000),
    "g": ("mg", 1000),
    "mg": ("ug", 1000),
    "MWh": ("kWh", 1000),
    "kWh": ("Wh", 1000),
    "kW": ("W", 1000),
    "l": ("ml", 1000),
    "L": ("mL", 1000),
    "m3": ("l", 1000),
    "d": ("h", 24),
    "h": ("min", 60),
    "min": ("s", 60),
}
"""A unit -> the next smaller one, and how many of it make one."""


@dataclass(frozen=True, kw_only=True)
class UnitChanged(ResultDrift):
    """A quantity is given in a smaller unit.

    The live contract says so in words and as `unit` (severity 1), as `unit` only (2), or not at all (3).
    """

    name: ClassVar[str] = "unit_changed"
    failpoints: ClassVar[tuple[Failpoint, ...]] = (Failpoint.BEFORE_WRAPPER_TRANSFORM,)
    visible: ClassVar[bool] = False

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        found = fields(tool.remedies.returns)
        return tuple(
            place for place, schema in found if is_number(schema) and schema.get("unit") in SMALLER
        )

    @override
    def ways(self, spot: Spot) -> tuple[Way, ...]:
        return siblings(spot.tool, *((Way.REFRESH,) if spot.severity < 3 else ()))

    @override
    def hint(self, spot: Spot) -> str:
        return f"A quantity in the answer of {spot.tool.name} may be in another unit than declared."

    @override
    def live(self, spot: Spot) -> Contract:
        unit, factor = self._smaller(spot)

        def other(schema: Schema) -> Schema:
            limits = {key: _times(schema[key], factor) for key in _LIMITS if key in schema}
            told = {
                "unit": unit,
                "description": f"{schema.get('description', '')} Given in {unit}.".strip(),
            }
            kept = {key: item for key, item in schema.items() if key not in ("unit", "description")}
            match spot.severity:
                case 1:
                    return {**schema, **limits, **told}
                case 2:
                    return {**schema, **limits, "unit": unit}
                case _:
                    return {**kept, **limits}

        return self.contract(spot, schema_changed(returns_of(spot), spot.site, other))

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        _, factor = self._smaller(spot)
        return changed(result, spot.site, lambda value: _times(value, factor))

    def _smaller(self, spot: Spot) -> tuple[str, int]:
        return SMALLER[field_at(returns_of(spot), spot.site)["unit"]]


_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def _times(value: Any, factor: int) -> Any:
    """Return an exact decimal product, whole where it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    product = Decimal(str(value)) * factor
    return int(product) if product == product.to_integral_value() else float(product)
