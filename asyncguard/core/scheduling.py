"""Scheduling: the next step of a run, taken by the model, the runtime or a person.

The model gets a turn if news is undelivered, or if an open task has no open call and was not passed
over since its last news. Otherwise the run waits, which costs no model turn. A rejection that names
pending calls does not count as news: the model can do nothing with it before their results are
there, so both arrive in the same turn. In shadow mode the model gets no turn while a call is open.
"""

from collections.abc import Collection
from enum import StrEnum

from asyncguard.config import Delivery
from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode
from asyncguard.core.records import CallRecord
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.core.tool_spec import Mode


class Step(StrEnum):
    """Next action of the runtime."""

    RELEASE = "release"
    """Judge the deferred calls whose blockers have ended."""
    DISPATCH = "dispatch"
    """Issue admitted calls."""
    APPROVE = "approve"
    """Ask a person."""
    MODEL = "model"
    """Deliver the news and give the model a turn."""
    WAIT = "wait"
    """Wait for a completion."""
    PARK = "park"
    """Pause until a delivery: only external calls are open."""
    RECOVER = "recover"
    """Repeat or replace an attempt that failed."""
    INTERRUPT = "escape"
    """Raise the exception of a tool that is for the adapter, such as an interrupt."""


def next_step(board: Scoreboard) -> Step:
    """Return the next step of a run in which the model has spoken at least once.

    A person is asked only if nothing else can be done: an interrupt stops the run, and no task
    should wait for another task's approval.
    """
    ledger = board.ledger
    # First, because a released call can be dispatched in the same round.
    if ledger.ready():
        return Step.RELEASE
    if dispatchable(board):
        return Step.DISPATCH
    # No turn for the model while a foreground call runs, whatever else is news.
    called, running = _pending_here(board)
    if any(board.in_foreground(tool) for tool in called):
        return Step.WAIT
    held = ledger.count(CallState.HELD)
    # Ablation: without waiting, the model gets a turn while calls are pending.
    if not board.config.waiting:
        return Step.APPROVE if held else Step.MODEL
    # Without guards an agent goes on when all its calls are answered; shadow mode plays that agent.
    # Nor is there a turn for the model if the answers of its message end the run.
    answers_due = ledger.any_open() and (board.config.shadow or _ends_directly(board))
    if not answers_due and (has_news(board) or idle_tasks(board)):
        return Step.MODEL
    # A tool that is still starting external work runs in this process, so the run must not park.
    if board.starting or any(board.spec(tool).mode is not Mode.EXTERNAL for tool in running):
        return Step.WAIT
    if held:
        return Step.APPROVE
    return Step.PARK if ledger.count(CallState.PENDING) else Step.MODEL


def _pending_here(board: Scoreboard) -> tuple[Collection[str], Collection[str]]:
    """Return the tools of pending calls and of their attempts, but for work that was left outside.

    Such work is waited for like that of an external tool, also if its tool is none by now.
    """
    ledger = board.ledger
    if not board.outside:
        return ledger.pending_tools(), ledger.running_tools()
    here = [
        record
        for record in ledger.in_state(CallState.PENDING)
        if record.key in board.starting or record.key not in board.outside
    ]
    return {record.call.tool for record in here}, {record.tool for record in here}


def _ends_directly(board: Scoreboard) -> bool:
    """Return True if the run ends with the answers of the last message; if all are refused, not."""
    if not board.direct:
        return False
    records = [
        record
        for record in board.ledger.of_message(board.ledger.last_message)
        if record.call.tool in board.specs
    ]
    return all(record.call.tool in board.direct for record in records) and any(
        record.state is not CallState.REJECTED for record in records
    )


def dispatchable(board: Scoreboard, absent: Collection[str] = ()) -> list[CallRecord]:
    """Return the admitted calls that may be issued now.

    Calls that ask a person go one at a time, the one that has asked already first, then one that is
    tried again: answers are matched to questions by their order within a node. They wait for no
    place among the calls that may run at once: an answer is there for one execution of a node.

    Args:
        board: State of the run.
        absent: Keys of calls that cannot run for now, so that no other one waits for its turn.
    """
    queued = [each for each in board.ledger.in_state(CallState.QUEUED) if each.key not in absent]
    asking = [record for record in queued if board.asks_person(record)]
    others = [record for record in queued if not board.asks_person(record)] if asking else queued
    if others and board.at_once is not None:
        others = others[: int(max(0, min(board.at_once - _running(board), len(others))))]
    if not asking:
        return others
    busy = any(board.asks_person(record) for record in board.ledger.in_state(CallState.PENDING))
    if busy:
        return others
    return [*others, min(asking, key=_order_of_questions)]


