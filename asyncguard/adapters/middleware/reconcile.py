"""Reconciliation with a history that other middleware of ``create_agent`` may write answers to."""

import json
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
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.prebuilt.tool_node import ToolCallRequest

from asyncguard.adapters.answered_calls import accept_answers, answers_of_others
from asyncguard.adapters.langchain_internals import edits_of
from asyncguard.adapters.langgraph_internals import (
    answers_of,
    base_of,
    input_of,
    next_nodes,
    questions_in,
    run_of,
    saver_of,
    scratchpad_of,
    writes_in,
)
from asyncguard.adapters.messages.markers import is_ours, is_withheld, withheld
from asyncguard.adapters.messages.run_messages import ANSWER_NOT_ALONE
from asyncguard.adapters.refused_input import answers_in
from asyncguard.adapters.run import Run
from asyncguard.adapters.threads.checkpoints import of_thread, stored
from asyncguard.adapters.threads.runnable_config import thread_of
from asyncguard.adapters.ui_events import emit
from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.records import CallRecord
from asyncguard.runtime.resume import Answer, Hands

_log = logging.getLogger("asyncguard")


WITHOUT_WRAPPERS = (CallState.QUEUED, CallState.DEFERRED, CallState.HELD)
"""States of open calls that have not been issued, and so may need a wrapper to run."""


_SKIPPED = Answer(content="", text="its message was changed or dropped", failed=True, decided=True)
"""Answer that stands for a call which other middleware did not let come to its tool."""


def without_wrappers(run: Run) -> list[CallRecord]:
    """Return the open calls that may need a wrapper to run."""
    return run.ledger.in_state(*WITHOUT_WRAPPERS)


async def stopped_outside(state: Mapping[str, Any], config: RunnableConfig) -> frozenset[str]:
    """Return the ids of calls that other middleware had not let pass when a new input came.

    A reviewer was asked about them, for instance, and gave no answer.

    Args:
        state: Of the first hook.
        config: Of the first hook.
    """
    messages = state.get("messages") or []
    said = next((each for each in reversed(messages) if _calls(each)), None)
    if said is None:
        return frozenset()
    left = {str(call["id"]) for call in _calls(said)}
    left -= {each.tool_call_id for each in messages if isinstance(each, ToolMessage)}
    found = await _stopped_at(config) if left else None
    if found is None:
        return frozenset()
    if not any(node.endswith(".after_model") for node in next_nodes(found)):
        asked = (each for each in questions_in(found) if isinstance(each, Mapping))
        left &= {str(each.get("tool_call_id")) for each in asked}
    return frozenset(left)


async def without_stand_ins(
    state: Mapping[str, Any], config: RunnableConfig, *, keep: bool
) -> tuple[Mapping[str, Any], list[RemoveMessage]]:
    """Take out what a hook before the guard's answered in place of results that the guard has.

    A new input stops a super-step, and the answers of its wrappers are dropped. Other middleware
    (that of deepagents) tells the model of all calls without an answer that they did not complete:
    a payment may have been made, and an external call goes on.

    Args:
        state: Of the first hook.
        config: Of the first hook.
        keep: True in shadow mode, which changes nothing that the model is told.

    Returns:
        The state without such answers, and the removals to store.
    """
    messages = state.get("messages") or []
    said = next((each for each in reversed(messages) if isinstance(each, AIMessage)), None)
    ids = set() if said is None else {str(call["id"]) for call in said.tool_calls}
    errors = [
        each
        for each in messages
        if isinstance(each, ToolMessage)
        and each.status == "error"
        and each.tool_call_id in ids
        and not is_ours(each)
    ]
    if keep or not errors or await _stopped_at(config) is None:
        return state, []
    known = {
        event["call"]["call_id"]
        for event in state.get("ledger") or []
        if event["kind"] == ev.CallProposed.kind
    }
    wrote = await _answers_stored(config, {each.tool_call_id for each in errors})
    given = answers_in(input_of(config), state)
    of_caller = {(answer.tool_call_id, str(answer.content)) for answer, _, _ in given}
    removed = [
        str(each.id)
        for each in errors
        if each.tool_call_id in known
        and str(each.id) not in wrote
        and (each.tool_call_id, str(each.content)) not in of_caller
    ]
    left = [each for each in messages if str(each.id) not in removed]
    return {**state, "messages": left}, [RemoveMessage(id=each) for each in removed]


