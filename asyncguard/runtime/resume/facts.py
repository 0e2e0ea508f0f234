"""Facts about an open call, by which the fate table decides; reading them changes nothing."""

from functools import lru_cache

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode
from asyncguard.core.footprints import EffectClass
from asyncguard.core.records import CallRecord
from asyncguard.core.resume_terms import Effect, Facts, Here, History, Journal, Open, Tool, Why
from asyncguard.journal.port import AttemptState
from asyncguard.recovery.failure_case import siblings_left
from asyncguard.runtime.attempt_outcomes import attempt_ended, harmless
from asyncguard.runtime.resume.case import HELD_BACK, Circumstances, Hands
from asyncguard.runtime.session.session import Session
from asyncguard.runtime.signals import journaled, was_begun, was_lost

_ENDED_IF_HARMLESS = (
    Why.RESUMED,
    Why.ISSUED,
    Why.CANCELLED,
    Why.WRAPPERS_RETURNED,
    Why.WRAPPER_MISSING,
)
"""Occasions for which the table has a row that asks whether a queued call is harmless."""


def facts_to_issue(session: Session, record: CallRecord) -> Facts:
    """Return the facts about an approved call that is about to be issued: those its rows read."""
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


def all_facts(session: Session, record: CallRecord, why: Why, given: Circumstances) -> Facts:
    """Return all facts about an open call."""
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
