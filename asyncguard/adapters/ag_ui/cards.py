"""Tool cards of a run, as a client is told of them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ag_ui.core import (
    EventType,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ag_ui.core import ToolMessage as AGUIToolMessage

from asyncguard.adapters.ag_ui.shown import result_id, words_of
from asyncguard.adapters.ag_ui.streamed_graph import KNOWN, MADE
from asyncguard.core.calls import OPEN_STATES
from asyncguard.core.resume_policy import ANSWERED

_OPEN = frozenset(state.value for state in OPEN_STATES)
_CALL = "asyncguard.call"
_OPENING = (EventType.TOOL_CALL_START, EventType.TOOL_CALL_ARGS, EventType.TOOL_CALL_END)


class Cards:
    """Tool cards of one run, as the client is told of them."""

    def __init__(self) -> None:
        self._guarded: set[str] = set()
        """Calls whose ends the guard tells: what a tool's callback tells is that of an attempt."""
        self._told: set[str] = set()
        """Calls that have their result: clients append each one that they are sent."""
        self._results: dict[str, Any] = {}
        """Results that this run has told. In ``create_agent`` no state has a late one that ends
        after the last checkpoint, before the run stops."""
        self._held: dict[str, list[Any]] = {}
        """Openings of cards from messages that are not streamed, by the ids of their calls.

        A card opens when the guard tells of its call. It tells of no call that is a structured
        answer, which ``hold_text`` keeps back until it is accepted; then the snapshot has it.
        """

    def pass_on(self, event: Any) -> list[Any]:
        """Return the events for the client in place of one of ``ag-ui-langgraph``."""
        if event.type in _OPENING:
            # It leaves out arguments that come in one piece with the tool's name: see MADE.
            return []
        if event.type == EventType.TOOL_CALL_RESULT and event.tool_call_id in self._guarded:
            return []
        if event.type == EventType.MESSAGES_SNAPSHOT:
            return [event.model_copy(update={"messages": self._completed(event.messages)})]
        if event.type != EventType.CUSTOM:
            return [event]
        if event.name == MADE:
            cards = {str(call["id"]): _opening(event, call) for call in event.value["calls"]}
            if event.value["held"]:
                self._held |= cards
                return []
            return [opened for opening in cards.values() for opened in opening]
        if event.name == KNOWN:
            self._guarded.update(event.value)
            self._told.update(call for call, ended in event.value.items() if ended)
            return []
        if event.name == _CALL:
            call_id = event.value["tool_call_id"]
            self._guarded.add(call_id)
            result = [] if call_id in self._told else _result(event.value)
            self._results.update((each.tool_call_id, each) for each in result)
            self._told.update(self._results)
            return [*self._held.pop(call_id, ()), event, *result]
        return [event]

    def _completed(self, messages: Sequence[Any]) -> list[Any]:
        """Return the messages of a snapshot, with the results that no state holds yet."""
        left = {**self._results}
        for each in messages:
            left.pop(getattr(each, "tool_call_id", None) or "", None)
        whole: list[Any] = []
        for each in messages:
            made = [call.id for call in getattr(each, "tool_calls", None) or ()]
            results = [left[call] for call in made if call in left]
            whole += [each, *(_message_of(result) for result in results)]
        return whole


def _message_of(result: ToolCallResultEvent) -> AGUIToolMessage:
    return AGUIToolMessage(
        id=result.message_id,
        role="tool",
        content=result.content,
        tool_call_id=result.tool_call_id,
    )


def _opening(event: Any, call: Mapping[str, Any]) -> list[Any]:
    """Return the events that open the card of a call."""
    call_id, arguments = str(call["id"]), json.dumps(call["args"], default=str)
    return [
        ToolCallStartEvent(
            tool_call_id=call_id,
            tool_call_name=call["name"],
            parent_message_id=event.value["message_id"],
        ),
        ToolCallArgsEvent(tool_call_id=call_id, delta=arguments),
        ToolCallEndEvent(tool_call_id=call_id),
    ]


def _result(card: Mapping[str, Any]) -> list[Any]:
    """Return the result of a call that has ended, none for an open one."""
    if card["state"] in _OPEN:
        return []
    # Of an answer that other middleware wrote, such as a reviewer's, the words alone.
    reason = card["reason"].removeprefix(f"{ANSWERED}: ")
    content = reason if card["content"] is None else card["content"]
    return [
        ToolCallResultEvent(
            tool_call_id=card["tool_call_id"],
            message_id=result_id(card["tool_call_id"]),
            content=words_of(content),
            role="tool",
        )
    ]
