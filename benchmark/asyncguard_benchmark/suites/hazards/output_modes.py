"""Output drift: the contract stands, and the answer is dressed up, spelled otherwise or cut off."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override

from asyncguard_benchmark.harness.fault_modes import Mode, Spot, Way, siblings
from asyncguard_benchmark.harness.faults import Failpoint, Hazard
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.services.service import serialise
from asyncguard_benchmark.suites.hazards.shapes import (
    changed,
    field_at,
    fields,
    holder_of,
    is_number,
)


class OutputDrift(Mode):
    """Base of all modes in which output drifts; the result can be read unless a mode says otherwise."""

    hazard: ClassVar[Hazard] = Hazard.OUTPUT
    failpoints: ClassVar[tuple[Failpoint, ...]] = (Failpoint.BEFORE_RETURN,)
    visible: ClassVar[bool] = True

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        """Return the answer as a whole, where it is declared to be an object."""
        return ("",) if (tool.remedies.returns or {}).get("type") == "object" else ()

    @override
    def ways(self, spot: Spot) -> tuple[Way, ...]:
        return siblings(spot.tool, Way.NORMALISE)

    @override
    def hint(self, spot: Spot) -> str:
        return f"The answer of {spot.tool.name} is not in the declared form; the values in it are sound."


@dataclass(frozen=True, kw_only=True)
class UnitWrapped(OutputDrift):
    """A number comes with its unit: as an object (severity 1), under the names of money or amounts (2), as text (3)."""

    name: ClassVar[str] = "unit_wrapped"
    failpoints: ClassVar[tuple[Failpoint, ...]] = (Failpoint.AFTER_WRAPPER_TRANSFORM,)

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        found = fields(tool.remedies.returns)
        return tuple(place for place, schema in found if is_number(schema) and schema.get("unit"))

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        unit = field_at(spot.tool.remedies.returns, spot.site)["unit"]
        money = len(unit) == 3 and unit.isupper()

        def wrapped(value: Any) -> Any:
            match spot.severity:
                case 1:
                    return {"value": value, "unit": unit}
                case 2:
                    return (
                        {"amount": value, "currency": unit}
                        if money
                        else {"quantity": value, "uom": unit}
                    )
                case _:
                    return f"{serialise(value)} {unit}"

        return changed(result, spot.site, wrapped)


@dataclass(frozen=True, kw_only=True)
class Labelled(OutputDrift):
    """A value comes with its label as text (severity 1); the whole answer does, a line a field (2) or as prose (3)."""

    name: ClassVar[str] = "labelled_text"

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        found = fields(tool.remedies.returns)
        return tuple(
            place
            for place, schema in found
            if is_number(schema) or "enum" in schema or "pattern" in schema
        )

    @override
    def ways(self, spot: Spot) -> tuple[Way, ...]:
        return super().ways(spot) if spot.severity < 3 else siblings(spot.tool)

    @override
    def write(self, text: str, spot: Spot) -> str:
        result = _read(text)
        if result is None:
            return text
        match spot.severity:
            case 1:
                label = _label(holder_of(spot.site)[1])
                return serialise(
                    changed(result, spot.site, lambda value: f"{label}: {_plain(value)}")
                )
            case 2:
                return "\n".join(
                    f"{_label(name)}: {_plain(value)}" for name, value in result.items()
                )
            case _:
                said = [
                    f"the {_label(name).lower()} is {_plain(value)}"
                    for name, value in result.items()
                ]
                return f"According to our records, {' and '.join(said)}."


@dataclass(frozen=True, kw_only=True)
class AliasInstead(OutputDrift):
    """A word comes in another spelling.

    Severity 1 takes one that the declaration announces, if it does; 2 writes that in other case; 3 adds blanks.
    """

    name: ClassVar[str] = "alias_instead"
    failpoints: ClassVar[tuple[Failpoint, ...]] = (Failpoint.AFTER_WRAPPER_TRANSFORM,)

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        found = fields(tool.remedies.returns)
        return tuple(
            place
            for place, schema in found
            if "enum" in schema and isinstance(schema.get("aliases"), Mapping)
        )

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        schema = field_at(spot.tool.remedies.returns, spot.site)

        def respelled(value: Any) -> Any:
            announced = [other for other, meant in schema["aliases"].items() if meant == value]
            other = announced[0] if announced else value
            if spot.severity == 1 and announced:
                return other
            cased = other.lower() if other.isupper() else other.upper()
            return cased if spot.severity < 3 else f" {cased} "

        return changed(result, spot.site, respelled)


@dataclass(frozen=True, kw_only=True)
class Explained(OutputDrift):
    """The answer stands in a text: before a sentence (severity 1), between fences (2), inside a sentence (3)."""

    name: ClassVar[str] = "explained"

    @override
    def write(self, text: str, spot: Spot) -> str:
        match spot.severity:
            case 1:
                return f"{text}\n\nNote: figures are as of the last synchronisation."
            case 2:
                return f"Here is what was found:\n\n```json\n{text}\n```"
            case _:
                return f"I looked this up for you. The record reads {text} and was checked twice (2 of 2 replicas)."


@dataclass(frozen=True, kw_only=True)
class Truncated(OutputDrift):
    """The end of the answer is missing: an eighth of it (severity 1), half (2), seven eighths (3)."""

    name: ClassVar[str] = "truncated"

    @override
    def ways(self, spot: Spot) -> tuple[Way, ...]:
        return siblings(spot.tool)

    @override
    def hint(self, spot: Spot) -> str:
        return f"The answer of {spot.tool.name} was cut off and will be again."

    @override
    def write(self, text: str, spot: Spot) -> str:
        kept = {1: 7, 2: 4, 3: 1}[spot.severity]
        return text[: max(1, len(text) * kept // 8)]


def _read(text: str) -> dict[str, Any] | None:
    """Return the object that a text is, unless another fault has made something else of it."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else serialise(value)
