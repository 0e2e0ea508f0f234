"""Mistral's own rules.

Sources: its API's "invalid_request_message_order" errors, and its open-source request validation.
Call ids must be nine letters or digits on the wire. langchain-mistralai rewrites others on both
sides of a pair, so ids are not checked here.
"""

from collections.abc import Iterator

from asyncguard.testing.history.openai import tool_names_are_plain
from asyncguard.testing.history.transcript import Finding, Role, Rule, Transcript

# Later versions of mistral-common let a user message follow a tool message; the API does not.
FOLLOWERS: dict[Role, frozenset[Role]] = {
    Role.SYSTEM: frozenset({Role.SYSTEM, Role.USER, Role.ASSISTANT}),
    Role.USER: frozenset({Role.SYSTEM, Role.USER, Role.ASSISTANT}),
    Role.ASSISTANT: frozenset({Role.USER, Role.ASSISTANT, Role.TOOL}),
    Role.TOOL: frozenset({Role.ASSISTANT, Role.TOOL}),
}


def roles_follow_in_order(transcript: Transcript) -> Iterator[Finding]:
    """Require that each role is followed by one that may follow it.

    Above all, no user message stands directly after a tool message.
    """
    for before, entry in zip(transcript.entries, transcript.entries[1:], strict=False):
        # An unknown role is reported by its own rule.
        allowed = FOLLOWERS.get(before.role)
        if allowed is not None and entry.role in FOLLOWERS and entry.role not in allowed:
            sentence = f"Unexpected role '{entry.role.value}' after role '{before.role.value}'."
            yield Finding(index=entry.index, sentence=sentence)


def history_ends_with_user_or_tool(transcript: Transcript) -> Iterator[Finding]:
    """Require that the last role is user or tool.

    An assistant message to be continued (`prefix`) is allowed, too.
    """
    last = transcript.entries[-1] if transcript.entries else None
    if (
        last is not None
        and last.role is Role.ASSISTANT
        and not last.message.additional_kwargs.get("prefix")
    ):
        sentence = (
            "Expected last role User or Tool (or Assistant with prefix True), but got assistant."
        )
        yield Finding(index=last.index, sentence=sentence)


def assistant_says_or_calls(transcript: Transcript) -> Iterator[Finding]:
    """Require that an assistant message has content or calls.

    langchain-mistralai drops the content beside calls.
    """
    for entry in transcript.of(Role.ASSISTANT):
        if not entry.calls and not entry.message.content:
            sentence = "An assistant message must have either content or tool calls."
            yield Finding(index=entry.index, sentence=sentence)


def prefix_is_last(transcript: Transcript) -> Iterator[Finding]:
    """Require that only the last message can be continued."""
    for entry in transcript.of(Role.ASSISTANT):
        if entry is not transcript.entries[-1] and entry.message.additional_kwargs.get("prefix"):
            yield Finding(
                index=entry.index,
                sentence="An assistant message with prefix True must be the last message.",
            )


def lone_message_is_no_answer(transcript: Transcript) -> Iterator[Finding]:
    """Require that a single message is the user's or the system's."""
    if len(transcript.entries) == 1 and transcript.entries[0].role in (Role.ASSISTANT, Role.TOOL):
        sentence = "A conversation must start with a user message or a system message."
        yield Finding(index=0, sentence=sentence)


MISTRAL: tuple[Rule, ...] = (
    roles_follow_in_order,
    history_ends_with_user_or_tool,
    assistant_says_or_calls,
    prefix_is_last,
    lone_message_is_no_answer,
    tool_names_are_plain,
)
"""The rules of Mistral beside the common ones."""
