"""Admission: the guards judge every proposed call, and their verdicts are merged into one.

A guard answers with a value and never with an exception. *Admit*: issue it. *Defer*: right but
early, the runtime issues it when the calls it waits for have retired. *Reject*: its arguments
cannot be right yet, or ever; the model is shown the reason and proposes another call.
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
    """Reason why a person has to approve it first; empty if no approval is needed."""
    guard: str = ""
    """Name of the guard that asks for the approval; filled in for a guard of the user's own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Defer:
    """The call is right but early."""

    guard: str = ""
    """Name of the guard that defers it; filled in for a guard of the user's own."""
    reason: str
    """One sentence for the model and the log."""
    on: tuple[str, ...]
    """Keys of the calls that have to retire first; never empty."""
    also: tuple[str, ...] = ()
    """Names of further guards that defer it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reject:
    """The call is not run."""

    guard: str = ""
    """Name of the guard that rejects it; filled in for a guard of the user's own."""
    reason: str
    """Text for the model: what is wrong and what to do."""
    on: tuple[str, ...] = ()
    """Keys of pending calls whose results the model should wait for."""


Verdict = Admit | Defer | Reject


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """A guard of the user's own raised, or its verdict cannot be followed."""

    guard: str
    """Name of the guard."""
    problem: str
    """Problem, for the developer."""
    verdict: Admit | Reject
    """Verdict that takes its place, as the guard declares."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """One call to be judged."""

    call: Call
    """The call, already in the ledger as proposed, deferred or held."""
    spec: ToolSpec | None
    """Declaration of its tool, ``None`` for a tool that does not exist."""
    position: int = 0
    """Place among the calls of its message, from 0."""
    size: int | None = None
    """Bytes of the arguments as canonical JSON; ``None`` if they were not measured yet."""
    problem: str = ""
    """Problem that kept the call from being read, as arguments that are not JSON; else empty."""
    approved: bool = False
    """True if a person approved it already."""


Guard = Callable[[Proposal, Scoreboard], Verdict | Fault]
"""A pure function of its two arguments."""

ADMIT = Admit()
"""The plain verdict, shared because it is made most often."""


def admit(
    proposal: Proposal,
    board: Scoreboard,
    guards: Sequence[Guard],
    report: Callable[[Fault], None] = lambda _: None,
) -> Verdict:
    """Return the verdict of all guards on one call.

    The first rejection wins, because a call that is wrong is not worth waiting for. Deferrals are
    merged, so that the call waits for everything at once. An approval is requested only if no guard
    rejects or defers the call.

    Args:
        proposal: The call.
        board: State that the guards read.
        guards: Guards that are switched on, in order.
        report: Told of each guard that failed, before the verdict is known.
    """
    deferrals: list[Defer] = []
    approval = ADMIT
    for guard in guards:
        answer = guard(proposal, board)
        if answer is ADMIT:  # nearly always
            continue
        verdict = _judged(answer, report)
        match verdict:
            case Reject():
                return verdict
            case Defer():
                deferrals.append(verdict)
            case Admit():
                # One question is enough; the first guard that needs an approval phrases it.
                approval = verdict if verdict.approval and not approval.approval else approval
    if deferrals:
        first = deferrals[0]
        on = tuple(dict.fromkeys(key for deferral in deferrals for key in deferral.on))
        also = tuple(deferral.guard for deferral in deferrals[1:])
        return Defer(guard=first.guard, reason=first.reason, on=on, also=also)
    return approval


def objections(
    proposal: Proposal,
    board: Scoreboard,
    guards: Sequence[Guard],
    report: Callable[[Fault], None] = lambda _: None,
) -> list[Verdict]:
    """Return the verdict of each guard that would not let the call pass; decide nothing.

    Args:
        proposal: The call.
        board: State that the guards read.
        guards: Guards to ask, in order.
        report: Told of each guard that failed.
    """
    verdicts = (_judged(guard(proposal, board), report) for guard in guards)
    return [verdict for verdict in verdicts if verdict != ADMIT]


def _judged(answer: Verdict | Fault, report: Callable[[Fault], None]) -> Verdict:
    if isinstance(answer, Fault):
        report(answer)
        return answer.verdict
    return answer
