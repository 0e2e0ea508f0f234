"""Messages of a run about itself: the task-state view, its limits, report and closing message."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import BaseTool

from asyncguard.adapters.messages.markers import mark, note_for_model
from asyncguard.adapters.messages.memory import memory_view
from asyncguard.core.calls import OPEN_STATES, CallState
from asyncguard.core.lifecycle import TaskState
from asyncguard.core.records import CallRecord
from asyncguard.core.scoreboard import Scoreboard, task_view

ANSWER_NOT_ALONE = (
    "The answer was not taken: it has to come alone, after the results of the other calls. "
    "Give it again when you have them."
)
"""Reply to a structured answer in a message that makes other calls, too."""


def view_message(board: Scoreboard, history: Sequence[AnyMessage]) -> HumanMessage | None:
    """Return the view for the next turn, or ``None`` if there is nothing to show.

    Args:
        board: State of the tasks, which is shown if there are several.
        history: The stored messages, of which ``memory`` shows what earlier requests brought.
    """
    config = board.config
    views = [memory_view(history)] if config.memory and not config.shadow else []
    if config.shows_tasks and board.several_tasks and board.ledger.turns:
        views.append(task_view(board))
    text = "\n\n".join(filter(None, views))
    return note_for_model(text, "view") if text else None


def exhausted(board: Scoreboard) -> str:
    """Return the reason why the model gets no further turn, empty if it gets one."""
    ledger = board.ledger
    if ledger.turns >= board.config.limits.max_model_turns:
        return "max_model_turns"
    tasks = list(ledger.tasks())
    if tasks and all(task.state is TaskState.STOPPED for task in tasks) and not ledger.any_open():
        return "tasks_stopped"
    return ""


def parked(board: Scoreboard) -> dict[str, Any]:
    """Return the interrupt value of a parked run: the external calls that it waits for."""
    pending = board.ledger.in_state(CallState.PENDING)
    calls = [{"task": record.call.task, "call": record.call.label} for record in pending]
    return {"type": "parked", "calls": calls}


def ends_directly(board: Scoreboard, tools: Sequence[BaseTool | None]) -> bool:
    """Return True if ``create_agent`` ends the run with the results of its last message.

    It does so if all tools of the message return directly; the answers have to be written, too.

    Args:
        board: Calls and tasks of the thread.
        tools: Tools that the message calls, ``None`` for unknown ones.
    """
    known = [tool for tool in tools if tool is not None]
    if not known or not all(tool.return_direct for tool in known):
        return False
    last = board.ledger.last_message
    return not any(record.call.message_id == last for record in board.ledger.unanswered())


def report(board: Scoreboard, reason: str) -> dict[str, Any]:
    """Return the report of a run's end: plain values, one entry a task."""
    counts: dict[str, dict[str, int]] = {}
    for record in board.ledger.calls():
        task = board.ledger.task(record.call.task)
        if task is not None and record.key in task.former:
            continue  # it says nothing about the task as it is
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
            _name(record) for record in board.ledger.calls() if record.state in OPEN_STATES
        ],
        "in_doubt": [_name(record) for record in board.ledger.in_state(CallState.IN_DOUBT)],
    }


def _name(record: CallRecord) -> str:
    # As a question to a person and the events name a call: labels are counted by task.
    return f"{record.call.task}/{record.call.label}"


def closing_message(board: Scoreboard, reason: str) -> AIMessage:
    """Return the last message of a run that ended without the model, with what is unfinished."""
    open_calls = [f"{r.call.task}: {r.call.label}" for r in board.ledger.calls() if r.open]
    doubtful = [f"{r.call.task}: {r.call.label}" for r in board.ledger.in_state(CallState.IN_DOUBT)]
    stopped = [task.task.id for task in board.ledger.tasks() if task.state is TaskState.STOPPED]
    why = "all tasks were stopped" if reason == "tasks_stopped" else f"of a limit ({reason})"
    parts = [f"The run ended after {board.ledger.turns} model turns because {why}."]
    if stopped:
        parts.append(f"Stopped tasks: {', '.join(stopped)}.")
    if open_calls:
        parts.append(f"Calls still open: {', '.join(open_calls[:20])}.")
    if doubtful:
        parts.append(f"In doubt, as they may have taken effect: {', '.join(doubtful[:20])}.")
    marker = mark("ended", reason=reason)
    return AIMessage(content=" ".join(parts), name="asyncguard", additional_kwargs=marker)
