"""Late results in the form of a provider whose models go on before a call is answered.

A function tool that is offered to OpenAI's Responses API with ``async`` may be answered in any
later request, by the id of its call; the API marks the calls that it makes of it. To such a call
the placeholder is not sent, and its late result is sent as its output. The stored history has both
as for any other call, so another provider can go on with it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from asyncguard.adapters.messages.late_results import parts_of
from asyncguard.adapters.messages.markers import is_ours, is_results

_SUCCEEDED = frozenset({"done", "resolved"})
"""States of calls whose outcome is their tool's result."""


def stays_open(message: ToolMessage, sent: Sequence[AnyMessage]) -> bool:
    """Return True for the placeholder of a call that its provider lets stay unanswered.

    Args:
        message: An answer to a call.
        sent: The messages before it.
    """
    data = message.additional_kwargs.get("lc_data")
    placeholder = isinstance(data, dict) and data.get("kind") == "placeholder"
    return placeholder and is_ours(message) and _open_call(message.tool_call_id, sent) is not None


def as_outputs(
    message: HumanMessage, sent: Sequence[AnyMessage], nonce: str
) -> tuple[list[ToolMessage], HumanMessage | None]:
    """Split a message with late results into outputs of open calls and the rest.

    Args:
        message: A message of the user or the runtime.
        sent: The messages before it.
        nonce: Secret part of the thread's delimiters: without it a text cannot pose as a result.

    Returns:
        The outputs, and the message with the other results, ``None`` if there are none. A message
        that is not the runtime's, or was changed since, is returned as it is.
    """
    data = message.additional_kwargs.get("lc_data")
    if not is_results(message) or not isinstance(data, dict):
        return [], message
    ids, states = data.get("tool_call_ids", ()), data.get("states", ())
    parts = list(parts_of(message.content, nonce))
    if not len(parts) == len(ids) == len(states):
        return [], message
    outputs: list[ToolMessage] = []
    rest: list[Any] = []
    for (whole, content), call_id, state in zip(parts, ids, states, strict=True):
        call = _open_call(call_id, sent)
        if call is None:
            rest += whole
            continue
        status: Any = "success" if state in _SUCCEEDED else "error"
        outputs.append(ToolMessage(content, tool_call_id=call_id, name=call["name"], status=status))
    if not outputs or not rest:
        return outputs, None if outputs else message
    return outputs, message.model_copy(update={"content": rest})


def _open_call(call_id: str, sent: Sequence[AnyMessage]) -> Mapping[str, Any] | None:
    """Return the unanswered call of this id, if the provider marked it as asynchronous."""
    for message in reversed(sent):
        if isinstance(message, ToolMessage) and message.tool_call_id == call_id:
            return None
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                if call["id"] == call_id:
                    return call if call_id in _asynchronous(message) else None
    return None


def _asynchronous(message: AIMessage) -> set[str]:
    """Return the ids of the calls that the Responses API marks, in either form of its content."""
    blocks = message.content if isinstance(message.content, list) else []
    found = set()
    for block in blocks:
        match block:
            case {"type": "function_call", "call_id": str(call_id), "async": True}:
                found.add(call_id)
            case {"type": "tool_call", "id": str(call_id), "extras": {"async": True}}:
                found.add(call_id)
    return found
