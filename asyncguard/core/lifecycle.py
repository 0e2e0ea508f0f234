"""The legal transitions of calls and tasks, as tables; this module owns them.

An event that a table does not allow raises :class:`~asyncguard.errors.IllegalTransitionError` and
changes nothing. The diagrams in ARCHITECTURE.md are drawn from these tables by :func:`mermaid`, and
a test compares the two.
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
    START = "start"
    RECOVER = "recover"
    SUCCEED = "succeed"
    FAIL = "fail"
    DOUBT = "doubt"
    SQUASH = "squash"
    CANCEL = "cancel"
    EXPIRE = "expire"


_P, _D, _H, _Q, _R = (
    CallState.PROPOSED,
    CallState.DEFERRED,
    CallState.HELD,
    CallState.QUEUED,
    CallState.PENDING,
)

CALL_TRANSITIONS: Mapping[tuple[CallState, Move], CallState] = {
    (_P, Move.ADMIT): CallState.QUEUED,
    (_P, Move.DEFER): CallState.DEFERRED,
    (_P, Move.HOLD): CallState.HELD,
    (_P, Move.REJECT): CallState.REJECTED,
    (_D, Move.ADMIT): CallState.QUEUED,
    (_D, Move.DEFER): CallState.DEFERRED,
    (_D, Move.HOLD): CallState.HELD,
    (_D, Move.REJECT): CallState.REJECTED,
    (_D, Move.SQUASH): CallState.SQUASHED,
    (_D, Move.EXPIRE): CallState.EXPIRED,
    (_H, Move.ADMIT): CallState.QUEUED,
    (_H, Move.DEFER): CallState.DEFERRED,
    (_H, Move.REJECT): CallState.REJECTED,
    (_H, Move.SQUASH): CallState.SQUASHED,
    (_H, Move.EXPIRE): CallState.EXPIRED,
    (_Q, Move.START): CallState.PENDING,
    (_Q, Move.CANCEL): CallState.CANCELLED,
    (_Q, Move.EXPIRE): CallState.EXPIRED,
    (_R, Move.RECOVER): CallState.QUEUED,
    (_R, Move.SUCCEED): CallState.DONE,
    (_R, Move.FAIL): CallState.FAILED,
    (_R, Move.DOUBT): CallState.IN_DOUBT,
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


def mermaid() -> str:
    """Return both tables as Mermaid state diagrams, calls first."""
    lines = ["stateDiagram-v2", "    [*] --> proposed"]
    lines += [
        f"    {state.value} --> {target.value}: {move.value}"
        for (state, move), target in CALL_TRANSITIONS.items()
    ]
    sources = {state for state, _ in CALL_TRANSITIONS}
    lines += [f"    {state.value} --> [*]" for state in CallState if state not in sources]
    lines += ["", "stateDiagram-v2", "    [*] --> open"]
    lines += [f"    {state.value} --> {target.value}" for state, target in TASK_TRANSITIONS]
    return "\n".join(lines) + "\n"
