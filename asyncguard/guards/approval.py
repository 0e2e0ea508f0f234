"""Approval that the tool's declaration demands: not an ablation arm, so it has no switch."""

from asyncguard.core.admission import ADMIT, Admit, Proposal, Verdict
from asyncguard.core.scoreboard import Scoreboard


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Request approval if the tool is declared to need it for every call."""
    spec = proposal.spec
    if spec is None or not spec.approval or proposal.approved:
        return ADMIT
    return Admit(
        guard="approval",
        approval=f"{spec.name} is declared to need a person's approval for every call.",
    )
