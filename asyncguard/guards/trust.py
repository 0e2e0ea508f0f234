"""Trust: once untrusted tool output is in the context, destructive calls need approval."""

from asyncguard.core.admission import ADMIT, Admit, Proposal, Verdict
from asyncguard.core.scoreboard import Scoreboard


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Request approval of a destructive call in a tainted context."""
    spec = proposal.spec
    if spec is None or not spec.destructive or not board.tainted or proposal.approved:
        return ADMIT
    return Admit(
        guard="trust",
        approval=f"{spec.name} destroys or spends something, and the conversation holds tool "
        "output from sources that are not trusted. Approve it only if the user asked for it.",
    )
