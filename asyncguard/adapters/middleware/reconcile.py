"""Reconciliation with a history that other middleware of ``create_agent`` may write answers to."""

import logging
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from langchain.agents.middleware import ModelResponse
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableConfig
from langgraph.prebuilt.tool_node import ToolCallRequest

from asyncguard.adapters.answered_calls import (
    SKIPPED,
    UNISSUED,
    accept_answers,
    answers_of_others,
    drop_changed,
    is_as_judged,
    written,
)
from asyncguard.adapters.langchain_internals import edits_of
from asyncguard.adapters.langgraph_internals.answers import answers_of, scratchpad_of
from asyncguard.adapters.messages.history import readable_calls_of
from asyncguard.adapters.messages.markers import is_withheld, withheld
from asyncguard.adapters.messages.run_messages import ANSWER_NOT_ALONE
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.run.turn import judge_left
from asyncguard.adapters.threads.runnable_config import thread_of
from asyncguard.adapters.ui_events import emit
from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.records import CallRecord
from asyncguard.runtime.resume.case import Hands

_log = logging.getLogger("asyncguard")


WITHOUT_WRAPPERS = UNISSUED
"""States of open calls that may need a wrapper to run."""


def without_wrappers(run: Run) -> list[CallRecord]:
    """Return the open calls that may need a wrapper to run."""
    return run.ledger.in_state(*WITHOUT_WRAPPERS)


def open_among(run: Run, ids: Collection[str]) -> frozenset[str]:
    """Return the keys of the calls with these ids in the newest message, if they are open."""
    newest = run.ledger.last_message
    return frozenset(
        record.key
        for record in without_wrappers(run)
        if record.call.call_id in ids and record.call.message_id == newest
    )


def changed_outside(request: ToolCallRequest, record: CallRecord, task_argument: str) -> bool:
    """Return True if a call is not the one that was judged: middleware has changed it.

    It may have changed the call in place, and thereby the one in the history.

    Args:
        request: Of the wrapper.
        record: The call.
        task_argument: Name of the task argument, which the judged call may lack.
    """
    now, made = request.tool_call, _made(request)
    if made is not None and (made["name"], made["args"]) != (now["name"], now["args"]):
        return True
    # The call that a reviewer wrote differs from the model's.
    return not record.edited and not is_as_judged(now, record, task_argument)


def as_changed(request: ToolCallRequest, task_argument: str) -> ToolCallRequest:
    """Return the request for a call that shadow mode runs as other middleware has changed it.

    Args:
        request: Of the wrapper.
        task_argument: Name of the task argument, which tools do not know.
    """
    now = request.tool_call
    _log.warning(
        "Other middleware changed a call of %s in thread %r after the guard had judged it, and "
        "outside of shadow mode it is not run; list middleware that changes calls after "
        "AsyncGuardMiddleware.",
        now["name"],
        thread_of(request.runtime.config),
    )
    kept = {name: value for name, value in now["args"].items() if name != task_argument}
    return request.override(tool_call={**now, "args": kept})


def restore_judged(request: ToolCallRequest, record: CallRecord, task_argument: str) -> None:
    """Undo the change of a call in place: the history shows the call that was judged.

    Args:
        request: Of the wrapper.
        record: The call.
        task_argument: Name of the task argument.
    """
    made = _made(request)
    if made is None or record.edited or is_as_judged(made, record, task_argument):
        return
    task = {name: value for name, value in made["args"].items() if name == task_argument}
    made["name"], made["args"] = record.call.tool, {**deepcopy(record.call.arguments), **task}


def _made(request: ToolCallRequest) -> dict[str, Any] | None:
    """Return the call as the history holds it, ``None`` if it does not."""
    return next(
        (
            cast(dict[str, Any], call)
            for message in reversed(request.state["messages"])
            for call in readable_calls_of(message)
            if call["id"] == request.tool_call["id"]
        ),
        None,
    )