async def with_own_answers(
    state: Mapping[str, Any], config: RunnableConfig
) -> tuple[Mapping[str, Any], list[ToolMessage], list[ToolMessage]]:
    """Put the thread's own answers in place of those that a caller has sent back.

    A caller is shown the answers of wrappers before the ledger has them: their events go with the
    next update of a hook, and a question may stop the run before it. LangGraph even drops an answer
    if its super-step was stopped.

    Args:
        state: Of the first hook.
        config: Of the first hook.

    Returns:
        The state, with what a caller may lose, such as marks; the answers as the thread wrote them;
        and as the caller gave them.
    """
    given = [answer for answer, _, _ in answers_in(input_of(config), state)]
    wrote = await _answers_stored(config, {answer.tool_call_id for answer in given})
    own = [answer for answer in given if _same(answer, wrote.get(str(answer.id)))]
    if not own:
        return state, [], []
    found = {str(answer.id): wrote[str(answer.id)] for answer in own}
    messages = [found.get(str(each.id), each) for each in state.get("messages") or []]
    return {**state, "messages": messages}, list(found.values()), own


def _same(given: ToolMessage, wrote: ToolMessage | None) -> bool:
    return wrote is not None and (
        (given.tool_call_id, given.status, given.content)
        == (wrote.tool_call_id, wrote.status, wrote.content)
    )


async def _answers_stored(config: RunnableConfig, ids: Collection[str]) -> dict[str, ToolMessage]:
    """Return the answers to calls of the newest message before a new input, by their own ids."""
    left, answers = set(ids), dict[str, ToolMessage]()
    found = await _stopped_at(config) if left else None
    while found is not None and left:
        # What a caller gave is written after the checkpoint of the input.
        theirs = found.metadata.get("source") == "input"
        for write in () if theirs else reversed(writes_in(found, "messages")):
            for each in write if isinstance(write, list) else [write]:
                if isinstance(each, ToolMessage):
                    answers.setdefault(str(each.id), each)
                elif isinstance(each, AIMessage):  # no answer is older than its call
                    left -= {str(call["id"]) for call in each.tool_calls}
        before = found.parent_config
        found = None if before is None else await stored(saver_of(config), before)
    return answers


async def _stopped_at(config: RunnableConfig) -> CheckpointTuple | None:
    """Return the checkpoint before a new input, ``None`` if there is none."""
    saver, run = saver_of(config), run_of(config)
    if saver is None or run is None or not base_of(run):
        return None
    thread = of_thread(config)["configurable"]
    place: Any = {"configurable": {**thread, "checkpoint_id": base_of(run)}}
    found = await stored(saver, place)
    while found is not None and found.metadata.get("source") == "input":  # of a run that was lost
        found = None if found.parent_config is None else await stored(saver, found.parent_config)
    return found


def _calls(message: AnyMessage) -> Sequence[Mapping[str, Any]]:
    return message.tool_calls if isinstance(message, AIMessage) else ()


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
    return not record.edited and not _is_judged(now, record, task_argument)


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
    if made is None or record.edited or _is_judged(made, record, task_argument):
        return
    task = {name: value for name, value in made["args"].items() if name == task_argument}
    made["name"], made["args"] = record.call.tool, {**deepcopy(record.call.arguments), **task}


def _made(request: ToolCallRequest) -> dict[str, Any] | None:
    """Return the call as the history holds it, ``None`` if it does not."""
    return next(
        (
            cast(dict[str, Any], call)
            for message in reversed(request.state["messages"])
            for call in _calls(message)
            if call["id"] == request.tool_call["id"]
        ),
        None,
    )


def _is_judged(call: Mapping[str, Any], record: CallRecord, task_argument: str) -> bool:
    given, judged = (
        {name: value for name, value in arguments.items() if name != task_argument}
        for arguments in (call["args"], record.call.arguments)
    )
    return (call["name"], given) == (record.call.tool, judged)


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
        f"{now['name']}({json.dumps(now['args'], default=str)}). Make that call yourself, with "
        "these arguments."
    )


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
    accept_answers(run, skipped, {record.key: _SKIPPED for record in skipped})


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
    turn = run.judge_left(said)
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
            if any(call["id"] == answer.tool_call_id for call in _calls(said))
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
