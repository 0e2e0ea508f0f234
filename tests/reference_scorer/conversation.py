"""A second account of an episode: calls and counts read from the conversation of the text surface alone.

Written from the rules of the protocol, with the standard library only. The plain loop is assumed: each assistant
message is a tick.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DONE = "ALL COMPLETED"
CALL = {"id", "func_name", "params"}


@dataclass(kw_only=True)
class Account:
    """What happened, in the terms of a saved episode."""

    rounds: int = 0
    idle_turns: int = 0
    format_errors: int = 0
    calls: list[dict[str, Any]] = field(default_factory=list)
    """Each with its task, tool, arguments, ticks of issue and delivery, response and pending calls."""


def account_of(
    messages: Sequence[Mapping[str, Any]], task_ids: Sequence[str], *, strict: bool = False
) -> Account:
    """Return the account of a conversation; the first two messages are the contract and the tasks.

    Args:
        messages: The conversation.
        task_ids: Ids of the tasks.
        strict: True if a text has to be an action and nothing else, as the paper has it.
    """
    account = Account()
    for message in messages[2:]:
        if message["role"] == "assistant":
            account.rounds += 1
            _act(account, message["content"], task_ids, strict=strict)
        else:
            _deliver(account, message["content"])
    return account


def _act(account: Account, text: str, task_ids: Sequence[str], *, strict: bool) -> None:
    objects = objects_in(text)
    first = objects[0] if objects else {}
    # An object that names a function is a call, or was to be one.
    calls = [each for each in objects if "func_name" in each]
    if strict and not _is_one_object(text):
        account.format_errors += 1
    elif not calls and isinstance(first.get("content"), str):
        account.idle_turns += first["content"].strip() != DONE
    elif calls != [first] or not first.keys() >= CALL or not _readable(first, task_ids):
        account.format_errors += 1
    else:
        account.calls.append(
            {
                "task_id": first["id"],
                "tool": first["func_name"],
                "arguments": first["params"],
                "issued": account.rounds,
                "pending_before": _pending(account, first["id"]),
                "response": None,
                "delivered": None,
            }
        )


def _is_one_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _readable(call: Mapping[str, Any], task_ids: Sequence[str]) -> bool:
    types = isinstance(call["func_name"], str) and isinstance(call["params"], dict)
    return types and call["id"] in task_ids


def objects_in(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects that stand in a text one after the other, whatever is between them."""
    found = []
    start = text.find("{")
    while start >= 0:
        try:
            value, end = json.JSONDecoder().raw_decode(text, start)
        except ValueError:
            end = start + 1
        else:
            found.append(value)
        start = text.find("{", end)
    return found


def _pending(account: Account, task_id: str) -> list[int]:
    return [
        number
        for number, call in enumerate(account.calls)
        if call["task_id"] == task_id and call["delivered"] is None
    ]


def _deliver(account: Account, text: str) -> None:
    """Give each result to the earliest pending call that it names."""
    for line in map(json.loads, text.splitlines()):
        if "response" not in line:
            continue
        named = [
            call
            for call in account.calls
            if call["delivered"] is None
            and call["task_id"] == line["id"]
            and _name(call) == line["function name"]
        ]
        # A result of a call that was not taken, as it is where a text is read more strictly than it was, has none.
        for call in named[:1]:
            call.update(delivered=account.rounds, response=line["response"])


def _name(call: Mapping[str, Any]) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in call["arguments"].items())
    return f"{call['tool']}({given})"
