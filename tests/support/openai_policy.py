"""Policies of the model in tests: replies, failures, and the neutral view of a request.

A policy sees the same `ModelRequest` whichever wire format the client spoke, so one policy (and one
test) serves both surfaces. It answers with a value; the server turns the value into the bytes of
the surface that asked.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count
from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]


class Surface(StrEnum):
    """A wire format, named by the path that speaks it."""

    CHAT = "/v1/chat/completions"
    RESPONSES = "/v1/responses"


class Role(StrEnum):
    """Author of a message; `developer` is folded into `SYSTEM`."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class FinishReason(StrEnum):
    """Reason for which the model stopped, in the words of the chat surface."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool call of the model, its arguments as the raw string that goes over the wire."""

    name: str
    """The tool; need not be a tool that was offered."""
    arguments: str = "{}"
    """Sent as it is, so it may be malformed JSON."""
    id: str | None = None
    """Minted by the server when the policy names none; always set in a request's history."""

    @classmethod
    def of(cls, name: str, /, **arguments: object) -> Call:
        """Return a call with well-formed arguments."""
        return cls(name=name, arguments=json.dumps(arguments))


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Token counts of one reply."""

    input_tokens: int = 1
    """Tokens of the prompt, cached ones included."""
    output_tokens: int = 1
    """Tokens generated, reasoning included."""
    cached_tokens: int = 0
    """The part of `input_tokens` that was read from the prompt cache."""
    reasoning_tokens: int = 0
    """The part of `output_tokens` that was reasoning."""


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One model message: text, tool calls, or both."""

    text: str = ""
    """Empty means that no text part is sent."""
    calls: tuple[Call, ...] = ()
    """Several are parallel calls of one message."""
    finish: FinishReason | None = None
    """None derives it: `TOOL_CALLS` with calls, else `STOP`."""
    usage: Usage = Usage()
    """Reported to the client on both surfaces."""

    @property
    def finish_reason(self) -> FinishReason:
        """The stated reason, or the one that follows from the content."""
        if self.finish is not None:
            return self.finish
        return FinishReason.TOOL_CALLS if self.calls else FinishReason.STOP


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An HTTP error instead of a model message."""

    status: int
    """For example 429, 500 or 503."""
    retry_after: float | None = None
    """Seconds; sent in both header forms that clients read."""
    body: JsonObject | str | None = None
    """None sends the service's own error shape; a string stands for a gateway's page."""


@dataclass(frozen=True, kw_only=True)
class Disconnect:
    """The connection breaks, before anything was sent or in the middle of a stream."""

    reply: Reply | None = None
    """Reply that a stream was carrying when it broke."""
    after_events: int = 0
    """Stream events that still arrive; a request without streaming never gets any byte."""


Answer: TypeAlias = Reply | Failure | Disconnect


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message of the history, the same for both surfaces."""

    role: Role
    """Author of the message."""
    text: str = ""
    """All text parts joined."""
    calls: tuple[Call, ...] = ()
    """Calls of an assistant message."""
    call_id: str | None = None
    """The call that a tool message answers."""


@dataclass(frozen=True, kw_only=True)
class ToolDeclaration:
    """A function tool as it was offered to the model."""

    name: str
    """Its name on the wire."""
    description: str
    """Empty when none was given."""
    parameters: JsonObject
    """The JSON schema of its arguments."""
    strict: bool
    """True if the client asked for strict arguments."""
    asynchronous: bool = False
    """Declared `async` (responses surface): its calls may stay unanswered for a while."""


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """A request which the service would accept."""

    surface: Surface
    """The wire format it came in."""
    model: str
    """The model asked for."""
    messages: tuple[Message, ...]
    """The whole history, stored turns included."""
    tools: tuple[ToolDeclaration, ...]
    """The function tools offered."""
    streaming: bool
    """True if the reply is sent as events."""
    body: JsonObject
    """The body as it was sent."""

    @property
    def results(self) -> Mapping[str, str]:
        """Tool results in the history, by call id."""
        return {
            m.call_id: m.text
            for m in self.messages
            if m.role is Role.TOOL and m.call_id is not None
        }

    def tool(self, name: str) -> ToolDeclaration | None:
        """Return the offered tool of this name, if there is one."""
        return next((tool for tool in self.tools if tool.name == name), None)


Policy: TypeAlias = Callable[[ModelRequest], Answer]


class ScriptExhaustedError(LookupError):
    """The script holds no further answer: the client asked more often than the test foresaw."""

    def __init__(self, asked: int) -> None:
        """Say how many answers there were and that one more was asked for."""
        super().__init__(f"the script held {asked} answers and the client asked for one more")


def scripted(answers: Iterable[Answer]) -> Policy:
    """Return a policy which gives the answers in order to any client; safe for concurrent ones.

    Raises:
        ScriptExhaustedError: From the policy, once the answers are used up; the server reports it as a 500.
    """
    remaining = deque(answers)
    held = len(remaining)
    lock = threading.Lock()

    def policy(_request: ModelRequest) -> Answer:
        with lock:
            if not remaining:
                raise ScriptExhaustedError(held)
            return remaining.popleft()

    return policy


class Ids:
    """Ids in the service's style, counted instead of drawn so that a run repeats exactly."""

    def __init__(self) -> None:
        """Start counting at one."""
        self._numbers = count(1)

    def mint(self, prefix: str) -> str:
        """Return a fresh id; `next` on a counter is atomic, so handler threads may share this."""
        return f"{prefix}{next(self._numbers):08d}"

    def named(self, reply: Reply) -> Reply:
        """Return the reply with an id on every call."""
        return replace(
            reply,
            calls=tuple(
                c if c.id is not None else replace(c, id=self.mint("call_")) for c in reply.calls
            ),
        )
