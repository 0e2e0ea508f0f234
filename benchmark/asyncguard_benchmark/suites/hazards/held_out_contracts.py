"""Held out: contracts that move on. Arguments become lists or cents; results become pages, timestamps, numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar

from typing_extensions import override

from asyncguard_benchmark.harness.fault_modes import Spot, Way, siblings
from asyncguard_benchmark.services.contracts import Contract, declared
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.suites.hazards.argument_modes import ArgumentDrift
from asyncguard_benchmark.suites.hazards.result_modes import SMALLER, ResultDrift, returns_of
from asyncguard_benchmark.suites.hazards.shapes import (
    Schema,
    changed,
    closed,
    field_at,
    fields,
    is_number,
    renamed,
    schema_changed,
    schema_renamed,
)

_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


@dataclass(frozen=True, kw_only=True)
class ArgumentListed(ArgumentDrift):
    """An argument has become a list, as in services that answer in batches.

    The name stays (severity 1), turns into a plural (2), and loses its description, too (3).
    """

    name: ClassVar[str] = "argument_listed"

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        return tuple(
            site
            for site in super().sites(tool)
            if field_at(tool.parameters, site).get("type") != "array"
        )

    @override
    def live(self, spot: Spot) -> Contract:
        def listed(schema: Schema) -> Schema:
            told = (
                {"description": schema["description"]}
                if "description" in schema and spot.severity < 3
                else {}
            )
            items = {key: item for key, item in schema.items() if key != "description"}
            return {"type": "array", "items": items, "minItems": 1, "maxItems": 1, **told}

        parameters = schema_changed(spot.tool.parameters, spot.site, listed)
        parameters = schema_renamed(parameters, spot.site, _listed_name(spot))
        return Contract(parameters=parameters, returns=declared(spot.tool).returns)

    @override
    def accept(self, arguments: Mapping[str, Any], spot: Spot) -> Mapping[str, Any]:
        single = changed(arguments, f"/{_listed_name(spot)}", lambda items: items[0])
        accepted: Mapping[str, Any] = renamed(single, f"/{_listed_name(spot)}", spot.site[1:])
        return accepted


def _listed_name(spot: Spot) -> str:
    return spot.site[1:] if spot.severity == 1 else f"{spot.site[1:]}_list"


@dataclass(frozen=True, kw_only=True)
class ArgumentInSmallerUnit(ArgumentDrift):
    """A quantity is wanted in the next smaller unit, under a name that says so.

    The live contract tells the unit in words and as `unit`, and the old name as an alias (severity 1); as `unit` only
    (2); in words only (3).
    """

    name: ClassVar[str] = "argument_in_smaller_unit"

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        declared_at = {site: field_at(tool.parameters, site) for site in super().sites(tool)}
        return tuple(
            site
            for site, schema in declared_at.items()
            if is_number(schema) and _unit(schema) in SMALLER
        )

    @override
    def live(self, spot: Spot) -> Contract:
        old = field_at(spot.tool.parameters, spot.site)
        unit, factor = SMALLER[_unit(old)]
        limits: dict[str, Any] = {
            key: _exact(Decimal(str(old[key])) * factor) for key in _LIMITS if key in old
        }
        if old["type"] == "integer":
            # What it makes of a call has to be a whole number of the larger unit.
            limits.setdefault("multipleOf", factor)
        told = {"unit": unit} if spot.severity < 3 else {}
        if spot.severity != 2:
            told["description"] = f"{old.get('description', '')} Given in {unit}.".strip()
        aliases = {"aliases": [spot.site[1:]]} if spot.severity == 1 else {}
        parameters = schema_changed(
            spot.tool.parameters,
            spot.site,
            lambda _: {"type": old["type"], **limits, **told, **aliases},
        )
        parameters = schema_renamed(parameters, spot.site, self._new(spot))
        return Contract(parameters=parameters, returns=declared(spot.tool).returns)

    @override
    def accept(self, arguments: Mapping[str, Any], spot: Spot) -> Mapping[str, Any]:
        _, factor = SMALLER[_unit(field_at(spot.tool.parameters, spot.site))]
        new = f"/{self._new(spot)}"
        larger = changed(arguments, new, lambda value: _exact(Decimal(str(value)) / factor))
        accepted: Mapping[str, Any] = renamed(larger, new, spot.site[1:])
        return accepted

    def _new(self, spot: Spot) -> str:
        unit, _ = SMALLER[_unit(field_at(spot.tool.parameters, spot.site))]
        return f"{spot.site[1:]}_in_{unit.lower()}"


@dataclass(frozen=True, kw_only=True)
class ArgumentAdded(ArgumentDrift):
    """A call has to say more, and the live contract says what.

    One argument with a default (severity 1), one with a single allowed value (2), or two, one of them an object (3).
    """

    name: ClassVar[str] = "argument_added"

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        """Return the call as a whole."""
        return ("",)

    @override
    def live(self, spot: Spot) -> Contract:
        parameters = spot.tool.parameters
        added = _ADDED[spot.severity]
        properties = {**parameters["properties"], **added}
        required = [*parameters["required"], *added]
        live = {**parameters, "properties": properties, "required": required}
        return Contract(parameters=live, returns=declared(spot.tool).returns)

    @override
    def accept(self, arguments: Mapping[str, Any], spot: Spot) -> Mapping[str, Any]:
        return {
            name: value for name, value in arguments.items() if name not in _ADDED[spot.severity]
        }


_ADDED: Mapping[int, Mapping[str, Schema]] = {
    1: {
        "api_version": {
            "type": "string",
            "default": "2",
            "description": "Version of the interface.",
        }
    },
    2: {"consumer": {"type": "string", "const": "assistant", "description": "Kind of caller."}},
    3: {
        "api_version": {"type": "integer", "const": 3},
        "options": {
            **closed({"dry_run": {"type": "boolean", "default": False}}),
            "default": {"dry_run": False},
            "description": "How the call is handled.",
        },
    },
}
"""Arguments that are added, by severity; no tool has arguments of these names."""


@dataclass(frozen=True, kw_only=True)
class ResultPaged(ResultDrift):
    """The result is the only item of a page: with a cursor (severity 1), with counts (2), embedded beside links (3)."""

    name: ClassVar[str] = "result_paged"

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        """Return the result as a whole, where it is declared to be an object."""
        return ("",) if (tool.remedies.returns or {}).get("type") == "object" else ()

    @override
    def live(self, spot: Spot) -> Contract:
        items = {"type": "array", "items": dict(returns_of(spot)), "minItems": 1, "maxItems": 1}
        match spot.severity:
            case 1:
                returns = closed({"items": items, "next_cursor": {"type": "null"}})
            case 2:
                whole = {"type": "integer"}
                returns = closed(
                    {"results": items, "page": whole, "per_page": whole, "total_count": whole}
                )
            case _:
                links = closed({"self": {"type": "string"}})
                returns = closed({"_embedded": closed({"entries": items}), "_links": links})
        return self.contract(spot, returns)

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        match spot.severity:
            case 1:
                return {"items": [result], "next_cursor": None}
            case 2:
                return {"results": [result], "page": 1, "per_page": 25, "total_count": 1}
            case _:
                return {
                    "_embedded": {"entries": [result]},
                    "_links": {"self": f"/v3/{spot.tool.name}?page=1"},
                }


@dataclass(frozen=True, kw_only=True)
class DateAsTimestamp(ResultDrift):
    """A day is given as its first moment in UTC: in ISO 8601 (severity 1), in seconds (2) or milliseconds (3)."""

    name: ClassVar[str] = "date_as_timestamp"

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        """Return days whose spelling is declared by a pattern: `format` alone need not be checked by a validator."""
        found = fields(tool.remedies.returns)
        return tuple(
            place
            for place, schema in found
            if schema.get("format") == "date" and "pattern" in schema
        )

    @override
    def live(self, spot: Spot) -> Contract:
        def moment(schema: Schema) -> Schema:
            said = schema.get("description", "")
            if spot.severity == 1:
                pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T00:00:00Z$"
                return {
                    "type": "string",
                    "format": "date-time",
                    "pattern": pattern,
                    "description": said,
                }
            unit, word = ("s", "Seconds") if spot.severity == 2 else ("ms", "Milliseconds")
            return {
                "type": "integer",
                "unit": unit,
                "description": f"{said} {word} since 1970-01-01 UTC.".strip(),
            }

        return self.contract(spot, schema_changed(returns_of(spot), spot.site, moment))

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        def moment(day: Any) -> Any:
            if not isinstance(day, str):
                return day
            first = datetime.fromisoformat(day).replace(tzinfo=UTC)
            if spot.severity == 1:
                return first.strftime("%Y-%m-%dT%H:%M:%SZ")
            return int(first.timestamp()) * (1 if spot.severity == 2 else 1000)

        return changed(result, spot.site, moment)


@dataclass(frozen=True, kw_only=True)
class WordNumbered(ResultDrift):
    """One of several words is given as a number, in an order that is not the declared one.

    The live contract names each number (severity 1), lists them in words (2), or tells the numbers alone (3).
    """

    name: ClassVar[str] = "word_numbered"

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        found = fields(tool.remedies.returns)
        return tuple(place for place, schema in found if len(schema.get("enum", ())) > 1)

    @override
    def ways(self, spot: Spot) -> tuple[Way, ...]:
        return siblings(spot.tool, *((Way.REFRESH,) if spot.severity < 3 else ()))

    @override
    def live(self, spot: Spot) -> Contract:
        def numbered(schema: Schema) -> Schema:
            numbers = self._numbers(spot)
            said = {"description": schema["description"]} if "description" in schema else {}
            if spot.severity == 1:
                return {
                    "oneOf": [{"const": number, "title": word} for word, number in numbers.items()],
                    **said,
                }
            if spot.severity == 2:
                listed = ", ".join(f"{number} = {word}" for word, number in numbers.items())
                said = {"description": f"{said.get('description', '')} {listed}".strip()}
            return {"type": "integer", "enum": sorted(numbers.values()), **said}

        return self.contract(spot, schema_changed(returns_of(spot), spot.site, numbered))

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        numbers = self._numbers(spot)
        return changed(
            result,
            spot.site,
            lambda word: numbers.get(word, word) if isinstance(word, str) else word,
        )

    def _numbers(self, spot: Spot) -> Mapping[str, int]:
        words = field_at(returns_of(spot), spot.site)["enum"]
        shift = 1 + int(spot.draw("shift") * (len(words) - 1))
        return {word: 1 + (place + shift) % len(words) for place, word in enumerate(words)}


def _unit(schema: Schema) -> str:
    return str(schema.get("unit", ""))


def _exact(number: Decimal) -> int | float:
    """As JSON has it, whole where it is."""
    return int(number) if number == number.to_integral_value() else float(number)
