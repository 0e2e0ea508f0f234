"""The recovery driver: handles ends of attempts, and carries out the policy's decisions.

A result retires its call. For anything else :mod:`asyncguard.recovery.policy` decides when the
attempt ends, and :func:`recover` carries the decision out; in between the adapter may store a
checkpoint. Side queries (live contract, alternative source, effect probe) run as extra attempts of
the same call, so they share its waiting, timeout and crash handling.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Failure, Interrupted, Started, Success
from asyncguard.core.resume_policy import UNAPPROVED
from asyncguard.core.resume_terms import Fate, Why
from asyncguard.errors import ThreadBusyError
from asyncguard.recovery.decisions import Attempt, End
from asyncguard.recovery.diagnosis import is_transient
from asyncguard.runtime.attempt_outcomes import (
    decide_recovery,
    end_call,
    handle_answer,
    handle_failure,
    record_finding,
    seen_of,
)
from asyncguard.runtime.circuits import let_through, move_circuit
from asyncguard.runtime.executors.port import Completion
from asyncguard.runtime.resume.case import Circumstances
from asyncguard.runtime.resume.facts import lacks_approval
from asyncguard.runtime.resume.resolve import resolve
from asyncguard.runtime.session.session import Session
from asyncguard.runtime.signals import answers, has_outcome, repeat_for_operator, replays, was_lost


def handle_completion(session: Session, record: CallRecord, completion: Completion) -> None:
    """Handle the end of a pending call's current attempt."""
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
        case Failure(symptom=symptom, raw=raw):
            if symptom.error == ErrorCode.TOOL_ERROR:
                session.live.answered(record.key, raw)
            _handle_failed_attempt(session, record, symptom)
        case Interrupted() as interrupt:
            session.live.interrupted(record.key, interrupt)
        case Started():
            session.live.runs_outside(record.key)  # a process that has ended started it


def _handle_failed_attempt(session: Session, record: CallRecord, symptom: Symptom) -> None:
    """Handle the failure of an attempt for the call's own result.

    Some failures come from the journal and not from the tool.
    """
    if symptom.error == ErrorCode.TAKEN_OVER:
        # This process lags behind and must not store a state. If it acquires the thread again, it
        # has to issue the call again.
        session.demand_reconcile()
        raise ThreadBusyError(symptom.message)
    if symptom.error == ErrorCode.PROCESS_LOST:
        edited = not symptom.transient  # the process began the call with other arguments
        resolve(
            session,
            record,
            Why.REPORTED_LOST,
            Circumstances(edited=edited, message=symptom.message),
        )
    elif symptom.error == ErrorCode.INTERRUPT:
        ask_again(session, record)
    elif symptom.error == ErrorCode.NOT_HAPPENED:
        _take_word(session, record, symptom)
    else:
        handle_failure(session, record, symptom)


def _take_word(session: Session, record: CallRecord, symptom: Symptom) -> None:
    """Do as an operator said, who knew the call before this thread met the loss.

    The recovery policy is not asked: its limits, switches and siblings are for failures of tools.
    """
    session.live.attempt_over(record.key)
    if symptom.transient:
        repeat_for_operator(session, record, by="an operator")
    elif resolve(session, record, Why.RECOVERY_ENDS) is not Fate.FOLLOW:
        end = End(outcome=ev.Outcome.FAILED, content=symptom.message, error=symptom.error)
        end_call(session, record, end)


def ask_again(session: Session, record: CallRecord) -> None:
    """Queue a call whose tool asked a person; the tool runs again with the answer."""
    session.board.asked_person(record.key)
    session.record.requeued(
        record.key,
        error=ErrorCode.INTERRUPT,
        reason="a person was asked",
        arguments=record.attempt_arguments,
        aim=record.aim,
    )


# -- acting ----------------------------------------------------------------------------------------


def recover(session: Session, action: ev.RecoveryAction) -> None:
    """Carry out the decided recoveries of one kind: queue calls again, or end them."""
    for key, recovery in list(session.live.recoveries.items()):
        if recovery.action is not action:
            continue
        session.live.undecided(key)
        record = session.ledger.record(key)
        symptom = seen_of(session, record).symptom
        error = ErrorCode.ANOMALY if symptom is None else symptom.error
        session.live.attempt_over(key)
        match recovery.then:
            case Attempt() as following:
                then = replace(following, arguments=_fitting(session, following))
                session.record.recovered(key, replace(recovery, then=then), error=error)
                if following.aim is ev.Aim.ANSWER:
                    session.live.tried_again(key)
            case End(outcome=ev.Outcome.FAILED | ev.Outcome.IN_DOUBT) if (
                resolve(session, record, Why.RECOVERY_ENDS) is Fate.FOLLOW
            ):
                # The journal has a later attempt, made under another configuration or for an
                # operator; the call continues with it.
                pass
            case End() as end:
                session.record.recovered(key, recovery, error=error)
                end_call(session, record, end)


def _fitting(session: Session, following: Attempt) -> Mapping[str, Any] | None:
    """Return the arguments of an attempt; a probe receives those of the call that it declares."""
    if following.aim is not ev.Aim.PROBE or following.arguments is None:
        return following.arguments
    parameters = session.board.spec(following.tool).parameters
    known = (parameters or {}).get("properties", following.arguments)
    return {name: value for name, value in following.arguments.items() if name in known}


# -- the gate ------------------------------------------------------------------------------------


def may_begin(session: Session, key: str, tool: str, aim: ev.Aim) -> Failure | None:
    """Return the failure of an attempt that may not begin now, ``None`` if it may."""
    record = session.ledger.record(key)
    if aim is ev.Aim.ANSWER:
        if has_outcome(session, record):
            return None  # nothing begins; an executor may ask the journal only after this gate
        replayed = replays(session, record)
        error, message = _objection(session, record, replayed=replayed)
        if message:
            # Of one that did not ask a person a probe or the journal has told what became of it.
            asked = record.error == ErrorCode.INTERRUPT
            started = replayed or (asked and was_lost(session, record))
            symptom = Symptom(error=error, message=message, transient=False, started=started)
            return Failure(symptom=symptom)
    return let_through(session, record, tool)


def _objection(session: Session, record: CallRecord, *, replayed: bool) -> tuple[ErrorCode, str]:
    """Return why an attempt must not begin; the text is empty if it may."""
    if (message := session.live.barred.get(record.key)) is not None:
        return ErrorCode.USER_SPOKE, message
    # An attempt that a process which has ended may have begun is made again after a new message,
    # with its idempotency key: only that shows its outcome. So is one that an operator wants. After
    # a cancellation, which bars the call, it is not made again.
    if replayed or record.wanted_again:
        return ErrorCode.USER_SPOKE, ""
    again = "was tried again" if record.answer_attempts > 1 else "began"
    if record.key in session.live.no_further_attempts:
        return ErrorCode.USER_SPOKE, f"The user sent a new message before it {again}."
    # It needed none when it was issued. One that has begun goes on, to its question or its answer.
    if lacks_approval(session, record) and not answers(session, record):
        return ErrorCode.CANCELLED, f"{UNAPPROVED[:1].upper()}{UNAPPROVED[1:]} before it {again}."
    return ErrorCode.USER_SPOKE, ""
