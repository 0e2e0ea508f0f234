"""Capacity: work above the limits is refused, with advice to the model.

The limit on open calls is checked once, when the model makes the call. A call that was deferred or
held has its place already and keeps it: refusing it at release would drop a call that was shown to
the model as pending.
"""

from asyncguard.core.admission import ADMIT, Proposal, Reject, Verdict
from asyncguard.core.calls import CallState, content_size
from asyncguard.core.scoreboard import Scoreboard


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Reject a call that is one too many or too large."""
    limits, call = board.config.limits, proposal.call
    if proposal.position >= limits.max_calls_per_message:
        return _reject(
            f"A message may make at most {limits.max_calls_per_message} calls; "
            f"{call.label} was one too many. Make it again in a later message."
        )
    if too_many := _too_many(proposal, board):
        return _reject(
            f"{too_many} Wait for results, then make {call.label} again if it is still needed."
        )
    size = content_size(call.arguments) if proposal.size is None else proposal.size
    if size > limits.max_argument_bytes:
        return _reject(
            f"The arguments of {call.label} take {size} bytes, and at most "
            f"{limits.max_argument_bytes} are allowed. Send less, or split it into several calls."
        )
    return ADMIT


def _too_many(proposal: Proposal, board: Scoreboard) -> str:
    """Return the sentence about the limit on open calls that is exceeded, empty if none is."""
    ledger, limits = board.ledger, board.config.limits
    among = ledger.open_count() + board.elsewhere
    if ledger.open_count() <= limits.max_pending and among <= limits.max_process_pending:
        return ""
    record = ledger.find(proposal.call.key)
    # It was counted when the model made it, and keeps its place.
    if record is not None and record.state is not CallState.PROPOSED:
        return ""
    # Later calls of the message may be in the ledger unjudged: they must not displace this one.
    later = sum(
        item.call.sequence > proposal.call.sequence for item in ledger.in_state(CallState.PROPOSED)
    )
    if ledger.open_count() - later > limits.max_pending:
        return f"{limits.max_pending} calls are open, and no more may be."
    if among - later > limits.max_process_pending:
        return f"{limits.max_process_pending} calls are open in this process, and no more may be."
    return ""


def _reject(reason: str) -> Reject:
    return Reject(guard="capacity", reason=reason)
