"""What is asked of every call, whatever is switched off: that there is something to run.

This is no guard and no ablation arm. A call of a tool that does not exist, or one whose arguments could not be read,
cannot be handed to an executor at all; without guards it has to be answered all the same.
"""

import difflib

from asyncguard.core.admission import ADMIT, Proposal, Reject, Verdict
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.schema.excerpts import MAX_VALUE, clipped, listed

_MAX_NAMES = 20
_MAX_PROBLEM = 400


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Reject what cannot be run."""
    reason = unreadable(proposal, board)
    return Reject(guard="readable", reason=reason) if reason else ADMIT


def unreadable(proposal: Proposal, board: Scoreboard) -> str:
    """Why the call cannot be run, for the model; empty if it can."""
    if proposal.spec is None:
        return f"{_unknown_tool(proposal, board)} {clipped(proposal.problem, _MAX_PROBLEM)}".rstrip()
    if proposal.problem:
        label = clipped(proposal.call.label)
        return f"{label} could not be read: {clipped(proposal.problem, _MAX_PROBLEM)} Correct it and call again."
    return ""


def _unknown_tool(proposal: Proposal, board: Scoreboard) -> str:
    name, task = proposal.call.tool, proposal.call.task
    usable = [tool for tool, spec in board.specs.items() if spec.tasks is None or task in spec.tasks]
    if not usable:
        return f"There is no tool {clipped(name)!r}, nor any other for this task. Answer without tools."
    # Names as long as an essay are no typing errors, and comparing them would cost.
    close = difflib.get_close_matches(name[:MAX_VALUE], usable, n=3)
    ordered = dict.fromkeys((*close, *sorted(usable)))
    return f"There is no tool {clipped(name)!r}. Use one of: {listed(ordered, _MAX_NAMES)}."
