"""Recorded conversations: OpenAI's or LangChain's messages in, what was said and answered out.

A conversation is read up to the first message that breaks the form; the rest is left out and
reported with file, line and message. Complaints quote nothing of a conversation: it may be private.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.json_lines import whole_content, whole_lines

_ROLES = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "tool": "tool",
}
"""Role of OpenAI's format or type of LangChain's -> role."""


@dataclass(frozen=True, kw_only=True)
class RecordedCall:
    """A call and the answer of its tool."""

    tool: str
    arguments: Mapping[str, Any]
    answer: str = ""


@dataclass(frozen=True, kw_only=True)
class Said:
    """A message of the agent."""

    text: str
    calls: tuple[RecordedCall, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """A recorded conversation, as far as it can be read."""

    source: str
    """``file:line``."""
    items: tuple[str | Said, ...]
    """Messages of the user (text) and of the agent, in order; the first is the user's."""
    system: str = ""
    """System messages."""

    @property
    def user(self) -> str:
        """All that the user said."""
        return "\n\n".join(item for item in self.items if isinstance(item, str))

    @property
    def steps(self) -> tuple[Said, ...]:
        """The agent's messages with calls."""
        return tuple(item for item in self.items if isinstance(item, Said) and item.calls)


@dataclass(frozen=True, kw_only=True)
class _Message:
    role: str
    text: str
    calls: tuple[tuple[str, RecordedCall], ...]
    """Calls with their ids; empty ids if none were recorded."""
    answers: str
    """Id of the call that a tool's message answers."""


def read_conversations(path: Path) -> Iterator[Conversation | DataError]:
    """Yield each conversation of a file, and a complaint about each that is not whole.

    Args:
        path: JSONL with one conversation a line, or one JSON value if the name ends in ``.json``.
    """
    try:
        lines = [whole_content(path)] if path.suffix == ".json" else whole_lines(path)
    except DataError as problem:
        yield problem
        return
    except OSError as error:
        yield DataError(str(path), f"cannot be read: {error.strerror}")
        return
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            yield DataError(where, "is cut off, or not JSON")
            continue
        many = path.suffix == ".json" and isinstance(value, list) and not _is_messages(value)
        for place, each in enumerate(value, 1) if many else ((0, value),):
            yield from _conversation(each, f"{where}[{place}]" if many else where)


def _is_messages(value: Sequence[Any]) -> bool:
    """Return True for a list of messages; a list of conversations holds lists or objects with one."""
    return not any(isinstance(each, list) or "messages" in (each or ()) for each in value)


def _conversation(value: Any, where: str) -> Iterator[Conversation | DataError]:
    listed = value.get("messages") if isinstance(value, Mapping) else value
    if not isinstance(listed, list) or not listed:
        yield DataError(where, "is not a conversation: neither a list nor an object with messages")
        return
    system: list[str] = []
    items: list[str | Said] = []
    problem = None
    try:
        for item in _items(listed, where):
            if isinstance(item, _Message):
                system.append(item.text)
            elif items or isinstance(item, str):
                items.append(item)
            elif item.calls:
                raise DataError(where, "has a call before the first message of the user")
    except DataError as error:
        problem = error
    if items:
        yield Conversation(source=where, items=tuple(items), system="\n\n".join(system))
    if problem is not None or not items:
        yield problem or DataError(where, "is not a conversation: no message of a user")


def _items(listed: Sequence[Any], where: str) -> Iterator[str | Said | _Message]:
    """Yield messages of the user, of the agent with its calls answered, and of the system."""
    place = 0
    while place < len(listed):
        start = f"{where}: message {place + 1}"
        message = _message(listed[place], start)
        place += 1
        if message.role == "tool":
            raise DataError(start, "answers no call of the message before it")
        if message.role == "system":
            yield message
        elif message.role == "user":
            yield message.text
        else:
            answers: list[_Message] = []
            while place < len(listed) and len(answers) < len(message.calls):
                answer = _message(listed[place], f"{where}: message {place + 1}")
                if answer.role != "tool":
                    break
                answers.append(answer)
                place += 1
            yield Said(text=message.text, calls=_answered(message, answers, start))


def _answered(said: _Message, answers: Sequence[_Message], where: str) -> tuple[RecordedCall, ...]:
    """Return the calls with their answers: by id, or in order where ids are missing or repeat."""
    if len(answers) < len(said.calls):
        missing = len(said.calls) - len(answers)
        raise DataError(where, f"{missing} of {len(said.calls)} calls have no answer: cut off here")
    ids = [call_id for call_id, _ in said.calls]
    texts = [answer.text for answer in answers]
    if len(set(ids)) == len(ids) and all(ids) and all(answer.answers for answer in answers):
        by_id = {answer.answers: answer.text for answer in answers}
        if by_id.keys() != set(ids):
            raise DataError(where, "the answers carry other ids than the calls")
        texts = [by_id[call_id] for call_id in ids]
    return tuple(
        RecordedCall(tool=call.tool, arguments=call.arguments, answer=text)
        for (_, call), text in zip(said.calls, texts, strict=True)
    )


def _message(value: Any, where: str) -> _Message:
    """Read a message of OpenAI, of ``messages_to_dict`` or of ``dumpd``."""
    fields = value
    if isinstance(value, Mapping):
        if value.get("type") == "constructor" and isinstance(value.get("kwargs"), Mapping):
            name = str((value.get("id") or [""])[-1])
            fields = {**value["kwargs"], "type": name.removesuffix("Chunk").removesuffix("Message")}
        elif isinstance(value.get("data"), Mapping):
            fields = {**value["data"], "type": value.get("type")}
    if not isinstance(fields, Mapping):
        raise DataError(where, "is not a message")
    kind = str(fields.get("role") or fields.get("type")).lower()
    role = _ROLES.get(kind.removesuffix("messagechunk"))
    if role is None:
        raise DataError(where, "is not a message: it has no role that is known")
    calls = fields.get("tool_calls") or ()
    if not calls and isinstance(extra := fields.get("additional_kwargs"), Mapping):
        calls = extra.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise DataError(where, "has tool calls that are not a list")
    return _Message(
        role=role,
        text=_text(fields.get("content")),
        calls=tuple(_call(call, where) for call in calls) if role == "assistant" else (),
        answers=str(fields.get("tool_call_id") or ""),
    )


def _text(content: Any) -> str:
    if isinstance(content, list):
        parts = [
            block.get("text", "") if isinstance(block, Mapping) else block for block in content
        ]
        return "\n".join(str(part) for part in parts if part)
    return content if isinstance(content, str) else "" if content is None else json.dumps(content)


def _call(value: Any, where: str) -> tuple[str, RecordedCall]:
    inner = value.get("function", value) if isinstance(value, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        raise DataError(where, "has a call without a name")
    arguments = inner.get("args", inner.get("arguments", {}))
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            arguments = None
    if not isinstance(arguments, Mapping):
        raise DataError(where, "has a call whose arguments are not a JSON object")
    return str(value.get("id") or ""), RecordedCall(tool=inner["name"], arguments=arguments)
