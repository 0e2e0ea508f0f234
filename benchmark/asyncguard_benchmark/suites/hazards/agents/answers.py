"""The answer of a tool as an agent sees it: a text that may not be JSON, and perhaps a note of the runtime.

On the benchmark's native surface a placeholder is ``{"wait": ...}`` and nothing else, so any other
content is an answer, however broken. An answer with a note is kept as ``{"response": ..., "note":
...}`` in one text.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from asyncguard_benchmark.harness.agents.message_reader import (
    Outcome,
    Standing,
    read_message,
)
from asyncguard_benchmark.harness.agents.transcript import Attempt

_RESPONSE, _NOTE, _ERROR, _WAIT = "response", "note", "error", "wait"


@dataclass(frozen=True)
class Answer:
    """One answer."""

    text: str
    note: str = ""
    """Note of the runtime about it; empty if there is none."""

    @cached_property
    def value(self) -> Any:
        """The JSON value that the text is; the text itself if it is none."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return self.text

    @property
    def failed(self) -> bool:
        """Return True if it says that the call failed."""
        return isinstance(self.value, dict) and set(self.value) == {_ERROR}

    @property
    def words(self) -> str:
        """Return its words: the message of a failure, and the note."""
        said = str(self.value[_ERROR]) if self.failed else ""
        return f"{said} {self.note}".strip()


def answer_of(attempt: Attempt) -> Answer | None:
    """Return the answer to a call; None before there is one, or if it was refused before it reached its tool."""
    if attempt.standing is not Standing.ANSWERED or attempt.response is None:
        return None
    value = _json(attempt.response)
    if isinstance(value, dict) and set(value) == {_RESPONSE, _NOTE}:
        response = value[_RESPONSE]
        text = response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)
        return Answer(text, str(value[_NOTE]))
    return Answer(attempt.response)


def read_answers(message: BaseMessage) -> Iterator[Outcome]:
    """Read a message of either surface; a `MessageReader`."""
    match message:
        case ToolMessage(status="error"):
            yield from read_message(message)
        case ToolMessage():
            text = str(message.text)
            value = _json(text)
            if not (isinstance(value, dict) and set(value) == {_WAIT}):
                yield Outcome(
                    standing=Standing.ANSWERED, response=text, call_id=message.tool_call_id
                )
        case HumanMessage():
            yield from _read_news(str(message.text))


def _read_news(text: str) -> Iterator[Outcome]:
    """Yield answers with a note, then what every reader understands."""
    rest = []
    for line in text.splitlines():
        entry = _json(line)
        if (
            isinstance(entry, dict)
            and entry.get("role") == "tool"
            and entry.get(_NOTE)
            and _RESPONSE in entry
        ):
            yield Outcome(
                standing=Standing.ANSWERED,
                response=json.dumps(
                    {_RESPONSE: entry[_RESPONSE], _NOTE: entry[_NOTE]}, ensure_ascii=False
                ),
                call_id=entry.get("call_id"),
                task_id=entry.get("id"),
                shown=entry.get("function name"),
            )
        else:
            rest.append(line)
    yield from read_message(HumanMessage("\n".join(rest)))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
