"""Duplicate: a call that is open, or may have happened, is not started again.

Only the same tool with equal arguments in the same task counts: as the model called it, with its
references filled in, and as recovery sent it, to a sibling or as the live contract wants it. Of two
equal calls the earlier one stays. A call that may have happened cannot be repeated by the model
alone, but after a new message of the user a person may approve it.

So it is with the calls of another agent that are in doubt by the shared history, whatever the task:
the agent that a conversation was handed over to would pay a second time.
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
            return _asked(label)
        if record.state is CallState.IN_DOUBT:
            return _doubted(label)
        # Of two equal calls the one that was made first goes on.
        if record.call.sequence < call.sequence:
            return Reject(
                guard="duplicate",
                reason=f"{label} is the same call and has not ended. "
                "Wait for its result instead of repeating it.",
                on=(record.key,),
            )
    for doubt in board.equal_foreign_doubts(call.tool, call.fingerprint):
        what = f"An earlier call of {doubt.tool} in this conversation"
        if not doubt.heard:
            return _doubted(what)
        if not proposal.approved:
            return _asked(what)
    return ADMIT


def _doubted(what: str) -> Reject:
    return Reject(
        guard="duplicate",
        reason=f"{what} did the same and its outcome is unknown: it may have happened. "
        "Find out before doing it again, or tell the user.",
    )


def _asked(what: str) -> Admit:
    return Admit(
        guard="duplicate",
        approval=f"{what} did the same and its outcome is unknown: it may have happened. "
        "Find out first; approve only if it did not happen, or may happen twice.",
    )
