"""Who moves next: the model, the runtime, a person, or nobody yet.

The model gets a turn if news is undelivered, or if an open task has no open call and was not passed over since its last
news. Otherwise the run waits, which costs no model turn. A rejection that names pending calls is no news of its own:
the model can do nothing with it before their results are there, so both arrive in the same turn.
"""

from enum import StrEnum

from asyncguard.config import Delivery
from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode
from asyncguard.core.records import CallRecord
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.core.tool_spec import Mode


class Step(StrEnum):
    """What the runtime does next."""

    RELEASE = "release"
    """Judge deferred calls that wait for nothing any more."""
    DISPATCH = "dispatch"
    """Issue admitted calls."""
    APPROVE = "approve"
    """Ask a person."""
    MODEL = "model"
    """Deliver what there is and let the model speak."""
    WAIT = "wait"
    """Wait for a completion."""
    PARK = "park"
    """Only external calls are open: rest until a delivery."""
    RECOVER = "recover"
    """An attempt failed and can be repeated or replaced."""
    INTERRUPT = "escape"
    """A tool raised what belongs to the front end, such as an interrupt."""


def next_step(board: Scoreboard) -> Step:
    """The next step of a run in which the model has spoken at least once.

    A person is asked only when everything else rests: an interrupt stops the run, and no task should wait for another
    task's approval.
    """
    ledger = board.ledger
    if ledger.ready():
        return Step.RELEASE
    if dispatchable(board):
        return Step.DISPATCH
    if _foreground_pending(board):
        return Step.WAIT
    held = ledger.count(CallState.HELD)
    if not board.config.waiting:
        return Step.APPROVE if held else Step.MODEL
    if has_news(board) or idle_tasks(board):
        return Step.MODEL
    if _internal_pending(board):
        return Step.WAIT
    if held:
        return Step.APPROVE
    return Step.PARK if ledger.count(CallState.PENDING) else Step.MODEL


def dispatchable(board: Scoreboard) -> list[CallRecord]:
    """Admitted calls that may be issued now.

    Calls that ask a person go one at a time, the one whose question is out first: answers are matched to questions by
    their order within a node.
    """
    queued = board.ledger.in_state(CallState.QUEUED)
    asking = [record for record in queued if board.asks_person(record)]
    if not asking:
        return queued
    others = [record for record in queued if not board.asks_person(record)]
    busy = any(board.asks_person(record) for record in board.ledger.in_state(CallState.PENDING))
    return (
        others
        if busy
        else [
            *others,
            min(
                asking,
                key=lambda record: (record.error != ErrorCode.INTERRUPT, record.call.sequence),
            ),
        ]
    )


def has_news(board: Scoreboard) -> bool:
    """Whether something can be delivered that lets the model act."""
    return any(
        _ready_to_tell(record, board)
        for record in (*board.ledger.news(), *board.ledger.unanswered())
    )


def _ready_to_tell(record: CallRecord, board: Scoreboard) -> bool:
    if record.open:
        return False
    if record.state is CallState.REJECTED and any(
        board.ledger.record(key).open for key in record.blocked_by
    ):
        return False
    return not held_back(record, board)


def held_back(record: CallRecord, board: Scoreboard) -> bool:
    """Whether a result is told later, together with what its task awaits from the same message.

    Nothing is held back for an external call, nor for what waits for one: that may take days.
    """
    ledger, call = board.ledger, record.call
    if board.config.delivery is Delivery.ANY or not ledger.group_open(record):
        return False
    others = (
        other
        for other in ledger.of_message(call.message_id)
        if other.open and other.call.task == call.task
    )
    return any(not _waits_outside(other, board) for other in others)


def _waits_outside(record: CallRecord, board: Scoreboard) -> bool:
    """Whether a call is external and running, or deferred behind such a call, directly or through others."""
    left, seen = [record], {record.key}
    while left:
        found = left.pop()
        if found.state is CallState.PENDING and board.spec(found.tool).mode is Mode.EXTERNAL:
            return True
        blockers = [
            key for key in found.blocked_by if found.state is CallState.DEFERRED and key not in seen
        ]
        seen.update(blockers)
        left += [board.ledger.record(key) for key in blockers]
    return False


def deliverable(board: Scoreboard) -> list[CallRecord]:
    """Ended calls with a placeholder whose results may be told now, in order of their end."""
    return [record for record in board.ledger.news() if _ready_to_tell(record, board)]


def idle_tasks(board: Scoreboard) -> list[str]:
    """Open tasks without open calls which the model has not passed over since their last news."""
    ledger = board.ledger
    return [
        task.task.id
        for task in ledger.open_tasks()
        if not task.skipped_by_model and not ledger.has_open(task.task.id)
    ]


def passed_over(board: Scoreboard, mentioned: set[str], calls: int) -> tuple[str, ...]:
    """The tasks that a model message passes over.

    A message without calls passes over every idle task; one with several calls, every idle task that it does not
    mention and that was begun before. A task that nobody has touched would wait for another task's slowest call, and
    its own work for nothing. A single call says nothing about the others: many models, and the text protocol, make one
    call a message.

    Args:
        board: What is known, the message's calls included.
        mentioned: Tasks for which the message made calls.
        calls: Number of calls in the message.
    """
    if calls == 1:
        return ()
    left = tuple(task for task in idle_tasks(board) if task not in mentioned)
    return left if not calls else tuple(task for task in left if _touched(board, task))


def _touched(board: Scoreboard, task: str) -> bool:
    """Whether a call was ever made for a task."""
    record = board.ledger.task(task)
    return record is not None and record.last_call is not None


def _foreground_pending(board: Scoreboard) -> bool:
    return any(board.in_foreground(tool) for tool in board.ledger.pending_tools())


def _internal_pending(board: Scoreboard) -> bool:
    if board.starting:
        return True
    return any(board.spec(tool).mode is not Mode.EXTERNAL for tool in board.ledger.running_tools())
