"""Conflict: an effect does not overtake an earlier call that reads or writes the same resource."""

from asyncguard.core.admission import Proposal, Verdict
from asyncguard.core.dependencies import Hazard, footprint_dependencies
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.guards.dependency import defer

_WHY = {
    Hazard.WAR: "writes {resource}, which is still being read by",
    Hazard.WAW: "writes {resource}, which is also being written by",
}


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Defer a call whose effect would come too early (write after read, write after write)."""
    found = [
        item for item in footprint_dependencies(proposal.call, board.ledger) if item.hazard in _WHY
    ]
    return defer("conflict", proposal, board, found, _WHY)
