"""Live contract of a tool: the arguments and results that it has at run time, which may differ from its declaration."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard_benchmark.services.declarations import Tool


@dataclass(frozen=True, kw_only=True)
class Contract:
    """The live contract of one tool."""

    parameters: Mapping[str, Any]
    """JSON schema of the arguments."""
    returns: Mapping[str, Any] | None
    """JSON schema of the result; None if the result was never declared."""

    def to_json(self) -> dict[str, Any]:
        """Return it as `describe_tool` tells it."""
        return {
            "parameters": dict(self.parameters),
            "returns": None if self.returns is None else dict(self.returns),
        }


def declared(tool: Tool) -> Contract:
    """Return the contract of a tool that has not drifted."""
    return Contract(parameters=tool.parameters, returns=tool.remedies.returns)
