"""A second account of an episode: calls and counts read from the conversation of the text surface alone.

Written from the rules of the protocol, with the standard library only. The plain loop is assumed: each assistant
message is a tick.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DONE = {"content": "ALL COMPLETED"}
CALL = {"id", "func_name", "params"}


@dataclass(kw_only=True)
class Account:
    """What happened, in the terms of a saved episode."""

    rounds: int = 0
    idle_turns: int = 0
    format_errors: int = 0
    calls: list[dict[str, Any]] = field(default_factory=list)
    """Each with its task, tool, arguments, ticks of issue and delivery, response and pending calls."""


def account_of(messages: Sequence[Mapping[str, Any]], task_ids: Sequence[str]) -> Account:
    """Return the account of a conversation; the first two messages are the contract and the tasks."""
    account = Account()
    for message in messages[2:]:
        if message["role"] == "assistant":
            account.rounds += 1
            _act(account, message["content"], task_ids)
        else:
            _deliver(account, message["content"])
    return account


def _act(account: Account, text: str, task_ids: Sequence[str]) -> None:
    objects = objects_in(text)
    first = objects[0] if objects else {}
    calls = [each for each in objects if each.keys() >= CALL]
    if first == DONE:
        return
    if "content" in first and not calls:
        account.idle_turns += 1
    elif first not in calls or len(calls) != 1 or not _readable(first, task_ids):
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
        named[0] |= {"delivered": account.rounds, "response": line["response"]}


def _name(call: Mapping[str, Any]) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in call["arguments"].items())
    return f"{call['tool']}({given})"