def _running(board: Scoreboard) -> int:
    """Return the number of this thread's calls that run here or in a worker and ask no person."""
    return sum(
        not (board.runs_outside(record) or board.asks_person(record))
        for record in board.ledger.in_state(CallState.PENDING)
    )


def _order_of_questions(record: CallRecord) -> tuple[bool, bool, int]:
    asked = record.error == ErrorCode.INTERRUPT
    return not asked, not record.answer_attempts, record.call.sequence


def has_news(board: Scoreboard) -> bool:
    """Return True if something can be delivered that lets the model act."""
    ended = (*board.ledger.news(), *board.ledger.unanswered())
    return any(_is_deliverable(record, board) for record in ended)


def _is_deliverable(record: CallRecord, board: Scoreboard) -> bool:
    if record.open:
        return False
    # A refusal is told with the results that it names, not before: the model could do nothing.
    if record.state is CallState.REJECTED and any(
        (awaited := board.ledger.record(key)).open
        or (board.ledger.untold(key) and held_back(awaited, board))
        for key in record.blocked_by
    ):
        return False
    return not held_back(record, board)


def held_back(record: CallRecord, board: Scoreboard) -> bool:
    """Return True if a result is delivered later, with others of its task from the same message.

    No result is held back for an external call, nor for a call that waits for one: that may take
    days.
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
    """Return True if a call is external and running, or deferred until such a call ends.

    The wait may lead through other deferred calls.
    """
    left, seen = [record], {record.key}
    while left:
        found = left.pop()
        if found.state is CallState.PENDING and board.runs_outside(found):
            return True
        blockers = [
            key for key in found.blocked_by if found.state is CallState.DEFERRED and key not in seen
        ]
        seen.update(blockers)  # many calls may wait for the same one
        left += [board.ledger.record(key) for key in blockers]
    return False


def deliverable(board: Scoreboard) -> list[CallRecord]:
    """Return the ended calls with a placeholder that may be delivered now, by their end."""
    return [record for record in board.ledger.news() if _is_deliverable(record, board)]


def idle_tasks(board: Scoreboard) -> list[str]:
    """Return the open tasks without open calls, except those passed over since their last news."""
    ledger = board.ledger
    return [
        task.task.id
        for task in ledger.open_tasks()
        if not task.skipped_by_model and not ledger.has_open(task.task.id)
    ]


def offers_again(board: Scoreboard) -> bool:
    """Return True if a turn would only offer idle tasks again that the model has left once.

    Untouched tasks do not count: a model that begins one task a message should not wait.
    """
    if not board.config.waiting or has_news(board):
        return False
    records = [board.ledger.task(task) for task in idle_tasks(board)]
    return bool(records) and all(item and item.last_call is not None for item in records)


def passed_over(
    board: Scoreboard, mentioned: set[str], calls: int, message_id: str = ""
) -> tuple[str, ...]:
    """Return the tasks that a model message passes over.

    A message without calls passes over every idle task; one with several calls, every idle task
    that it does not mention and for which a call was made before. Tasks without any call are left
    out, because they would wait for another task's slowest call for nothing. A single call says
    nothing about the other tasks: many models, and the text protocol, make one call a message.
    A message of nothing but early calls that were refused before, for the same results, is worth
    one without calls: offered the idle tasks again, the model would repeat it until its turns are
    used up.

    Args:
        board: State of the run, the message's calls included.
        mentioned: Tasks for which the message made calls.
        calls: Number of calls in the message.
        message_id: Of the message.
    """
    made = board.ledger.of_message(message_id)
    if made and all(record.refused_again for record in made):
        calls, mentioned = 0, set()
    if calls == 1:
        return ()
    left = tuple(task for task in idle_tasks(board) if task not in mentioned)
    if not calls:
        return left
    records = [(task, board.ledger.task(task)) for task in left]
    return tuple(task for task, record in records if record and record.last_call is not None)
