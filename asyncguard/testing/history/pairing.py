"""Rules that hold for every provider: the pairing of calls and answers.

OpenAI: "Function calling" guide and the errors of chat completions ("An assistant message with
'tool_calls' must be followed by tool messages ..."). Anthropic: "Handle tool calls" (results
directly after the call, one per call, ids unique). Gemini: "Function calling" (as many response
parts as call parts). Mistral: request validation of its open-source mistral-common ("Not the same
number of function calls and responses").
"""

import json
from collections.abc import Iterator

from asyncguard.testing.history.transcript import Finding, Role, Rule, Transcript


def history_has_messages(transcript: Transcript) -> Iterator[Finding]:
    """Require that a request holds at least one message."""
    if not transcript.entries:
        yield Finding(index=None, sentence="A request without messages is refused.")


def messages_have_a_known_role(transcript: Transcript) -> Iterator[Finding]:
    """Require that only system, user, assistant and tool messages can be sent."""
    for entry in transcript.of(Role.UNKNOWN):
        kind = type(entry.message).__name__
        yield Finding(
            index=entry.index,
            sentence=f"A {kind} is not a message that every provider can be sent.",
        )


def text_can_be_encoded(transcript: Transcript) -> Iterator[Finding]:
    """Require text that UTF-8 can encode: no half of a surrogate pair (RFC 3629, section 3)."""
    names = ("content", "tool_calls", "invalid_tool_calls")
    for entry in transcript.entries:
        said = [getattr(entry.message, name, None) for name in names]
        try:
            # Not as ASCII: escapes would hide what the clients' encoders refuse.
            json.dumps(said, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            yield Finding(
                index=entry.index,
                sentence="Its text holds a lone surrogate and cannot be sent as UTF-8.",
            )


def calls_have_an_id(transcript: Transcript) -> Iterator[Finding]:
    """Require that a call without an id cannot be answered."""
    for group in transcript.groups:
        for call in group.caller.calls:
            if not call.id:
                yield Finding(
                    index=group.caller.index, sentence=f"The call of {call.name!r} has an empty id."
                )


def calls_have_a_name(transcript: Transcript) -> Iterator[Finding]:
    """Require that a call names its tool."""
    for group in transcript.groups:
        for call in group.caller.calls:
            if not call.name:
                yield Finding(
                    index=group.caller.index, sentence=f"The call {call.id!r} names no tool."
                )


def call_ids_are_unique(transcript: Transcript) -> Iterator[Finding]:
    """Require that no id is used for two calls of a history."""
    seen: dict[str, int] = {}
    for group in transcript.groups:
        for call in group.caller.calls:
            if call.id in seen:
                sentence = (
                    f"The call id {call.id!r} was used before, in message {seen[call.id]}; "
                    "ids must be unique."
                )
                yield Finding(index=group.caller.index, sentence=sentence)
            elif call.id:
                seen[call.id] = group.caller.index


def calls_are_answered_at_once(transcript: Transcript) -> Iterator[Finding]:
    """Require that every call is answered before any other message and before the history ends."""
    for group in transcript.groups:
        answered = {answer.answers for answer in group.answers}
        for call in group.caller.calls:
            if call.id and call.id not in answered:
                sentence = (
                    f"The call {call.id!r} of {call.name!r} has no answer "
                    "directly after its message."
                )
                yield Finding(index=group.caller.index, sentence=sentence)


def answers_follow_their_call(transcript: Transcript) -> Iterator[Finding]:
    """Require that every tool message stands directly after the message with its call.

    Other tool messages may stand between them.
    """
    placed = {
        answer.index
        for group in transcript.groups
        for answer in group.answers
        if answer.answers in {call.id for call in group.caller.calls}
    }
    for entry in transcript.of(Role.TOOL):
        if entry.index not in placed:
            sentence = (
                f"The tool message answers {entry.answers!r}, "
                "which the assistant message before it did not call."
            )
            yield Finding(index=entry.index, sentence=sentence)


def calls_are_answered_once(transcript: Transcript) -> Iterator[Finding]:
    """Require that a call has one answer.

    A second one is refused by Anthropic and Gemini, and silently replaces or duplicates the first
    elsewhere.
    """
    seen: dict[str | None, int] = {}
    for entry in transcript.of(Role.TOOL):
        if entry.answers in seen:
            sentence = (
                f"The call {entry.answers!r} was answered before, in message {seen[entry.answers]}."
            )
            yield Finding(index=entry.index, sentence=sentence)
        seen.setdefault(entry.answers, entry.index)


COMMON: tuple[Rule, ...] = (
    history_has_messages,
    messages_have_a_known_role,
    text_can_be_encoded,
    calls_have_an_id,
    calls_have_a_name,
    call_ids_are_unique,
    calls_are_answered_at_once,
    answers_follow_their_call,
    calls_are_answered_once,
)
"""The rules of every provider."""
