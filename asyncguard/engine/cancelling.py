"""Cancelling tasks: what has not begun never begins, what runs is asked to stop, and nothing follows it."""

from collections.abc import Sequence

from asyncguard.core.resume_policy import CANCELLED, Why
from asyncguard.core.tasks import TaskState
from asyncguard.engine.resume import resolve
from asyncguard.engine.session import Session
from asyncguard.errors import CallerError


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
            resolve(session, record, Why.CANCELLED)
        if known[name].state is TaskState.OPEN:
            session.record.task_stopped(name, reason=CANCELLED)
