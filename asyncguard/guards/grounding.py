"""Grounding: a value found nowhere, while its task has a pending call, is a guess of that call's result.

It can never fire in serial execution. A model that waits for each result before the next call of the task has, at that
next call, no earlier call of the task open; calls of one message do not count against each other, because their model
had seen none of their results and chose to make them together. Without an earlier open call nothing is asked of the
values, so a value that is derived, translated or known to the model passes unless it could have been waited for.
"""

from asyncguard.core.admission import ADMIT, Proposal, Reject, Verdict
from asyncguard.core.dependencies import earlier_open
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.guards.proposed import as_proposed
from asyncguard.guards.schemas import is_fixed, own_leaves
from asyncguard.guards.wording import clipped, keys, labels, short


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Reject a value that occurs nowhere while the task has results to come; the schema's own values are grounded."""
    call = as_proposed(proposal, board)
    pending = earlier_open(call, board.ledger)
    if not pending:
        return ADMIT
    parameters = proposal.spec.parameters if proposal.spec is not None else None
    for path, value in own_leaves(call.arguments):
        if board.evidence.ungrounded(call.task, value) is None or is_fixed(parameters, call.arguments, path):
            continue
        where = clipped("/".join(map(str, path)))
        return Reject(
            guard="grounding",
            reason=f"{where}={short(value)} was found nowhere in what this task has been told. Do not guess: "
            f"wait for {labels(pending)}, then call again with the real value.",
            on=keys(pending),
        )
    return ADMIT
