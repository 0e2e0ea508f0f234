"""Cancelling tasks: what has not begun never begins, what runs is asked to stop, and nothing follows it."""

from collections.abc import Sequence

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.error_codes import ErrorCode
from asyncguard.core.records import CallRecord
from asyncguard.core.tasks import TaskState
from asyncguard.engine.dispatch import withdraw
from asyncguard.engine.durable import begun_elsewhere, take_up
from asyncguard.engine.session import Session
from asyncguard.errors import CallerError

REASON = "the user cancelled the task"
_STOPPED = "The user cancelled the task before it was tried again."


def cancel_tasks(session: Session, names: Sequence[str]) -> None:
    """Stop tasks at the user's word; the model is told of each call that it was told is under way.

    Args:
        session: The thread.
        names: Ids of tasks.

    Raises:
        CallerError: A name is no task of the thread; nothing was cancelled.
    """
    known = {task.task.id: task for task in session.ledger.tasks()}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise CallerError(f"There is no task {unknown[0]!r} to cancel; the tasks are: {', '.join(known) or 'none'}.")
    for name in dict.fromkeys(names):
        for record in list(session.ledger.open_of(name)):
            _cancel(session, record)
        if known[name].state is TaskState.OPEN:
            session.record.task_stopped(name, reason=REASON)


def _cancel(session: Session, record: CallRecord) -> None:
    match record.state:
        case CallState.DEFERRED | CallState.HELD | CallState.QUEUED if begun_elsewhere(session, record):
            take_up(session, record)
            session.live.bar(record.key, _STOPPED)
        case CallState.DEFERRED | CallState.HELD:
            session.record.squashed(record.key, reason=REASON)
        case CallState.QUEUED:
            withdraw(session, record, REASON)
        case CallState.PENDING:
            session.live.bar(record.key, _STOPPED)
            running = session.engine.executor.cancel(record.key)
            if not running and record.key in session.live.tokens:
                _give_up_external(session, record)


def _give_up_external(session: Session, record: CallRecord) -> None:
    """The work outside goes on; a delivery that comes all the same settles the doubt."""
    text = "The user cancelled the task; the work outside was started and may go on."
    session.record.retired(record.key, outcome=ev.Outcome.IN_DOUBT, content=text, error=ErrorCode.CANCELLED)
