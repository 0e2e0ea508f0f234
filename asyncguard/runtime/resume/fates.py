"""Fates of open calls: one function carries out each."""

import logging
from collections.abc import Callable, Mapping

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Failure
from asyncguard.core.resume_policy import GONE
from asyncguard.core.resume_terms import Effect, Fate, Here, Open, Why
from asyncguard.recovery.decisions import End
from asyncguard.runtime.attempt_outcomes import decide_recovery, end_call, handle_failure
from asyncguard.runtime.executors.port import Completion
from asyncguard.runtime.resume.case import Case
from asyncguard.runtime.resume.made_attempts import follow, take_over, take_up
from asyncguard.runtime.session.session import Session, journal_of
from asyncguard.schema.excerpts import clipped

_log = logging.getLogger("asyncguard")

_QUOTED = 500
"""Characters of another writer's answer that the reason of a call's end quotes."""
_EDITED = "This call was begun before with other arguments; make it as a new call."
_LOST = "The process that ran the call ended before it answered."
_STOPPED = "The user cancelled the task before it was tried again."
_OUTSIDE = "The user cancelled the task; the work outside was started and may go on."


def _accept_answer(case: Case) -> None:
    session, record = case.session, case.record
    answer = case.given.answers[record.key]
    # The lifecycle has no way from held back or queued to an end: the steps between are recorded.
    if case.facts.held_back:
        session.record.admitted(record.key, released=True)
    if record.state is CallState.QUEUED:
        session.record.assumed_started(record.key)
    outcome, error = (
        (ev.Outcome.FAILED, ErrorCode.TOOL_ERROR) if answer.failed else (ev.Outcome.DONE, None)
    )
    session.record.retired(record.key, outcome=outcome, content=answer.content, error=error)
    session.record.delivered([record.key])
    session.board.evidence.add(record.call.task, answer.text)
    session.board.taint_by_output(record)


def _stop_after(case: Case) -> None:
    take_up(case)
    case.session.live.bar(case.record.key, case.given.message or _STOPPED)


def _adopt(case: Case) -> None:
    take_up(case)
    case.given.hands.run_alone(case.record.key)


def _run_alone(case: Case) -> None:
    case.given.hands.run_alone(case.record.key)
    facts = case.facts
    lost = facts.why is Why.RESUMED and facts.here is not Here.IN_HAND
    # The journal knows whether an attempt began; without it the next attempt may be a repetition.
    if lost and facts.state is Open.QUEUED and not facts.journaled:
        _expect(case)


def _expect(case: Case) -> None:
    case.session.live.replayed(case.record.key, case.record.attempts + 1)


def _requeue(case: Case) -> None:
    _expect(case)
    record = case.record
    case.session.record.requeued(
        record.key,
        error=ErrorCode.PROCESS_LOST,
        reason="process lost, repeatable",
        arguments=record.attempt_arguments,
        aim=record.aim,
    )


def _interrupt(case: Case) -> None:
    key, session = case.record.key, case.session
    session.live.bar(key, _STOPPED)
    if not session.engine.executor.cancel(key) and key in session.live.delivery_tokens:
        _leave_outside(case)  # the tool returned just now; the work that it started continues


def _put_in_doubt(case: Case) -> None:
    session, record = case.session, case.record
    _warn_of_another_journal(session, record)
    # As in _accept_answer: only a started call can be in doubt.
    if case.facts.held_back:
        session.record.admitted(record.key, released=True)
    if record.state is CallState.QUEUED:
        session.record.assumed_started(record.key)
    if session.board.spec(record.tool).probe is not None and session.engine.config.verify:
        handle_failure(
            session, record, Symptom(error=ErrorCode.PROCESS_LOST, message=_LOST, transient=True)
        )
        return
    end_call(
        session,
        record,
        End(outcome=ev.Outcome.IN_DOUBT, content=_LOST, error=ErrorCode.PROCESS_LOST),
    )


def _warn_of_another_journal(session: Session, record: CallRecord) -> None:
    """Log that only another journal can tell about a call, if it was begun under one."""
    journal = session.engine.journal
    process = record.begun_by if record.state is CallState.PENDING else session.ledger.epoch
    first, own = journal_of(process), "" if journal is None else journal.id
    if first in ("", own):
        return
    _log.warning(
        "%s of thread %r was begun under the journal %s, and this process has %s, in which nothing "
        "can end its doubt. Answer it in the first one: asyncguard ledger resolve KEY --journal "
        "PATH; then run the thread with that journal.",
        record.call.label,
        session.thread_id or session.thread,
        first,
        f"the journal {own}" if own else "no journal",
    )


