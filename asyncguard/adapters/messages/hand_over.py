"""Commands of tools that hand over to another agent of the graph around, as the journal keeps them.

A question about another call of the message, or the end of the process, can lie between such a
command and the step in which it takes effect. The journal keeps plain JSON, so of the conversation
that the command passes on only the beginning is kept: all else is in the thread of the agent.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.types import Command

from asyncguard.adapters.messages.sanitize import json_problem

_KEY = Command.PARENT
"""Name in a kept state update; no channel of a graph can have it."""
_OURS = ("messages", "ledger", "asyncguard", "report")
"""Channels of the agent that mean nothing to the graph around, beside the conversation."""


def kept_hand_over(command: Command[Any], call_id: str) -> dict[str, Any] | None:
    """Return a hand-over as plain JSON; ``None`` if it cannot be made again from it.

    Without an answer to its own call in it, the thread of the agent could not tell afterwards that
    it took effect, and would hand over again.

    Args:
        command: Command of a tool to the graph around its agent.
        call_id: The provider's id of the tool's call.
    """
    update = command.update if isinstance(command.update, dict) else {}
    said = update.get("messages")
    goto = command.goto if isinstance(command.goto, list | tuple) else [command.goto]
    if not isinstance(said, list) or not goto or not all(isinstance(node, str) for node in goto):
        return None
    own = [each for each in said if isinstance(each, ToolMessage) and each.tool_call_id == call_id]
    others = [each for each in said if not any(each is answer for answer in own)]
    if not own or not all(getattr(each, "id", None) for each in others):
        return None
    since = others[0].id if others else ""
    rest = {
        name: value
        for name, value in update.items()
        if name not in _OURS and not json_problem({name: value})
    }
    return {**rest, _KEY: {"graph": command.graph, "goto": list(goto), "since": since}}


def is_kept_hand_over(raw: Any) -> bool:
    """Return True if a kept state update hands over."""
    return isinstance(raw, Mapping) and isinstance(raw.get(_KEY), Mapping)


def command_of(kept: Mapping[str, Any]) -> Command[Any]:
    """Return the command of a kept hand-over; :func:`made_whole` adds the conversation."""
    place = kept[_KEY]
    return Command(update=dict(kept), goto=place["goto"], graph=place["graph"])


def made_whole(command: Any, history: Sequence[AnyMessage], message_id: str) -> Any:
    """Add the conversation to the command of a kept hand-over; others stay as they are.

    Args:
        command: Command of a tool to the graph around its agent.
        history: The messages of the agent.
        message_id: Id of the message that made the tool's call.
    """
    if not is_kept_hand_over(command.update):
        return command
    since = command.update[_KEY]["since"]
    places = {message.id: place for place, message in enumerate(history)}
    end = places.get(message_id, len(history) - 1)
    begin = places.get(since, 0) if since else end
    update = {name: value for name, value in command.update.items() if name != _KEY}
    update["messages"] = list(history[begin : end + 1])
    return Command(update=update, goto=command.goto, graph=command.graph)
