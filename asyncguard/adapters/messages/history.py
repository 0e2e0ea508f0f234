"""History of a thread: the evidence in it, and its messages in an order that providers accept.

Every answer belongs directly after the message that made its call, although other messages may have
been added in between: with the answer to an interrupt, or by ``update_state`` on a thread that
rests.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command

from asyncguard.adapters.messages.markers import is_ours, is_pair, told_states
from asyncguard.adapters.messages.render import Delivery, text_of
from asyncguard.core.calls import CallState
from asyncguard.core.scoreboard import ForeignDoubt, Scoreboard

_UNJUDGED = (CallState.PROPOSED, CallState.REJECTED, CallState.SQUASHED)
"""States of calls whose arguments no guard has let pass, or that were given up since."""

_UNKNOWN = (CallState.IN_DOUBT, CallState.QUEUED, CallState.PENDING)
"""States of another agent's calls, as a message tells them, after which they may take effect."""


def placed(history: Sequence[AnyMessage], written: Sequence[AnyMessage]) -> list[Any]:
    """Return the messages to write so that answers stand where every provider wants them.

    Args:
        history: The stored messages.
        written: Messages that are added after them.

    Returns:
        ``written``; or the whole history in order, if a message stands between the calls and
        answers at its end, or if another writer has answered a call that is answered now. An answer
        to a call that the caller has removed is left out, as providers refuse it.
    """
    # An update of a resting thread's state may have put answers of its own there; only the
    # runtime's answer is the outcome of the call.
    answered = {message.tool_call_id for message in written if isinstance(message, ToolMessage)}
    since = history[_turn_of(history) :]
    removed = answered - _called(since) - _called(written)
    if removed and (removed := removed - _called(history)):
        written = [
            message
            for message in written
            if not (isinstance(message, ToolMessage) and message.tool_call_id in removed)
        ]
    turn = [
        message
        for message in since
        if not (isinstance(message, ToolMessage) and message.tool_call_id in answered)
    ]
    whole = [*turn, *written]
    last = next((place for place, message in enumerate(whole) if isinstance(message, AIMessage)), 0)
    ids = {str(call["id"]) for call in calls_of(whole[last])} if whole else set()
    answers = [
        message
        for message in whole
        if isinstance(message, ToolMessage) and message.tool_call_id in ids
    ]
    # In order already: the common case, in which only the new messages are written.
    if len(turn) == len(since) and whole[last + 1 : last + 1 + len(answers)] == answers:
        return list(written)
    others = [
        message for message in whole[last + 1 :] if not any(message is answer for answer in answers)
    ]
    # LangGraph can only append or replace by id, so another order means to write everything.
    before = history[: _turn_of(history)]
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *before, *whole[: last + 1], *answers, *others]


def _called(messages: Iterable[AnyMessage]) -> set[str]:
    return {str(call["id"]) for message in messages for call in calls_of(message)}


def calls_of(message: AnyMessage) -> list[Any]:
    """Return the calls of a message, unreadable ones included."""
    return (
        [*message.tool_calls, *message.invalid_tool_calls] if isinstance(message, AIMessage) else []
    )


def readable_calls_of(message: AnyMessage) -> list[Any]:
    """Return the calls of a message, without unreadable ones."""
    return [*message.tool_calls] if isinstance(message, AIMessage) else []


def _turn_of(history: Sequence[AnyMessage]) -> int:
    """Return the index of the last model message with calls, 0 if there is none."""
    return next((place for place in range(len(history) - 1, -1, -1) if calls_of(history[place])), 0)


def added(history: Sequence[AnyMessage], written: Sequence[Any]) -> list[AnyMessage]:
    """Return the messages between calls and answers, if ``written`` replaces the history."""
    if not written or not isinstance(written[0], RemoveMessage):
        return []
    return [
        message
        for message in history[_turn_of(history) + 1 :]
        if not isinstance(message, ToolMessage)
    ]


def collect_evidence(board: Scoreboard, messages: Sequence[AnyMessage]) -> None:
    """Read the evidence from a history: after a restart, or after a change outside the runtime."""
    evidence = board.evidence
    for task in board.ledger.tasks():
        evidence.add(task.task.id, task.task.goal)
    tasks_of = {record.call.call_id: record for record in board.ledger.calls()}
    # Decided by the ledger: messages may be deleted, or repeated in a summary that cannot be
    # distinguished from the user's words.
    tainted = any(record.delivered and board.taints(record) for record in board.ledger.calls())
    if tainted or _holds_foreign_output(messages, tasks_of):
        board.taint()
    for message in messages:
        if (
            isinstance(message, ToolMessage)
            and (record := tasks_of.get(message.tool_call_id)) is not None
        ):
            evidence.add(record.call.task, text_of(message.content))
        elif is_ours(message):
            data = message.additional_kwargs.get("lc_data")
            for key in data.get("calls", []) if isinstance(data, dict) else []:
                if (known := board.ledger.find(str(key))) is not None:
                    evidence.add(known.call.task, text_of(message.content))
                    board.taint_by_output(known)
        elif isinstance(message, HumanMessage | SystemMessage):
            evidence.add_common(text_of(message.content))
    _add_passed_arguments(board)


