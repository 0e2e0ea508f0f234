"""Render what a run says of itself: the task-state view, its limits, its report and its last message."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import BaseTool

from asyncguard.adapters.messages.render import note_for_model
from asyncguard.core import events as ev
from asyncguard.core.calls import OPEN_STATES, CallState
from asyncguard.core.lifecycle import TaskState
from asyncguard.core.scoreboard import Scoreboard, task_view


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What follows from a model message."""

    messages: Sequence[AnyMessage]
    """To write: the message, or what replaces it."""
    verdict: ev.CompletionVerdict | None
    """For a message without calls; ``None`` if it made calls."""


def view_message(board: Scoreboard) -> HumanMessage | None:
    """The task-state view for the next turn, or ``None`` where there is nothing to show."""
    if not (
        board.config.task_view
        and board.config.ledger
        and board.several_tasks
        and board.ledger.turns
    ):
        return None
    return note_for_model(task_view(board), "view")


def exhausted(board: Scoreboard) -> str:
    """Why the model gets no further turn, empty if it does."""
    ledger = board.ledger
    if ledger.turns >= board.config.limits.max_model_turns:
        return "max_model_turns"
    tasks = list(ledger.tasks())
    if tasks and all(task.state is TaskState.STOPPED for task in tasks) and not ledger.any_open():
        return "tasks_stopped"
    return ""


def parked(board: Scoreboard) -> dict[str, Any]:
    """What the user of a parked run is told: the external calls for which it rests."""
    pending = board.ledger.in_state(CallState.PENDING)
    calls = [{"task": record.call.task, "call": record.call.label} for record in pending]
    return {"type": "parked", "calls": calls}


def ends_directly(board: Scoreboard, tools: Sequence[BaseTool | None]) -> bool:
    """Whether ``create_agent`` ends a run with the results of its last message, and all of them are written.

    Args:
        board: The thread's calls and tasks.
        tools: Those that the message calls, ``None`` for unknown ones.
    """
    known = [tool for tool in tools if tool is not None]
    if not known or not all(tool.return_direct for tool in known):
        return False
    last = board.ledger.last_message
    return not any(record.call.message_id == last for record in board.ledger.unanswered())


def report(board: Scoreboard, reason: str) -> dict[str, Any]:
    """How a run ended: plain values, one entry a task."""
    counts: dict[str, dict[str, int]] = {}
    for record in board.ledger.calls():
        of_task = counts.setdefault(record.call.task, {})
        of_task[record.state.value] = of_task.get(record.state.value, 0) + 1
    return {
        "reason": reason,
        "turns": board.ledger.turns,
        "tasks": [
            {"id": task.task.id, "state": task.state.value, "calls": counts.get(task.task.id, {})}
            for task in board.ledger.tasks()
        ],
        "open_calls": [
            record.call.label for record in board.ledger.calls() if record.state in OPEN_STATES
        ],
        "in_doubt": [record.call.label for record in board.ledger.in_state(CallState.IN_DOUBT)],
    }


def closing_message(board: Scoreboard, reason: str) -> AIMessage:
    """The last message of a run that a limit ended: says so, and what is left."""
    open_calls = [f"{r.call.task}: {r.call.label}" for r in board.ledger.calls() if r.open]
    stopped = [task.task.id for task in board.ledger.tasks() if task.state is TaskState.STOPPED]
    parts = [f"The run was ended by a limit ({reason}) after {board.ledger.turns} model turns."]
    if stopped:
        parts.append(f"Stopped tasks: {', '.join(stopped)}.")
    if open_calls:
        parts.append(f"Calls still open: {', '.join(open_calls[:20])}.")
    return AIMessage(content=" ".join(parts), name="asyncguard")
