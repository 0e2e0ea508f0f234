"""Answers to calls of the agent, and other calls, that others have written into its history.

Other middleware answers a call itself; and a tool that hands over to another agent ends the run of
its own before the answers of the message are stored, so they come back with the shared history.
Middleware may change a call of a stored message, and so may a person, by ``update_state``.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AnyMessage, ToolMessage

from asyncguard.adapters.langchain_internals import is_decision
from asyncguard.adapters.messages.history import calls_of, readable_calls_of
from asyncguard.adapters.messages.markers import stands_for_result
from asyncguard.adapters.messages.render import NOT_RUN, text_of
from asyncguard.adapters.run.run import Run
from asyncguard.core.calls import CallState
from asyncguard.core.records import CallRecord
from asyncguard.core.resume_terms import Why
from asyncguard.runtime.resume.case import Answer

UNISSUED = (CallState.QUEUED, CallState.DEFERRED, CallState.HELD)
"""States of open calls that have not been issued."""
SKIPPED = Answer(content="", text="its message was changed or dropped", failed=True, decided=True)
"""Answer that stands for a call which others did not let come to its tool."""


def answers_of_others(
    run: Run, *, after: str = "", among: Sequence[AnyMessage] | None = None
) -> Mapping[str, Answer]:
    """Return the answers to open calls that the guard did not write, by key of the call.

    A provider may reuse an id; an answer belongs to the newest unanswered call with its id.

    Args:
        run: The run.
        after: Id of the model message after which to search. The whole history is searched by
            default, and if it does not hold the message any more.
        among: Messages to search instead of the history.
    """
    waiting = {record.call.call_id: record.key for record in run.ledger.unanswered() if record.open}
    messages = run.messages if among is None else among
    if not waiting:
        return {}
    place = next(
        (
            place
            for place in range(len(messages) - 1, -1, -1)
            if after and messages[place].id == after
        ),
        -1,
    )
    return {
        waiting[message.tool_call_id]: Answer(
            content=message.content,
            text=text_of(message.content),
            failed=message.status == "error",
            decided=is_decision(message),
        )
        for message in messages[place + 1 :]
        if isinstance(message, ToolMessage)
        and message.tool_call_id in waiting
        and not stands_for_result(message)
    }


def accept_answers(run: Run, records: Sequence[CallRecord], answers: Mapping[str, Answer]) -> None:
    """Decide about those of the calls that have an answer of others."""
    run.decide(
        [record for record in records if record.key in answers], Why.ANSWERED, answers=answers
    )


def note_answers(run: Run) -> None:
    """Record the placeholders in the history, and the answers to calls that have ended.

    A wrapper's answer and its event are not stored together: the event goes with the next update of
    a hook, and is lost if the run is cancelled before. Without this function the call would stay
    unanswered, and its result would never be delivered.
    """
    waiting = {record.call.call_id: record for record in run.ledger.unanswered()}
    if not waiting:
        return
    for message in run.messages:
        if (
            not isinstance(message, ToolMessage)
            or (record := waiting.get(message.tool_call_id)) is None
        ):
            continue
        if stands_for_result(message):
            run.teller.placeholder_stands(record)
        elif not record.open:
            run.teller.answered_elsewhere(record, text_of(message.content))


def note_removed(run: Run) -> None:
    """Note that calls which the history does not hold any more are told by late results, if at all.

    Other middleware has removed them, perhaps with answers that `note_answers` has not seen. No
    message can answer them, and a turn would be due for it again and again. Of a call that was not
    run the model need not be told: it does not see that it made it.
    """
    if waiting := run.ledger.unanswered():
        made = {call["id"] for message in run.messages for call in calls_of(message)}
        for record in waiting:
            if record.call.call_id in made:
                continue
            if record.state in NOT_RUN:
                run.teller.not_told(record)
            else:
                run.teller.placeholder_stands(record)


def is_as_judged(call: Mapping[str, Any], record: CallRecord, task_argument: str) -> bool:
    """Return True if a call of a message is the one that the guards have judged.

    Args:
        call: As the message holds it now.
        record: The judged call, which may lack the task argument.
        task_argument: Name of the task argument.
    """
    given, judged = (
        {name: value for name, value in arguments.items() if name != task_argument}
        for arguments in (call["args"], record.call.arguments)
    )
    return (call["name"], given) == (record.call.tool, judged)


def written(call: Mapping[str, Any]) -> str:
    """Return a call of a message as text."""
    return f"{call['name']}({json.dumps(call['args'], default=str)})"


def drop_changed(run: Run, records: Iterable[CallRecord], task_argument: str) -> bool:
    """Cancel calls that were changed in their stored message, or taken out of it.

    A message that is not there any more says nothing: a tool may have cut the history, and late
    results tell of its calls.

    Args:
        run: The run.
        records: Calls that were not issued.
        task_argument: Name of the task argument.

    Returns:
        True if a call was cancelled.
    """
    dropped = False
    for record in tuple(records):  # a cancelled call leaves the index that they come from
        message_id = record.call.message_id
        said = next((each for each in reversed(run.messages) if each.id == message_id), None)
        if said is None or not run.never_begun(record):
            continue
        made = {call["id"]: call for call in readable_calls_of(said)}
        if (now := made.get(record.call.call_id)) is None:
            accept_answers(run, [record], {record.key: SKIPPED})
        elif not is_as_judged(now, record, task_argument):
            run.cancel_changed(record, written(now))
        dropped = dropped or not record.open
    return dropped


def take_handed_over(run: Run) -> None:
    """Take the answers that an earlier run of the agent handed over, from the shared history."""
    left = run.ledger.in_state(*UNISSUED)
    accept_answers(run, left, answers_of_others(run))
    note_answers(run)
