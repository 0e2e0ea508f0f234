"""The input items of the responses wire format: what the service keeps, and which histories it refuses.

The pairing rule of this surface is by id: every `function_call` has one `function_call_output` somewhere after it.
Calls of tools that were declared `async` are the exception; their outputs may come in a later request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tests.support.openai_policy import Call, JsonObject, Message, Role
from tests.support.openai_rules import (
    RefusedError,
    check_function,
    check_id,
    check_objects,
    check_text,
)

_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
}
_ID_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
_LONGEST_CALL_ID = 64


class ConversationStore:
    """Finished responses by id, for requests which continue one instead of repeating it."""

    def __init__(self) -> None:
        self._turns: dict[str, list[JsonObject]] = {}
        self._lock = threading.Lock()

    def history(self, body: JsonObject) -> list[JsonObject]:
        """Return all items that a request stands for: those of its predecessors and its own.

        Raises:
            RefusedError: The predecessor is unknown, or the input is neither a text nor items.
        """
        given = body.get("input")
        if isinstance(given, str):
            given = [{"type": "message", "role": "user", "content": given}]
        return [*self._stored(body.get("previous_response_id")), *check_objects(given, "input")]

    def keep(self, body: JsonObject, response: JsonObject) -> None:
        """Remember a finished response, unless the request said not to."""
        if body.get("store") is not False:
            turn = [*self.history(body), *response["output"]]
            with self._lock:
                self._turns[response["id"]] = turn

    def _stored(self, response_id: str | None) -> list[JsonObject]:
        if response_id is None:
            return []
        with self._lock:
            if response_id not in self._turns:
                param = "previous_response_id"
                raise RefusedError(
                    f"No response '{response_id}' is stored",
                    param=param,
                    code="previous_response_not_found",
                )
            return self._turns[response_id]


def read_items(items: list[JsonObject]) -> tuple[Message, ...]:
    """Return the messages that the items stand for.

    Raises:
        RefusedError: The service would refuse the items.
    """
    history = _History()
    for index, item in enumerate(items):
        history.add(item, f"input[{index}]")
    history.check_all_answered()
    return tuple(history.messages)


@dataclass(kw_only=True)
class _History:
    """Reads items in order; an assistant's text and calls become one message, as on the chat surface."""

    messages: list[Message] = field(default_factory=list)
    item_ids: set[str] = field(default_factory=set)
    calls: dict[str, bool] = field(default_factory=dict)
    """Call id to whether it must be answered by now."""
    answered: set[str] = field(default_factory=set)

    def add(self, item: JsonObject, param: str) -> None:
        """Read one item, refusing what does not fit those before it."""
        kind = item.get("type", "message")
        readers: dict[str, Callable[[JsonObject, str], None]] = {
            "message": self._add_message,
            "function_call": self._add_call,
            "function_call_output": self._add_output,
            # Reasoning is opaque to everybody but the model: it only has to come back.
            "reasoning": lambda _item, _param: None,
        }
        if kind not in readers:
            raise RefusedError(f"Invalid value for '{param}.type': {kind!r}", param=f"{param}.type")
        self._check_item_id(item.get("id"), kind, param)
        readers[kind](item, param)

    def check_all_answered(self) -> None:
        """Refuse a call which had to be answered and was not."""
        for call_id, due in self.calls.items():
            if due and call_id not in self.answered:
                raise RefusedError(
                    f"No tool output found for function call {call_id}.", param="input"
                )

    def _check_item_id(self, item_id: str | None, kind: str, param: str) -> None:
        if item_id is None:
            return
        prefix = _ID_PREFIXES.get(kind, "")
        if not item_id.startswith(prefix):
            raise RefusedError(
                f"Invalid '{param}.id': must begin with '{prefix}'", param=f"{param}.id"
            )
        if item_id in self.item_ids:
            raise RefusedError(f"Duplicate item with id {item_id}", param="input")
        self.item_ids.add(item_id)

    def _add_message(self, item: JsonObject, param: str) -> None:
        role = _ROLES.get(item.get("role", ""))
        if role is None:
            raise RefusedError(
                f"Invalid value for '{param}.role'", param=f"{param}.role", code="invalid_value"
            )
        if "name" in item:
            raise RefusedError(
                f"Unknown parameter: '{param}.name'",
                param=f"{param}.name",
                code="unknown_parameter",
            )
        text = check_text(item.get("content"), f"{param}.content")
        if role is Role.ASSISTANT:
            self._extend_assistant(text=text)
        else:
            self.messages.append(Message(role=role, text=text))

    def _add_call(self, item: JsonObject, param: str) -> None:
        call_id = check_id(item.get("call_id"), f"{param}.call_id", longest=_LONGEST_CALL_ID)
        if call_id in self.calls:
            raise RefusedError(f"Duplicate function call with call_id {call_id}", param="input")
        check_function(item.get("name"), item.get("arguments"), param)
        self.calls[call_id] = item.get("async") is not True
        self._extend_assistant(
            call=Call(name=item["name"], arguments=item["arguments"], id=call_id)
        )

    def _add_output(self, item: JsonObject, param: str) -> None:
        call_id = check_id(item.get("call_id"), f"{param}.call_id", longest=_LONGEST_CALL_ID)
        if call_id not in self.calls:
            raise RefusedError(
                f"No tool call found for function call output with call_id {call_id}.",
                param="input",
            )
        if call_id in self.answered:
            raise RefusedError(
                f"Duplicate function call output with call_id {call_id}", param="input"
            )
        text = check_text(item.get("output"), f"{param}.output")
        self.answered.add(call_id)
        self.messages.append(Message(role=Role.TOOL, text=text, call_id=call_id))

    def _extend_assistant(self, *, text: str = "", call: Call | None = None) -> None:
        """Add to the assistant's message at the end, or begin one: items carry no message boundaries."""
        calls = () if call is None else (call,)
        if self.messages and self.messages[-1].role is Role.ASSISTANT:
            last = self.messages[-1]
            self.messages[-1] = replace(last, text=last.text + text, calls=last.calls + calls)
        else:
            self.messages.append(Message(role=Role.ASSISTANT, text=text, calls=calls))
