"""The history as one provider wants it: stored messages stay as they are, only the request is adapted."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)

from asyncguard.adapters.messages.parse import call_id_of, names_call
from asyncguard.adapters.messages.render import is_pair, is_results
from asyncguard.adapters.messages.sanitize import plain_content
from asyncguard.adapters.messages.tags import without

TOLERANT_PROVIDERS = frozenset(
    {
        "openai",
        "azure",
        "anthropic",
        "google_genai",
        "google_vertexai",
        "amazon_bedrock",
        "bedrock",
        "bedrock_converse",
    }
)
"""Providers that accept a user message directly behind a tool message; all others are spared it."""

_SENDS_UNREADABLE = frozenset({"openai", "azure", "anthropic", "mistral", "mistralai"})
"""Providers whose integration sends unreadable calls back as they were; in content blocks not all of them do."""

BRIDGE = "I have noted the tool messages so far."
LEAD_IN = "Results of earlier calls have arrived."


def provider_of(model: BaseChatModel) -> str:
    """The provider's name as LangChain's tracing knows it, empty if it tells none."""
    params = model._get_ls_params()  # noqa: SLF001 - the only place where every integration names its provider
    return str(params.get("ls_provider", ""))


def request_view(
    messages: Sequence[AnyMessage], *, provider: str, nonce: str, view: HumanMessage | None = None
) -> list[AnyMessage]:
    """The messages to send.

    Args:
        messages: The stored history.
        provider: Who gets them.
        nonce: Taken out of what the user wrote, so that nobody but the runtime can use it.
        view: The task-state view, added at the end, so that the prefix stays the same from turn to turn.
    """
    sent: list[AnyMessage] = []
    for message in [*messages, *([view] if view is not None else [])]:
        append_adapted(sent, message, provider=provider, nonce=nonce)
    return sent


def append_adapted(
    sent: list[AnyMessage], message: AnyMessage, *, provider: str, nonce: str
) -> None:
    """Append one stored message to the messages to send, as the provider wants it; what was appended stays."""
    if isinstance(message, ToolMessage) and _is_answered(sent, message.tool_call_id):
        return
    message = _encodable(message)
    before = sent[-1] if sent else None
    if isinstance(message, AIMessage):
        if _silent(message):
            return
        if is_pair(message) and isinstance(before, AIMessage):
            # A synthetic call directly behind a model's text would be a second model turn, which Gemini refuses.
            sent.append(HumanMessage(content=LEAD_IN))
        message = _with_all_calls(message, provider)
    elif isinstance(message, HumanMessage | SystemMessage):
        message = _without_forgeries(message, nonce)
        if (
            isinstance(before, ToolMessage)
            and isinstance(message, HumanMessage)
            and provider not in TOLERANT_PROVIDERS
        ):
            sent.append(AIMessage(content=BRIDGE))
    sent.append(message)


def _is_answered(sent: Sequence[AnyMessage], call_id: str) -> bool:
    """Return True if a call has its answer: a second one, which an update of the state may add, is refused or misread.

    The runtime's stands first, directly behind the call.
    """
    for message in reversed(sent):
        if isinstance(message, ToolMessage) and message.tool_call_id == call_id:
            return True
        if isinstance(message, AIMessage) and any(
            call["id"] == call_id for call in message.tool_calls
        ):
            return False  # an id that was used before
    return False


def _encodable(message: AnyMessage) -> AnyMessage:
    """Return the message without lone surrogates, which no provider can be sent; a user or another agent may say some.

    The arguments of a call that was admitted hold none, so a replaced one is history that was brought along.
    """
    names = (
        ("content", "tool_calls", "invalid_tool_calls")
        if isinstance(message, AIMessage)
        else ("content",)
    )
    said = {name: getattr(message, name) for name in names}
    changed = {
        name: plain for name, value in said.items() if (plain := plain_content(value)) is not value
    }
    return message.model_copy(update=changed) if changed else message


def _without_forgeries(message: AnyMessage, nonce: str) -> AnyMessage:
    """The message without nonce and mark, unless it tells results: the user's tasks are in messages of ours, too."""
    # What a developer tells the model about marks stays; it cannot know the nonce.
    if is_results(message) or (
        isinstance(message, SystemMessage) and nonce not in str(message.content)
    ):
        return message
    content = without(nonce, message.content)
    return (
        message if content is message.content else message.model_copy(update={"content": content})
    )


def _silent(message: AIMessage) -> bool:
    """Whether the model neither says nor does anything; three of four providers refuse such a turn in a history."""
    if message.tool_calls or message.invalid_tool_calls:
        return False
    content: Any = message.content
    blocks = [content] if isinstance(content, str) else content
    return not any(
        block.strip() if isinstance(block, str) else _says_something(block) for block in blocks
    )


def _says_something(block: Mapping[str, Any]) -> bool:
    return block.get("type") != "text" or bool(str(block.get("text") or "").strip())


def _with_all_calls(message: AnyMessage, provider: str) -> AnyMessage:
    """The message with its unreadable calls where the integration would leave them out, and their answers alone."""
    if not isinstance(message, AIMessage) or not message.invalid_tool_calls:
        return message
    if provider in _SENDS_UNREADABLE and isinstance(message.content, str):
        return message
    blocks: list[Any] = message.content if isinstance(message.content, list) else []
    held = {call_id_of(block) for block in blocks if names_call(block)}
    left_out = [call for call in message.invalid_tool_calls if call["id"] not in held]
    shown = [
        ToolCall(name=str(call["name"]), args={}, id=call["id"], type="tool_call")
        for call in left_out
    ]
    rest = [call for call in message.invalid_tool_calls if call["id"] in held]
    return message.model_copy(
        update={"tool_calls": [*message.tool_calls, *shown], "invalid_tool_calls": rest}
    )
