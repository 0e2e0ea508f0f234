"""Reading model messages: whatever a model sends becomes calls with usable ids, or a problem to tell it about."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

from asyncguard.core.scoreboard import Scoreboard
from asyncguard.core.tasks import SOLE_TASK
from asyncguard.engine.intake import Wish

_MAX_DEPTH = 64
_NAME = re.compile(r"[^a-zA-Z0-9_-]")


def with_usable_ids(message: AIMessage, new_id: Any, history: Sequence[AnyMessage] = ()) -> AIMessage:
    """The message with an id, and with a unique, non-empty id and a well-formed name on each call.

    A call without an id cannot be answered, and two calls with one id cannot be told apart: some servers count calls
    from 0 in each message. An invented name may hold characters that a provider refuses when it reads the history again.

    Args:
        message: As the model sent it.
        new_id: Makes a fresh id.
        history: Earlier messages, whose ids are taken.
    """
    seen = _ids_in(history) if message.tool_calls or message.invalid_tool_calls else set()
    known = message.id is not None and all(earlier.id != message.id for earlier in history)
    changed = not known
    calls: dict[str, list[dict[str, Any]]] = {"tool_calls": [], "invalid_tool_calls": []}
    for field in calls:
        for call in getattr(message, field):
            call_id, name = call.get("id"), call.get("name")
            fixed = dict(call)
            if not isinstance(call_id, str) or not call_id.strip() or call_id in seen:
                fixed["id"] = f"call_{new_id()}"
            fixed["name"] = _usable_name(name)
            seen.add(fixed["id"])
            changed = changed or fixed != call
            calls[field].append(fixed)
    if not changed and not _blank_beside_calls(message):
        return message
    update: dict[str, Any] = {**calls, "id": message.id if known else f"run-{new_id()}"}
    if _blank_beside_calls(message):
        update["content"] = ""
    if message.additional_kwargs.get("tool_calls"):
        update["additional_kwargs"] = {k: v for k, v in message.additional_kwargs.items() if k != "tool_calls"}
    return message.model_copy(update=update)


def _ids_in(history: Sequence[AnyMessage]) -> set[str]:
    return {
        str(call["id"])
        for message in history
        if isinstance(message, AIMessage)
        for call in (*message.tool_calls, *message.invalid_tool_calls)
    }


def _blank_beside_calls(message: AIMessage) -> bool:
    """White space beside calls says nothing, and one provider refuses it."""
    text = message.content
    return isinstance(text, str) and text != "" and not text.strip() and bool(message.tool_calls)


def _usable_name(name: Any) -> str:
    text = name if isinstance(name, str) else ""
    return _NAME.sub("_", text.strip())[:64] or "unnamed_tool"


def wishes_of(message: AIMessage, board: Scoreboard, task_argument: str) -> list[Wish]:
    """The calls of a message, the unreadable ones included; reading never fails.

    Args:
        message: With usable ids.
        board: What is known; tells the tasks.
        task_argument: Name of the task argument, stripped from the arguments.
    """
    wishes = [_wish(call["name"], call["args"], str(call["id"]), board, task_argument) for call in message.tool_calls]
    for broken in message.invalid_tool_calls:
        text = str(broken.get("error") or "").splitlines()
        problem = "The arguments are not valid JSON" + (f" ({text[0][:160]})" if text else "")
        wishes.append(
            Wish(
                tool=str(broken.get("name")),
                arguments={},
                call_id=str(broken["id"]),
                task=_default_task(board),
                problem=problem + "; send the call again with a JSON object.",
            )
        )
    return wishes


def _wish(tool: str, arguments: Any, call_id: str, board: Scoreboard, task_argument: str) -> Wish:
    problem, task = "", _default_task(board)
    if not isinstance(arguments, Mapping) or not all(isinstance(name, str) for name in arguments):
        arguments, problem = {}, "The arguments have to be a JSON object."
    elif _depth_above(arguments, _MAX_DEPTH):
        arguments, problem = {}, f"The arguments are nested more than {_MAX_DEPTH} levels deep; send a flatter object."
    elif board.several_tasks and task_argument in arguments:
        given = arguments[task_argument]
        arguments = {name: value for name, value in arguments.items() if name != task_argument}
        task = given if isinstance(given, str) else ""
    if board.several_tasks and not problem and board.ledger.task(task) is None:
        known = ", ".join(record.task.id for record in board.ledger.open_tasks())
        problem = f"Say in {task_argument} which task the call is for: {known}."
    return Wish(tool=tool, arguments=arguments, call_id=call_id, task=task, problem=problem)


def _default_task(board: Scoreboard) -> str:
    tasks = list(board.ledger.tasks())
    if len(tasks) == 1:
        return tasks[0].task.id
    return SOLE_TASK if not tasks else ""


def _depth_above(value: Any, limit: int) -> bool:
    level: list[Any] = [value]
    for _ in range(limit):
        level = [
            item
            for holder in level
            for item in (holder.values() if isinstance(holder, Mapping) else holder if isinstance(holder, list) else ())
        ]
        if not level:
            return False
    return True
