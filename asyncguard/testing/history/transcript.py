"""What the rules of a history read and say."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage


class Provider(Enum):
    """A provider whose rules can be checked."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    MISTRAL = "mistral"


class Role(Enum):
    """Who speaks in an entry."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Proposed:
    """A tool call in an assistant message."""

    id: str
    """Its id; empty if it has none."""
    name: str
    """The tool's name; empty if it has none."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One message as the rules see it."""

    index: int
    """Place in the history, from 0."""
    role: Role
    """Who speaks."""
    message: BaseMessage
    """The message itself."""
    calls: tuple[Proposed, ...]
    """Its tool calls; invalid ones too, because OpenAI, Anthropic and Mistral are sent those as calls."""
    answers: str | None
    """The call id that a tool message answers; None for other messages."""


@dataclass(frozen=True, kw_only=True)
class Group:
    """An assistant message with calls, and the tool messages directly after it."""

    caller: Entry
    """The assistant message."""
    answers: tuple[Entry, ...]
    """The tool messages, in order; none if another message follows at once."""


@dataclass(frozen=True, kw_only=True)
class Transcript:
    """A history, taken apart once for all rules."""

    entries: tuple[Entry, ...]
    """The messages in order."""

    @cached_property
    def dialogue(self) -> tuple[Entry, ...]:
        """All entries but system messages."""
        return tuple(entry for entry in self.entries if entry.role is not Role.SYSTEM)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Every assistant message with calls, with what directly answers it."""
        found = []
        for entry in self.entries:
            if entry.calls:
                stop = entry.index + 1
                while stop < len(self.entries) and self.entries[stop].role is Role.TOOL:
                    stop += 1
                found.append(Group(caller=entry, answers=self.entries[entry.index + 1 : stop]))
        return tuple(found)

    def of(self, *roles: Role) -> Iterator[Entry]:
        """Yields the entries of these roles in order."""
        return (entry for entry in self.entries if entry.role in roles)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Where a rule is broken, before the rule's name is added."""

    index: int | None
    """The message, from 0; None for the history as a whole."""
    sentence: str
    """What the provider does or says about it."""


Rule: TypeAlias = Callable[[Transcript], Iterator[Finding]]
"""Yields a finding for each breach; its function name is the rule's name in reports."""


def transcribe(messages: Sequence[BaseMessage]) -> Transcript:
    """Takes a history apart."""
    return Transcript(
        entries=tuple(_entry(index, message) for index, message in enumerate(messages))
    )


def text_blocks(message: BaseMessage) -> list[str]:
    """Lists the texts of a message's list content; none for string content, which is no block yet."""
    content: str | list[Any] = message.content
    if isinstance(content, str):
        return []
    return [
        block if isinstance(block, str) else str(block.get("text", ""))
        for block in content
        if isinstance(block, str) or block.get("type") == "text"
    ]


def is_blank(message: BaseMessage) -> bool:
    """Tells whether a message has no content: an empty list, or a string of white space at most."""
    content: str | list[Any] = message.content
    return not content.strip() if isinstance(content, str) else not content


def _entry(index: int, message: BaseMessage) -> Entry:
    match message:
        case AIMessage():
            role = Role.ASSISTANT
            calls = tuple(
                _proposed(call) for call in [*message.tool_calls, *message.invalid_tool_calls]
            )
            return Entry(index=index, role=role, message=message, calls=calls, answers=None)
        case ToolMessage():
            return Entry(
                index=index, role=Role.TOOL, message=message, calls=(), answers=message.tool_call_id
            )
        case HumanMessage():
            role = Role.USER
        case SystemMessage():
            role = Role.SYSTEM
        case _:
            role = Role.UNKNOWN
    return Entry(index=index, role=role, message=message, calls=(), answers=None)


def _proposed(call: Any) -> Proposed:
    return Proposed(id=call.get("id") or "", name=call.get("name") or "")
