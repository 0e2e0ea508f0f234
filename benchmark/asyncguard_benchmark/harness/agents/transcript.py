"""Calls of an agent with their outcomes, read from the conversation.

Agents keep no state between turns: they read the message list they are sent, as a model does. So they work
with any adapter, and can be copied and replayed.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from asyncguard_benchmark.harness.agents.message_reader import (
    REMEMBERED,
    MessageReader,
    Outcome,
    Standing,
    read_message,
    words_of,
)
from asyncguard_benchmark.harness.protocol.actions import CallAction, Malformed, read_text
from asyncguard_benchmark.harness.protocol.entries import signature
from asyncguard_benchmark.services.declarations import TASK_ARGUMENT

UNREADABLE = ""
"""The tool of an attempt that could not be read."""
_OBJECTION = re.compile(r"^[^-\n].*\b(?:finish|complete|done)\w*\b.*(?:\n-.*)+", re.MULTILINE)
_TASK_NAMED = re.compile(r'"id": "([^"]*)"')


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One call that the agent made, or tried to make in broken JSON."""

    task_id: str
    """Empty if it cannot be read which was meant."""
    tool: str
    """`UNREADABLE` if the call came out broken."""
    arguments: Mapping[str, Any]
    call_id: str | None
    standing: Standing = Standing.OPEN
    response: str | None = None
    """The result as text, or the reason of the refusal."""
    said: int = 0
    """Number of the agent's message that made it, from 1."""
    told: int | None = None
    """Number of messages that the agent had said when it was told; None before it was."""

    @property
    def told_at_once(self) -> bool:
        """Return True if the answer to the very message that made the call tells the outcome."""
        return self.told == self.said


def read_transcript(
    messages: Sequence[BaseMessage],
    task_ids: Collection[str],
    reader: MessageReader = read_message,
    task_argument: str = TASK_ARGUMENT,
) -> tuple[Attempt, ...]:
    """Return all calls that the agent made, in order, each with what became of it.

    Args:
        messages: The conversation.
        task_ids: The sub-tasks; with a single one, native calls need no task argument.
        reader: Reads the messages that the agent did not write.
        task_argument: Name of the argument that says which sub-task a native call belongs to.
    """
    attempts: list[Attempt] = []
    said = 0
    for message in messages:
        if isinstance(message, AIMessage):
            said += 1
            attempts += (
                replace(each, said=said) for each in _own_calls(message, task_ids, task_argument)
            )
            continue
        for outcome in reader(message):
            position = _meant(attempts, outcome)
            if position is not None:
                attempts[position] = replace(
                    attempts[position],
                    standing=outcome.standing,
                    response=outcome.response,
                    told=said,
                )
    return tuple(attempts)


def reminders(messages: Sequence[BaseMessage]) -> tuple[str, ...]:
    """Return the objections to the end of the run, in words: a sentence about finishing, and the list below it.

    A list of the tasks' states that is only shown does not object, and moves no agent here.
    """
    later = [message for message in messages if isinstance(message, HumanMessage)][1:]
    return tuple(found for message in later for found in _OBJECTION.findall(words_of(message)))


def _own_calls(
    message: AIMessage, task_ids: Collection[str], task_argument: str
) -> Iterator[Attempt]:
    if not message.tool_calls:
        yield from _said_in_text(str(message.text), tuple(task_ids))
    for broken in message.invalid_tool_calls:
        named = re.search(rf'"{re.escape(task_argument)}": "([^"]*)"', broken["args"] or "")
        yield _unreadable(named[1] if named else "", broken["id"])
    only = next(iter(task_ids)) if len(task_ids) == 1 else None
    for call in message.tool_calls:
        task_id = call["args"].get(task_argument, only)
        arguments = {name: value for name, value in call["args"].items() if name != task_argument}
        yield Attempt(
            task_id=str(task_id), tool=call["name"], arguments=arguments, call_id=call["id"]
        )


@lru_cache(maxsize=REMEMBERED)
def _said_in_text(text: str, task_ids: tuple[str, ...]) -> tuple[Attempt, ...]:
    match read_text(text, task_ids):
        case CallAction() as action:
            return (
                Attempt(
                    task_id=action.task_id,
                    tool=action.tool,
                    arguments=action.arguments,
                    call_id=None,
                ),
            )
        # Prose is not an attempt; on the native surface it is how an agent says that it waits.
        case Malformed() if "{" in text:
            named = _TASK_NAMED.search(text)
            return (_unreadable(named[1] if named else "", None),)
    return ()


def _unreadable(task_id: str, call_id: str | None) -> Attempt:
    return Attempt(task_id=task_id, tool=UNREADABLE, arguments={}, call_id=call_id)


def _meant(attempts: Sequence[Attempt], outcome: Outcome) -> int | None:
    """Return the index of the open call that an outcome speaks of; the earliest of several that fit."""
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
