"""The text in which the model reads its messages and speaks: short, and the same on both surfaces and all front ends.

The model reads what it is sent and nothing else. Left out are the contract and the API list, which the model knows by
heart; sub-tasks are letters in the order in which they are told. Everything else that a message says is
kept: a result with its task and tool as ``<result>``, other words (a placeholder, a refusal, a nudge) as ``<note>``.

    <task> A question ... <call> A tool{name:value} <end> <result> A tool=value ... <done> <end>
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from asyncguard_benchmark.harness.agents.message_reader import is_result, read_questions
from asyncguard_benchmark.harness.agents.speaking import Decision, Garbled
from asyncguard_benchmark.harness.protocol.actions import (
    ALL_COMPLETED,
    CallAction,
    Completed,
    Idle,
    read_text,
)
from asyncguard_benchmark.learned.notation import NotationError, compact, read_compact
from asyncguard_benchmark.services.declarations import TASK_ARGUMENT

TASK, CALL, RESULT, NOTE, SAY, DONE, END = (
    "<task>",
    "<call>",
    "<result>",
    "<note>",
    "<say>",
    "<done>",
    "<end>",
)
LETTERS = tuple(f"<{letter}>" for letter in "ABCDEFGH")
"""Marks of the sub-tasks, in the order in which they are told; there are no more than eight."""
UNKNOWN = "<?>"
"""Mark of something that concerns no known sub-task."""
MARKS = (TASK, CALL, RESULT, NOTE, SAY, DONE, END, *LETTERS, UNKNOWN)

_HEAD = re.compile(r"\w+")
_SIGNED = re.compile(r"^(\w+)\(")
_BLOCK = re.compile(r"<(result[\w-]*)((?: \w+=\"[^\"]*\")+)>\n(.*?)\n</\1>", re.DOTALL)
_ATTRIBUTE = re.compile(r"(\w+)=\"([^\"]*)\"")


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A statement of the conversation."""

    marks: tuple[str, ...]
    text: str = ""
    own: bool = False
    """True if the agent says it; then it ends with `END`."""


def conversation(messages: Sequence[BaseMessage]) -> tuple[tuple[Segment, ...], tuple[str, ...]]:
    """Return the statements of a conversation, and the ids of its sub-tasks in the order of their letters.

    Args:
        messages: What an agent is sent: contract, tasks, and all turns so far.
    """
    questions = read_questions(messages)
    reader = _Reader(tuple(questions))
    opening = [
        Segment(marks=(TASK, reader.mark(task)), text=question)
        for task, question in questions.items()
    ]
    first = next((n for n, each in enumerate(messages) if isinstance(each, HumanMessage)), -1)
    later = [segment for each in messages[first + 1 :] for segment in reader.read(each)]
    return (*opening, *later), reader.task_ids


