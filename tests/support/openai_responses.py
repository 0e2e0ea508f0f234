"""The responses wire format: write a reply as one response object or as its sequence of stream events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.support.openai_items import ConversationStore, read_items
from tests.support.openai_policy import (
    Call,
    FinishReason,
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
    check_name,
    check_objects,
    check_output_schema,
    check_request,
    check_tools,
)
from tests.support.openai_sse import CREATED, named_event, pieces

_INCOMPLETE = {
    FinishReason.LENGTH: "max_output_tokens",
    FinishReason.CONTENT_FILTER: "content_filter",
}


@dataclass(frozen=True, kw_only=True)
class ResponsesWire:
    """`POST /v1/responses`, with the turns that the service keeps for `previous_response_id`."""

    store: ConversationStore = field(default_factory=ConversationStore)
    """Turns that were sent without `"store": false`."""

    def parse(self, body: JsonObject) -> ModelRequest:
        """Return the neutral view of a request.

        Raises:
            RefusedError: The service would refuse it.
        """
        check_request(body)
        messages = read_items(self.store.history(body))
        if body.get("instructions"):
            messages = (Message(role=Role.SYSTEM, text=body["instructions"]), *messages)
        offered = check_objects(body["tools"], "tools") if body.get("tools") else []
        tools = tuple(_tool(tool, f"tools[{index}]") for index, tool in enumerate(offered))
        check_tools(tools)
        text_format = (body.get("text") or {}).get("format") or {}
        strict = text_format.get("strict") is True
        check_output_schema(
            text_format.get("schema"), text_format.get("name"), strict=strict, param="text.format"
        )
        return ModelRequest(
            surface=Surface.RESPONSES,
            model=body["model"],
            messages=messages,
            tools=tools,
            streaming=body.get("stream") is True,
            body=body,
        )

    def body(self, request: ModelRequest, reply: Reply, ids: Ids) -> JsonObject:
        """Return the reply as one response object."""
        response = _finished(_opened(request, ids), reply, _items(request, reply, ids))
        self.store.keep(request.body, response)
        return response

    def events(self, request: ModelRequest, reply: Reply, ids: Ids) -> Iterator[bytes]:
        """Yield the reply as stream events."""
        opened = _opened(request, ids)
        items = _items(request, reply, ids)
        finished = _finished(opened, reply, items)
        for number, event in enumerate(_sequence(opened, items, finished)):
            if event["type"] == f"response.{finished['status']}":
                # Kept before the client can know the id, and not at all when the stream broke earlier.
                self.store.keep(request.body, finished)
            yield named_event({**event, "sequence_number": number})


def _tool(raw: JsonObject, param: str) -> ToolDeclaration:
    if raw.get("type") != "function" or "function" in raw:
        culprit = f"{param}.{'function' if 'function' in raw else 'type'}"
        raise RefusedError(
            f"Unknown parameter or value: '{culprit}'", param=culprit, code="unknown_parameter"
        )
    return ToolDeclaration(
        name=check_name(raw.get("name"), f"{param}.name"),
        description=raw.get("description") or "",
        parameters=raw.get("parameters") or {},
        strict=raw.get("strict") is True,
        asynchronous=raw.get("async") is True,
    )


def _opened(request: ModelRequest, ids: Ids) -> JsonObject:
    """Return the response object as it stands before anything is generated."""
    asked = request.body
    return {
        "id": ids.mint("resp_"),
        "object": "response",
        "created_at": CREATED,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": asked.get("instructions"),
        "metadata": asked.get("metadata") or {},
        "model": request.model,
        "output": [],
        "parallel_tool_calls": asked.get("parallel_tool_calls", True),
        "previous_response_id": asked.get("previous_response_id"),
        "store": asked.get("store", True),
        "temperature": asked.get("temperature", 1.0),
        "text": asked.get("text") or {"format": {"type": "text"}},
        "tool_choice": asked.get("tool_choice") or "auto",
        "tools": asked.get("tools") or [],
        "top_p": asked.get("top_p", 1.0),
        "truncation": "disabled",
        "usage": None,
    }


def _finished(opened: JsonObject, reply: Reply, items: list[JsonObject]) -> JsonObject:
    """Return the response object as it stands at the end; a cut-off reply is incomplete, not failed."""
    reason = _INCOMPLETE.get(reply.finish_reason)
    return {
        **opened,
        "status": "completed" if reason is None else "incomplete",
        "incomplete_details": None if reason is None else {"reason": reason},
        "output": items,
        "usage": _usage(reply.usage),
    }


def _items(request: ModelRequest, reply: Reply, ids: Ids) -> list[JsonObject]:
    """Return the output items of a reply in their final state."""
    items: list[JsonObject] = []
    if reply.text:
        part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        message = {"type": "message", "role": "assistant", "status": "completed", "content": [part]}
        items.append({"id": ids.mint("msg_"), **message})
    items.extend(_call_item(request, call, ids) for call in reply.calls)
    return items


def _call_item(request: ModelRequest, call: Call, ids: Ids) -> JsonObject:
    item: JsonObject = {
        "id": ids.mint("fc_"),
        "type": "function_call",
        "status": "completed",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
    }
    declared = request.tool(call.name)
    if declared is not None and declared.asynchronous:
        item["async"] = True
    return item


def _sequence(
    opened: JsonObject, items: list[JsonObject], finished: JsonObject
) -> Iterator[JsonObject]:
    """Yield all events of a response in order, without their numbers."""
    yield {"type": "response.created", "response": opened}
    yield {"type": "response.in_progress", "response": opened}
    for index, item in enumerate(items):
        nothing_yet: JsonObject = (
            {"content": []} if item["type"] == "message" else {"arguments": ""}
        )
        begun = {**item, **nothing_yet, "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": index, "item": begun}
        place = {"item_id": item["id"], "output_index": index}
        yield from (
            _text_events(item, place)
            if item["type"] == "message"
            else _argument_events(item, place)
        )
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{finished['status']}", "response": finished}


def _text_events(item: JsonObject, place: JsonObject) -> Iterator[JsonObject]:
    (part,) = item["content"]
    place = {**place, "content_index": 0}
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    for piece in pieces(part["text"]):
        yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}


def _argument_events(item: JsonObject, place: JsonObject) -> Iterator[JsonObject]:
    for piece in pieces(item["arguments"]):
        yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
    done = {"name": item["name"], "arguments": item["arguments"]}
    yield {"type": "response.function_call_arguments.done", **place, **done}


def _usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
