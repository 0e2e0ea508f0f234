"""Gemini's own rules.

Sources: "Function calling" and "Thought signatures" in its API documentation, and its 400 errors.
"""

from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessage

from asyncguard.testing.completion import GEMINI_SIGNATURES
from asyncguard.testing.history.anthropic import system_messages_come_first
from asyncguard.testing.history.transcript import (
    Finding,
    Role,
    Rule,
    Transcript,
    is_blank,
    text_blocks,
)


def calls_follow_a_user_or_a_response(transcript: Transcript) -> Iterator[Finding]:
    """Require that a turn with function calls follows a user turn or a function response turn."""
    previous = None
    for entry in transcript.dialogue:
        if entry.calls and previous not in (Role.USER, Role.TOOL):
            sentence = (
                "A function call turn must come immediately after "
                "a user turn or a function response turn."
            )
            yield Finding(index=entry.index, sentence=sentence)
        previous = entry.role


def responses_are_as_many_as_calls(transcript: Transcript) -> Iterator[Finding]:
    """Require that a function response turn has as many parts as the call turn before it."""
    for group in transcript.groups:
        wanted, given = len(group.caller.calls), len(group.answers)
        if wanted != given:
            sentence = (
                f"{wanted} function call part(s), but {given} function response part(s): "
                "they must be equal."
            )
            yield Finding(index=group.caller.index, sentence=sentence)


def parts_are_not_empty(transcript: Transcript) -> Iterator[Finding]:
    """Require that a turn has at least one part, and a text part has text."""
    for entry in transcript.of(Role.USER, Role.ASSISTANT):
        empty = not entry.calls and is_blank(entry.message)
        if empty or any(not text for text in text_blocks(entry.message)):
            yield Finding(
                index=entry.index,
                sentence="A turn must include at least one part, and a text part its text.",
            )


def calls_are_signed(transcript: Transcript) -> Iterator[Finding]:
    """Require a thought signature on the first call of each step of the current turn (Gemini 3).

    The current turn begins after the last user message; earlier ones are not validated. Later calls
    of a parallel step have none by design. A call made up by a runtime has none and is refused;
    langchain-google-genai since 4.x stamps it with the documented bypass value, which counts as a
    signature here when it stands in the message.
    """
    start = max((entry.index for entry in transcript.of(Role.USER)), default=-1)
    for entry in transcript.of(Role.ASSISTANT):
        message = entry.message
        if entry.index <= start or not isinstance(message, AIMessage) or not message.tool_calls:
            continue
        first = message.tool_calls[0]
        # langchain-google-genai keeps signatures beside the content, by id of the call, or in it.
        by_id: dict[str | None, Any] = message.additional_kwargs.get(GEMINI_SIGNATURES) or {}
        blocks = message.content if isinstance(message.content, list) else []
        signed = bool(by_id.get(first["id"])) or any(
            _signs_first(block, first["id"]) for block in blocks if isinstance(block, dict)
        )
        if not signed:
            sentence = f"The function call of {first['name']!r} is missing a thought_signature."
            yield Finding(index=entry.index, sentence=sentence)


def history_ends_with_the_user(transcript: Transcript) -> Iterator[Finding]:
    """Require that Gemini 3 on Vertex AI refuses a request that ends with a model turn."""
    last = transcript.dialogue[-1] if transcript.dialogue else None
    if last is not None and last.role is Role.ASSISTANT:
        yield Finding(
            index=last.index, sentence="Requests ending with a model turn are not supported."
        )


def _signs_first(block: dict[str, Any], first: str | None) -> bool:
    # langchain-google-genai has written signatures beside the call (early versions, with the call's
    # index) and, in standard content blocks, on the call itself.
    if block.get("type") == "function_call_signature":
        return block.get("index", 0) == 0 and bool(block.get("signature"))
    if block.get("type") == "tool_call" and block.get("id") == first:
        extras = block.get("extras")
        return bool(extras.get("signature")) if isinstance(extras, dict) else False
    return False


GEMINI: tuple[Rule, ...] = (
    system_messages_come_first,
    calls_follow_a_user_or_a_response,
    responses_are_as_many_as_calls,
    parts_are_not_empty,
)
"""The rules of every Gemini beside the common ones."""

GEMINI_3: tuple[Rule, ...] = (calls_are_signed, history_ends_with_the_user)
"""Additional rules of Gemini 3 and later."""
