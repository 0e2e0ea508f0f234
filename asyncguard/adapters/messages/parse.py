"""Parser of model messages: any message becomes calls with usable ids, or problems to report."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.messages.tool import invalid_tool_call
from pydantic import ValidationError

from asyncguard.adapters.messages.sanitize import (
    is_plain_text,
    json_problem,
    plain_content,
    plain_text,
)
from asyncguard.core.lifecycle import SOLE_TASK
from asyncguard.core.records import CallRecord
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.runtime.proposals import ParsedCall

_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_MAX_ERROR = 200
"""Characters of an integration's error that the model is shown."""
_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "function_call", "invalid_tool_call"})
"""Types of content blocks that represent a call, as the integrations name them."""


def with_usable_ids(
    message: AIMessage,
    new_id: Callable[[], str],
    taken: Collection[str] = (),
    tools: Collection[str] = (),
) -> AIMessage:
    """Return the message in a form that can be stored, answered and sent back.

    A call without an id cannot be answered, and two calls with one id cannot be distinguished: some
    servers count calls from 0 in each message. An invented name may hold characters that a provider
    refuses in a history. A call whose arguments are not a plain JSON object becomes an unreadable
    one.

    Args:
        message: As the model sent it.
        new_id: Makes a fresh id.
        taken: Ids of the messages and calls of the history.
        tools: Names of the agent's tools, which stay as they are: the provider accepted them.

    Returns:
        The same object if nothing has to be changed.
    """
    if _is_usable(message, taken, tools):
        return message
    calling: list[Any] = [*message.tool_calls, *message.invalid_tool_calls]
    seen: set[str] = set()
    # An id of the history would replace the older message there.
    known = bool(message.id) and message.id not in taken
    readable: list[dict[str, Any]] = []
    unreadable: list[dict[str, Any]] = []
    for call in message.tool_calls:
        fixed = {**call, **_identity(call, seen, taken, new_id, tools)}
        if problem := json_problem(fixed["args"]):
            fixed |= {"type": "invalid_tool_call", "args": "{}", "error": problem}
        (unreadable if problem else readable).append(fixed)
    for broken in message.invalid_tool_calls:
        texts = {
            name: None if (value := broken.get(name)) is None else plain_text(str(value))
            for name in ("args", "error")
        }
        unreadable.append({**broken, **texts, **_identity(broken, seen, taken, new_id, tools)})
    made = [*readable, *unreadable]
    update: dict[str, Any] = {
        "id": message.id if known else f"run-{new_id()}",
        "tool_calls": readable,
        "invalid_tool_calls": unreadable,
        "content": _usable_content(
            message, {call["id"] for call in made if call in calling}, calling=bool(made)
        ),
    }
    if all(getattr(message, name) == value for name, value in update.items()):
        return message
    if "tool_calls" in message.additional_kwargs:  # the provider's own form of the calls: outdated
        update["additional_kwargs"] = {
            k: v for k, v in message.additional_kwargs.items() if k != "tool_calls"
        }
    return message.model_copy(update=update)


def all_with_usable_ids(
    messages: Sequence[BaseMessage],
    new_id: Callable[[], str],
    taken: Collection[str],
    tools: Collection[str] = (),
) -> list[Any]:
    """Apply :func:`with_usable_ids` to the result of a model call.

    ``create_agent`` adds the answers to a structured response; they follow the ids of their calls.
    """
    made: list[Any] = []
    renamed: dict[str | None, str] = {}
    for message in messages:
        if isinstance(message, AIMessage):
            usable = with_usable_ids(message, new_id, taken, tools)
            pairs = zip(message.tool_calls, usable.tool_calls, strict=False)
            renamed = {before["id"]: str(after["id"]) for before, after in pairs}
            made.append(usable)
        elif isinstance(message, ToolMessage):
            call_id = renamed.get(message.tool_call_id, message.tool_call_id)
            made.append(message.model_copy(update={"tool_call_id": call_id}))
        else:
            made.append(message)
    return made


def _is_usable(message: AIMessage, taken: Collection[str], tools: Collection[str]) -> bool:
    """Return True for a message of plain text and usable calls, which needs no change.

    Most messages are of this kind, and this check is faster than the full conversion.
    """
    content, calls = message.content, message.tool_calls
    if (
        message.invalid_tool_calls
        or not message.id
        or message.id in taken
        or not isinstance(content, str)
    ):
        return False
    if not is_plain_text(content) or (calls and content and not content.strip()):
        return False
    seen: set[str] = set()
    for call in calls:
        call_id, name = call.get("id"), call.get("name")
        if not _is_usable_id(call_id, seen, taken) or name != _usable_name(name, tools):
            return False
        if json_problem(call["args"]):
            return False
        seen.add(str(call_id))
    return True


def unreadable_message(error: ValidationError) -> AIMessage:
    """Return a message with one unreadable call for a message that the integration could not build.

    Some integrations parse arguments such as ``[1]`` and then fail, because LangChain's messages
    hold objects only. The ids of the calls are lost with the message, so one call that stands for
    all of them carries the error.

    Args:
        error: Raised by the integration.

    Raises:
        ValidationError: The same error, if it is not about a model's message.
    """
    if error.title not in ("AIMessage", "AIMessageChunk"):
        raise error
    found = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in found["loc"])
    problem = (
        f"The message could not be read, and none of its calls was run ({place}: {found['msg']})."
    )
    call = invalid_tool_call(name="unreadable_call", args="{}", id=None, error=problem)
    return AIMessage(content="", invalid_tool_calls=[call])


