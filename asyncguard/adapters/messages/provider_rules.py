"""Rules of providers for a history: only the request is adapted, stored messages stay unchanged."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
)

from asyncguard.adapters.messages.history import calls_of
from asyncguard.adapters.messages.markers import is_interim, is_pair, is_results, mark
from asyncguard.adapters.messages.native_calls import as_outputs, stays_open
from asyncguard.adapters.messages.parse import call_id_of, names_call
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
"""Providers that accept a user message directly after a tool message; others get a bridge."""

_SENDS_UNREADABLE = frozenset({"openai", "azure", "anthropic", "mistral", "mistralai"})
"""Providers whose integration sends unreadable calls back unchanged.

Not all of them do so for a message of content blocks.
"""

_ASYNCHRONOUS = frozenset({"openai", "azure"})
"""Providers whose models may mark a call as asynchronous; see ``native_calls``."""

BRIDGE = "I have noted the tool messages so far."
LEAD_IN = "Results of earlier calls have arrived."
GO_ON = "Go on."
OPEN_STILL = "Calls are still open. Go on with what needs no result of them, or wait."


def append_adapted(
    sent: list[AnyMessage], message: AnyMessage, *, provider: str, nonce: str
) -> None:
    """Append one stored message to the messages to send, in the form that the provider accepts.

    It never changes earlier entries of ``sent``, so the prefix of a request stays the same.
    """
    if isinstance(message, ToolMessage) and not _is_due(sent, message, provider):
        return
    message = _without_blanks(_encodable(message))
    if isinstance(message, HumanMessage) and provider in _ASYNCHRONOUS:
        outputs, rest = as_outputs(message, sent, nonce)
        sent += outputs
        if rest is None:
            return
        message = rest
    before = sent[-1] if sent else None
    if isinstance(message, AIMessage):
        if _silent(message):
            return
        if is_pair(message) and not isinstance(before, HumanMessage | ToolMessage):
            # A synthetic call directly after a model's text would be a second model turn, which
            # Gemini refuses, as it does a history that begins with one.
            sent.append(HumanMessage(content=LEAD_IN))
        else:
            part_turns(sent)
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


def part_turns(sent: list[AnyMessage]) -> None:
    """Append a user message if a text of a model stands last.

    It was said while calls are open, and without ``GuardConfig.waiting`` the model has the next
    turn at once; or another agent said it, with which the history is shared. Anthropic and Mistral
    refuse a history that ends with the model, and Gemini calls after a turn of the model.
    """
    last = sent[-1] if sent else None
    if isinstance(last, AIMessage) and not (last.tool_calls or last.invalid_tool_calls):
        sent.append(HumanMessage(content=OPEN_STILL if is_interim(last) else GO_ON))


def _is_due(sent: list[AnyMessage], answer: ToolMessage, provider: str) -> bool:
    """Return True if an answer is sent; one that stands alone gets its call before it."""
    if provider in _ASYNCHRONOUS and stays_open(answer, sent):
        return False
    answered = _is_answered(sent, answer.tool_call_id)
    if answered is None:
        append_adapted(sent, _call_again(answer), provider=provider, nonce="")
    return not answered


def _call_again(answer: ToolMessage) -> AIMessage:
    """Return the call of an answer whose own message is gone, as providers refuse it alone.

    Other middleware removes old messages, `SummarizationMiddleware` the call of a question beside
    whose answer the user has spoken. The answer stays one of a tool: in the user's words it could
    instruct the model.
    """
    call = ToolCall(name=answer.name or "tool", args={}, id=answer.tool_call_id, type="tool_call")
    return AIMessage(content="", tool_calls=[call], additional_kwargs=mark("pair"))


def _is_answered(sent: Sequence[AnyMessage], call_id: str) -> bool | None:
    """Return True if a call has its answer already, ``None`` if no message makes the call.

    An update of the state may add a second one, which providers refuse or misread. The runtime's
    own is the first, directly after the call.
    """
    for message in reversed(sent):
        if isinstance(message, ToolMessage) and message.tool_call_id == call_id:
            return True
        if any(call["id"] == call_id for call in calls_of(message)):
            return False  # answers further up belong to an earlier call with the same id
    return None


def _encodable(message: AnyMessage) -> AnyMessage:
    """Return the message without lone surrogates, which cannot be sent to any provider.

    They come from users, other agents, or a history that the caller brought along; arguments of
    admitted calls hold none.
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


def _without_blanks(message: AnyMessage) -> AnyMessage:
    """Return a message of results without blocks of blank text, which Anthropic refuses.

    Tools answer with them: those of an MCP server have a block of text also where it is empty.
    """
    if not isinstance(message, ToolMessage | HumanMessage) or isinstance(message.content, str):
        return message
    kept = [block for block in message.content if not _is_blank(block)]
    if len(kept) == len(message.content) or not (kept or isinstance(message, ToolMessage)):
        return message
    return message.model_copy(update={"content": kept or ""})


def _is_blank(block: Any) -> bool:
    if not isinstance(block, str):
        if block.get("type") != "text":
            return False
        block = block.get("text") or ""
    return isinstance(block, str) and not block.strip()


def _without_forgeries(message: AnyMessage, nonce: str) -> AnyMessage:
    """Return the message without nonce and mark, unless it delivers results.

    Other messages of the runtime are cleaned, too: they quote the user's tasks.
    """
    # A system prompt may explain the mark to the model; the developer cannot know the nonce.
    if is_results(message) or (
        isinstance(message, SystemMessage) and nonce not in str(message.content)
    ):
        return message
    content = without(nonce, message.content)
    return (
        message if content is message.content else message.model_copy(update={"content": content})
    )


def _silent(message: AIMessage) -> bool:
    """Return True for a model turn without text and calls, which most providers refuse."""
    if message.tool_calls or message.invalid_tool_calls:
        return False
    content: Any = message.content
    blocks = [content] if isinstance(content, str) else content
    for block in blocks:
        text = block if isinstance(block, str) else block.get("text")
        if not isinstance(block, str) and block.get("type") != "text":
            return False  # an image or a thought says something, too
        if str(text or "").strip():
            return False
    return True


def _with_all_calls(message: AnyMessage, provider: str) -> AnyMessage:
    """Return the message with the unreadable calls that the integration would leave out.

    Without them their answers would stand alone, which providers refuse.
    """
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
