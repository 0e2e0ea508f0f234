"""Completion of an answer with what a provider adds, and its division into stream chunks."""

import base64
import json
import re
from collections.abc import Iterator, Sequence

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk

GEMINI_SIGNATURES = "__gemini_function_call_thought_signatures__"
"""Key of `additional_kwargs` where langchain-google-genai keeps signatures, by tool call id."""


def completed(message: AIMessage, request: Sequence[BaseMessage], *, signed: bool) -> AIMessage:
    """Add usage, finish reason and, if asked, a thought signature, where the message has none."""
    if message.usage_metadata is None:
        # Four characters a token: near enough for budgets, and the same on every machine.
        asked = sum(len(str(part.content)) for part in request) // 4
        arguments = sum(len(json.dumps(call["args"])) for call in message.tool_calls)
        answered = (len(str(message.content)) + arguments) // 4
        message.usage_metadata = UsageMetadata(
            input_tokens=asked, output_tokens=answered, total_tokens=asked + answered
        )
    finish = "tool_calls" if message.tool_calls or message.invalid_tool_calls else "stop"
    message.response_metadata = {
        "model_name": "scripted",
        "finish_reason": finish,
        **message.response_metadata,
    }
    if signed and message.tool_calls:
        first = message.tool_calls[0]["id"]
        signature = base64.b64encode(f"signature of {first}".encode()).decode()
        message.additional_kwargs.setdefault(GEMINI_SIGNATURES, {str(first): signature})
    return message


def chunks_of(message: AIMessage) -> Iterator[AIMessageChunk]:
    """Yield chunks that add up to a message: text by words, each call's arguments in two pieces."""
    content = message.content
    # Blocks stay whole: how they are cut differs from provider to provider.
    words = re.findall(r"\S*\s*", content)[:-1] if isinstance(content, str) else [content]
    for word in words:
        yield AIMessageChunk(content=word, id=message.id)
    whole: list[tuple[str | None, str | None, str]] = [
        (call["name"], call["id"], json.dumps(call["args"])) for call in message.tool_calls
    ]
    whole += [(call["name"], call["id"], call["args"] or "") for call in message.invalid_tool_calls]
    for index, (name, identity, arguments) in enumerate(whole):
        middle = len(arguments) // 2
        # Name and id come with the first piece alone; the index joins the second one to it.
        for piece in (
            tool_call_chunk(name=name, id=identity, args=arguments[:middle], index=index),
            tool_call_chunk(args=arguments[middle:], index=index),
        ):
            yield AIMessageChunk(content="", id=message.id, tool_call_chunks=[piece])
    yield AIMessageChunk(
        content="",
        id=message.id,
        name=message.name,
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
        usage_metadata=message.usage_metadata,
        chunk_position="last",
    )
