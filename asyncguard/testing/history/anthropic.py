"""Anthropic's own rules for the Messages API.

Sources: the "Messages" reference, "Handle tool calls", and its 400 errors. The API merges
consecutive messages of one role, and langchain-anthropic turns tool messages and the user messages
after them into one user turn; both are allowed here. langchain-anthropic also repairs some of what
is refused (it drops empty texts, hashes odd ids, strips trailing white space); a runtime that
relies on that breaks with every other client, so the rules are those of the API.
"""

import re
from collections.abc import Iterator

from asyncguard.testing.history.transcript import (
    Finding,
    Role,
    Rule,
    Transcript,
    is_blank,
    text_blocks,
)

TOOL_USE_ID = re.compile(r"[a-zA-Z0-9_-]+")


def system_messages_come_first(transcript: Transcript) -> Iterator[Finding]:
    """Require that system messages precede all others.

    The system prompt is a field of the request, of Gemini's, too: later system messages are refused
    or lost.
    """
    spoken = False
    for entry in transcript.entries:
        if entry.role is not Role.SYSTEM:
            spoken = True
        elif spoken:
            yield Finding(
                index=entry.index, sentence="A system message stands after the first other message."
            )


def user_speaks_first(transcript: Transcript) -> Iterator[Finding]:
    """Require that the first message has the user's role."""
    if not transcript.dialogue:
        yield Finding(
            index=None, sentence="At least one message beside the system prompt is required."
        )
    elif transcript.dialogue[0].role is not Role.USER:
        yield Finding(
            index=transcript.dialogue[0].index,
            sentence="The first message must have the role 'user'.",
        )


def ids_are_plain(transcript: Transcript) -> Iterator[Finding]:
    """Require that a tool_use id matches '^[a-zA-Z0-9_-]+$'."""
    for group in transcript.groups:
        for call in group.caller.calls:
            if call.id and not TOOL_USE_ID.fullmatch(call.id):
                sentence = f"The tool_use id {call.id!r} does not match '^[a-zA-Z0-9_-]+$'."
                yield Finding(index=group.caller.index, sentence=sentence)


def tool_results_come_first(transcript: Transcript) -> Iterator[Finding]:
    """Require that in the user turn after a call, tool results stand before any other content."""
    user_spoke = False
    for entry in transcript.dialogue:
        if entry.role is Role.TOOL and user_spoke:
            yield Finding(
                index=entry.index,
                sentence="In a user turn, tool_result blocks must come before other content.",
            )
        user_spoke = entry.role is Role.USER or (user_spoke and entry.role is Role.TOOL)


def texts_are_not_empty(transcript: Transcript) -> Iterator[Finding]:
    """Require that text blocks hold more than white space.

    Strings become blocks in a merged turn or beside calls.
    """
    for entry in transcript.entries:
        # An empty string beside calls becomes no block at all; white space does.
        sent = entry.role is Role.USER or (
            entry.role is Role.ASSISTANT and bool(entry.message.content)
        )
        if (sent and is_blank(entry.message)) or any(
            not text.strip() for text in text_blocks(entry.message)
        ):
            yield Finding(
                index=entry.index, sentence="Text content blocks must contain non-whitespace text."
            )


def assistant_content_is_not_empty(transcript: Transcript) -> Iterator[Finding]:
    """Require that only the final assistant message may be empty."""
    for entry in transcript.of(Role.ASSISTANT):
        final = entry is transcript.dialogue[-1]
        if not final and not entry.calls and is_blank(entry.message):
            yield Finding(
                index=entry.index,
                sentence="All messages but a final assistant message must have content.",
            )


def final_text_has_no_trailing_space(transcript: Transcript) -> Iterator[Finding]:
    """Require that a prefill must not end in white space."""
    last = transcript.dialogue[-1] if transcript.dialogue else None
    if last is not None and last.role is Role.ASSISTANT and not last.calls:
        content = last.message.content
        blocks = [content] if isinstance(content, str) else text_blocks(last.message)
        text = blocks[-1] if blocks else ""
        if text != text.rstrip():
            sentence = "Final assistant content cannot end with trailing whitespace."
            yield Finding(index=last.index, sentence=sentence)


def history_ends_with_the_user(transcript: Transcript) -> Iterator[Finding]:
    """Require that the last turn is the user's, because models since Claude 4.6 accept no prefill.

    A tool result counts as the user's.
    """
    last = transcript.dialogue[-1] if transcript.dialogue else None
    if last is not None and last.role is Role.ASSISTANT:
        sentence = (
            "The model does not support assistant prefill; "
            "the conversation must end with a user message."
        )
        yield Finding(index=last.index, sentence=sentence)


ANTHROPIC: tuple[Rule, ...] = (
    system_messages_come_first,
    user_speaks_first,
    ids_are_plain,
    tool_results_come_first,
    texts_are_not_empty,
    assistant_content_is_not_empty,
    final_text_has_no_trailing_space,
    history_ends_with_the_user,
)
"""The rules of Anthropic beside the common ones."""
