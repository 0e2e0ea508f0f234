"""The call as the model wrote it, also at release, when operands have been replaced by what they stand for."""

from asyncguard.core.admission import Proposal
from asyncguard.core.calls import Call
from asyncguard.core.scoreboard import Scoreboard


def as_proposed(proposal: Proposal, board: Scoreboard) -> Call:
    """The call in the ledger: guards that ask where the model took a value from must not judge substituted results."""
    record = board.ledger.find(proposal.call.key)
    return proposal.call if record is None else record.call
