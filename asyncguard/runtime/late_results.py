"""Attempts that end after they were given up: at their deadline, or at the user's word.

The end of an attempt with an effect is the only sure word about that effect. It settles a doubt, once, and while a
probe is still being asked about the attempt it counts instead of what the probe says. The late end of an attempt that
is pure or idempotent changes nothing: the call has been made again, or has failed.
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
from asyncguard.runtime.executors.port import Completion
from asyncguard.runtime.failure_cases import (
    anomalies_of,
    case_of,
    end_call,
    handle_answer,
    handle_failure,
    raw_of,
)
from asyncguard.runtime.session.session import Session

_log = logging.getLogger("asyncguard")


def record_late_end(session: Session, tool: str, completion: Completion) -> None:
    """Take what an attempt came to after it was given up; from any thread.

    Args:
        session: The thread.
        tool: Tool of the attempt.
        completion: Its own end.
    """
    if not isinstance(completion.result, Success | Failure):
        return
    if session.board.spec(tool).effect.renewable:
        _log.warning(
            "Attempt %d of %s ended after its time was over: ignored.", completion.attempt, tool
        )
        return
    session.engine.begun.ended_late(completion)
    session.completed(completion)
    if session.engine.journal is not None:
        session.engine.journal.end_soon(completion.key, completion.attempt, completion.result)


def resolved_late(session: Session, record: CallRecord, completion: Completion) -> bool:
    """Whether the completion settles a doubt: by a result, or because it says that nothing was begun."""
    if record.state is not CallState.IN_DOUBT or not _answers_for(session, record, completion):
        return False  # it answers what another tool was asked
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
    """Whether an attempt's end is one of the call: of the latest attempt, or a result under the key of them all."""
    if completion.attempt == record.last_answer_attempt:
        return True
    keyed = (
        record.answer_tool == record.call.tool
        and session.board.spec(record.tool).effect is EffectClass.KEYED
    )
    return keyed and isinstance(completion.result, Success)


def took_own_end(session: Session, record: CallRecord, completion: Completion) -> bool:
    """Whether the completion is the own end of an attempt about which a probe is still asked; it then counts."""
    asking = record.aim is not ev.Aim.ANSWER
    if completion.attempt != record.last_answer_attempt or not (
        asking or record.key in session.live.recoveries
    ):
        return False
    if asking and record.state is CallState.QUEUED:
        session.postpone(
            completion
        )  # the question is not under way yet; looked at again when it is
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
