"""Attributes of the span of a request to the model, by OpenTelemetry's conventions.

Messages are LangChain's, read by their public attributes: this package does not import LangChain.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from asyncguard.observability.observer import ModelCall
from asyncguard.observability.plain import plain

_PROVIDERS: Mapping[str, str] = {
    "amazon_bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "mistralai": "mistral_ai",
    "xai": "x_ai",
}
"""Names of the conventions where LangChain uses another one."""
_ROLES: Mapping[str, str] = {"human": "user", "ai": "assistant"}


def asked(call: ModelCall, *, content: bool) -> dict[str, Any]:
    """Return the attributes of a request that is made.

    Args:
        call: The request.
        content: True to include the messages.
    """
    attributes: dict[str, Any] = {"gen_ai.operation.name": "chat"}
    if call.model:
        attributes["gen_ai.request.model"] = call.model
    if call.provider:
        attributes["gen_ai.provider.name"] = _PROVIDERS.get(call.provider, call.provider)
    if content:
        attributes["gen_ai.input.messages"] = _json([_message(each) for each in call.messages])
    return attributes


def answered(message: Any, *, content: bool) -> dict[str, Any]:
    """Return the attributes of an answer; what the provider does not say is left out.

    Args:
        message: The model's message.
        content: True to include it.
    """
    said: Mapping[str, Any] = getattr(message, "response_metadata", None) or {}
    usage: Mapping[str, Any] = getattr(message, "usage_metadata", None) or {}
    finished = said.get("finish_reason") or said.get("stop_reason")
    found = {
        "gen_ai.response.model": said.get("model_name") or said.get("model"),
        "gen_ai.response.id": said.get("id") or getattr(message, "id", None),
        "gen_ai.response.finish_reasons": [str(finished)] if finished else None,
        "gen_ai.usage.input_tokens": usage.get("input_tokens"),
        "gen_ai.usage.output_tokens": usage.get("output_tokens"),
    }
    if content:
        reason = {"finish_reason": str(finished)} if finished else {}
        found["gen_ai.output.messages"] = _json([_message(message) | reason])
    return {name: value for name, value in found.items() if value is not None}


def _message(message: Any) -> dict[str, Any]:
    """Return a message as role and parts."""
    if message.type == "tool":
        part = {
            "type": "tool_call_response",
            "id": message.tool_call_id,
            "response": plain(message.content),
        }
        return {"role": "tool", "parts": [part]}
    text = str(message.text)
    parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text else []
    parts += [
        {
            "type": "tool_call",
            "id": call["id"],
            "name": call["name"],
            "arguments": plain(call["args"]),
        }
        for call in getattr(message, "tool_calls", ())
    ]
    return {"role": _ROLES.get(message.type, message.type), "parts": parts}


def _json(messages: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(messages, ensure_ascii=False)