def written_by_reviewer(request: ToolCallRequest, config: RunnableConfig) -> bool:
    """Return True if a call is what a person wrote in ``HumanInTheLoopMiddleware``.

    Args:
        request: Of the wrapper.
        config: Of the wrapper: in the mode ``per_call`` the person answers within its task.
    """
    now = request.tool_call
    decisions = [each for each in answers_of(scratchpad_of(config)) if isinstance(each, Mapping)]
    edits = [edits_of(request.state).get(str(now["id"])), *map(_edit_in, decisions)]
    return any(
        isinstance(edit, Mapping)
        and (edit.get("name"), edit.get("args")) == (now["name"], now["args"])
        for edit in edits
    )


def _edit_in(decision: Mapping[str, Any]) -> Any:
    return decision.get("edited_action")


def refusal_of_change(request: ToolCallRequest) -> str:
    """Return what to tell the model of a call that a program outside of the guard has changed.

    Guards, journal and the key of the call know the call as the model made it, so the changed one
    must not run under its name.
    """
    now = request.tool_call
    _log.warning(
        "Other middleware changed a call of %s in thread %r after the guard had judged it, so it "
        "is not run and the model is told to make the changed call; list middleware that changes "
        "calls after AsyncGuardMiddleware.",
        now["name"],
        thread_of(request.runtime.config),
    )
    return (
        "Nothing was executed for this call: it was changed after the guards had judged it, to "
        f"{written(now)}. Make that call yourself, with these arguments."
    )


def drop_rewritten(run: Run, hands: Hands, task_argument: str) -> None:
    """Cancel calls that were changed in the history after their wrappers had been reached.

    By ``update_state``, for instance, while a person was asked or the run was parked. Held ones are
    among them whose wrappers are executed again: the answer to one of these approves all as they
    were.

    Args:
        run: The run.
        hands: Handlers of the calls whose wrappers were reached.
        task_argument: Name of the task argument.
    """
    edits = edits_of(run.state)
    reached = [
        record
        for record in without_wrappers(run)
        if record.placeholder or (record.state is CallState.HELD and hands.holds(record.key))
    ]
    own = (each for each in reached if not each.edited and each.call.call_id not in edits)
    drop_changed(run, own, task_argument)


def drop_answered(run: Run, hands: Hands) -> None:
    """Cancel calls that other middleware answered: a refusal, a limit, an emulator.

    Args:
        run: The run.
        hands: Handlers of the calls whose wrappers were reached; of a held back one among them the
            guard's answer counts.
    """
    waiting = [
        record
        for record in without_wrappers(run)
        if record.state is CallState.QUEUED or not (record.placeholder or hands.holds(record.key))
    ]
    if waiting:  # an earlier message may have had a call of the same id
        first = min(waiting, key=lambda record: record.call.sequence)
        accept_answers(run, waiting, answers_of_others(run, after=first.call.message_id))


def drop_skipped(run: Run, hands: Hands) -> None:
    """Cancel calls that no wrapper will bring and nothing answers, when the model is asked again.

    Other middleware took them out of the model's message, dropped the message, or jumped back to
    the model. The history has no place for a result, so it could never be told.

    Args:
        run: The run.
        hands: Handlers of the calls whose wrappers were reached.
    """
    unanswered = {record.key for record in run.ledger.unanswered()}
    skipped = [
        record
        for record in without_wrappers(run)
        if record.key in unanswered and not hands.holds(record.key)
    ]
    accept_answers(run, skipped, {record.key: SKIPPED for record in skipped})


def take_answers(run: Run) -> None:
    """Apply the answers of other middleware to calls that run."""
    pending = run.ledger.in_state(CallState.PENDING)
    if pending:
        accept_answers(run, pending, answers_of_others(run))


def last_said(messages: Sequence[BaseMessage]) -> tuple[AIMessage, int, set[str]]:
    """Return the model's last message reduced to its unanswered calls.

    Returns:
        The message, its index in the history, and the ids of its answered calls.
    """
    place = next(
        index
        for index in range(len(messages) - 1, -1, -1)
        if isinstance(messages[index], AIMessage)
    )
    answered = {
        message.tool_call_id
        for message in messages[place + 1 :]
        if isinstance(message, ToolMessage)
    }
    said = cast(AIMessage, messages[place])
    if answered:
        said = said.model_copy(
            update={"tool_calls": [call for call in said.tool_calls if call["id"] not in answered]}
        )
    return said, place, answered


