"""A thread's messages as a user interface shows them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from asyncguard.adapters.messages.late_results import parts_of
from asyncguard.adapters.messages.markers import as_a_tools, is_ours, mark
from asyncguard.adapters.messages.render import MessageRenderer
from asyncguard.config import GuardConfig
from asyncguard.core.calls import CallState
from asyncguard.core.event_codec import from_json
from asyncguard.core.ledger import Ledger
from asyncguard.core.scoreboard import Scoreboard

_UNREADABLE = "(the result cannot be read)"
"""Shown in place of the results of a message whose parts do not match its calls."""
_TOOL_ERRORS = (CallState.FAILED, CallState.IN_DOUBT)
_SHOWN = (None, "interim", "question", "ended")
"""Kinds of the messages for users: what they or the model have said, and why a run ended."""


def shown_messages(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return a history as a user interface shows it, without the messages written for the model.

    A call has a tool message once its result is there: the late result stands in the place of the
    placeholder or the doubt, marked as if it had come at once, and a placeholder without one is
    left out. A call that was not run does not count as an error of its tool.

    Args:
        messages: Of the state.
    """
    late: dict[str, _Late] = {}
    for message in messages:
        data = _data(message)
        if data.get("kind") not in ("results", "pair"):
            continue
        if data["kind"] == "results":
            texts = _texts(message, data)
        else:
            texts = _pair_texts(messages, message, data)
        # Messages of older releases have no states.
        states = dict(zip(data.get("tool_call_ids", ()), data.get("states", ()), strict=False))
        late |= {call: _Late(states.get(call, "done"), text) for call, text in texts.items()}
    shown: list[AnyMessage] = []
    synthetic: set[str] = set()
    for message in messages:
        kind = _data(message).get("kind")
        if kind == "pair":
            synthetic |= {str(call["id"]) for call in getattr(message, "tool_calls", ())}
        elif isinstance(message, ToolMessage):
            if message.tool_call_id not in synthetic:
                shown += _answer(message, kind, late)
        elif kind in _SHOWN:
            shown.append(message)
    return shown


def _data(message: AnyMessage) -> Mapping[str, Any]:
    data = message.additional_kwargs.get("lc_data") if is_ours(message) else None
    return data if isinstance(data, dict) else {}


def _texts(message: AnyMessage, data: Mapping[str, Any]) -> dict[str, str]:
    """Return the late results of a message, by the ids of the model's own calls."""
    ids = data.get("tool_call_ids", ())
    parts = [words_of(part.content) for part in parts_of(message.content)]
    # Other middleware may have changed the message. No result is better than that of another call.
    return dict(
        zip(ids, parts if len(parts) == len(ids) else [_UNREADABLE] * len(ids), strict=True)
    )


def words_of(content: Any) -> str:
    """Return a result in the protocol's form; a block without text as JSON."""
    blocks = content if isinstance(content, list) else [content]
    texts = [
        block.get("text") if isinstance(block, dict) and block.get("type") == "text" else block
        for block in blocks
    ]
    return "".join(
        text if isinstance(text, str) else json.dumps(block, default=str)
        for text, block in zip(texts, blocks, strict=True)
    )


def _pair_texts(
    messages: Sequence[AnyMessage], pair: AnyMessage, data: Mapping[str, Any]
) -> dict[str, str]:
    """Return the results of the pair style, by the ids of the model's own calls."""
    made = [str(call["id"]) for call in getattr(pair, "tool_calls", ())]
    texts = {
        each.tool_call_id: words_of(each.content)
        for each in messages
        if isinstance(each, ToolMessage)
    }
    ids = zip(data.get("tool_call_ids", ()), made, strict=False)
    return {own: texts[synthetic] for own, synthetic in ids if synthetic in texts}


class _Late(NamedTuple):
    """Late result of a call."""

    state: str
    text: str

    def in_place_of(self, message: ToolMessage) -> ToolMessage:
        status = "error" if self.state in _TOOL_ERRORS else "success"
        shown: ToolMessage = as_a_tools(message)
        shown = shown.model_copy(update={"content": self.text, "status": status})
        if self.state == CallState.IN_DOUBT:
            shown.additional_kwargs = shown.additional_kwargs | mark("in_doubt")
        return shown


def _answer(message: ToolMessage, kind: Any, late: Mapping[str, _Late]) -> list[AnyMessage]:
    if kind in ("placeholder", "in_doubt") and message.tool_call_id in late:
        return [late[message.tool_call_id].in_place_of(message)]
    if kind == "placeholder":
        return []
    if kind == "not_executed":
        return [message.model_copy(update={"status": "success"})]
    if isinstance(message.content, str):
        return [message]
    # `ag-ui-langgraph` would show the first block of text alone.
    return [message.model_copy(update={"content": words_of(message.content)})]


def with_untold(state: Mapping[str, Any]) -> list[AnyMessage]:
    """Return the history with the ends that wait for the model's next turn, as the cards have them.

    Of a result larger than the default of ``max_output_bytes`` it is the beginning: no state holds
    the agent's own limit.
    """
    if "asyncguard" not in state:
        return list(state["messages"])  # other middleware asked before the guard's first step
    ledger = Ledger()
    for event in state.get("ledger") or ():
        ledger.apply(from_json(event))
    board = Scoreboard(config=GuardConfig(), ledger=ledger)
    texts = MessageRenderer(board, {}, state["asyncguard"]["nonce"])
    ended = {
        record.call.call_id: texts.ended(record).model_copy(
            update={"id": result_id(record.call.call_id)}
        )
        for record in [*ledger.unanswered(), *ledger.news()]
        if not record.open
    }
    answers = [each for each in state["messages"] if isinstance(each, ToolMessage)]
    answered = {message.tool_call_id for message in answers}
    history: list[AnyMessage] = []
    for message in state["messages"]:
        own = ended.get(message.tool_call_id) if isinstance(message, ToolMessage) else None
        history.append(own or message)
        made = message.tool_calls if isinstance(message, AIMessage) else ()
        history += [
            ended[call["id"]] for call in made if call["id"] in ended and call["id"] not in answered
        ]
    return history


def result_id(call_id: str) -> str:
    """Return the id of the message that holds the result of a call."""
    return f"result-{call_id}"
