"""The legal transitions of calls and tasks, as tables; this module owns them.

An event that a table does not allow raises :class:`~asyncguard.errors.IllegalTransitionError` and
changes nothing. The diagrams in docs/state-tables.md are drawn from these tables by
:func:`mermaid`, and a test compares the two.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from asyncguard.core.calls import CallState
from asyncguard.errors import IllegalTransitionError


class TaskState(StrEnum):
    """State of a task; the legal moves are the table in :mod:`asyncguard.core.lifecycle`."""

    OPEN = "open"
    """Given by the user, work may be outstanding."""
    STOPPED = "stopped"
    """Ended by a limit; further calls are refused and the report says so."""
    CLOSED = "closed"
    """The run ended, and nothing was outstanding for the task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """One user goal."""

    id: str
    """Short name, unique in the thread; the model names the task of a call by it."""
    goal: str
    """Request of the user, in the user's words."""


SOLE_TASK = "main"
"""Id of the single task of a plain conversation; never shown to the model."""


class Move(StrEnum):
    """Transition of a call."""

    ADMIT = "admit"
    DEFER = "defer"
    HOLD = "hold"
    REJECT = "reject"
    EDIT = "edit"
    START = "start"
    RECOVER = "recover"
    SUCCEED = "succeed"
    FAIL = "fail"
    DOUBT = "doubt"
    SQUASH = "squash"
    CANCEL = "cancel"


CALL_TRANSITIONS: Mapping[tuple[CallState, Move], CallState] = {
    (CallState.PROPOSED, Move.ADMIT): CallState.QUEUED,
    (CallState.PROPOSED, Move.DEFER): CallState.DEFERRED,
    (CallState.PROPOSED, Move.HOLD): CallState.HELD,
    (CallState.PROPOSED, Move.REJECT): CallState.REJECTED,
    # Deferred and held calls are judged again when they are released, so every verdict is possible;
    # only a second approval is never asked for.
    (CallState.DEFERRED, Move.ADMIT): CallState.QUEUED,
    (CallState.DEFERRED, Move.DEFER): CallState.DEFERRED,
    (CallState.DEFERRED, Move.HOLD): CallState.HELD,
    (CallState.DEFERRED, Move.REJECT): CallState.REJECTED,
    (CallState.DEFERRED, Move.SQUASH): CallState.SQUASHED,
    # Other middleware may answer a call, or a person whom it asks, whatever the guards decided.
    (CallState.DEFERRED, Move.CANCEL): CallState.CANCELLED,
    (CallState.HELD, Move.ADMIT): CallState.QUEUED,
    (CallState.HELD, Move.DEFER): CallState.DEFERRED,
    (CallState.HELD, Move.REJECT): CallState.REJECTED,
    (CallState.HELD, Move.SQUASH): CallState.SQUASHED,
    (CallState.HELD, Move.CANCEL): CallState.CANCELLED,
    # A person writes another call in its place before it is issued; that one is judged.
    (CallState.DEFERRED, Move.EDIT): CallState.PROPOSED,
    (CallState.HELD, Move.EDIT): CallState.PROPOSED,
    (CallState.QUEUED, Move.EDIT): CallState.PROPOSED,
    (CallState.QUEUED, Move.START): CallState.PENDING,
    (CallState.QUEUED, Move.CANCEL): CallState.CANCELLED,
    (CallState.PENDING, Move.RECOVER): CallState.QUEUED,
    (CallState.PENDING, Move.SUCCEED): CallState.DONE,
    (CallState.PENDING, Move.FAIL): CallState.FAILED,
    (CallState.PENDING, Move.DOUBT): CallState.IN_DOUBT,
    # A doubt ends when a late answer, a probe or a person tells what happened.
    (CallState.IN_DOUBT, Move.SUCCEED): CallState.RESOLVED,
    (CallState.IN_DOUBT, Move.FAIL): CallState.FAILED,
    (CallState.IN_DOUBT, Move.RECOVER): CallState.QUEUED,
}
"""Call state and move to call state; a pair that is missing is illegal."""

TASK_TRANSITIONS: Mapping[tuple[TaskState, TaskState], TaskState] = {
    (TaskState.OPEN, TaskState.CLOSED): TaskState.CLOSED,
    (TaskState.OPEN, TaskState.STOPPED): TaskState.STOPPED,
    (TaskState.CLOSED, TaskState.OPEN): TaskState.OPEN,
    (TaskState.STOPPED, TaskState.OPEN): TaskState.OPEN,
}
"""Task state and wanted state to task state; a new message of the user opens a task again."""


def advance(state: CallState, move: Move) -> CallState:
    """Return the state of a call after a move.

    Raises:
        IllegalTransitionError: The table does not allow it.
    """
    target = CALL_TRANSITIONS.get((state, move))
    if target is None:
        allowed = ", ".join(sorted(m.value for s, m in CALL_TRANSITIONS if s is state)) or "nothing"
        raise IllegalTransitionError(
            f"A call that is {state.value} cannot {move.value}; it can: {allowed}.",
            state=state,
            move=move,
        )
    return target


def advance_task(state: TaskState, target: TaskState) -> TaskState:
    """Return the state of a task after it was moved to ``target``.

    Raises:
        IllegalTransitionError: The table does not allow it.
    """
    if (state, target) not in TASK_TRANSITIONS:
        raise IllegalTransitionError(
            f"A task that is {state.value} cannot become {target.value}.", state=state
        )
    return TASK_TRANSITIONS[state, target]
