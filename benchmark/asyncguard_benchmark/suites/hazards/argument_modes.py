"""Specification drift of arguments: the service wants them otherwise, and refuses a call as it was declared."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override

from asyncguard_benchmark.harness.fault_modes import Mode, Spot, Way, siblings
from asyncguard_benchmark.harness.faults import Failpoint, Hazard
from asyncguard_benchmark.services.contracts import Contract, declared
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.suites.hazards.field_names import new_name
from asyncguard_benchmark.suites.hazards.shapes import (
    closed,
    renamed,
    schema_changed,
    schema_renamed,
)


class ArgumentDrift(Mode):
    """Base of all modes in which arguments drift."""

    hazard: ClassVar[Hazard] = Hazard.SPECIFICATION
    failpoints: ClassVar[tuple[Failpoint, ...]] = (Failpoint.BEFORE_TOOL_LOGIC,)

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        """Return every argument without which the tool cannot be called."""
        return tuple(f"/{name}" for name in tool.parameters["required"])

    @override
    def ways(self, spot: Spot) -> tuple[Way, ...]:
        return siblings(spot.tool, Way.REFRESH) if not spot.tool.writes else (Way.REFRESH,)

    @override
    def hint(self, spot: Spot) -> str:
        return f"{spot.tool.name} no longer takes its arguments as declared; ask for its live contract."


@dataclass(frozen=True, kw_only=True)
class ArgumentRenamed(ArgumentDrift):
    """An argument has another name.

    Severity 1 names the old one as an alias in the live contract; 2 keeps the description; 3 keeps neither.
    """

    name: ClassVar[str] = "argument_renamed"

    @override
    def live(self, spot: Spot) -> Contract:
        def kept(schema: Mapping[str, Any]) -> dict[str, Any]:
            aliases = {"aliases": [spot.site[1:]]} if spot.severity == 1 else {}
            return {
                key: item
                for key, item in schema.items()
                if key != "description" or spot.severity < 3
            } | aliases

        parameters = schema_changed(spot.tool.parameters, spot.site, kept)
        return Contract(
            parameters=schema_renamed(parameters, spot.site, self._new(spot)),
            returns=declared(spot.tool).returns,
        )

    @override
    def accept(self, arguments: Mapping[str, Any], spot: Spot) -> Mapping[str, Any]:
        accepted: Mapping[str, Any] = renamed(arguments, f"/{self._new(spot)}", spot.site[1:])
        return accepted

    def _new(self, spot: Spot) -> str:
        return new_name(spot.site[1:], spot.tool.parameters["properties"], spot)


@dataclass(frozen=True, kw_only=True)
class ArgumentNested(ArgumentDrift):
    """Arguments moved into an object: one of them (severity 1), all (2), all and one level deeper (3)."""

    name: ClassVar[str] = "argument_nested"

    @override
    def live(self, spot: Spot) -> Contract:
        parameters = spot.tool.parameters
        match spot.severity:
            case 1:
                moved, holder = spot.site[1:], self._holder(spot)
                properties = {
                    key: item for key, item in parameters["properties"].items() if key != moved
                }
                properties[holder] = closed({moved: parameters["properties"][moved]})
                required = [holder if key == moved else key for key in parameters["required"]]
                live = {**parameters, "properties": properties, "required": required}
            case 2:
                live = closed({"request": parameters})
            case _:
                live = closed({"data": closed({"attributes": parameters})})
        return Contract(parameters=live, returns=declared(spot.tool).returns)

    @override
    def accept(self, arguments: Mapping[str, Any], spot: Spot) -> Mapping[str, Any]:
        match spot.severity:
            case 1:
                holder = self._holder(spot)
                flat = {key: item for key, item in arguments.items() if key != holder}
                return {**flat, **arguments[holder]}
            case 2:
                inner: Mapping[str, Any] = arguments["request"]
            case _:
                inner = arguments["data"]["attributes"]
        return inner

    def _holder(self, spot: Spot) -> str:
        return "details" if "details" not in spot.tool.parameters["properties"] else "more_details"
