"""Exchange between a thread and the journal: intents of calls, calls of a lost process, signals.

The journal records for every call with an effect that it began, so nothing is guessed after a
crash. A lost call is handed out again with the same attempt number; the journal then returns the
recorded outcome, permits an attempt that it has never seen, and reports the rest as lost
(:mod:`asyncguard.runtime.executors.journal_gate`).
"""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState, fingerprint
from asyncguard.core.faults import ErrorCode
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Success
from asyncguard.journal.begin_policy import CONFIRMED, not_happened
from asyncguard.journal.intent import Intent
from asyncguard.journal.port import Attempt, AttemptState, Signal, SignalKind
from asyncguard.runtime.executors.port import Completion
from asyncguard.runtime.session.session import Session, journal_of


async def ensure_written(session: Session) -> None:
    """Wait until the ends of calls are on disk, so that no end is told that can get lost.

    Args:
        session: The thread.
    """
    if session.engine.journal is not None:
        await session.engine.journal.flush()


def journaled(session: Session, record: CallRecord) -> bool:
    """Return True if the journal is authoritative on the call's attempts.

    It is if the call was made under this journal, and calls of its tool are written down.
    """
    journal = session.engine.journal
    if journal is None or record.aim is not ev.Aim.ANSWER:
        return False
    if not session.board.spec(record.tool).written_down:
        return False
    kept = session.board.kept.get(record.tool)
    if kept is not None and not kept.written_down:
        return False  # declared without an effect when the call was made, so never written down
    process = record.begun_by if record.state is CallState.PENDING else session.ledger.epoch
    return journal_of(process) == journal.id


def any_written_down(session: Session, records: Iterable[CallRecord]) -> bool:
    """Return True if one of the calls has an effect and there is a journal that records it."""
    if session.engine.journal is None:
        return False
    return any(session.board.spec(record.tool).written_down for record in records)


def _begun_elsewhere(session: Session, record: CallRecord) -> Attempt | None:
    """Return the attempt of a journaled call that the journal has and the state lacks."""
    known = session.lease.begun_before.get(record.key)
    return known if known is not None and known.number > record.last_answer_attempt else None


def was_begun(session: Session, record: CallRecord) -> bool:
    """Return True if the journal has an attempt of a journaled call that the state lacks."""
    return _begun_elsewhere(session, record) is not None


def was_lost(session: Session, record: CallRecord) -> bool:
    """Return True if a process that has ended may have begun an attempt that was made again since.

    The state does not tell if the attempt stopped at its tool's question then.
    """
    known = session.lease.begun_before.get(record.key)
    begun = () if known is None or record.wanted_again else (*known.earlier, known)
    return any(each.state is AttemptState.INTENT or each.begun_before for each in begun)


async def outcome_due(session: Session) -> bool:
    """Return True if the journal knows what became of an admitted call that a lost process began.

    Work outside, or in a process that lives, may continue for long.
    """
    queued = session.ledger.in_state(CallState.QUEUED)
    begun = [known for each in queued if (known := _begun_elsewhere(session, each)) is not None]
    if any(known.state is AttemptState.ENDED for known in begun):
        return True
    owners = {known.process_id for known in begun if known.state is AttemptState.INTENT}
    journal = session.engine.journal
    if not owners or journal is None:
        return False
    return bool(await asyncio.to_thread(journal.gone, owners))


def replays(session: Session, record: CallRecord) -> bool:
    """Return True if a process that has ended may have begun the current attempt.

    Args:
        session: The thread.
        record: Its attempt is about to be made.
    """
    if session.live.replays.get(record.key) == record.attempts:
        return True
    known = session.lease.begun_before.get(record.key)
    return known is not None and (known.number, known.state) == (
        record.attempts,
        AttemptState.INTENT,
    )


def has_outcome(session: Session, record: CallRecord) -> bool:
    """Return True if the journal has the outcome of the current attempt, which it answers with.

    Args:
        session: The thread.
        record: Its attempt is about to be made.
    """
    known = session.lease.begun_before.get(record.key)
    return known is not None and (known.number, known.state) == (
        record.attempts,
        AttemptState.ENDED,
    )


