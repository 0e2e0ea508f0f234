"""The protocol of drift modes: one mode is one small class that inherits every hook it does not need.

A call of a tool passes the seven failpoints in order. A mode acts at those that it names, by the hook that belongs to
what is on its way there:

| failpoint | hooks |
|---|---|
| before_tool_logic | `transit` (the arguments as they were sent), then the check against `live`, then `accept` |
| before_external_call | |
| after_external_call_before_parse, before_wrapper_transform, after_wrapper_transform | `answer` (the result) |
| before_return | `write` (the text that the result was made) |
| before_checkpoint_write | |

`breakdown` is asked at every failpoint that the mode names: what it returns is raised there. The state has changed from
after_external_call_before_parse on, so what breaks later breaks after the effect.

Rules for every mode:

- It is stateless: its behaviour follows from `Spot` and value; random choices come from `Spot.draw`.
- It changes nothing in place.
- `live` says truly what the tool accepts and answers: `accept` takes every call that satisfies `live.parameters` and
  makes one of it that satisfies the tool's own parameters; what `answer` makes of a clean result satisfies
  `live.returns`. Output drift and disagreement do not change the contract: there `live` is what was
  declared. Two faults of the hazard `specification` are never put on one tool of one task, so a
  mode starts from the declaration.
- If `visible`, what comes out of a clean result always breaks the structure of the declared result schema (a field too
  many or too few, another type, a value that is not declared; a number out of its limits does not
  break the structure). If not, it keeps the structure.
- Where a result has nothing at the site, it is returned as it is: the fault then did not strike.
- It is placed only where one of its `ways` is open: an instance that cannot be solved measures nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from asyncguard_benchmark.harness.faults import Failpoint, Hazard, draw
from asyncguard_benchmark.services.contracts import Contract, declared
from asyncguard_benchmark.services.declarations import Tool


@dataclass(frozen=True, kw_only=True)
class Response:
    """The parts of a response that an HTTP client keeps."""

    status_code: int
    headers: Mapping[str, str] = field(default_factory=dict)


class HTTPStatusError(Exception):
    """A server answered with a status that says no; carries its answer, as HTTP clients have it."""

    def __init__(self, reason: str, response: Response) -> None:
        super().__init__(reason)
        self.response = response


class NotSentError(Exception):
    """The client could not send the request: nothing has happened, and it knows that."""


class Way(StrEnum):
    """A way to solve a task although a mode is at work; the witness plan of an instance takes one."""

    RETRY = "retry"
    """The same call again, as often as the fault is severe."""
    REFRESH = "refresh"
    """The call, or its answer, as the live contract has it."""
    NORMALISE = "normalise"
    """The answer can be put into the declared form without a guess."""
    FALLBACK = "fallback"
    """A declared sibling."""
    CROSS_CHECK = "cross_check"
    """The declared sources."""
    VERIFY = "verify"
    """The declared verifier, or the probe of an effect."""


@dataclass(frozen=True, kw_only=True)
class Spot:
    """Tool and site at which a mode is placed, and its severity."""

    tool: Tool
    """The tool as declared."""
    site: str = ""
    """JSON pointer into its arguments or result, one of the mode's `sites`."""
    severity: int = 1
    """Severity, from 1 to 3."""
    seed: int = 0

    def draw(self, *parts: object) -> float:
        """Return a number in [0, 1) that is the same wherever these parts are asked for at this spot."""
        return draw(self.seed, self.tool.name, self.site, *parts)


class Mode(ABC):
    """One way in which a tool lets its caller down. Subclasses are frozen dataclasses without fields."""

    name: ClassVar[str]
    """Unique, in snake case: faults name it."""
    hazard: ClassVar[Hazard]
    failpoints: ClassVar[tuple[Failpoint, ...]]
    """Failpoints at which it may strike; the fault names one of them."""
    visible: ClassVar[bool] = False
    """True if the declared result schema shows it."""

    @abstractmethod
    def sites(self, tool: Tool) -> tuple[str, ...]:
        """Return the JSON pointers at which the mode can be put on a tool; none if it does not fit."""

    @abstractmethod
    def ways(self, spot: Spot) -> tuple[Way, ...]:
        """Return the ways to save a call that was hit, as far as the tool declares what they need."""

    @abstractmethod
    def hint(self, spot: Spot) -> str:
        """Return the hint of a helpful service: where to look, never the answer."""

    def live(self, spot: Spot) -> Contract:
        """Return the arguments that the tool accepts and the results that it returns while the mode is at work."""
        return declared(spot.tool)

    def transit(self, arguments: Mapping[str, Any], spot: Spot) -> Mapping[str, Any]:
        """Return the arguments as they arrive."""
        return arguments

    def accept(self, arguments: Mapping[str, Any], spot: Spot) -> Mapping[str, Any]:
        """Return arguments that satisfy the live contract, as the tool's code takes them."""
        return arguments

    def breakdown(self, spot: Spot, failpoint: Failpoint) -> Exception | None:
        """Return the exception that is raised at a failpoint, or None."""
        return None

    def answer(self, result: Any, spot: Spot) -> Any:
        """Return the result as the mode changes it."""
        return result

    def write(self, text: str, spot: Spot) -> str:
        """Return the text of a result, which is JSON, as the mode changes it."""
        return text


def siblings(tool: Tool, *others: Way) -> tuple[Way, ...]:
    """Return some ways, and those that the declarations of a tool open whatever is wrong with its answers."""
    remedies = tool.remedies
    opened = (
        (Way.FALLBACK, bool(remedies.fallbacks)),
        (Way.CROSS_CHECK, len(remedies.sources) > 1),
        (Way.VERIFY, remedies.verifier is not None or remedies.probe is not None),
    )
    return (*others, *(way for way, is_open in opened if is_open))
