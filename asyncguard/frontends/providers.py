"""The history as one provider wants it: stored messages stay as they are, only the request is adapted."""

from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from asyncguard.frontends.writing import is_ours, is_pair, without

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
    sent = _with_pairs_led_in([_without_nonce(message, nonce) for message in messages])
    if view is not None:
        sent.append(view)
    return sent if provider in TOLERANT_PROVIDERS else _bridged(sent)


def _without_nonce(message: AnyMessage, nonce: str) -> AnyMessage:
    if isinstance(message, HumanMessage | SystemMessage) and not is_ours(message) and nonce in str(message.content):
        return message.model_copy(update={"content": without(nonce, message.content)})
    return message


def _with_pairs_led_in(messages: list[AnyMessage]) -> list[AnyMessage]:
    """A synthetic call directly behind a model's text would be a second model turn in a row, which Gemini refuses."""
    led: list[AnyMessage] = []
    for message in messages:
        if is_pair(message) and led and isinstance(led[-1], AIMessage):
            led.append(HumanMessage(content=LEAD_IN))
        led.append(message)
    return led


def _bridged(messages: list[AnyMessage]) -> list[AnyMessage]:
    bridged: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, HumanMessage) and bridged and isinstance(bridged[-1], ToolMessage):
            bridged.append(AIMessage(content=BRIDGE))
        bridged.append(message)
    return bridged