def _add_passed_arguments(board: Scoreboard) -> None:
    for record in board.ledger.calls():
        if record.state not in _UNJUDGED:
            board.add_arguments(record)


def _holds_foreign_output(messages: Sequence[AnyMessage], known: Collection[str]) -> bool:
    """Return True if a history holds output of calls that the ledger does not know: untrusted."""
    delivered = {
        call["id"]
        for message in messages
        if is_pair(message)
        for call in cast(AIMessage, message).tool_calls
    }
    answers = (message.tool_call_id for message in messages if isinstance(message, ToolMessage))
    return any(call_id not in known and call_id not in delivered for call_id in answers)


def add_user_evidence(board: Scoreboard, messages: Sequence[AnyMessage]) -> None:
    """Add the user's words to the evidence of all tasks.

    A history that the caller brings along may hold output of unknown tools, which taints the
    context.
    """
    if _holds_foreign_output(messages, ()):
        board.taint()
    for message in messages:
        if isinstance(message, HumanMessage | SystemMessage) and not is_ours(message):
            board.evidence.add_common(text_of(message.content))
            board.evidence.request.append(text_of(message.content))


def collect_conversation(board: Scoreboard, messages: Sequence[AnyMessage]) -> None:
    """Read from a history what ``provenance`` counts beside evidence; does nothing without it.

    That are the present request, texts of the model after which the user has spoken, results that
    the ledger holds although their messages may be gone, and, of a history that the caller brought
    along, the calls of another agent and their results.
    """
    if not board.config.provenance:
        return
    evidence = board.evidence
    known = set()
    for record in board.ledger.calls():
        known.add(record.call.call_id)
        if record.delivered and record.content is not None:
            evidence.add(record.call.task, text_of(record.content))
    spoken = (place for place in range(len(messages) - 1, -1, -1) if _is_said(messages[place]))
    heard = messages[: next(spoken, -1) + 1]
    _collect_request(board, heard)
    for message in heard:
        if isinstance(message, AIMessage) and not is_pair(message):
            evidence.add_answered(text_of(message.content))
            for call in message.tool_calls:
                if call["id"] not in known:
                    for name, value in call["args"].items():
                        evidence.add_foreign(f"{name} {value}")
        elif isinstance(message, ToolMessage) and message.tool_call_id not in known:
            evidence.add_foreign(text_of(message.content))


def collect_foreign_doubts(board: Scoreboard, messages: Sequence[AnyMessage]) -> None:
    """Read from a history the calls of another agent, which the ledger lacks, that may be in doubt.

    Its run may have ended while they were running: what became of them is not known here.
    """
    doubted: dict[str, int] = {}
    spoken = -1
    for place, message in enumerate(messages):
        if _is_said(message):
            spoken = place
        for call_id, state in told_states(message):
            if state in _UNKNOWN:
                doubted.setdefault(call_id, place)  # it may be told again after a restart
            else:
                doubted.pop(call_id, None)
    board.doubted_elsewhere([])
    if not doubted:  # the common case
        return
    known = {record.call.call_id for record in board.ledger.calls()}
    made = {call["id"]: call for message in messages for call in readable_calls_of(message)}
    board.doubted_elsewhere(
        [
            ForeignDoubt(made[call_id]["name"], made[call_id]["args"], heard=place < spoken)
            for call_id, place in doubted.items()
            if call_id in made and call_id not in known
        ]
    )


def _collect_request(board: Scoreboard, heard: Sequence[AnyMessage]) -> None:
    request = board.evidence.request
    request.clear()
    for message in heard:
        if _is_said(message):
            request.append(text_of(message.content))
        elif (
            isinstance(message, AIMessage)
            and not calls_of(message)
            and (answer := text_of(message.content))
        ):
            board.evidence.end_request(answer)


def _is_said(message: AnyMessage) -> bool:
    """Return True for words of the user, tasks among them."""
    if not isinstance(message, HumanMessage) or not is_ours(message):
        return isinstance(message, HumanMessage)
    data = message.additional_kwargs.get("lc_data")
    return isinstance(data, dict) and data.get("kind") == "tasks"


