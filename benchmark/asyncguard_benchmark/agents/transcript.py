"""Lays an agent's calls beside what became of them.

Agents keep no state between turns: they read the message list they are sent, as a model does. That makes them work
behind any front end, and able to be copied and replayed.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from asyncguard_benchmark.agents.reading import MessageReader, Outcome, Standing, read_message
from asyncguard_benchmark.executors.declarations import TASK_ARGUMENT
from asyncguard_benchmark.protocol.actions import CallAction, read_text
from asyncguard_benchmark.protocol.entries import signature


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
    """Index of the open call that an outcome speaks of; the earliest of several that fit."""
    seen: dict[tuple[str, str], int] = {}
    for index, attempt in enumerate(attempts):
        key = (attempt.task_id, attempt.tool)
        seen[key] = seen.get(key, 0) + 1
        last = index == len(attempts) - 1
        if attempt.standing is Standing.OPEN and _fits(attempt, seen[key], outcome, last=last):
            return index
    return None


def _fits(attempt: Attempt, ordinal: int, outcome: Outcome, *, last: bool) -> bool:
    if outcome.call_id is not None:
        return attempt.call_id == outcome.call_id
    if outcome.task_id not in (None, attempt.task_id):
        return False
    if outcome.shown is not None:
        return signature(attempt.tool, attempt.arguments) == outcome.shown
    if outcome.tool is not None:
        return attempt.tool == outcome.tool and outcome.ordinal in (None, ordinal)
    return last
