"""Invocation errors: arguments are mangled on their way, and the tool refuses what arrives.

The same call, sent again once the way is clear, gets through; nothing has happened before.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override

from asyncguard_benchmark.harness.fault_modes import Mode, Spot, Way
from asyncguard_benchmark.harness.faults import Failpoint, Hazard
from asyncguard_benchmark.services.declarations import Tool
from asyncguard_benchmark.services.service import serialise
from asyncguard_benchmark.suites.hazards.shapes import changed, field_at


class Mangling(Mode):
    """Base of all modes that mangle requests; the severity is the number of calls that are hit."""

    hazard: ClassVar[Hazard] = Hazard.INVOCATION
    failpoints: ClassVar[tuple[Failpoint, ...]] = (Failpoint.BEFORE_TOOL_LOGIC,)

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        """Return every argument without which the tool cannot be called."""
        return tuple(f"/{name}" for name in tool.parameters["required"])

    @override
    def ways(self, spot: Spot) -> tuple[Way, ...]:
        return (Way.RETRY,)

    @override
    def hint(self, spot: Spot) -> str:
        return f"The arguments of {spot.tool.name} did not arrive as they were sent; the same call may be sent again."


@dataclass(frozen=True, kw_only=True)
class ArgumentDropped(Mangling):
    """An argument is lost."""

    name: ClassVar[str] = "argument_dropped"

    @override
    def transit(self, arguments: Mapping[str, Any], spot: Spot) -> Mapping[str, Any]:
        return {name: value for name, value in arguments.items() if name != spot.site[1:]}


@dataclass(frozen=True, kw_only=True)
class ArgumentCoerced(Mangling):
    """An argument arrives as another type: a number as text where no text may stand, anything else as a list of one."""

    name: ClassVar[str] = "argument_coerced"

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        return tuple(site for site in super().sites(tool) if "array" not in _types(tool, site))

    @override
    def transit(self, arguments: Mapping[str, Any], spot: Spot) -> Mapping[str, Any]:
        def coerced(value: Any) -> Any:
            return serialise(value) if "string" not in _types(spot.tool, spot.site) else [value]

        mangled: Mapping[str, Any] = changed(arguments, spot.site, coerced)
        return mangled


def _types(tool: Tool, site: str) -> tuple[str, ...]:
    """Return the JSON types that an argument may have; all, if nothing is said of them."""
    found = field_at(tool.parameters, site).get("type", ("array",))
    return (found,) if isinstance(found, str) else tuple(found)
