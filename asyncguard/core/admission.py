"""Admission: every proposed call meets the guards, and one verdict comes out.

A guard answers with a value and never with an exception. *Admit*: issue it. *Defer*: right but early, the runtime
issues it when the calls it waits for have retired. *Reject*: its arguments cannot be right yet, or ever; the model is
told why and asks again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from asyncguard.core.calls import Call
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.core.tool_spec import ToolSpec


@dataclass(frozen=True, kw_only=True, slots=True)
class Admit:
    """The call may be issued."""

    approval: str = ""
    """Why a person has to approve it first; empty if nobody has to."""
    guard: str = ""
    """The guard that asks for the approval."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Defer:
    """The call is right but early."""

    guard: str
    """Who says so."""
    reason: str
    """One sentence for the model and the log."""
    on: tuple[str, ...]
    """Keys of the calls that have to retire first; never empty."""
    also: tuple[str, ...] = ()
    """Further guards that say so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reject:
    """The call is not run."""

    guard: str
    """Who says so."""
    reason: str
    """What is wrong and what to do, for the model."""
    on: tuple[str, ...] = ()
    """Keys of pending calls whose results the model should wait for."""


Verdict = Admit | Defer | Reject


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A call in front of admission."""

    call: Call
    """The call, already in the ledger as proposed, deferred or held."""
    spec: ToolSpec | None
    """Declaration of its tool, ``None`` for a tool that does not exist."""
    position: int = 0
    """Place among the calls of its message, from 0."""
    size: int | None = None
    """Bytes of the arguments as canonical JSON, where somebody has measured them already."""
    problem: str = ""
    """What was wrong with the call before it could be read (arguments that are not JSON and the like)."""
    approved: bool = False
    """Whether a person approved it already."""


Guard = Callable[[Proposal, Scoreboard], Verdict]
"""A guard: pure, and blind to everything but its two arguments."""

ADMIT = Admit()
"""The plain verdict, shared because it is made most often."""


def admit(proposal: Proposal, board: Scoreboard, guards: Sequence[Guard]) -> Verdict:
    """The verdict of all guards on one call.

    The first rejection wins, because a call that is wrong is not worth waiting for. Deferrals are merged, so that the
    call waits for everything at once. An approval is asked for only when nothing else stands in the way.

    Args:
        proposal: The call.
        board: What is known.
        guards: The guards that are switched on, in order.
    """
    deferrals: list[Defer] = []
    approval = ADMIT
    for guard in guards:
        verdict = guard(proposal, board)
        match verdict:
            case Reject():
                return verdict
            case Defer():
                deferrals.append(verdict)
            case Admit():
                approval = verdict if verdict.approval and not approval.approval else approval
    if deferrals:
        first = deferrals[0]
        on = tuple(dict.fromkeys(key for deferral in deferrals for key in deferral.on))
        also = tuple(deferral.guard for deferral in deferrals[1:])
        return Defer(guard=first.guard, reason=first.reason, on=on, also=also)
    return approval


def objections(proposal: Proposal, board: Scoreboard, guards: Sequence[Guard]) -> list[Verdict]:
    """What each guard on its own would do other than let the call pass; nothing is decided by it.

    Args:
        proposal: The call.
        board: What is known.
        guards: The guards, in order.
    """
    return [verdict for guard in guards if (verdict := guard(proposal, board)) != ADMIT]
