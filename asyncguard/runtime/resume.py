"""Apply the fate table to open calls: gather the facts, look up the fate, carry it out.

:mod:`asyncguard.core.resume_policy` decides about a call after a loss, a fork, a takeover, a
cancellation, a new message or a missing wrapper. Only this module asks it, and only this module
records the events by which such a call ends or is queued again.

It has three parts. *Facts*: one function per fact, each reads session, journal and registry and
changes nothing. *Fates*: one function per fate, listed in :data:`CARRIED_OUT`. *Attempts that were
made*: the fates that continue with an attempt which is already under way or has ended.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, Protocol

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Failure
from asyncguard.core.resume_policy import GONE, decide
from asyncguard.core.resume_terms import (
    Effect,
    Facts,
    Fate,
    Here,
    History,
    Journal,
    Open,
    Tool,
    Why,
)
from asyncguard.journal.port import Attempt, AttemptState
from asyncguard.recovery.decisions import End
from asyncguard.recovery.failure_case import siblings_left
from asyncguard.runtime.attempt_outcomes import (
    attempt_ended,
    decide_recovery,
    end_call,
    handle_failure,
    harmless,
    record_finding,
)
from asyncguard.runtime.executors.port import Completion
from asyncguard.runtime.session.session import Session, journal_of
from asyncguard.runtime.signals import journaled, was_begun, was_lost
from asyncguard.schema.excerpts import clipped

_log = logging.getLogger("asyncguard")

_QUOTED = 500
"""Characters of another writer's answer that the reason of a call's end quotes."""
_EDITED = "This call was begun before with other arguments; make it as a new call."
_LOST = "The process that ran the call ended before it answered."
_STOPPED = "The user cancelled the task before it was tried again."
_OUTSIDE = "The user cancelled the task; the work outside was started and may go on."


class Hands(Protocol):
    """Port to the adapter that runs the calls of a thread."""

    def holds(self, key: str) -> bool:
        """Return True if a call can be run as it was called."""
        ...

    def run_alone(self, key: str) -> None:
        """Run a call without its wrapper from now on."""
        ...


class _AllTools:
    """Hands of ``build_agent``, which runs every call without a wrapper."""

    def holds(self, _: str) -> bool:
        return True

    def run_alone(self, _: str) -> None:
        raise AssertionError("no call of build_agent has a wrapper")


ALL_TOOLS: Hands = _AllTools()
HELD_BACK = (CallState.DEFERRED, CallState.HELD)
"""States of calls that have not been admitted."""
_ENDED_IF_HARMLESS = (
    Why.RESUMED,
    Why.ISSUED,
    Why.CANCELLED,
    Why.WRAPPERS_RETURNED,
    Why.WRAPPER_MISSING,
)
"""Occasions for which the table has a row that asks whether a queued call is harmless."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A message in the history that answers a call and was not written by the guard."""

    content: Any
    """Content as it stands in the message."""
    text: str
    """Text of the content, which is evidence for later arguments."""
    failed: bool
    """True if the message reports an error."""
    decided: bool = False
    """True if a person decided so, and the call was certainly not run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Circumstances:
    """Knowledge of the caller of :func:`resolve` beyond the session."""

    hands: Hands = ALL_TOOLS
    """Runner of calls in this process."""
    answers: Mapping[str, Answer] = field(default_factory=dict)
    """Answers in the history, by key of the call."""
    lost: frozenset[str] | None = None
    """Keys of calls that an ended process may have had under way; ``None`` if not relevant."""
    siblings: bool = False
    """True if fallbacks may have been tried that the state does not record."""
    said: bool = False
    """True if the run begins with something new from the user."""
    edited: bool = False
    """True if the journal knows the attempt as that of another call."""
    failed: tuple[str, ...] = ()
    """Keys of the calls that this one waited for and that gave no usable result."""
    message: str = ""
    """Text for the model, used where the decision has none of its own."""


_ALONE = Circumstances()


def resolve(session: Session, record: CallRecord, why: Why, given: Circumstances = _ALONE) -> Fate:
    """Decide the fate of an open call, and carry it out.

    Args:
        session: The thread.
        record: The call.
        why: The reason to ask.
        given: Knowledge of the caller.

    Returns:
        The fate. ``JUDGE``, ``KEEP`` and ``WAIT`` change nothing here; the caller acts on them.
    """
    facts = (
        _facts_to_issue(session, record)
        if why is Why.ISSUED and not lacks_approval(session, record)
        else _facts(session, record, why, given)
    )
    decision = decide(facts)
    if (carry_out := CARRIED_OUT.get(decision.fate)) is not None:
        reason = decision.reason or given.message
        carry_out(Case(session=session, record=record, facts=facts, given=given, reason=reason))
    return decision.fate


def reconcile(session: Session, *, issuing: bool, given: Circumstances = _ALONE) -> bool:
    """Resolve the open calls of a state that this process has not written.

    Args:
        session: The thread, joined with state and journal.
        issuing: True if admitted calls may have been issued.
        given: Knowledge of the caller; which calls are lost is found here.

    Returns:
        True if calls wait until this process has met its tools; call this function again then.
    """
    lost = frozenset(record.key for record in session.lost(queued=issuing))
    given = replace(given, lost=lost)
    waits = False
    for state in (CallState.PENDING, CallState.QUEUED, *HELD_BACK):
        # A copy: carrying a fate out moves the call to another state.
        for record in list(session.ledger.in_state(state)):
            waits = resolve(session, record, Why.RESUMED, given) is Fate.WAIT or waits
    return waits


def undecided(session: Session) -> Circumstances:
    """Return the calls that an earlier process may have issued, until that is decided.

    Those that are held back are among them where their wrappers release them, in ``create_agent``.
    """
    states: tuple[CallState, ...] = (CallState.QUEUED,) if session.reconcile_due else ()
    if states and not session.engine.all_met:
        states = (*states, *HELD_BACK)
    return Circumstances(lost=frozenset(record.key for record in session.ledger.in_state(*states)))


def resolve_all(
    session: Session, states: Sequence[CallState], why: Why, given: Circumstances = _ALONE
) -> Mapping[str, Fate]:
    """Resolve all calls in some states; see :func:`resolve`.

    Returns:
        The fates, by key of the call.
    """
    # Collected first: carrying a fate out moves calls between the states.
    records = session.ledger.in_state(*states)
    return {record.key: resolve(session, record, why, given) for record in records}


# -- facts -----------------------------------------------------------------------------------------


def _facts_to_issue(session: Session, record: CallRecord) -> Facts:
    begun = session.engine.begun
    return _known_to_issue(
        record.state,
        session.board.spec(record.tool).effect,
        side_query=record.aim is not ev.Aim.ANSWER,
        edited=begun.differs(record.key, record.call.fingerprint),
        begun=begun.knows(record.key, after=record.last_answer_attempt),
    )


@lru_cache
def _known_to_issue(
    state: CallState, effect: EffectClass, *, side_query: bool, edited: bool, begun: bool
) -> Facts:
    # Few differ, and each call asks for them once: a value of many fields costs more than a table.
    return Facts(
        why=Why.ISSUED,
        state=Open(state.value),
        effect=Effect(effect.value),
        side_query=side_query,
        edited=edited,
        here=Here.LATER if begun else Here.NOTHING,
    )


def _facts(session: Session, record: CallRecord, why: Why, given: Circumstances) -> Facts:
    board = session.board
    called = board.spec(record.call.tool)
    tools = (called, *(board.spec(sibling.tool) for sibling in called.fallbacks))
    return Facts(
        why=why,
        state=Open(record.state.value),
        effect=Effect(board.spec(record.tool).effect.value),
        replayable=_replayable(session, record, siblings=given.siblings),
        helped=bool(called.asks or called.fallbacks),
        effectful=any(spec.effect is not EffectClass.PURE for spec in tools),
        side_query=record.aim is not ev.Aim.ANSWER,
        wanted_again=record.wanted_again,
        unapproved=lacks_approval(session, record),
        journal=_journal(session, record, why),
        outside=_outside(session, record, why),
        here=_here(session, record, given),
        edited=given.edited,
        attempt_ended=record.state is CallState.PENDING and attempt_ended(record),
        history=_history(record, given),
        tool=_tool(session, record, given.hands),
        begun=record.answer_attempts > 0 or record.key in session.live.replays,
        asked=_asked(session, record),
        harmless=_is_harmless(session, record, why, given),
        said=given.said,
        blocker_failed=bool(given.failed),
        undecided=record.state in HELD_BACK and record.key in (given.lost or ()),
    )


def lacks_approval(session: Session, record: CallRecord) -> bool:
    """Return True if the next attempt needs an approval that was not given.

    A sibling that stands in for a tool needs what that tool does.
    """
    if record.approved or record.wanted_again:
        return False
    return any(_needs_approval(session, tool) for tool in (record.tool, record.call.tool))


def _needs_approval(session: Session, tool: str) -> bool:
    """Return True if the open calls of a tool need an approval by its present declaration."""
    spec, kept = session.engine.specs.get(tool), session.board.kept.get(tool)
    if spec is None or spec.approval:
        return spec is not None
    # Calls of one that was destructive before were judged by what the model had read then.
    newly = spec.destructive and kept is not None and not kept.destructive
    config = session.engine.config
    return newly and session.board.tainted and config.trust and not config.shadow


def _asked(session: Session, record: CallRecord) -> bool:
    """Return True if each attempt that was begun has stopped at its tool's question to a person.

    The one that asks may be in the journal alone: a run that stops at a question stores no event.
    If it asks again after a process that had begun it died, that one may have had the answer.
    """
    stopped = record.error == ErrorCode.INTERRUPT and not (record.findings or record.recoveries)
    known = session.lease.begun_before.get(record.key)
    if known is None or not journaled(session, record):
        return stopped
    if not was_begun(session, record):  # since, perhaps, where this process has made it again
        return stopped and not was_lost(session, record)
    next_asked = (record.last_answer_attempt + 1, AttemptState.ASKED)
    asks = (known.number, known.state) == next_asked and not known.begun_before
    return asks and (stopped or not record.answer_attempts)


def _is_harmless(session: Session, record: CallRecord, why: Why, given: Circumstances) -> bool:
    """Return True if no attempt of the call can have had an effect that the model must know of.

    Computed only where a row of the table asks for it: it may need the recovery policy.
    """
    if record.state is not CallState.QUEUED or why not in _ENDED_IF_HARMLESS:
        return False
    asked = why in (Why.CANCELLED, Why.ISSUED) or not given.hands.holds(record.key)
    return asked and harmless(session, record)


def _replayable(session: Session, record: CallRecord, *, siblings: bool) -> bool:
    """Return True if each tool that may have been attempted can be attempted again."""
    board = session.board
    others = siblings_left(board.spec(record.call.tool), record) if siblings else []
    return all(
        board.spec(tool).replayable for tool in (record.tool, *(other.tool for other in others))
    )


def _journal(session: Session, record: CallRecord, why: Why) -> Journal:
    """Compare the latest attempt in the journal with the latest one in the state."""
    if not journaled(session, record):
        return Journal.SILENT
    if was_begun(session, record):
        return Journal.LATER
    # The lease lists only attempts begun before this process acquired the thread, so a missing
    # entry means something on resuming alone.
    known = session.lease.begun_before.get(record.key)
    behind = record.state is CallState.PENDING and (known is None or known.number < record.attempts)
    return Journal.BEHIND if behind and why is Why.RESUMED else Journal.COMPLETE


def _outside(session: Session, record: CallRecord, why: Why) -> bool:
    """Return True if work outside was started for the call and only a delivery can end it."""
    if why is Why.CANCELLED and record.state is CallState.PENDING:
        issued = record.key in session.live.delivery_tokens
        return issued and record.key not in session.engine.executor.pending()
    if why is Why.CANCELLED and not was_begun(session, record):
        return False
    known = session.lease.begun_before.get(record.key)
    if known is None or known.state is not AttemptState.STARTED:
        return False
    return record.state is not CallState.PENDING or known.number == record.attempts


def _here(session: Session, record: CallRecord, given: Circumstances) -> Here:
    """Compare the latest attempt begun in this process with the latest one in the state."""
    latest = session.engine.begun.latest(record.key)
    if record.state is CallState.PENDING:
        if given.lost is not None and record.key not in given.lost:
            return Here.IN_HAND
        return Here.CURRENT if latest == record.attempts else Here.NOTHING
    if latest > record.last_answer_attempt:
        return Here.LATER
    in_hand = (
        record.state is CallState.QUEUED and given.lost is not None and record.key not in given.lost
    )
    return Here.IN_HAND if in_hand else Here.NOTHING


def _history(record: CallRecord, given: Circumstances) -> History:
    if (answer := given.answers.get(record.key)) is not None:
        return History.DECISION if answer.decided else History.ANSWER
    return History.PLACEHOLDER if record.placeholder else History.NOTHING


def _tool(session: Session, record: CallRecord, hands: Hands) -> Tool:
    if hands.holds(record.key):
        return Tool.AT_HAND
    if not session.engine.all_met:
        declared = session.board.declares(record.tool) and session.board.declares(record.call.tool)
        return Tool.UNMET if declared else Tool.UNDECLARED
    return Tool.KNOWN if record.tool in session.engine.specs else Tool.MISSING


# -- fates -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One decision with its inputs."""

    session: Session
    record: CallRecord
    facts: Facts
    given: Circumstances
    reason: str
    """Reason of the decision, or the caller's text where the decision has none."""


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
    _take_up(case)
    case.session.live.bar(case.record.key, case.given.message or _STOPPED)


