"""Dependency: a call waits for its operands and for pending writes to what it reads.

It checks operands, declared resources (read after write), and the order of a task whose tools do
not declare theirs. A call only waits for earlier ones, so that no two calls wait for each other,
even if the source of an operand is itself held back.
"""

from itertools import chain

from asyncguard.core.admission import ADMIT, Defer, Proposal, Verdict
from asyncguard.core.dependencies import (
    Dependency,
    Hazard,
    footprint_dependencies,
    operand_dependencies,
    order_dependencies,
)
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.guards.call_names import labels
from asyncguard.schema.excerpts import clipped

_WHY = {
    Hazard.OPERAND: "uses the result of",
    Hazard.RAW: "reads {resource}, which is being written by",
    Hazard.ORDER: "may depend on what is being done by",
}


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Defer a call until all calls that it depends on have ended."""
    call, ledger = proposal.call, board.ledger
    found = chain(
        operand_dependencies(call, ledger),
        # The other hazards belong to the conflict guard, which is a switch of its own.
        (item for item in footprint_dependencies(call, ledger) if item.hazard is Hazard.RAW),
        order_dependencies(call, ledger),
    )
    return defer("dependency", proposal, board, list(found), _WHY)


def defer(
    guard: str,
    proposal: Proposal,
    board: Scoreboard,
    found: list[Dependency],
    why: dict[Hazard, str],
) -> Verdict:
    """Return a deferral on all dependencies, explained by the first kind, or plain admission."""
    if not found:
        return ADMIT
    # One clause explains the deferral; the call waits for all of them.
    first = found[0]
    records = [board.ledger.record(item.on) for item in found if item.hazard is first.hazard]
    clause = why[first.hazard].format(resource=clipped(first.resource))
    return Defer(
        guard=guard,
        reason=f"{proposal.call.label} {clause} {labels(records, proposal.call.task)}; "
        "it runs by itself afterwards, do not repeat it.",
        on=tuple(dict.fromkeys(item.on for item in found)),
    )
