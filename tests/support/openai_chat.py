"""The chat completions wire format: parse and check a request, write a reply as one body or as stream chunks.

The pairing rule of this surface is adjacency: the tool messages which answer an assistant message follow it directly,
one for each call, before anything else is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.support.openai_policy import (
    Call,
    Ids,
    JsonObject,
    Message,
    ModelRequest,
    Reply,
    Role,
    Surface,
    ToolDeclaration,
    Usage,
)
from tests.support.openai_rules import (
    RefusedError,
    check_function,
    check_id,
    check_name,
    check_objects,
    check_output_schema,
    check_request,
    check_text,
    check_tools,
)
from tests.support.openai_sse import CREATED, data_event, pieces

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
}
_LONGEST_CALL_ID = 40
_SPEAKER = re.compile(r"[^\s<|\\/>]+")


class ChatWire:
    """`POST /v1/chat/completions`."""

    def parse(self, body: JsonObject) -> ModelRequest:
        """Return the neutral view of a request.

        Raises:
            RefusedError: The service would refuse it.
        """
        check_request(body)
        messages = check_objects(body.get("messages"), "messages")
        offered = check_objects(body["tools"], "tools") if body.get("tools") is not None else []
        tools = tuple(_tool(tool, f"tools[{index}]") for index, tool in enumerate(offered))
        check_tools(tools)
        _check_response_format(body.get("response_format") or {})
        return ModelRequest(
            surface=Surface.CHAT,
            model=body["model"],
            messages=_History().read(messages),
            tools=tools,
            streaming=body.get("stream") is True,
            body=body,
        )

    def body(self, request: ModelRequest, reply: Reply, ids: Ids) -> JsonObject:
        """Return the reply as one completion."""
        message: JsonObject = {
            "role": "assistant",
            "content": reply.text or None,
            "refusal": None,
            "annotations": [],
        }
        if reply.calls:
            message["tool_calls"] = [_call(call, call.arguments) for call in reply.calls]
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": reply.finish_reason,
        }
        frame = _frame(request, "chat.completion", ids)
        return {**frame, "choices": [choice], "usage": _usage(reply.usage)}

    def events(self, request: ModelRequest, reply: Reply, ids: Ids) -> Iterator[bytes]:
        """Yield the reply as stream events, the closing `[DONE]` included."""
        frame = _frame(request, "chat.completion.chunk", ids)
        usage_wanted = (request.body.get("stream_options") or {}).get("include_usage") is True
        if usage_wanted:
            frame["usage"] = None
        for delta in _deltas(reply):
            yield data_event({**frame, "choices": [_choice(delta, None)]})
        yield data_event({**frame, "choices": [_choice({}, reply.finish_reason)]})
        if usage_wanted:
            yield data_event({**frame, "choices": [], "usage": _usage(reply.usage)})
        yield b"data: [DONE]\n\n"


@dataclass(kw_only=True)
class _History:
    """Reads messages in order and knows which calls of the last assistant message still wait for an answer."""

    waiting: list[str] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)

    def read(self, raw: list[JsonObject]) -> tuple[Message, ...]:
        """Return the messages, refusing a history whose calls and answers do not pair."""
        messages = tuple(
            self._message(message, f"messages[{index}]") for index, message in enumerate(raw)
        )
        self._check_nothing_waits()
        return messages

    def _message(self, raw: JsonObject, param: str) -> Message:
        role = _ROLES.get(raw.get("role", ""))
        if role is None:
            raise RefusedError(
                f"Invalid value for '{param}.role'", param=f"{param}.role", code="invalid_value"
            )
        speaker = raw.get("name")
        if speaker is not None and not _SPEAKER.fullmatch(speaker):
            raise RefusedError(
                f"Invalid '{param}.name': must match {_SPEAKER.pattern}", param=f"{param}.name"
            )
        if role is Role.TOOL:
            return self._result(raw, param)
        self._check_nothing_waits()
        self.answered.clear()
        calls = self._calls(raw, param) if role is Role.ASSISTANT else ()
        silent = bool(calls) and raw.get("content") is None
        text = "" if silent else check_text(raw.get("content"), f"{param}.content")
        return Message(role=role, text=text, calls=calls)

    def _result(self, raw: JsonObject, param: str) -> Message:
        call_id = check_id(
            raw.get("tool_call_id"), f"{param}.tool_call_id", longest=_LONGEST_CALL_ID
        )
        if call_id in self.answered:
            raise RefusedError(f"Duplicate tool message for tool_call_id '{call_id}'", param=param)
        if call_id not in self.waiting:
            raise RefusedError(
                f"A message with role 'tool' must answer a preceding message with 'tool_calls'; nothing asked for "
                f"'{call_id}'",
                param=f"{param}.role",
            )
        self.waiting.remove(call_id)
        self.answered.add(call_id)
        return Message(
            role=Role.TOOL, text=check_text(raw.get("content"), f"{param}.content"), call_id=call_id
        )

    def _calls(self, raw: JsonObject, param: str) -> tuple[Call, ...]:
        if raw.get("tool_calls") is None:
            return ()
        param = f"{param}.tool_calls"
        calls = check_objects(raw["tool_calls"], param)
        return tuple(self._call(call, f"{param}[{index}]") for index, call in enumerate(calls))

    def _call(self, raw: JsonObject, param: str) -> Call:
        call_id = check_id(raw.get("id"), f"{param}.id", longest=_LONGEST_CALL_ID)
        if call_id in self.waiting:
            raise RefusedError(f"Duplicate tool call id '{call_id}'", param=f"{param}.id")
        function = raw.get("function") or {}
        if raw.get("type") != "function":
            raise RefusedError(
                f"Invalid value for '{param}.type'", param=f"{param}.type", code="invalid_value"
            )
        check_function(function.get("name"), function.get("arguments"), f"{param}.function")
        self.waiting.append(call_id)
        return Call(name=function["name"], arguments=function["arguments"], id=call_id)

    def _check_nothing_waits(self) -> None:
        if self.waiting:
            raise RefusedError(
                "An assistant message with 'tool_calls' must be followed by a tool message for each 'tool_call_id'; "
                f"these have none: {', '.join(self.waiting)}",
                param="messages",
            )


def _tool(raw: JsonObject, param: str) -> ToolDeclaration:
    unknown = sorted(set(raw) - {"type", "function"})
    if raw.get("type") != "function" or unknown:
        culprit = f"{param}.{unknown[0] if unknown else 'type'}"
        raise RefusedError(
            f"Unknown parameter or value: '{culprit}'", param=culprit, code="unknown_parameter"
        )
    function = raw.get("function") or {}
    return ToolDeclaration(
        name=check_name(function.get("name"), f"{param}.function.name"),
        description=function.get("description") or "",
        parameters=function.get("parameters") or {},
        strict=function.get("strict") is True,
    )


def _check_response_format(response_format: JsonObject) -> None:
    if response_format.get("type") == "json_schema":
        schema = response_format.get("json_schema") or {}
        strict = schema.get("strict") is True
        check_output_schema(
            schema.get("schema"), schema.get("name"), strict=strict, param="response_format"
        )


def _frame(request: ModelRequest, kind: str, ids: Ids) -> JsonObject:
    """Return the fields which a completion and each chunk of it share."""
    return {
        "id": ids.mint("chatcmpl-"),
        "object": kind,
        "created": CREATED,
        "model": request.model,
        "service_tier": "default",
        "system_fingerprint": None,
    }


def _call(call: Call, arguments: str) -> JsonObject:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _choice(delta: JsonObject, finish_reason: str | None) -> JsonObject:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _deltas(reply: Reply) -> Iterator[JsonObject]:
    """Yield the message piece by piece: role, text, then call after call."""
    yield {"role": "assistant", "content": "" if reply.text else None, "refusal": None}
    for piece in pieces(reply.text):
        yield {"content": piece}
    for index, call in enumerate(reply.calls):
        yield {"tool_calls": [{"index": index, **_call(call, "")}]}
        for piece in pieces(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "audio_tokens": 0,
        },
    }
