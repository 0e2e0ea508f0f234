"""Duplicate: a call that is open, or may have happened, is not started again.

Only the same tool with equal arguments in the same task counts: as the model called it, with its
references filled in, and as recovery sent it, to a sibling or as the live contract wants it. Of two
equal calls the earlier one stays. A call that may have happened cannot be repeated by the model
alone, but after a new message of the user a person may approve it.
"""

from asyncguard.core.admission import ADMIT, Admit, Proposal, Reject, Verdict
from asyncguard.core.calls import CallState
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.guards.operands import as_issued


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Reject a call that is equal to an open one, or to one in doubt."""
    call = as_issued(proposal.call, board)
    for record in board.equal_calls(call.task, call.fingerprint):
        if record.key == call.key:  # a deferred call that is judged again
            continue
        label = record.call.label
        if record.state is CallState.IN_DOUBT and record.said < board.ledger.said:
            if proposal.approved:
                continue
            return Admit(
                guard="duplicate",
                approval=f"{label} did the same and its outcome is unknown: it may have happened. "
                "Find out first; approve only if it did not happen, or may happen twice.",
            )
        if record.state is CallState.IN_DOUBT:
            return Reject(
                guard="duplicate",
                reason=f"{label} did the same and its outcome is unknown: it may have happened. "
                "Find out before doing it again, or tell the user.",
            )
        # Of two equal calls the one that was made first goes on.
        if record.call.sequence < call.sequence:
            return Reject(
                guard="duplicate",
                reason=f"{label} is the same call and has not ended. "
                "Wait for its result instead of repeating it.",
                on=(record.key,),
            )
    return ADMIT
