"""Actions of an assistant message, read on either surface."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from asyncguard_benchmark.harness.scenario import Contract
from asyncguard_benchmark.services.declarations import TASK_ARGUMENT

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

ALL_COMPLETED = "ALL COMPLETED"
"""Text that ends a run."""
_CALL_KEYS = ("id", "func_name", "params")
_DEEPEST = 64
"""Nesting of arguments that is still read; no tool needs it, and reading deeper could overflow the
stack."""


@dataclass(frozen=True, kw_only=True)
class CallAction:
    """A call of a known sub-task; tool and arguments may still be wrong."""

    task_id: str
    tool: str
    arguments: Mapping[str, Any]
    call_id: str | None = None
    """The provider's id of the call; None on the text surface."""


@dataclass(frozen=True, kw_only=True)
class Idle:
    """A message that does nothing."""


@dataclass(frozen=True, kw_only=True)
class Completed:
    """The end of the run."""


@dataclass(frozen=True, kw_only=True)
class Malformed:
    """Something that cannot be read as an action; no effect, an error at once."""

    reason: str
    call_ids: tuple[str, ...] = ()
    """Native calls that this error answers."""


Action = CallAction | Idle | Completed | Malformed


def read_text(text: str, task_ids: Collection[str], contract: Contract = Contract.OURS) -> Action:
    """Read a message of the text surface.

    Args:
        text: The message.
        task_ids: The sub-tasks of the composition.
        contract: Under ours the first balanced JSON object counts, whatever stands around it; under the paper's the
            text must be the object.
    """
    if contract is Contract.PAPER and not _is_object(text):
        return Malformed(
            reason="The response must be one JSON object in the required format and nothing else."
        )
    first, rest = first_object(text)
    if first is None:
        return Malformed(reason="The response holds no JSON object.")
    if "func_name" not in first and "content" in first:
        if _holds_call(rest):
            return Malformed(
                reason="A response with content may not call a function; it was not called."
            )
        return _content(first["content"])
    missing = [key for key in _CALL_KEYS if key not in first]
    if missing:
        return Malformed(reason=f"The action lacks {', '.join(missing)}.")
    if _holds_call(rest):
        return Malformed(reason="Only one function may be called in a response.")
    if not isinstance(first["func_name"], str) or not isinstance(first["params"], dict):
        return Malformed(reason="func_name must be a string and params an object.")
    return _call(first["id"], first["func_name"], first["params"], None, task_ids)


def read_native(
    message: "AIMessage", task_ids: Collection[str], *, parallel: bool
) -> tuple[Action, ...]:
    """Read a message of the native surface; at least one action.

    Args:
        message: Message of the model.
        task_ids: The sub-tasks of the composition.
        parallel: True if several calls in one message are allowed.
    """
    broken = [
        Malformed(reason="The arguments are not valid JSON.", call_ids=(call["id"] or "",))
        for call in message.invalid_tool_calls
    ]
    if len(message.tool_calls) + len(broken) > 1 and not parallel:
        ids = [call["id"] or "" for call in (*message.tool_calls, *message.invalid_tool_calls)]
        return (
            Malformed(reason="Only one function may be called in a response.", call_ids=tuple(ids)),
        )
    if not message.tool_calls and not broken:
        return (_native_content(str(message.text)),)
    calls = []
    for call in message.tool_calls:
        arguments = {name: value for name, value in call["args"].items() if name != TASK_ARGUMENT}
        calls.append(
            _call(
                call["args"].get(TASK_ARGUMENT), call["name"], arguments, call["id"] or "", task_ids
            )
        )
    return (*calls, *broken)


def _call(
    task_id: Any,
    tool: str,
    arguments: Mapping[str, Any],
    call_id: str | None,
    task_ids: Collection[str],
) -> Action:
    ids = () if call_id is None else (call_id,)
    if not isinstance(task_id, str) or task_id not in task_ids:
        return Malformed(
            reason=f"There is no task with the id {str(task_id)[:80]!r}.", call_ids=ids
        )
    if _deeper_than(arguments, _DEEPEST):
        return Malformed(reason="The arguments are nested too deeply.", call_ids=ids)
    return CallAction(task_id=task_id, tool=tool, arguments=arguments, call_id=call_id)


def _content(content: Any) -> Action:
    if not isinstance(content, str):
        return Malformed(reason="content must be a string.")
    return Completed() if content.strip() == ALL_COMPLETED else Idle()


def _native_content(text: str) -> Action:
    """Read prose without a call: it does nothing, unless it ends the run in plain words or as on the text surface."""
    first, _ = first_object(text)
    content = (
        first["content"] if first is not None and isinstance(first.get("content"), str) else text
    )
    return _content(content)


def first_object(text: str) -> tuple[dict[str, Any] | None, str]:
    """Return the first balanced JSON object in a text and the text after it; (None, "") if there is none."""
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    start = text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        return value, text[end:]
    return None, ""


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text, parse_constant=_refuse_constant), dict)
    except (ValueError, RecursionError):
        return False


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _holds_call(text: str) -> bool:
    found, rest = first_object(text)
    while found is not None:
        if "func_name" in found:
            return True
        found, rest = first_object(rest)
    return False


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            item
            for holder in level
            if isinstance(holder, dict | list)
            for item in (holder.values() if isinstance(holder, dict) else holder)
        ]
        if not level:
            return False
    return True