def left_text(run: Run, state: Mapping[str, Any]) -> list[BaseMessage]:
    """Return what to write for a text that no ``after_agent`` judged: its marked copy, or its end.

    A run that is broken off between the two steps leaves the text as if it were the answer.
    """
    newest = run.ledger.last_message
    if not newest or is_over(state) or is_judged(state) or not ends_with(run.messages, newest):
        return []
    said, _, answered = last_said(run.messages)
    if answered or said.tool_calls or said.invalid_tool_calls:
        return []
    if is_withheld(said):
        return [RemoveMessage(id=newest)]
    turn = judge_left(run, said)
    if turn is None:
        return []
    emit(turn.event)
    return list(turn.messages)


def refuse_early_answer(response: ModelResponse[Any]) -> None:
    """Refuse a structured answer beside other calls: it was made without their results.

    ``create_agent`` would run the calls and end with the answer, unread by any guard. It knows by
    the name of a ``ToolMessage`` that the format's tool was called, so the refusal has none.
    """
    said, place, answered = last_said(response.result)
    if not answered or not (said.tool_calls or said.invalid_tool_calls):
        return
    refused = [
        message.model_copy(update={"content": ANSWER_NOT_ALONE, "name": None})
        for message in response.result[place + 1 :]
    ]
    response.result = [*response.result[: place + 1], *refused]
    response.structured_response = None


def withhold_end(response: ModelResponse[Any]) -> None:
    """Take the text out of a response that would end the run, and a structured answer with it."""
    said, place, answered = last_said(response.result)
    unfit = answered and response.structured_response is None  # the model is told why
    if unfit or said.tool_calls or said.invalid_tool_calls:
        return
    response.result = [*response.result[:place], withheld(said)]
    response.structured_response = None


def unjudged(run: Run) -> AIMessage | None:
    """Return the message at the end of the history if its calls were not proposed.

    Older releases stored a message before its calls were judged; the process may have ended then.
    """
    last = run.messages[-1] if run.messages else None
    if isinstance(last, AIMessage) and last.tool_calls and last.id != run.ledger.last_message:
        return last
    return None


def with_answer(answer: ToolMessage, added: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Put the answer to a call before the messages of its tool's command.

    A tool may replace the history by one that has its own call: then the answer follows that call.
    Before the removal it would be lost, and the call would look like one that was never judged.
    """
    place = next(
        (
            place + 1
            for place, said in enumerate(added)
            if any(call["id"] == answer.tool_call_id for call in readable_calls_of(said))
        ),
        0,
    )
    return [*added[:place], answer, *added[place:]]


def ends_with(messages: Sequence[AnyMessage], message_id: str) -> bool:
    """Return True if the newest message of a model has an id."""
    last = next((each for each in reversed(messages) if isinstance(each, AIMessage)), None)
    return last is not None and last.id == message_id


def is_over(state: Mapping[str, Any]) -> bool:
    """Return True if the newest run of a state has ended; its thread is released then."""
    return _newest_of(state, ev.RunEnded.kind, ev.RunStarted.kind) == ev.RunEnded.kind


def is_judged(state: Mapping[str, Any]) -> bool:
    """Return True if it was judged whether the run may end with its newest message."""
    judged = ev.CompletionJudged.kind
    return _newest_of(state, judged, ev.TurnTaken.kind) == judged


def _newest_of(state: Mapping[str, Any], *kinds: str) -> str | None:
    stored = reversed(state.get("ledger") or ())
    return next((event["kind"] for event in stored if event["kind"] in kinds), None)


def undone(
    messages: Sequence[AnyMessage],
    place: int,
    answered: set[str],
    replacement: Sequence[AnyMessage] = (),
) -> dict[str, Any]:
    """Return the update that undoes a premature end.

    Args:
        messages: The history.
        place: Index of the model's last message.
        answered: Ids of its answered calls; not empty for a structured response, which is removed
            together with its ``ToolMessage``.
        replacement: Messages to write instead.
    """
    if not answered:
        return {"messages": list(replacement)}
    gone = [RemoveMessage(id=str(message.id)) for message in messages[place + 1 :]]
    if not replacement:  # a replacement has the same id and overwrites the message
        gone.insert(0, RemoveMessage(id=str(messages[place].id)))
    return {"messages": [*gone, *replacement], "structured_response": None}
