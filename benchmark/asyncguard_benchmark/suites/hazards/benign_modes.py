"""Benign variation: answers that differ from clean ones only in ways that no declaration mentions.

It is not a fault and must have no consequences: a runtime that raises an alarm at one of these
raises a false one. Benign variations are placed as faults are, so that their runs can be told from
clean ones.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, ClassVar

from typing_extensions import override

from asyncguard_benchmark.harness.fault_modes import Mode, Spot, Way
from asyncguard_benchmark.harness.faults import Failpoint, Hazard
from asyncguard_benchmark.harness.pointers import covers
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.suites.hazards.shapes import changed


class Benign(Mode):
    """Base of all benign variation, listed under the hazard that it might be taken for."""

    hazard: ClassVar[Hazard] = Hazard.OUTPUT
    failpoints: ClassVar[tuple[Failpoint, ...]] = (Failpoint.BEFORE_RETURN,)

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        """Return the answer as a whole, where it is declared to be an object."""
        return ("",) if (tool.remedies.returns or {}).get("type") == "object" else ()

    @override
    def ways(self, spot: Spot) -> tuple[Way, ...]:
        """Return no ways: none is needed."""
        return ()

    @override
    def hint(self, spot: Spot) -> str:
        return f"Nothing is wrong with the answer of {spot.tool.name}."


@dataclass(frozen=True, kw_only=True)
class KeysReordered(Benign):
    """The fields of all objects come in the opposite order."""

    name: ClassVar[str] = "benign_order"

    @override
    def write(self, text: str, spot: Spot) -> str:
        return json.dumps(_reversed(json.loads(text)), ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class SpacedOut(Benign):
    """The text is indented, with a line feed at its end."""

    name: ClassVar[str] = "benign_spacing"

    @override
    def write(self, text: str, spot: Spot) -> str:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1 + spot.severity) + "\n"


@dataclass(frozen=True, kw_only=True)
class DecimalWritten(Benign):
    """Whole numbers are written with a decimal: 10.0 for 10."""

    name: ClassVar[str] = "benign_decimal"

    @override
    def write(self, text: str, spot: Spot) -> str:
        return json.dumps(_decimal(json.loads(text)), ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class DatedLater(Benign):
    """The answer is of a later day: a newer one, and the same."""

    name: ClassVar[str] = "benign_date"
    failpoints: ClassVar[tuple[Failpoint, ...]] = (Failpoint.AFTER_WRAPPER_TRANSFORM,)

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        """Return the date of the answer, where it has one in which sources need not agree."""
        dated = tool.remedies.dated
        agreed = any(covers(pointer, dated or "") for pointer in tool.remedies.compared)
        return () if dated is None or agreed else (dated,)

    @override
    def answer(self, result: Any, spot: Spot) -> Any:
        return changed(result, spot.site, lambda day: _later(day, spot.severity))


BENIGN_MODES: tuple[Mode, ...] = (KeysReordered(), SpacedOut(), DecimalWritten(), DatedLater())
"""All of them."""


def _reversed(value: Any) -> Any:
    match value:
        case dict():
            return {name: _reversed(item) for name, item in reversed(value.items())}
        case list():
            return [_reversed(item) for item in value]
        case _:
            return value


def _decimal(value: Any) -> Any:
    match value:
        case bool():
            return value
        case int():
            return float(value)
        case Mapping():
            return {name: _decimal(item) for name, item in value.items()}
        case list():
            return [_decimal(item) for item in value]
        case _:
            return value


def _later(day: Any, days: int) -> Any:
    try:
        return (date.fromisoformat(day) + timedelta(days=days)).isoformat()
    except (TypeError, ValueError):
        return day
