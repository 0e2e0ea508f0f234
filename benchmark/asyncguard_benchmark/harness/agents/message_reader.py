"""Reader of messages: the statements of a message about an agent's calls.

`read_message` understands the benchmark's own two surfaces, and results between tags as the adapters write them:
``<result-x call="cat#2" tool="cat" task="fs-01" status="done">``. Another format needs a
`MessageReader` of its own. Parts that mean nothing to a reader (a status, a nudge) are skipped.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

_QUESTION = re.compile(r"^\{id:'([^']+)', question:'(.*)'\}$", re.MULTILINE)
_BLOCK = re.compile(r"<(result[\w-]*)((?: \w+=\"[^\"]*\")+)>\n(.*?)\n</\1>", re.DOTALL)
_ATTRIBUTE = re.compile(r"(\w+)=\"([^\"]*)\"")
_NOT_RUN = frozenset({"rejected", "squashed", "cancelled", "expired"})
"""Values of `status` that say that a call had no effect."""
REMEMBERED = 1024
"""Texts whose reading is kept: an agent without memory reads its whole conversation in each turn."""


class Standing(StrEnum):
    """State of a call, as far as it is known."""

    OPEN = "open"
    """No result yet."""
    ANSWERED = "answered"
    REJECTED = "rejected"
    """It was refused with a reason and had no effect."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Statement of a message about one earlier call.

    The call is named by its id, or as it was shown, or by its tool; if by none of them, the last
    call is meant.
    """

    standing: Standing
    response: str
    call_id: str | None = None
    task_id: str | None = None
    shown: str | None = None
    """The call as ``tool(name='value')``."""
    tool: str | None = None
    ordinal: int | None = None
    """It is the ordinal-th call of this tool in the sub-task, from 1, refused ones included."""


MessageReader = Callable[[BaseMessage], Iterable[Outcome]]
"""Reads the outcomes out of one message that the agent did not write."""


def read_message(message: BaseMessage) -> Iterator[Outcome]:
    """Read the benchmark's messages and tagged results.

    A tool message with the status "error" is a refusal. One that is not a JSON result is a placeholder in words.
    """
    text = str(message.text)
    match message:
        case ToolMessage(status="error"):
            yield Outcome(standing=Standing.REJECTED, response=text, call_id=message.tool_call_id)
        case ToolMessage() if is_result(text):
            yield Outcome(standing=Standing.ANSWERED, response=text, call_id=message.tool_call_id)
        case HumanMessage():
            yield from _told_in(text)


@lru_cache(maxsize=REMEMBERED)
def _told_in(text: str) -> tuple[Outcome, ...]:
    lines = [outcome for line in text.splitlines() for outcome in _read_line(line)]
    return (*lines, *_read_blocks(text))


def read_questions(messages: Sequence[BaseMessage]) -> dict[str, str]:
    """Return sub-task id -> its question, from the message that gives the tasks."""
    first = next((message for message in messages if isinstance(message, HumanMessage)), None)
    return dict(_questions_in(str(first.text))) if first is not None else {}


@lru_cache(maxsize=REMEMBERED)
def _questions_in(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(_QUESTION.findall(text))


def words_of(message: BaseMessage) -> str:
    """Return the words of a message, without results and entries of the protocol."""
    if not isinstance(message, HumanMessage):
        return ""
    lines = _BLOCK.sub("", str(message.text)).splitlines()
    return "\n".join(line for line in lines if not isinstance(_json(line), dict))


def is_result(text: str) -> bool:
    """Return True if a text is a tool's result and not a placeholder: any JSON but null and what says to wait."""
    if text == "None":
        return True
    value = _json(text)
    return value is not None and not (isinstance(value, dict) and set(value) == {"wait"})


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


def _read_blocks(text: str) -> Iterator[Outcome]:
    for found in _BLOCK.finditer(text):
        named = dict(_ATTRIBUTE.findall(found[2]))
        ordinal = named.get("call", "").rpartition("#")[2]
        yield Outcome(
            standing=Standing.REJECTED if named.get("status") in _NOT_RUN else Standing.ANSWERED,
            response=found[3],
            task_id=named.get("task"),
            tool=named.get("tool", ""),
            ordinal=int(ordinal) if ordinal.isdecimal() else None,
        )


def _json(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
