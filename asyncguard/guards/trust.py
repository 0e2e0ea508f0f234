"""Trust: once output that could carry somebody else's instructions is in the context, destruction needs a person."""

from asyncguard.core.admission import ADMIT, Admit, Proposal, Verdict
from asyncguard.core.scoreboard import Scoreboard


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Ask for approval of a destructive call in a tainted context."""
    spec = proposal.spec
    if spec is None or not spec.destructive or not board.tainted or proposal.approved:
        return ADMIT
    return Admit(
        guard="trust",
        approval=f"{spec.name} destroys or spends something, and the conversation holds tool output from sources that "
        "are not trusted. Approve it only if the user asked for it.",
    )