def _abandon(case: Case) -> None:
    session, record, text = case.session, case.record, case.reason
    if case.facts.why is Why.CANCELLED and case.facts.outside:
        if record.state is not CallState.PENDING:  # its start was never stored
            take_up(case)
            session.record.assumed_started(record.key)
        _leave_outside(case)
        return
    if case.facts.held_back:
        session.record.admitted(record.key, released=True)
    if case.facts.why is not Why.REPORTED_LOST:
        text = f"{text[:1].upper()}{text[1:]}, and an attempt may have begun."
        session.record.assumed_started(record.key)
    end_call(
        session,
        record,
        End(outcome=ev.Outcome.IN_DOUBT, content=text, error=ErrorCode.PROCESS_LOST),
    )


def _leave_outside(case: Case) -> None:
    """End a call in doubt whose work outside continues; a later delivery resolves the doubt."""
    end = End(outcome=ev.Outcome.IN_DOUBT, content=_OUTSIDE, error=ErrorCode.CANCELLED)
    end_call(case.session, case.record, end)


def _squash(case: Case) -> None:
    record = case.record
    if case.facts.state is Open.HELD and case.reason == GONE:
        _log.warning(
            "%s of %s in thread %r was held for a person's approval and is not run, as %s. In "
            "create_agent a person answers where the call was asked about; build_agent runs it "
            "anywhere.",
            record.call.label,
            record.call.task,
            case.session.thread_id or case.session.thread,
            GONE,
        )
    case.session.record.squashed(record.key, reason=case.reason, on=case.given.failed)


def _cancel(case: Case) -> None:
    session, record, reason = case.session, case.record, case.reason
    answer, facts = case.given.answers.get(record.key), case.facts
    if answer is None and facts.begun and not facts.asked and facts.effect is not Effect.PURE:
        # It does no harm to make the call again, but it would be wrong to say that it was not run.
        session.record.assumed_started(record.key)
        text = f"{reason[:1].upper()}{reason[1:]} before it was tried again."
        end_call(
            session,
            record,
            End(outcome=ev.Outcome.FAILED, content=text, error=ErrorCode.CANCELLED),
        )
        return
    if answer is None:
        session.record.cancelled(record.key, reason=reason)
        return
    # The ledger and user interfaces are told the words, which stand in another writer's message.
    reason = f"{reason}: {clipped(answer.text, _QUOTED)}" if answer.text else reason
    session.record.cancelled(record.key, reason=reason)
    session.record.delivered([record.key])
    session.board.taint_by_end(record)


def _refuse(case: Case) -> None:
    session, record = case.session, case.record
    # Started and completed, as if the journal had refused it: recovery knows what follows.
    session.record.started(record.key, attempt=record.attempts + 1, tool=record.tool)
    symptom = Symptom(
        error=ErrorCode.JOURNAL_REFUSED, message=_EDITED, transient=False, started=False
    )
    session.completed(
        Completion(key=record.key, attempt=record.attempts, result=Failure(symptom=symptom))
    )


CARRIED_OUT: Mapping[Fate, Callable[[Case], None]] = {
    Fate.ACCEPT_ANSWER: _accept_answer,
    Fate.TAKE_UP: take_up,
    Fate.STOP_AFTER: _stop_after,
    Fate.ADOPT: _adopt,
    Fate.RUN_ALONE: _run_alone,
    Fate.TAKE_OVER: take_over,
    Fate.AWAIT: lambda case: case.session.live.token_issued(case.record.key, ""),
    Fate.REPLAY: lambda case: case.session.live.replay(case.record.key),
    Fate.RECONSIDER: lambda case: decide_recovery(case.session, case.record),
    Fate.EXPECT: _expect,
    Fate.REQUEUE: _requeue,
    Fate.FOLLOW: follow,
    Fate.STOP: lambda case: case.session.live.stop(case.record.key),
    Fate.INTERRUPT: _interrupt,
    Fate.IN_DOUBT: _put_in_doubt,
    Fate.ABANDON: _abandon,
    Fate.SQUASH: _squash,
    Fate.CANCEL: _cancel,
    Fate.REJECT: lambda case: case.session.record.rejected(
        case.record.key, guard=case.record.guard, reason=case.reason
    ),
    Fate.REFUSE: _refuse,
}
"""Function that carries out each fate; ``KEEP``, ``WAIT`` and ``JUDGE`` need none."""
