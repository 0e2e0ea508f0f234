"""Scope: the call is for a task that exists and is open, with a tool that belongs to it."""

from asyncguard.core.admission import ADMIT, Proposal, Reject, Verdict
from asyncguard.core.lifecycle import TaskState
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.schema.excerpts import listed, short

_MAX_TASKS = 20


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Reject a call for a task that is not open, or with a tool of another task."""
    call, spec = proposal.call, proposal.spec
    # The task comes first: advice about the tool is of no use for a task that cannot have calls.
    record = board.ledger.task(call.task)
    if record is None:
        names = listed((task.task.id for task in board.ledger.open_tasks()), _MAX_TASKS) or "none"
        return Reject(
            guard="scope",
            reason=f"There is no task {short(call.task)}. The open tasks are: {names}.",
        )
    if record.state is not TaskState.OPEN:
        return Reject(
            guard="scope",
            reason=f"Task {call.task} is {record.state.value}. "
            "Make no more calls for it; say what you have.",
        )
    if spec is not None and spec.tasks is not None and call.task not in spec.tasks:
        owners = listed(sorted(spec.tasks), _MAX_TASKS) or "none"
        return Reject(
            guard="scope",
            reason=f"{call.tool} does not belong to task {call.task}; "
            f"tasks that may use it: {owners}. Use a tool of this task, or name the right task.",
        )
    return ADMIT
