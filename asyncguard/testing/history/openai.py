"""OpenAI's own rules for chat completions.

Sources: API reference, "Create chat completion", and its 400 errors. System and developer messages
may stand anywhere. The Responses API is laxer on ids (64 characters); the stricter limit is
checked, because one history must suit both.
"""

import re
from collections.abc import Iterator

from asyncguard.testing.history.transcript import Finding, Rule, Transcript

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MESSAGE_NAME = re.compile(r"[^\s<|\\/>]+")
LONGEST_ID = 40


def tool_names_are_plain(transcript: Transcript) -> Iterator[Finding]:
    """Require that names of called tools match the pattern of tool names, invented ones too.

    Mistral states the same pattern.
    """
    for group in transcript.groups:
        for call in group.caller.calls:
            if call.name and not TOOL_NAME.fullmatch(call.name):
                sentence = f"The tool name {call.name!r} does not match '^[a-zA-Z0-9_-]{{1,64}}$'."
                yield Finding(index=group.caller.index, sentence=sentence)


def ids_are_short(transcript: Transcript) -> Iterator[Finding]:
    """Require that a call id has at most 40 characters."""
    for group in transcript.groups:
        for call in group.caller.calls:
            if len(call.id) > LONGEST_ID:
                sentence = (
                    f"The call id {call.id!r} is too long: "
                    f"{len(call.id)} characters, at most {LONGEST_ID}."
                )
                yield Finding(index=group.caller.index, sentence=sentence)


def message_names_are_plain(transcript: Transcript) -> Iterator[Finding]:
    r"""Require that a message's `name` has no space and none of `<|\/>`.

    `create_agent(name=...)` sets the name on every answer.
    """
    for entry in transcript.entries:
        name = entry.message.name
        if name is not None and not MESSAGE_NAME.fullmatch(name):
            yield Finding(
                index=entry.index, sentence=rf"The name {name!r} does not match '^[^\s<|\\/>]+$'."
            )


OPENAI: tuple[Rule, ...] = (tool_names_are_plain, ids_are_short, message_names_are_plain)
"""The rules of OpenAI beside the common ones."""
