"""What becomes of an attempt: its result retires the call, or recovery is asked and its decisions are carried out.

A decision (:mod:`asyncguard.recovery.policy`) is made when the attempt ends and carried out by :func:`recover`, in
between the front end may store what happened. Whoever is asked for a call's sake (its live contract, another source,
the probe of its effect) is asked by a further attempt of the call, so that waiting, timeouts and a lost process need no
way of their own.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Failure, Interrupted, Started, Success
from asyncguard.core.resume_policy import Fate, Why
from asyncguard.errors import ThreadBusyError
from asyncguard.recovery.decisions import Attempt, End, Recovery
from asyncguard.recovery.diagnosis import is_transient
from asyncguard.runtime.circuits import let_through, move_circuit
from asyncguard.runtime.executors.port import Completion
from asyncguard.runtime.failure_cases import (
    decide_recovery,
    end_call,
    handle_answer,
    handle_failure,
    record_finding,
    seen_of,
)
from asyncguard.runtime.resume import Circumstances, resolve
from asyncguard.runtime.session.session import Session
from asyncguard.runtime.signals import replays


def handle_completion(session: Session, record: CallRecord, completion: Completion) -> None:
    """Take the end of a pending call's attempt."""
    match completion.result:
        case Success() if record.aim is not ev.Aim.ANSWER:
            move_circuit(session, record, record.tool, None)
            record_finding(session, record, record.aim, record.tool, completion.result.content)
            decide_recovery(session, record)
        case Success():
            handle_answer(session, record, completion.result)
        case Failure(symptom=symptom) if record.aim is not ev.Aim.ANSWER:
            if is_transient(symptom):
                move_circuit(session, record, record.tool, symptom)
            record_finding(session, record, record.aim, record.tool, None, error=symptom.error)
            decide_recovery(session, record)
        case Failure(symptom=symptom):
            _handle_failed_attempt(session, record, symptom)
        case Interrupted(error=error):
            session.live.interrupted(record.key, error)
        case Started():
            session.live.runs_outside(record.key)  # it was started in a process that is gone


def _handle_failed_attempt(session: Session, record: CallRecord, symptom: Symptom) -> None:
    """Take the failure of an attempt for the call's own result; some are the journal's word, and not the tool's."""
    if symptom.error == ErrorCode.TAKEN_OVER:
        session.demand_reconcile()  # if the thread comes back to this process, the call is to be issued again
        raise ThreadBusyError(
            symptom.message
        )  # what this process knows is behind: it must not be stored
    if symptom.error == ErrorCode.PROCESS_LOST:
        edited = not symptom.transient  # begun as another call
        resolve(
            session, record, Why.REPORTED_LOST, Circumstances(edited=edited, told=symptom.message)
        )
    elif symptom.error == ErrorCode.INTERRUPT:
        ask_again(session, record)
    else:
        handle_failure(session, record, symptom)


def ask_again(session: Session, record: CallRecord) -> None:
    """Queue a call whose tool asked a person: it runs anew with the answer."""
    session.board.asked_person(record.key)
    session.record.requeued(
        record.key,
        error=ErrorCode.INTERRUPT,
        reason="a person was asked",
        arguments=record.attempt_arguments,
        aim=record.aim,
    )


# -- acting --------------------------------------------------------------------------------------------------------


def recover(session: Session, action: ev.RecoveryAction) -> None:
    """Carry out the decided recoveries of one kind: a call is queued for its next attempt, or ends."""
    for key, recovery in list(session.live.recoveries.items()):
        if recovery.action is action:
            session.live.undecided(key)
            _carry_out(session, session.ledger.record(key), recovery)


def _carry_out(session: Session, record: CallRecord, recovery: Recovery) -> None:
    symptom = seen_of(session, record).symptom
    error = ErrorCode.ANOMALY if symptom is None else symptom.error
    session.live.attempt_over(record.key)
    match recovery.then:
        case Attempt() as following:
            then = replace(following, arguments=_fitting(session, following))
            session.record.recovered(record.key, replace(recovery, then=then), error=error)
            if following.aim is ev.Aim.ANSWER:
                session.live.tried_again(record.key)
        case End(outcome=ev.Outcome.FAILED | ev.Outcome.IN_DOUBT) if _is_continued(session, record):
            pass
        case End() as end:
            session.record.recovered(record.key, recovery, error=error)
            end_call(session, record, end)


def _is_continued(session: Session, record: CallRecord) -> bool:
    """Return whether a call goes on with a later attempt of the journal, where the policy would end it.

    The policy decided otherwise when that attempt was begun: under another configuration, or at a person's word.
    """
    return resolve(session, record, Why.RECOVERY_ENDS) is Fate.FOLLOW


def _fitting(session: Session, following: Attempt) -> Mapping[str, Any] | None:
    """The arguments of an attempt; a probe is asked with those of the call's that it knows."""
    if following.aim is not ev.Aim.PROBE or following.arguments is None:
        return following.arguments
    parameters = session.board.spec(following.tool).parameters
    known = (parameters or {}).get("properties", following.arguments)
    return {name: value for name, value in following.arguments.items() if name in known}


# -- circuit breakers ----------------------------------------------------------------------------------------------


def may_begin(session: Session, key: str, tool: str, aim: ev.Aim) -> Failure | None:
    """Ask, when the back-off is over, whether an attempt may begin; the failure of one that may not."""
    record = session.ledger.record(key)
    if aim is ev.Aim.ANSWER and (stopped := _stopped(session, record)) is not None:
        return Failure(symptom=stopped)
    return let_through(session, record, tool)


def _stopped(session: Session, record: CallRecord) -> Symptom | None:
    """The failure of an attempt that the user does not want.

    The attempt of a process that is gone has begun, as far as anybody can know. After a new message it is made again,
    under its key, as it would be without one: that tells what came of it. What the user took back is not.
    """
    replayed = replays(session, record)
    message = session.live.barred.get(record.key)
    if message is None and (replayed or record.key not in session.live.no_further_attempts):
        return None
    message = message or "The user sent a new message before it was tried again."
    return Symptom(error=ErrorCode.USER_SPOKE, message=message, transient=False, started=replayed)
