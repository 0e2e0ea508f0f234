"""Transcript of a history: the form in which the rules read it."""

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
    """Speaker of an entry."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Proposed:
    """A tool call in an assistant message."""

    id: str
    """Id of the call; empty if it has none."""
    name: str
    """Name of the tool; empty if it has none."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One message as the rules see it."""

    index: int
    """Place in the history, from 0."""
    role: Role
    """Speaker of the message."""
    message: BaseMessage
    """The message itself."""
    calls: tuple[Proposed, ...]
    """Tool calls, invalid ones included: OpenAI, Anthropic and Mistral are sent those as calls."""
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
        """Every assistant message with calls, with its direct answers."""
        found = []
        for entry in self.entries:
            if entry.calls:
                stop = entry.index + 1
                while stop < len(self.entries) and self.entries[stop].role is Role.TOOL:
                    stop += 1
                found.append(Group(caller=entry, answers=self.entries[entry.index + 1 : stop]))
        return tuple(found)

    def of(self, *roles: Role) -> Iterator[Entry]:
        """Yield the entries of these roles in order."""
        return (entry for entry in self.entries if entry.role in roles)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Place where a rule is broken, before the rule's name is added."""

    index: int | None
    """Index of the message, from 0; None for the history as a whole."""
    sentence: str
    """Reaction of the provider, or its words."""


Rule: TypeAlias = Callable[[Transcript], Iterator[Finding]]
"""Function that yields a finding for each breach; its name is the rule's name in reports."""


def transcribe(messages: Sequence[BaseMessage]) -> Transcript:
    """Return a history as a transcript."""
    return Transcript(
        entries=tuple(_entry(index, message) for index, message in enumerate(messages))
    )


def text_blocks(message: BaseMessage) -> list[str]:
    """Return the texts of a message's list content.

    String content has none: it is not a block yet.
    """
    content: str | list[Any] = message.content
    if isinstance(content, str):
        return []
    return [
        block if isinstance(block, str) else str(block.get("text", ""))
        for block in content
        if isinstance(block, str) or block.get("type") == "text"
    ]


def is_blank(message: BaseMessage) -> bool:
    """Return True if a message has no content: an empty list, or nothing but white space."""
    content: str | list[Any] = message.content
    return not content.strip() if isinstance(content, str) else not content


def _entry(index: int, message: BaseMessage) -> Entry:
    match message:
        case AIMessage():
            role = Role.ASSISTANT
            sent: list[Any] = [*message.tool_calls, *message.invalid_tool_calls]
            calls = tuple(
                Proposed(id=call.get("id") or "", name=call.get("name") or "") for call in sent
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
