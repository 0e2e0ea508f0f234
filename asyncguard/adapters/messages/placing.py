"""Answers in their place: directly behind the message that made the calls, whoever wrote between the two meanwhile.

Somebody may add a message to a thread that rests: with the answer to an interrupt, or by ``update_state``.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES


def placed(history: Sequence[AnyMessage], written: Sequence[AnyMessage]) -> list[Any]:
    """What to write so that answers stand where every provider wants them.

    Args:
        history: The stored messages.
        written: What comes behind them.

    Returns:
        ``written``, or the whole history in order, where a message stands between calls and answers at its end, or
        somebody has answered a call to which an answer comes now.
    """
    turn, theirs = _without_theirs(history[_turn_of(history) :], written)
    whole = [*turn, *written]
    last = next((place for place, message in enumerate(whole) if isinstance(message, AIMessage)), 0)
    ids = {str(call["id"]) for call in calls_of(whole[last])} if whole else set()
    answers = [message for message in whole if isinstance(message, ToolMessage) and message.tool_call_id in ids]
    if not theirs and whole[last + 1 : last + 1 + len(answers)] == answers:
        return list(written)
    others = [message for message in whole[last + 1 :] if not any(message is answer for answer in answers)]
    before = history[: _turn_of(history)]
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *before, *whole[: last + 1], *answers, *others]


def _without_theirs(turn: Sequence[AnyMessage], written: Sequence[AnyMessage]) -> tuple[list[AnyMessage], bool]:
    """Return a turn without answers to calls that ``written`` answers, and whether there were any.

    Who updates the state of a thread that rests may have put them there; the runtime's answer is what came of the call.
    """
    answered = {message.tool_call_id for message in written if isinstance(message, ToolMessage)}
    kept = [message for message in turn if not (isinstance(message, ToolMessage) and message.tool_call_id in answered)]
    return kept, len(kept) < len(turn)


def calls_of(message: AnyMessage) -> list[Any]:
    """The calls of a message, unreadable ones among them."""
    return [*message.tool_calls, *message.invalid_tool_calls] if isinstance(message, AIMessage) else []


def _turn_of(history: Sequence[AnyMessage]) -> int:
    """Place of the last message of the model that made calls; the beginning if there is none."""
    return next((place for place in range(len(history) - 1, -1, -1) if calls_of(history[place])), 0)


def added(history: Sequence[AnyMessage], written: Sequence[Any]) -> list[AnyMessage]:
    """The messages that stood between calls and answers, where ``written`` puts the history in order."""
    if not written or not isinstance(written[0], RemoveMessage):
        return []
    return [message for message in history[_turn_of(history) + 1 :] if not isinstance(message, ToolMessage)]
