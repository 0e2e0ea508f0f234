"""Execution failures: the tool, or the way to it, breaks.

Before the external call nothing has happened; before the checkpoint write the effect has, and only the answer is lost.
The caller sees the same exception in both cases, unless the client knows that nothing was sent.
"""

import errno
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from asyncguard_benchmark.harness.fault_modes import (
    HTTPStatusError,
    Mode,
    NotSentError,
    Response,
    Spot,
    Way,
    siblings,
)
from asyncguard_benchmark.harness.faults import Failpoint, Hazard
from asyncguard_benchmark.services.declarations import Effect, Tool


class Breakdown(Mode):
    """Base of all breakdowns; the severity is the number of calls that are hit."""

    hazard: ClassVar[Hazard] = Hazard.EXECUTION
    failpoints: ClassVar[tuple[Failpoint, ...]] = (
        Failpoint.BEFORE_EXTERNAL_CALL,
        Failpoint.BEFORE_CHECKPOINT_WRITE,
    )

    @override
    def sites(self, tool: Tool) -> tuple[str, ...]:
        """Return the call as a whole."""
        return ("",)

    @override
    def ways(self, spot: Spot) -> tuple[Way, ...]:
        """Return the ways: a repeatable call is repeated; for an effect that may have happened, its probe is asked."""
        if spot.tool.effect is Effect.AT_MOST_ONCE:
            return (Way.VERIFY,) if spot.tool.remedies.probe is not None else ()
        return siblings(spot.tool, Way.RETRY)

    @override
    def hint(self, spot: Spot) -> str:
        return f"The service behind {spot.tool.name} fails for the moment; whether it has acted can be looked up."


@dataclass(frozen=True, kw_only=True)
class TimedOut(Breakdown):
    """No answer came in time."""

    name: ClassVar[str] = "timeout"

    @override
    def breakdown(self, spot: Spot, failpoint: Failpoint) -> Exception | None:
        return TimeoutError(f"{spot.tool.name} did not answer within 30 s")


@dataclass(frozen=True, kw_only=True)
class ConnectionReset(Breakdown):
    """The connection broke while the answer was awaited."""

    name: ClassVar[str] = "connection_reset"

    @override
    def breakdown(self, spot: Spot, failpoint: Failpoint) -> Exception | None:
        return ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")


@dataclass(frozen=True, kw_only=True)
class Unavailable(Breakdown):
    """A server, or a gateway before it, answers with a status from 500."""

    name: ClassVar[str] = "server_error"

    @override
    def breakdown(self, spot: Spot, failpoint: Failpoint) -> Exception | None:
        told = ((500, "Internal Server Error"), (502, "Bad Gateway"), (503, "Service Unavailable"))
        status, reason = told[int(spot.draw("status") * len(told))]
        return HTTPStatusError(f"Server error '{status} {reason}'", Response(status_code=status))


@dataclass(frozen=True, kw_only=True)
class RateLimited(Breakdown):
    """The server asks to come back later, and says when."""

    name: ClassVar[str] = "rate_limited"
    failpoints: ClassVar[tuple[Failpoint, ...]] = (Failpoint.BEFORE_EXTERNAL_CALL,)

    @override
    def breakdown(self, spot: Spot, failpoint: Failpoint) -> Exception | None:
        wait = 1 + int(spot.draw("wait") * 2)
        reason = f"Client error '429 Too Many Requests', Retry-After: {wait}"
        return HTTPStatusError(
            reason, Response(status_code=429, headers={"retry-after": str(wait)})
        )


@dataclass(frozen=True, kw_only=True)
class NotSent(Breakdown):
    """The client has no connection free and has sent nothing: even an effect may safely be tried again."""

    name: ClassVar[str] = "not_sent"
    failpoints: ClassVar[tuple[Failpoint, ...]] = (Failpoint.BEFORE_EXTERNAL_CALL,)

    @override
    def ways(self, spot: Spot) -> tuple[Way, ...]:
        return (Way.RETRY,) if spot.tool.writes else siblings(spot.tool, Way.RETRY)

    @override
    def breakdown(self, spot: Spot, failpoint: Failpoint) -> Exception | None:
        return NotSentError("no connection was free; the request was not sent")


@dataclass(frozen=True, kw_only=True)
class StorageFailed(Breakdown):
    """The operating system of the service refuses: its disk."""

    name: ClassVar[str] = "os_error"

    @override
    def breakdown(self, spot: Spot, failpoint: Failpoint) -> Exception | None:
        return OSError(errno.EIO, "Input/output error")
