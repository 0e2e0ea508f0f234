"""What a thread and the journal tell each other: intents of calls, calls of a lost process, and mail from outside.

The journal knows of every call with an effect whether it was begun, so nothing has to be guessed after a crash: a lost
call is handed out again under the number of its attempt, and the journal answers for what was begun, lets begin what
was not, and calls lost what nobody can know (:mod:`asyncguard.runtime.executors.journal_gate`).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState, fingerprint
from asyncguard.core.faults import ErrorCode
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Success
from asyncguard.journal.begin_policy import CONFIRMED
from asyncguard.journal.intent import Intent
from asyncguard.journal.port import AttemptState, Signal, SignalKind
from asyncguard.runtime.executors.port import Completion
from asyncguard.runtime.session.session import Session, journal_of


async def ensure_written(session: Session) -> None:
    """Wait until what ended is written down: the model speaks of nothing that a crash could make undone.

    Args:
        session: The thread.
    """
    if session.engine.journal is not None:
        await session.engine.journal.flush()


def journaled(session: Session, record: CallRecord) -> bool:
    """Whether the journal knows if the call was begun: it was admitted under this journal, which has such calls."""
    journal = session.engine.journal
    if journal is None or record.aim is not ev.Aim.ANSWER:
        return False
    if not session.board.spec(record.tool).written_down:
        return False
    kept = session.board.kept.get(record.tool)
    if kept is not None and not kept.written_down:
        return False  # it was no effect when the call was made, so nothing was written down
    epoch = record.begun_by if record.state is CallState.PENDING else session.ledger.epoch
    return journal_of(epoch) == journal.id


def any_written_down(session: Session, records: Iterable[CallRecord]) -> bool:
    """Return whether one of the calls is written down before it begins: there is a journal, and it has an effect."""
    if session.engine.journal is None:
        return False
    return any(session.board.spec(record.tool).written_down for record in records)


def was_begun(session: Session, record: CallRecord) -> bool:
    """Whether the journal has an attempt of a journaled call that the state does not tell of."""
    known = session.lease.begun_before.get(record.key)
    return known is not None and known.number > record.last_answer_attempt


def begun_elsewhere(session: Session, record: CallRecord) -> bool:
    """Whether another life or branch of the thread began a call that is not begun here: who ends it would be wrong."""
    if journaled(session, record) and was_begun(session, record):
        return True
    return session.engine.begun.knows(record.key, after=record.last_answer_attempt)


def replays(session: Session, record: CallRecord) -> bool:
    """Whether the current attempt is one that a process may have begun that is gone.

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


def intent_of(session: Session, record: CallRecord, arguments: Mapping[str, Any]) -> Intent | None:
    """What is written down of the current attempt, ``None`` for what may be made again at will.

    Args:
        session: The thread.
        record: The call.
        arguments: Of the attempt.
    """
    spec = session.board.spec(record.tool)
    if not spec.written_down:
        return None
    return Intent(
        session=session.thread,
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
    """Whether a call may begin although an equal one is in doubt: the user has spoken since, and a person was asked.

    Without the guard that asks, nobody was; in shadow mode nobody is, and the call is run as it was proposed.
    """
    config, call = session.engine.config, record.call
    equal = session.ledger.same_fingerprint(call.task, call.fingerprint)
    doubts = [other for other in equal if other.state is CallState.IN_DOUBT]
    if not doubts or any(other.said >= record.said for other in doubts):
        return False
    return config.duplicate and config.ledger and (record.approved or config.shadow)


# -- mail ----------------------------------------------------------------------------------------------------------


def apply_signals(session: Session) -> None:
    """Carry out what was told from outside since the last call; what is about a settled call changes nothing."""
    for mail in session.drain_signals():
        record = session.ledger.find(mail.key)
        if record is None:
            continue  # a call of another branch of the thread
        if record.open and record.attempts < mail.attempt:
            session.defer_signal(
                mail
            )  # the state is behind; the call is issued again, and is pending then
        elif mail.kind is SignalKind.DELIVERY:
            _apply_delivery(session, record, mail)
        elif record.state is CallState.IN_DOUBT and mail.attempt >= record.last_answer_attempt:
            _apply_resolution(session, record, mail)


def _apply_delivery(session: Session, record: CallRecord, mail: Signal) -> None:
    """The result of work outside; also of an earlier attempt that had started it and whose own answer was lost."""
    attempt = record.last_answer_attempt if record.state is CallState.IN_DOUBT else record.attempts
    if record.state in (CallState.PENDING, CallState.IN_DOUBT) and record.aim is ev.Aim.ANSWER:
        result = Success(content=mail.content)
        session.completed(Completion(key=record.key, attempt=attempt, result=result))


def _apply_resolution(session: Session, record: CallRecord, mail: Signal) -> None:
    by = mail.by or "somebody"
    match mail.kind:
        case SignalKind.HAPPENED:
            content = CONFIRMED if mail.content is None else mail.content
            session.completed(
                Completion(
                    key=record.key,
                    attempt=record.last_answer_attempt,
                    result=Success(content=content),
                )
            )
        case SignalKind.RETRY:
            session.record.requeued(
                record.key,
                error=ErrorCode.NOT_HAPPENED,
                reason=f"{by} found that it did not happen, and wants it made again",
                arguments=record.answer_arguments,
            )
        case _:
            text = f"It did not happen, as {by} found. Call it again if it is still wanted."
            session.record.retired(
                record.key, outcome=ev.Outcome.FAILED, content=text, error=ErrorCode.NOT_HAPPENED
            )