class _Reader:
    """Reads messages in order; knows the calls so far by their ids."""

    def __init__(self, task_ids: tuple[str, ...]) -> None:
        self.task_ids = task_ids
        self._calls: dict[str, tuple[str, str]] = {}

    def mark(self, task_id: str | None) -> str:
        known = self.task_ids[: len(LETTERS)]
        return LETTERS[known.index(task_id)] if task_id in known else UNKNOWN

    def read(self, message: BaseMessage) -> Iterator[Segment]:
        match message:
            case AIMessage():
                yield from self._said(message)
            case ToolMessage():
                yield self._answered(message)
            case _:
                yield from self._told(str(message.text))

    def _said(self, message: AIMessage) -> Iterator[Segment]:
        for call in message.tool_calls:
            arguments = {k: v for k, v in call["args"].items() if k != TASK_ARGUMENT}
            task = str(call["args"].get(TASK_ARGUMENT, ""))
            self._calls[call["id"] or ""] = (task, call["name"])
            yield self._call(task, call["name"], arguments)
        for broken in message.invalid_tool_calls:
            yield Segment(marks=(SAY,), text=f"{broken['name']}{broken['args']}", own=True)
        if message.tool_calls or message.invalid_tool_calls:
            return
        text = str(message.text)
        match read_text(text, self.task_ids):
            case CallAction() as action:
                yield self._call(action.task_id, action.tool, action.arguments)
            case Completed():
                yield Segment(marks=(DONE,), own=True)
            case _:
                done = text.strip() == ALL_COMPLETED
                yield Segment(
                    marks=(DONE if done else SAY,), text="" if done else _words(text), own=True
                )

    def _call(self, task: str, tool: str, arguments: Mapping[str, Any]) -> Segment:
        text = f"{tool}{compact(dict(arguments))}"
        return Segment(marks=(CALL, self.mark(task)), text=text, own=True)

    def _answered(self, message: ToolMessage) -> Segment:
        text = str(message.text)
        task, tool = self._calls.get(message.tool_call_id, ("", ""))
        if message.status == "error" or not is_result(text):
            return Segment(marks=(NOTE, self.mark(task)), text=_words(text))
        return self._result(task, tool, text)

    def _result(self, task: str | None, tool: str, text: str) -> Segment:
        return Segment(marks=(RESULT, self.mark(task)), text=f"{tool}={_value(text)}")

    def _told(self, text: str) -> Iterator[Segment]:
        for block in _BLOCK.finditer(text):
            named = dict(_ATTRIBUTE.findall(block[2]))
            yield self._result(named.get("task"), named.get("tool", ""), block[3])
        words: list[str] = []
        for line in _BLOCK.sub("", text).splitlines():
            entry = _json(line)
            if not (isinstance(entry, dict) and entry.get("role") == "tool"):
                words.append(line)
                continue
            if isinstance(response := entry.get("response"), str):
                signed = _SIGNED.match(str(entry.get("function name", "")))
                yield self._result(entry.get("id"), signed[1] if signed else "", response)
            if said := entry.get("note") or entry.get("content"):
                yield Segment(marks=(NOTE, UNKNOWN), text=_words(str(said)))
        if rest := "\n".join(words).strip():
            yield Segment(marks=(NOTE, UNKNOWN), text=rest)


def decision(marks: Sequence[str], text: str, task_ids: Sequence[str]) -> Decision:
    """Return the decision that a statement of the model stands for.

    Nothing is mended: what cannot be read comes out as a garbled call, and what says nothing as an idle turn.

    Args:
        marks: Marks that it began with.
        text: Text up to its end.
        task_ids: Ids of the sub-tasks, in the order of their letters.
    """
    match tuple(marks):
        case (mark, *_) if mark == DONE:
            return Completed()
        case (mark, letter, *_) if mark == CALL:
            return _read_call(_task(letter, task_ids), text)
        case _:
            return Idle()


def _read_call(task_id: str, text: str) -> Decision:
    head = _HEAD.match(text)
    tool = head[0] if head else ""
    try:
        arguments = read_compact(text[len(tool) :])
    except NotationError:
        arguments = None
    if not tool or not isinstance(arguments, dict):
        return Garbled(call=CallAction(task_id=task_id, tool=tool or "?", arguments={}))
    return (CallAction(task_id=task_id, tool=tool, arguments=arguments),)


def _task(letter: str, task_ids: Sequence[str]) -> str:
    at = LETTERS.index(letter) if letter in LETTERS else len(task_ids)
    return task_ids[at] if at < len(task_ids) else letter.strip("<>")


def _value(text: str) -> str:
    value = None if text == "None" else _json(text)
    return text if value is None and text not in ("None", "null") else compact(value)


def _words(text: str) -> str:
    """Return the words of a content: without the object around them if they are all that it holds."""
    value = _json(text)
    match value:
        case {"wait": str(said), **rest} | {"error": str(said), **rest} if not rest:
            return said
        case {"content": str(said), **rest} if not rest:
            return said
        case _:
            return text


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
