"""Markers by which programs tell the runtime's messages from those of users, models and tools.

A marker is ``additional_kwargs["lc_source"] == "asyncguard"`` with data in ``lc_data``, whose
``kind`` says what the message is.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    add_notification_metadata,
    get_notification_metadata,
)

from asyncguard.adapters.messages.sanitize import plain_text
from asyncguard.adapters.messages.tags import without
from asyncguard.core.calls import CallState
from asyncguard.core.records import CallRecord

SOURCE = "asyncguard"
"""``lc_source`` of every message that the runtime adds."""
_OURS = frozenset({"lc_source", "lc_data"})
"""Keys by which a message claims to be the runtime's; they are removed from a tool's message."""


def mark(kind: str, **data: Any) -> dict[str, Any]:
    """Return the marker of a message that :func:`note_for_model` does not write."""
    return {"lc_source": SOURCE, "lc_data": {"kind": kind, **data}}


def withheld(message: AnyMessage) -> AnyMessage:
    """Return a model's message without its text, to be taken out; the same if it makes calls."""
    if not isinstance(message, AIMessage) or message.tool_calls or message.invalid_tool_calls:
        return message
    return AIMessage(content="", id=message.id, additional_kwargs=mark("withheld"))


def is_withheld(message: BaseMessage) -> bool:
    """Return True for a message without its text; see :func:`withheld`."""
    data = message.additional_kwargs.get("lc_data")
    return is_ours(message) and isinstance(data, dict) and data.get("kind") == "withheld"


def identified(records: Sequence[CallRecord]) -> dict[str, list[str]]:
    """Return the calls whose results a message holds, in its order, for programs that read it.

    ``tool_call_ids`` are those of the model's own calls: a user interface knows its cards by them.
    """
    return {
        "calls": [record.key for record in records],
        "tool_call_ids": [record.call.call_id for record in records],
        "states": [record.state.value for record in records],
        "guards": [guard_of(record) for record in records],
    }


def guard_of(record: CallRecord) -> str:
    """Return the guard that rejected a call, empty for any other call."""
    return record.guard if record.state is CallState.REJECTED else ""


def note_for_model(
    text: str, kind: str, *, message_id: str | None = None, data: Mapping[str, Any] | None = None
) -> HumanMessage:
    """Return a message of the runtime that holds no result: a reason, a reminder, a view."""
    said = plain_text(without("", text))  # a reason may quote a tool
    return add_notification_metadata(
        HumanMessage(content=said, id=message_id),
        source=SOURCE,
        data={"kind": kind, **(data or {})},
    )


def is_ours(message: BaseMessage) -> bool:
    """Return True if a message claims to be written by the runtime.

    Any caller may set the mark, so it decides about wording only, never about trust.
    """
    found = get_notification_metadata(message)
    return found is not None and found["source"] == SOURCE


def stands_for_result(message: ToolMessage) -> bool:
    """Return True for the runtime's answer to a call whose result, or doubt, is told later."""
    return is_ours(message) and not was_not_executed(message)


def was_not_executed(message: ToolMessage) -> bool:
    """Return True for the runtime's answer to a call that was not run."""
    data = message.additional_kwargs.get("lc_data")
    return is_ours(message) and isinstance(data, dict) and data.get("kind") == "not_executed"


def is_results(message: BaseMessage) -> bool:
    """Return True for the runtime's message with late results; see :func:`is_ours`."""
    data = message.additional_kwargs.get("lc_data")
    return is_ours(message) and isinstance(data, dict) and data.get("kind") == "results"


def told_states(message: BaseMessage) -> list[tuple[str, str]]:
    """Return the calls that a message tells of by its mark, by their ids, with their states."""
    data = message.additional_kwargs.get("lc_data")
    if not is_ours(message) or not isinstance(data, dict):
        return []
    if isinstance(message, ToolMessage):
        in_doubt = data.get("kind") == "in_doubt"
        state = CallState.IN_DOUBT if in_doubt else data.get("state")
        return [(message.tool_call_id, str(state))]
    ids, states = data.get("tool_call_ids"), data.get("states")
    if not isinstance(ids, list) or not isinstance(states, list):
        return []
    return [(str(call_id), str(state)) for call_id, state in zip(ids, states, strict=False)]


def is_interim(message: BaseMessage) -> bool:
    """Return True for a text of the model that it said while calls were open."""
    data = message.additional_kwargs.get("lc_data")
    return is_ours(message) and isinstance(data, dict) and data.get("kind") == "interim"


def is_closing(message: BaseMessage) -> bool:
    """Return True for the runtime's last message of a run that ended without the model."""
    data = message.additional_kwargs.get("lc_data")
    return is_ours(message) and isinstance(data, dict) and data.get("kind") == "ended"


def is_pair(message: BaseMessage) -> bool:
    """Return True if the message is the synthetic call of the pair style."""
    data = message.additional_kwargs.get("lc_data") if isinstance(message, AIMessage) else None
    return isinstance(data, dict) and data.get("kind") == "pair"


def as_a_tools(message: Any) -> Any:
    """Return a tool's message without the runtime's mark; the same object if it has none."""
    if _OURS.isdisjoint(message.additional_kwargs):
        return message
    kept = {name: value for name, value in message.additional_kwargs.items() if name not in _OURS}
    return message.model_copy(update={"additional_kwargs": kept})
