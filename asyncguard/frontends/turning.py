"""One model turn as the ledger sees it: reading the message, judging the end, ending the run; for both front ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import BaseTool

from asyncguard.core import events as ev
from asyncguard.core.calls import OPEN_STATES, CallState
from asyncguard.core.scoreboard import task_view
from asyncguard.core.tasks import TaskState
from asyncguard.engine.intake import take_message
from asyncguard.engine.session import Session
from asyncguard.frontends.reading import wishes_of
from asyncguard.frontends.writing import note_for_model
from asyncguard.guards import judge_completion


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What follows from a model message."""

    messages: Sequence[AnyMessage]
    """To write: the message, or what replaces it."""
    verdict: ev.CompletionVerdict | None
    """For a message without calls; ``None`` if it made calls."""


def view_message(session: Session) -> HumanMessage | None:
    """The task-state view for the next turn, or ``None`` where there is nothing to show."""
    board = session.board
    if not (board.config.task_view and board.config.ledger and board.several_tasks and session.ledger.turns):
        return None
    return note_for_model(task_view(board), "view")


def take_turn(session: Session, message: AIMessage, task_argument: str) -> Turn:
    """Enter a model message.

    Args:
        session: The thread.
        message: With usable ids.
        task_argument: Name of the task argument.
    """
    wishes = wishes_of(message, session.board, task_argument)
    take_message(session, str(message.id), wishes)
    if wishes:
        return Turn(messages=[message], verdict=None)
    completion = judge_completion(session.board)
    session.record.completion_judged(
        completion.verdict,
        reason=completion.reason,
        tasks=completion.tasks,
        enforced=not session.engine.config.shadow,
    )
    if session.engine.config.shadow:
        return Turn(messages=[message], verdict=ev.CompletionVerdict.END)
    if completion.verdict is ev.CompletionVerdict.NUDGE:
        # Same id: the reason stands in the history where "all done" stood.
        return Turn(
            messages=[note_for_model(completion.reason, "nudge", message_id=message.id)], verdict=completion.verdict
        )
    return Turn(messages=[message], verdict=completion.verdict)


def exhausted(session: Session) -> str:
    """Why the model gets no further turn, empty if it does."""
    ledger = session.ledger
    if ledger.turns >= session.engine.config.limits.max_model_turns:
        return "max_model_turns"
    tasks = list(ledger.tasks())
    if tasks and all(task.state is TaskState.STOPPED for task in tasks) and not ledger.any_open():
        return "tasks_stopped"
    return ""


def parked(session: Session) -> dict[str, Any]:
    """What the user of a parked run is told: the external calls for which it rests."""
    pending = session.ledger.in_state(CallState.PENDING)
    calls = [{"task": record.call.task, "call": record.call.label} for record in pending]
    return {"type": "parked", "calls": calls}


def end_run(session: Session, reason: str) -> dict[str, Any]:
    """Close the tasks and return the report.

    Args:
        session: The thread.
        reason: ``complete``, ``max_model_turns``, ``tasks_stopped`` or ``direct_return``.
    """
    for task in session.ledger.open_tasks():
        if not session.ledger.has_open(task.task.id):
            session.record.task_closed(task.task.id)
    session.record.run_ended(reason)
    return report(session, reason)


def ends_directly(session: Session, tools: Sequence[BaseTool | None]) -> bool:
    """Whether ``create_agent`` ends a run with the results of its last message, and all of them are written.

    Args:
        session: The thread.
        tools: Those that the message calls, ``None`` for unknown ones.
    """
    known = [tool for tool in tools if tool is not None]
    if not known or not all(tool.return_direct for tool in known):
        return False
    last = session.ledger.last_message
    return not any(record.call.message_id == last for record in session.ledger.unanswered())


def report(session: Session, reason: str) -> dict[str, Any]:
    """How a run ended: plain values, one entry a task."""
    counts: dict[str, dict[str, int]] = {}
    for record in session.ledger.calls():
        of_task = counts.setdefault(record.call.task, {})
        of_task[record.state.value] = of_task.get(record.state.value, 0) + 1
    return {
        "reason": reason,
        "turns": session.ledger.turns,
        "tasks": [
            {"id": task.task.id, "state": task.state.value, "calls": counts.get(task.task.id, {})}
            for task in session.ledger.tasks()
        ],
        "open_calls": [record.call.label for record in session.ledger.calls() if record.state in OPEN_STATES],
        "in_doubt": [record.call.label for record in session.ledger.in_state(CallState.IN_DOUBT)],
    }


def closing_message(session: Session, reason: str) -> AIMessage:
    """The last message of a run that a limit ended: says so, and what is left."""
    open_calls = [f"{r.call.task}: {r.call.label}" for r in session.ledger.calls() if r.open]
    stopped = [task.task.id for task in session.ledger.tasks() if task.state is TaskState.STOPPED]
    parts = [f"The run was ended by a limit ({reason}) after {session.ledger.turns} model turns."]
    if stopped:
        parts.append(f"Stopped tasks: {', '.join(stopped)}.")
    if open_calls:
        parts.append(f"Calls still open: {', '.join(open_calls[:20])}.")
    return AIMessage(content=" ".join(parts), name="asyncguard")