def _identity(
    call: Mapping[str, Any],
    seen: set[str],
    taken: Collection[str],
    new_id: Callable[[], str],
    tools: Collection[str],
) -> dict[str, str]:
    """Return a usable id and name for a call, and add the id to those seen."""
    call_id = call.get("id")
    if not isinstance(call_id, str) or not _is_usable_id(call_id, seen, taken):
        call_id = f"call_{new_id()}"
    seen.add(call_id)
    return {"id": call_id, "name": _usable_name(call.get("name"), tools)}


def _is_usable_id(call_id: Any, seen: Collection[str], taken: Collection[str]) -> bool:
    if not isinstance(call_id, str) or call_id in seen or call_id in taken:
        return False
    return bool(call_id.strip()) and is_plain_text(call_id)


def _usable_content(message: AIMessage, kept_ids: Collection[str], *, calling: bool) -> Any:
    """Return the content in a form that a provider accepts back.

    Some integrations keep calls in the content, too, and send those blocks again. The block of a
    call that was changed here, or that does not exist, is removed; the integration makes a new one
    from the call. White space next to calls has no meaning, and one provider refuses it.
    """
    content: Any = message.content
    if isinstance(content, list):
        kept = [
            block for block in content if not names_call(block) or call_id_of(block) in kept_ids
        ]
        return plain_content(content if len(kept) == len(content) else kept)
    if not isinstance(content, str) or (calling and not content.strip()):
        return ""
    return plain_text(content)


def names_call(block: Any) -> bool:
    """Return True if a content block represents a call."""
    return isinstance(block, dict) and block.get("type") in _CALL_BLOCKS


def call_id_of(block: Mapping[str, Any]) -> Any:
    """Return the id of the call that a content block represents."""
    return block.get("call_id") or block.get("id")


def _usable_name(name: Any, tools: Collection[str]) -> str:
    text = name if isinstance(name, str) else ""
    if text in tools:
        return text
    return _NAME.sub("_", text.strip())[:64] or "unnamed_tool"


def parse_calls(message: AIMessage, board: Scoreboard, task_argument: str) -> list[ParsedCall]:
    """Parse the calls of a message, the unreadable ones included; it never fails.

    Args:
        message: With usable ids.
        board: Scoreboard of the thread, which knows its tasks.
        task_argument: Name of the task argument, stripped from the arguments.
    """
    tasks = (record.task.id for record in board.ledger.tasks())
    # With several tasks a call has to name its own.
    default = "" if board.several_tasks else next(tasks, SOLE_TASK)
    calls = [_parse_call(call, board, task_argument, default) for call in message.tool_calls]
    calls += [
        ParsedCall(
            tool=str(broken["name"]),
            arguments={},
            call_id=str(broken["id"]),
            task=default,
            problem=_why_unreadable(broken),
        )
        for broken in message.invalid_tool_calls
    ]
    return calls


def _parse_call(call: ToolCall, board: Scoreboard, task_argument: str, task: str) -> ParsedCall:
    arguments = call["args"]
    if problem := json_problem(arguments):
        arguments = {}
    elif board.several_tasks:
        # The task argument is the runtime's: tools do not know it.
        given = arguments.get(task_argument, "")
        arguments = {name: value for name, value in arguments.items() if name != task_argument}
        task = given if isinstance(given, str) else ""
        if board.ledger.task(task) is None:
            known = ", ".join(record.task.id for record in board.ledger.open_tasks())
            problem = f"Say in {task_argument} which task the call is for: {known}."
    tool, call_id = call["name"], str(call["id"])
    # Copied, because middleware may change a call of a message in place after it was judged.
    own = deepcopy(arguments)
    return ParsedCall(tool=tool, arguments=own, call_id=call_id, task=task, problem=problem)


def parse_edit(
    record: CallRecord, tool: str, arguments: Mapping[str, Any], task_argument: str
) -> ParsedCall:
    """Parse the call that a person wrote in place of the model's; it stays with its task.

    Args:
        record: The model's call.
        tool: Its tool now.
        arguments: Its arguments now.
        task_argument: Name of the task argument, stripped from the arguments.
    """
    problem = json_problem(arguments)
    kept = {} if problem else {n: v for n, v in arguments.items() if n != task_argument}
    call = record.call
    return ParsedCall(
        tool=tool, arguments=kept, call_id=call.call_id, task=call.task, problem=problem
    )


def _why_unreadable(broken: Mapping[str, Any]) -> str:
    """Return the reason why the arguments of a call cannot be read.

    They are parsed again, because integrations wrap the reason in advice to their own users.
    """
    try:
        value = json.loads(str(broken.get("args")))
    except (ValueError, RecursionError) as error:
        return f"The arguments are not valid JSON ({error})."
    given = str(broken.get("error") or "").splitlines()
    return json_problem(value) or (
        given[0][:_MAX_ERROR] if given else "The arguments could not be read."
    )