def put_in_place(board: Scoreboard, history: Sequence[AnyMessage], delivery: Delivery) -> None:
    """Order a delivery as providers accept it; messages between calls and answers become evidence.

    Args:
        board: Calls and evidence of the thread.
        history: The stored messages.
        delivery: Messages that are added after them; changed in place.
    """
    ordered = placed(history, delivery.messages)
    if between := added(history, ordered):
        add_user_evidence(board, between)
        # The history is written as a whole, and the messages of tools come after it.
        for command in delivery.updates:
            if command.graph is None:
                ordered += command.update.pop("messages", [])
    delivery.messages = ordered


def without_removed(answers: Sequence[AnyMessage], updates: Sequence[Any]) -> list[AnyMessage]:
    """Leave out the answers to calls that a tool's command has removed with the whole history.

    No provider takes an answer without its call, and the thread would keep it.

    Args:
        answers: Messages that are written after the commands.
        updates: Commands of tools.
    """
    kept: set[str] | None = None
    for command in updates:
        messages = command.update.get("messages", ()) if isinstance(command.update, dict) else ()
        if command.graph is None and any(item.id == REMOVE_ALL_MESSAGES for item in messages):
            kept = set()
        if kept is not None:
            said = [item for item in messages if isinstance(item, AIMessage)]
            kept |= {str(call["id"]) for item in said for call in item.tool_calls}
    if kept is None:
        return list(answers)
    return [
        item for item in answers if not isinstance(item, ToolMessage) or item.tool_call_id in kept
    ]


def handed_over(command: Any, message_id: str, answers: Sequence[ToolMessage]) -> Any:
    """Complete the conversation that a tool's command hands over to the graph around the agent.

    A tool sees the history before the results of its own message: without them the next agent could
    take a call that was run for one that was not.

    Args:
        command: Of the tool, to the graph around the agent.
        message_id: Id of the message that made the tool's call.
        answers: Answers to all calls of that message.
    """
    said = command.update.get("messages") if isinstance(command.update, dict) else None
    held = list(said) if isinstance(said, list) else []
    place = next(
        (n for n, each in enumerate(held) if getattr(each, "id", None) == message_id), None
    )
    if place is None:
        return command
    known = {each.tool_call_id for each in held[place:] if isinstance(each, ToolMessage)}
    missing = [each for each in answers if each.tool_call_id not in known]
    update = {**command.update, "messages": [*held[: place + 1], *missing, *held[place + 1 :]]}
    return Command(update=update, goto=command.goto, graph=command.graph)


def repaired(
    messages: Sequence[AnyMessage],
    written: Sequence[AnyMessage],
    answers: Callable[[str, Sequence[Mapping[str, Any]]], Sequence[AnyMessage]],
) -> list[AnyMessage] | None:
    """Have every call answered directly after its message.

    A run that was killed or cancelled leaves its last message without answers, and the user's next
    message stands where they belong. One that handed over leaves it so, too: the answers come back
    with the shared history, after what agents beside it have said.

    Args:
        messages: The history.
        written: Messages that the run adds.
        answers: Makes the answers, in order, to the calls of the message with the given id.

    Returns:
        The whole history, or ``None`` if it is in order already.
    """
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    missing = {
        str(call["id"])
        for message in messages
        for call in calls_of(message)
        if call["id"] not in answered
    }
    strays = _strays(messages)
    if not missing and not strays:
        return None
    ordered: list[Any] = [RemoveMessage(id=REMOVE_ALL_MESSAGES)]
    for place, message in enumerate(messages):
        if place in strays:
            continue
        ordered.append(message)
        if isinstance(message, AIMessage):
            unanswered = [call for call in calls_of(message) if str(call["id"]) in missing]
            ordered += answers(message.id or "", unanswered)
            ordered += [messages[stray] for stray, owner in strays.items() if owner == place]
    return [*ordered, *written]


def _strays(messages: Sequence[AnyMessage]) -> dict[int, int]:
    """Map places of answers that stand apart from their calls to those of the calls' messages."""
    strays: dict[int, int] = {}
    made_at: dict[str, int] = {}
    turn = -1
    for place, message in enumerate(messages):
        if not isinstance(message, ToolMessage):
            turn = place
            made_at.update((str(call["id"]), place) for call in calls_of(message))
        # A second answer stays where it is.
        elif (owner := made_at.pop(message.tool_call_id, turn)) != turn:
            strays[place] = owner
    return strays


def unknown_call(call: Mapping[str, Any]) -> ToolMessage:
    """Return the answer to a call that the ledger does not know: another agent may have run it."""
    text = "The conversation holds no result of this call. It may have been run."
    return ToolMessage(
        content=text, tool_call_id=str(call["id"]), name=str(call["name"]), status="error"
    )
