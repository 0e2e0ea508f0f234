"""Answers to calls of the agent that others have written into its history.

Other middleware answers a call itself; and a tool that hands over to another agent ends the run of
its own before the answers of the message are stored, so they come back with the shared history.
"""

from collections.abc import Mapping, Sequence

from langchain_core.messages import AnyMessage, ToolMessage

from asyncguard.adapters.langchain_internals import is_decision
from asyncguard.adapters.messages.history import calls_of
from asyncguard.adapters.messages.markers import stands_for_result
from asyncguard.adapters.messages.render import NOT_RUN, text_of
from asyncguard.adapters.run.run import Run
from asyncguard.core.calls import CallState
from asyncguard.core.records import CallRecord
from asyncguard.core.resume_terms import Why
from asyncguard.runtime.resume.case import Answer


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


def take_handed_over(run: Run) -> None:
    """Take the answers that an earlier run of the agent handed over, from the shared history."""
    left = run.ledger.in_state(CallState.QUEUED, CallState.DEFERRED, CallState.HELD)
    accept_answers(run, left, answers_of_others(run))
    note_answers(run)
