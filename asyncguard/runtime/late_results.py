"""Attempts that end after they were given up: at their deadline, or cancelled by the user.

Only the end of an attempt with an effect is certain about that effect. It resolves a doubt, once,
and it counts instead of the answer of a probe that is still being asked about the attempt. The late
end of a pure or idempotent attempt changes nothing: the call has been made again, or has failed.
"""

import logging

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.footprints import EffectClass
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Failure, Success
from asyncguard.recovery.decisions import End
from asyncguard.recovery.failure_case import CallObservation
from asyncguard.recovery.messages import diagnosis_and_options, mark_of_doubt
from asyncguard.runtime.attempt_outcomes import (
    anomalies_of,
    case_of,
    end_call,
    handle_answer,
    handle_failure,
    raw_of,
)
from asyncguard.runtime.executors.port import Completion
from asyncguard.runtime.session.session import Session

_log = logging.getLogger("asyncguard")


def record_late_end(session: Session, tool: str, completion: Completion) -> None:
    """Record the own end of an attempt that was given up; called from any OS thread.

    Args:
        session: The thread.
        tool: Tool of the attempt.
        completion: Own end of the attempt.
    """
    ended = isinstance(completion.result, Success | Failure)
    if session.board.spec(tool).effect.renewable:
        if ended:
            _log.warning(
                "Attempt %d of %s in thread %r ended after its timeout; the result is ignored.",
                completion.attempt,
                tool,
                session.thread_id or session.thread,
            )
        return
    if ended:  # else a delivery or a person's answer will end the call
        session.engine.begun.ended_late(completion)
        session.completed(completion)
    if session.engine.journal is not None:
        session.engine.journal.end_soon(completion.key, completion.attempt, completion.result)


def resolved_late(session: Session, record: CallRecord, completion: Completion) -> bool:
    """Resolve a doubt by a completion: a result, or a failure that excludes an effect.

    Returns:
        True if the doubt was resolved.
    """
    if record.state is not CallState.IN_DOUBT or not _answers_for(session, record, completion):
        return False  # the completion of a side query
    match completion.result:
        case Success(content=content):
            anomalies = anomalies_of(session, record, content)
            mark = mark_of_doubt(anomalies) if anomalies else ""
            session.live.answered(record.key, raw_of(completion.result))
            end_call(
                session,
                record,
                End(outcome=ev.Outcome.DONE, content=content, mark=mark, doubtful=bool(mark)),
            )
            return True
        case Failure(symptom=symptom):
            case = case_of(session, record, CallObservation(symptom=symptom))
            if case.unknown or not (case.untouched or case.answered):
                return False
            text = diagnosis_and_options(case, ev.Outcome.FAILED)
            end_call(
                session, record, End(outcome=ev.Outcome.FAILED, content=text, error=symptom.error)
            )
            return True
    return False


def _answers_for(session: Session, record: CallRecord, completion: Completion) -> bool:
    """Return True if the end of an attempt is an end of the call.

    It is if the attempt is the latest one, or if all attempts share an idempotency key and one of
    them gave a result.
    """
    if completion.attempt == record.last_answer_attempt:
        return True
    keyed = (
        record.answer_tool == record.call.tool
        and session.board.spec(record.tool).effect is EffectClass.KEYED
    )
    return keyed and isinstance(completion.result, Success)


def took_own_end(session: Session, record: CallRecord, completion: Completion) -> bool:
    """Handle the own end of an attempt about which a probe is still being asked.

    Returns:
        True if the completion was such an end; it counts instead of the probe's answer.
    """
    asking = record.aim is not ev.Aim.ANSWER
    if completion.attempt != record.last_answer_attempt or not (
        asking or record.key in session.live.recoveries
    ):
        return False
    if asking and record.state is CallState.QUEUED:
        session.postpone(completion)  # the side query has not started yet; handled once it has
        return True
    if record.state is not CallState.PENDING:
        return False
    if asking:
        session.engine.executor.cancel(record.key)
    session.live.undecided(record.key)
    match completion.result:
        case Success() as result:
            handle_answer(session, record, result)
        case Failure(symptom=symptom):
            handle_failure(session, record, symptom)
    return True
