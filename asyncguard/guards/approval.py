"""Approval that the tool's declaration demands: no guard and no ablation arm, so no switch turns it off."""

from asyncguard.core.admission import ADMIT, Admit, Proposal, Verdict
from asyncguard.core.scoreboard import Scoreboard


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Ask for approval where the tool is declared to need it for every call."""
    spec = proposal.spec
    if spec is None or not spec.approval or proposal.approved:
        return ADMIT
    return Admit(
        guard="approval",
        approval=f"{spec.name} is declared to need a person's approval for every call.",
    )