def answers(session: Session, record: CallRecord) -> bool:
    """Return True if the journal has the current attempt or a later one, of an earlier process.

    Args:
        session: The thread.
        record: Its attempt is about to be made.
    """
    known = session.lease.begun_before.get(record.key)
    return known is not None and known.number >= record.attempts


def intent_of(session: Session, record: CallRecord, arguments: Mapping[str, Any]) -> Intent | None:
    """Return the journal entry of the current attempt, ``None`` if it may be repeated freely.

    Args:
        session: The thread.
        record: The call.
        arguments: Arguments of the attempt.
    """
    spec = session.board.spec(record.tool)
    if not spec.written_down:
        return None
    return Intent(
        session=session.thread,
        thread_id=session.thread_id,
        namespace=session.namespace,
        task=record.call.task,
        label=record.call.label,
        key=record.key,
        attempt=record.attempts,
        tool=record.tool,
        effect=spec.effect,
        arguments=arguments,
        fingerprint=fingerprint(record.tool, arguments),
        timeout=spec.timeout,
        token=session.live.delivery_tokens.get(record.key) or None,
        allowed=_allowed(session, record),
    )


def _allowed(session: Session, record: CallRecord) -> bool:
    """Return True if a call may begin although an equal one is in doubt.

    The user must have spoken since, and a person must have approved the call. Without the guard
    that asks for approval the call is not allowed. Shadow mode needs no approval: it runs the call
    as it was proposed.
    """
    config, board = session.engine.config, session.board
    equal = board.equal_calls(record.call.task, board.sent(record))
    doubts = [other for other in equal if other.state is CallState.IN_DOUBT]
    if not doubts or any(other.said >= record.said for other in doubts):
        return False
    return config.duplicate and config.ledger and (record.approved or config.shadow)


# -- signals -------------------------------------------------------------------------------------


def apply_signals(session: Session) -> None:
    """Apply the signals that arrived since the last call; one for an ended call changes nothing."""
    for signal in session.drain_signals():
        record = session.ledger.find(signal.key)
        if record is None:
            continue  # a call of another branch of the thread
        delivery = signal.kind is SignalKind.DELIVERY
        if record.open and record.attempts < signal.attempt + (not delivery):
            # The state lags behind; the call is issued again, and a delivery fits once it is
            # pending. An operator's word fits once the report of the loss, which may be under way,
            # has put the call in doubt; if the journal has answered with the word, it is void then.
            session.defer_signal(signal)
        elif delivery:
            doubtful = record.state is CallState.IN_DOUBT
            if (doubtful or record.state is CallState.PENDING) and record.aim is ev.Aim.ANSWER:
                # As the end of the current attempt, whatever the signal's number: the work may have
                # been started by an earlier one, whose own answer was lost.
                attempt = record.last_answer_attempt if doubtful else record.attempts
                result = Success(content=signal.content)
                session.completed(Completion(key=record.key, attempt=attempt, result=result))
        elif record.state is CallState.IN_DOUBT and signal.attempt >= record.last_answer_attempt:
            _apply_resolution(session, record, signal)


def _apply_resolution(session: Session, record: CallRecord, signal: Signal) -> None:
    """Resolve a doubt by an operator's decision."""
    match signal.kind:
        case SignalKind.HAPPENED:
            content = CONFIRMED if signal.content is None else signal.content
            session.completed(
                Completion(
                    key=record.key,
                    attempt=record.last_answer_attempt,
                    result=Success(content=content),
                )
            )
        case SignalKind.RETRY:
            repeat_for_operator(session, record, by=signal.by or "an operator")
        case _:
            session.record.retired(
                record.key,
                outcome=ev.Outcome.FAILED,
                content=not_happened(signal.by),
                error=ErrorCode.NOT_HAPPENED,
            )


def repeat_for_operator(session: Session, record: CallRecord, *, by: str) -> None:
    """Queue a call for another attempt, which is made even if the user has spoken meanwhile.

    Args:
        session: The thread.
        record: A call in doubt, or a pending one whose attempt the journal answered so.
        by: Name of the operator.
    """
    session.record.requeued(
        record.key,
        error=ErrorCode.NOT_HAPPENED,
        reason=f"{by} found that it did not happen, and wants it made again",
        arguments=record.answer_arguments,
    )
