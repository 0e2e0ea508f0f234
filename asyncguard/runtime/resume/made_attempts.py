"""Fates that continue with an attempt which is already under way or has ended."""

from dataclasses import asdict
from itertools import pairwise

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Failure
from asyncguard.core.resume_terms import Journal
from asyncguard.journal.port import Attempt, AttemptState
from asyncguard.runtime.attempt_outcomes import record_finding
from asyncguard.runtime.resume.case import Case
from asyncguard.runtime.session.session import Session


def take_over(case: Case) -> None:
    """Route the result of an attempt of this process to this session."""
    session, record = case.session, case.record
    pending = record.state is CallState.PENDING
    # Of a pending call the current attempt itself is looked for, of others a later one.
    after = record.attempts - 1 if pending else record.last_answer_attempt
    found = session.engine.begun.take_over(record.key, session.completed, after=after)
    if found is not None and not pending:
        number, tool = found
        session.record.started(record.key, attempt=number, tool=tool)


def take_up(case: Case) -> None:
    """Queue a call that was begun: issuing it then yields the result of the existing attempt."""
    session, record = case.session, case.record
    queued = record.state is CallState.QUEUED
    # Of a held one an attempt was begun after a person had approved it.
    approved = record.state is CallState.HELD
    if case.facts.journal is not Journal.LATER:
        if not queued:
            issued = session.engine.begun.arguments(record.key)
            changed = None if issued is None or issued == record.call.arguments else dict(issued)
            session.record.admitted(record.key, released=True, approved=approved, arguments=changed)
        return
    # The events that led to the journal's latest attempt were never stored, so they are skipped.
    known = session.lease.begun_before[record.key]
    called = known.tool == record.call.tool
    if queued and (record.attempts + 1, record.tool) == (known.number, known.tool):
        return
    if not queued:
        arguments = known.arguments if called and known.arguments != record.call.arguments else None
        session.record.admitted(record.key, released=True, approved=approved, arguments=arguments)
    if known.number != record.attempts + 1 or not called:
        _skip_to(session, record, known)


def follow(case: Case) -> None:
    """Queue a pending call for the later attempt that the journal has."""
    session, record = case.session, case.record
    known = session.lease.begun_before[record.key]
    for current in known.earlier:
        if current.number == record.attempts:
            _record_failure(session, record, current)
    _requeue_as(session, record, known)
    if known.number > record.attempts + 1:
        _skip_to(session, record, known)


def _skip_to(session: Session, record: CallRecord, known: Attempt) -> None:
    """Advance a queued call to the attempt before the known one.

    The ends of the attempts on the way are recorded: they count for the limits, and each may have
    had its effect.
    """
    for attempt, following in pairwise((*known.earlier, known)):
        if attempt.number > record.attempts:
            session.record.started(
                record.key, attempt=attempt.number, tool=attempt.tool, epoch=attempt.process_id
            )
            _record_failure(session, record, attempt)
            asked = attempt.state is AttemptState.ASKED
            _requeue_as(session, record, following, asked=asked)
    # Issuing the call starts the next number, and that must be the one that the journal knows. A
    # side query, which is not written down, has a number, too.
    if record.attempts < known.number - 1:
        session.record.started(
            record.key, attempt=known.number - 1, tool=record.tool, epoch=known.process_id
        )
        _requeue_as(session, record, known)


def _record_failure(session: Session, record: CallRecord, attempt: Attempt) -> None:
    if isinstance(attempt.result, Failure):
        symptom = attempt.result.symptom
        record_finding(
            session, record, ev.Aim.ANSWER, attempt.tool, asdict(symptom), error=symptom.error
        )


def _requeue_as(
    session: Session, record: CallRecord, known: Attempt, *, asked: bool = False
) -> None:
    session.record.requeued(
        record.key,
        error=ErrorCode.INTERRUPT if asked else ErrorCode.PROCESS_LOST,
        reason="the journal has a later attempt",
        arguments=known.arguments,
        tool="" if known.tool == record.call.tool else known.tool,
    )