def _adopt(case: Case) -> None:
    _take_up(case)
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
            _take_up(case)
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


# -- attempts that were made -----------------------------------------------------------------------


def _take_over(case: Case) -> None:
    """Route the result of an attempt of this process to this session."""
    session, record = case.session, case.record
    pending = record.state is CallState.PENDING
    # Of a pending call the current attempt itself is looked for, of others a later one.
    after = record.attempts - 1 if pending else record.last_answer_attempt
    found = session.engine.begun.take_over(record.key, session.completed, after=after)
    if found is not None and not pending:
        number, tool = found
        session.record.started(record.key, attempt=number, tool=tool)


def _take_up(case: Case) -> None:
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


def _follow(case: Case) -> None:
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


CARRIED_OUT: Mapping[Fate, Callable[[Case], None]] = {
    Fate.ACCEPT_ANSWER: _accept_answer,
    Fate.TAKE_UP: _take_up,
    Fate.STOP_AFTER: _stop_after,
    Fate.ADOPT: _adopt,
    Fate.RUN_ALONE: _run_alone,
    Fate.TAKE_OVER: _take_over,
    Fate.AWAIT: lambda case: case.session.live.token_issued(case.record.key, ""),
    Fate.REPLAY: lambda case: case.session.live.replay(case.record.key),
    Fate.RECONSIDER: lambda case: decide_recovery(case.session, case.record),
    Fate.EXPECT: _expect,
    Fate.REQUEUE: _requeue,
    Fate.FOLLOW: _follow,
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
