"""Open, cancel and close the tasks of a thread."""

from collections.abc import Collection, Sequence

from asyncguard.core.lifecycle import SOLE_TASK, Task, TaskState
from asyncguard.core.resume_policy import CANCELLED
from asyncguard.core.resume_terms import Why
from asyncguard.errors import CallerError
from asyncguard.runtime.resume.resolve import resolve, undecided
from asyncguard.runtime.session.session import Session


def open_tasks(session: Session, tasks: Sequence[Task]) -> None:
    """Open the tasks of an input; the goal of a task is evidence for it."""
    dropped = {item.task.id: item for item in session.ledger.tasks() if item.dropped}
    for task in tasks:
        if task.id in dropped and dropped[task.id].state is not TaskState.OPEN:
            # As a message would reopen it; opened once more, it is one that the user gave.
            session.record.task_opened(task.id, goal=dropped[task.id].task.goal)
        session.record.task_opened(task.id, goal=task.goal)
        session.board.evidence.add(task.id, task.goal)


def reopen_tasks(session: Session, goal: str, *, cancelled: Collection[str]) -> None:
    """Reopen the tasks that have ended: the user has spoken, and may mean any of them.

    Args:
        session: The thread.
        goal: Goal of the default task, for a thread of which no other task is left to speak about.
        cancelled: Ids of the tasks that the user has just cancelled.
    """
    for record in list(session.ledger.tasks()):
        if record.state is not TaskState.OPEN and record.task.id not in cancelled:
            session.record.task_opened(record.task.id, goal=record.task.goal)
    if not session.ledger.open_tasks():
        session.record.task_opened(SOLE_TASK, goal=goal)


def close_tasks(session: Session) -> None:
    """Close the open tasks that have no open call."""
    for task in session.ledger.open_tasks():
        if not session.ledger.has_open(task.task.id):
            session.record.task_closed(task.task.id)


def check_known(names: Sequence[str], known: Collection[str]) -> None:
    """Refuse a cancellation of tasks that the thread does not have.

    Args:
        names: Ids of the tasks to cancel.
        known: Ids of the thread's tasks.

    Raises:
        CallerError: The thread has no task of that name.
    """
    unknown = [name for name in names if name not in known]
    if unknown:
        raise CallerError(
            f"There is no task {unknown[0]!r} to cancel; "
            f"the tasks are: {', '.join(known) or 'none'}."
        )


def cancel_tasks(session: Session, names: Sequence[str]) -> None:
    """Stop tasks for the user; the model is shown the end of each call it was shown as pending.

    A call that has not begun never begins; a running one is asked to stop and gets no further
    attempt.

    Args:
        session: The thread.
        names: Ids of tasks.

    Raises:
        CallerError: The thread has no task of that name; nothing was cancelled.
    """
    known = {task.task.id: task for task in session.ledger.tasks()}
    check_known(names, known)
    for name in dict.fromkeys(names):
        for record in list(session.ledger.open_of(name)):
            resolve(session, record, Why.CANCELLED, undecided(session))
        if known[name].state is TaskState.OPEN:
            session.record.task_stopped(name, reason=CANCELLED)
