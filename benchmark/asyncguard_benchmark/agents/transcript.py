"""Reads from a conversation what became of an agent's calls.

Agents keep no state between turns: they read the message list they are sent, as a model does. That makes them work
behind any front end, and able to be copied and replayed. What a front end says beyond the benchmark's own protocol is
read by a `MessageReader` of its own; lines that mean nothing to it (a status, a nudge) are passed over.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from asyncguard_benchmark.executors.declarations import TASK_ARGUMENT
from asyncguard_benchmark.protocol.actions import CallAction, read_text
from asyncguard_benchmark.protocol.entries import signature


class Standing(StrEnum):
    """What is known of a call."""

    OPEN = "open"
    """No result yet."""
    ANSWERED = "answered"
    REJECTED = "rejected"
    """It was refused with a reason and had no effect."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One call that the agent made."""

    task_id: str
    tool: str
    arguments: Mapping[str, Any]
    call_id: str | None
    standing: Standing = Standing.OPEN
    response: str | None = None
    """The result as text, or the reason of the refusal."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a message says about one earlier call."""

    standing: Standing
    response: str
    call_id: str | None = None
    """The call, if the message names it by its id."""
    task_id: str | None = None
    shown: str | None = None
    """The call as ``tool(name='value')``, for messages that name it so. Without id and this, the last call is meant."""


MessageReader = Callable[[BaseMessage], Iterable[Outcome]]
"""Reads the outcomes out of one message that the agent did not write."""


def read_message(message: BaseMessage) -> Iterator[Outcome]:
    """Reads the benchmark's own messages, on both surfaces.

    A tool message with the status "error" is a refusal. One that is not a JSON result is a placeholder in words.
    """
    match message:
        case ToolMessage():
            text = str(message.text)
            if message.status == "error":
                yield Outcome(standing=Standing.REJECTED, response=text, call_id=message.tool_call_id)
            elif is_result(text):
                yield Outcome(standing=Standing.ANSWERED, response=text, call_id=message.tool_call_id)
        case HumanMessage():
            for line in str(message.text).splitlines():
                yield from _read_line(line)


def is_result(text: str) -> bool:
    """Whether a text is a tool's result and not a placeholder."""
    if text == "None":
        return True
    value = _json(text)
    return isinstance(value, dict) and set(value) != {"wait"}


def _read_line(line: str) -> Iterator[Outcome]:
    entry = _json(line)
    if not isinstance(entry, dict) or entry.get("role") != "tool":
        return
    if isinstance(entry.get("response"), str):
        yield Outcome(
            standing=Standing.ANSWERED,
            response=entry["response"],
            call_id=entry.get("call_id"),
            task_id=entry.get("id"),
            shown=entry.get("function name"),
        )
    elif isinstance(content := _json(entry.get("content")), dict) and "error" in content:
        yield Outcome(standing=Standing.REJECTED, response=str(content["error"]))


def _json(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def read_transcript(
    messages: Sequence[BaseMessage],
    task_ids: Collection[str],
    reader: MessageReader = read_message,
    task_argument: str = TASK_ARGUMENT,
) -> tuple[Attempt, ...]:
    """All calls that the agent made, in order, each with what became of it.

    Args:
        messages: The conversation.
        task_ids: The sub-tasks; with a single one, native calls need no task argument.
        reader: Reads the messages that the agent did not write.
        task_argument: Name of the argument that says which sub-task a native call belongs to.
    """
    attempts: list[Attempt] = []
    for message in messages:
        if isinstance(message, AIMessage):
            attempts += _own_calls(message, task_ids, task_argument)
            continue
        for outcome in reader(message):
            position = _meant(attempts, outcome)
            if position is not None:
                attempts[position] = replace(attempts[position], standing=outcome.standing, response=outcome.response)
    return tuple(attempts)


def _own_calls(message: AIMessage, task_ids: Collection[str], task_argument: str) -> Iterator[Attempt]:
    if not message.tool_calls:
        action = read_text(str(message.text), task_ids)
        if isinstance(action, CallAction):
            yield Attempt(task_id=action.task_id, tool=action.tool, arguments=action.arguments, call_id=None)
    only = next(iter(task_ids)) if len(task_ids) == 1 else None
    for call in message.tool_calls:
        task_id = call["args"].get(task_argument, only)
        arguments = {name: value for name, value in call["args"].items() if name != task_argument}
        yield Attempt(task_id=str(task_id), tool=call["name"], arguments=arguments, call_id=call["id"])


def _meant(attempts: Sequence[Attempt], outcome: Outcome) -> int | None:
    """Index of the call that an outcome speaks of: the earliest that is open, as results keep the order of issue."""
    still_open = [index for index, attempt in enumerate(attempts) if attempt.standing is Standing.OPEN]
    if outcome.call_id is not None:
        matching = [index for index in still_open if attempts[index].call_id == outcome.call_id]
    elif outcome.shown is not None:
        matching = [index for index in still_open if _shown(attempts[index]) == (outcome.task_id, outcome.shown)]
    else:
        matching = [index for index in still_open if index == len(attempts) - 1]
    return matching[0] if matching else None


def _shown(attempt: Attempt) -> tuple[str, str]:
    return attempt.task_id, signature(attempt.tool, attempt.arguments)
