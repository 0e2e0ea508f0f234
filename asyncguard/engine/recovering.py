"""What becomes of an attempt: its result retires the call, or recovery is asked and its decisions are carried out.

A decision (:mod:`asyncguard.recovery.policy`) is made when the attempt ends and carried out by :func:`recover`, in
between the front end may store what happened. Whoever is asked for a call's sake (its live contract, another source,
the probe of its effect) is asked by a further attempt of the call, so that waiting, timeouts and a lost process need no
way of their own.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core.calls import canonical_json
from asyncguard.core.error_codes import ErrorCode
from asyncguard.core.hazards import Anomaly, AnomalyKind, Symptom
from asyncguard.core.records import CallRecord
from asyncguard.core.toolspec import Source
from asyncguard.engine.circuits import let_through, move_circuit, tell_circuit
from asyncguard.engine.durable import follow_journal, replays
from asyncguard.engine.executors.port import Completion, Escape, Failure, Started, Success
from asyncguard.engine.session import Session
from asyncguard.errors import ThreadBusyError
from asyncguard.recovery.case import Case, Seen, symptom_of_finding
from asyncguard.recovery.comparing import Candidate, compare
from asyncguard.recovery.decisions import Attempt, End, Recovery, Spent
from asyncguard.recovery.diagnosis import is_transient
from asyncguard.recovery.policy import LOOKING, decide
from asyncguard.recovery.wording import mark_of_units


def take(session: Session, record: CallRecord, completion: Completion) -> None:
    """Take the end of a pending call's attempt."""
    match completion.result:
        case Success() if record.aim is not ev.Aim.ANSWER:
            move_circuit(session, record, record.tool, None)
            _learn(session, record, record.aim, record.tool, completion.result.content)
            _consider(session, record)
        case Success():
            take_answer(session, record, completion.result)
        case Failure(symptom=symptom) if record.aim is not ev.Aim.ANSWER:
            if is_transient(symptom):
                move_circuit(session, record, record.tool, symptom)
            _learn(session, record, record.aim, record.tool, None, error=symptom.error)
            _consider(session, record)
        case Failure(symptom=symptom):
            _take_end(session, record, symptom)
        case Escape(error=error):
            session.live.escaped(record.key, error)
        case Started():
            session.live.runs_outside(record.key)  # it was started in a process that is gone


def _take_end(session: Session, record: CallRecord, symptom: Symptom) -> None:
    """Take the failure of an attempt for the call's own result; some are the journal's word, and not the tool's."""
    if symptom.error == ErrorCode.TAKEN_OVER:
        session.demand_reconcile()  # if the thread comes back to this process, the call is to be issued again
        raise ThreadBusyError(symptom.message)  # what this process knows is behind: it must not be stored
    if (
        symptom.error == ErrorCode.PROCESS_LOST and not symptom.transient
    ):  # begun as another call: a probe would be asked of this
        end_call(
            session, record, End(outcome=ev.Outcome.IN_DOUBT, content=symptom.message, error=ErrorCode.PROCESS_LOST)
        )
    elif symptom.error == ErrorCode.PROCESS_LOST:
        give_up_lost(session, record, ev.Outcome.IN_DOUBT)
    elif symptom.error == ErrorCode.INTERRUPT:
        ask_again(session, record)
    else:
        take_failure(session, record, symptom)


def ask_again(session: Session, record: CallRecord) -> None:
    """Queue a call whose tool asked a person: it runs anew with the answer."""
    session.board.asked_person(record.key)
    session.record.requeued(
        record.key,
        error=ErrorCode.INTERRUPT,
        reason="a person was asked",
        arguments=record.sent,
        aim=record.aim,
    )


def take_failure(session: Session, record: CallRecord, symptom: Symptom) -> None:
    """Take a failed attempt; what was seen of it is kept with the call, so that a restart comes to the same case."""
    _learn(session, record, ev.Aim.ANSWER, record.answering, asdict(symptom), error=symptom.error)
    session.live.saw(record.key, Seen(symptom=symptom))
    _consider(session, record)


def reconsider(session: Session, record: CallRecord) -> bool:
    """Ask the policy again about a pending call of a lost process whose attempt had ended; whether it had."""
    ended = any(
        found.aim is record.aim and found.tool == record.tool and found.tries == record.tries
        for found in record.findings
    )
    if ended:
        _consider(session, record)
    return ended


def harmless(session: Session, record: CallRecord) -> bool:
    """Whether nothing that was attempted for a call can have had an effect that the model would have to know of."""
    if session.board.spec(record.answering or record.tool).effect.renewable:
        return True
    if not record.tries:
        return record.key not in session.live.replays
    ended = any(found.aim is ev.Aim.ANSWER and found.tries == record.tries for found in record.findings)
    return ended and not case_of(session, record).unknown


def retire(session: Session, record: CallRecord, result: Success, *, mark: str = "") -> None:
    """End a call with the result as it came."""
    session.live.answered(record.key, raw_of(result))
    end = End(outcome=ev.Outcome.DONE, content=result.content, mark=mark, doubtful=bool(mark))
    end_call(session, record, end)


def raw_of(result: Success) -> Any:
    """What the front end hands on: the answer as it came, or what of it outlived its process."""
    return result.update if result.raw is None else result.raw


# -- looking at answers --------------------------------------------------------------------------------------------


def take_answer(session: Session, record: CallRecord, result: Success) -> None:
    """Take the answer of an attempt for the call's own result."""
    move_circuit(session, record, record.answering, None)
    anomalies = anomalies_of(session, record, result.content)
    if not anomalies:
        retire(session, record, result, mark=mark_of_units(session.casebook.foreign_units(record)))
        return
    session.live.answered(record.key, raw_of(result))  # a marked answer still has the state updates that came with it
    _learn(session, record, ev.Aim.ANSWER, record.answering, result.content)
    session.live.saw(record.key, Seen(content=result.content, anomalies=anomalies))
    _consider(session, record)


def _seen(session: Session, record: CallRecord) -> Seen:
    """What came of the latest attempt for the call's own result; after a restart, from what the state tells of it."""
    known = session.live.seen.get(record.key)
    if known is None:
        answers = (found for found in reversed(record.findings) if found.aim is ev.Aim.ANSWER)
        found = next(answers)
        if found.error is not None:
            known = Seen(symptom=_outlived(session, record, symptom_of_finding(found)))
        else:
            known = Seen(content=found.content, anomalies=anomalies_of(session, record, found.content))
        session.live.saw(record.key, known)
    return known


def _outlived(session: Session, record: CallRecord, symptom: Symptom) -> Symptom:
    """Return a symptom as the journal has it: no attempt runs on after the end of its process."""
    known = session.lease.begun_before.get(record.key)
    if known is None or known.number != record.latest or not isinstance(known.result, Failure):
        return symptom
    return replace(symptom, running=symptom.running and known.result.symptom.running)


def anomalies_of(session: Session, record: CallRecord, content: Any) -> tuple[Anomaly, ...]:
    """Hold an answer to a call against its declaration and against what other calls of the task have brought."""
    called, config = session.board.spec(record.call.tool), session.engine.config
    sources = session.casebook.panel.question(called.name).sources
    if called.result_schema is None and not (called.invariants or sources):
        return ()  # most tools declare nothing of their answers; nothing is spent on them
    if not any(getattr(config, name) for name in LOOKING):
        return ()
    found = session.casebook.inspect(record, content)
    if found or not config.cross_check:
        return found
    return _disagreements(session, record, session.casebook.panel.comparable(record, record.answering, content))


def _disagreements(session: Session, record: CallRecord, value: Any) -> tuple[Anomaly, ...]:
    """What other calls of the task, to sources of the same question and about the same, have answered differently."""
    panel = session.casebook.panel
    called = panel.question(record.call.tool)
    if not called.sources:
        return ()
    own = Candidate(source=record.tool, value=value, trusted=False, date=None)
    differing: list[Anomaly] = []
    for source in called.sources:
        for other in _same_question(session, record, source):
            said = panel.comparable(record, source.tool, other.content)
            theirs = Candidate(source=source.tool, value=said, trusted=False, date=None)
            if not compare((own, theirs), called.compared, None).differing:
                continue  # they agree, or one of them lacks what would have to
            if not any(found.aim is ev.Aim.SOURCE and found.tool == source.tool for found in record.findings):
                _learn(session, record, ev.Aim.SOURCE, source.tool, other.content)
            message = f"{other.call.label} says something else about the same"
            differing.append(Anomaly(kind=AnomalyKind.DISAGREEMENT, pointer="", message=message))
    return tuple(differing)


def _same_question(session: Session, record: CallRecord, source: Source) -> list[CallRecord]:
    arguments = canonical_json(source.translate(record.effective_arguments))
    return [
        other
        for other in session.ledger.of_tool(record.call.task, source.tool)
        if other.succeeded and not other.doubtful and other.content is not None
        if canonical_json(other.effective_arguments) == arguments
    ]


def _learn(
    session: Session, record: CallRecord, aim: ev.Aim, tool: str, content: Any, *, error: str | None = None
) -> None:
    session.record.found(record.key, aim=aim, tool=tool, content=content, error=error)


# -- deciding ------------------------------------------------------------------------------------------------------


def _consider(session: Session, record: CallRecord) -> None:
    """Ask the policy; its decision is carried out by :func:`recover`."""
    case = case_of(session, record)
    if case.normalised is not None and not case.disputed and session.engine.config.cross_check:
        # Brought into its form the answer can be held against what other calls of the task have brought.
        differing = _disagreements(session, record, case.normalised.value)
        if differing:
            session.live.saw(record.key, replace(case.seen, anomalies=(*case.seen.anomalies, *differing)))
            case = case_of(session, record)
    fresh = record.aim is ev.Aim.ANSWER
    if fresh or case.diagnosis.hazard is not session.live.hazards.get(record.key):
        _tell(session, record, case)
    if fresh and case.seen.symptom is not None:
        tell_circuit(session, record, case, case.seen.symptom)
    session.live.decided(record.key, decide(case, session.engine.config, _spent(session, record.call.task)))


def _spent(session: Session, name: str) -> Spent:
    """Retries so far; decided ones count before they are carried out, for many calls may fail at once."""
    ledger = session.ledger
    task = ledger.task(name)
    due = [key for key, decided in session.live.recoveries.items() if decided.action is ev.RecoveryAction.RETRY]
    of_task = sum(ledger.record(key).call.task == name for key in due)
    return Spent(run=ledger.retries + len(due), task=of_task + (0 if task is None else task.retries))


def case_of(session: Session, record: CallRecord, seen: Seen | None = None) -> Case:
    """Put together what is known of a call.

    Args:
        session: The thread.
        record: The call.
        seen: What came of its latest attempt; what was seen of it by default.
    """
    known = session.ledger.contracts.get(record.answering)
    return session.casebook.build(record, _seen(session, record) if seen is None else seen, known)


def _tell(session: Session, record: CallRecord, case: Case) -> None:
    session.live.diagnosed(record.key, case.diagnosis.hazard)
    session.record.diagnosed(record.key, case.diagnosis, symptom=case.seen.kinds)


# -- acting --------------------------------------------------------------------------------------------------------


def recover(session: Session, action: ev.RecoveryAction) -> None:
    """Carry out the decided recoveries of one kind: a call is queued for its next attempt, or ends."""
    for key, recovery in list(session.live.recoveries.items()):
        if recovery.action is action:
            session.live.undecided(key)
            _carry_out(session, session.ledger.record(key), recovery)


def _carry_out(session: Session, record: CallRecord, recovery: Recovery) -> None:
    symptom = _seen(session, record).symptom
    error = ErrorCode.ANOMALY if symptom is None else symptom.error
    session.live.attempt_over(record.key)
    match recovery.then:
        case Attempt() as following:
            then = replace(following, arguments=_fitting(session, following))
            session.record.recovered(record.key, replace(recovery, then=then), error=error)
            if following.aim is ev.Aim.ANSWER:
                session.live.tried_again(record.key)
        case End(outcome=ev.Outcome.FAILED | ev.Outcome.IN_DOUBT) if follow_journal(session, record):
            pass
        case End() as end:
            session.record.recovered(record.key, recovery, error=error)
            end_call(session, record, end)


def _fitting(session: Session, following: Attempt) -> Mapping[str, Any] | None:
    """The arguments of an attempt; a probe is asked with those of the call's that it knows."""
    if following.aim is not ev.Aim.PROBE or following.arguments is None:
        return following.arguments
    parameters = session.board.spec(following.tool).parameters
    known = (parameters or {}).get("properties", following.arguments)
    return {name: value for name, value in following.arguments.items() if name in known}


def end_call(session: Session, record: CallRecord, end: End) -> None:
    """Retire a call."""
    session.live.ended(record.key, used=end.outcome is ev.Outcome.DONE)
    session.record.retired(
        record.key,
        outcome=end.outcome,
        content=end.content,
        error=end.error,
        mark=end.mark,
        doubtful=end.doubtful,
    )


def give_up_lost(session: Session, record: CallRecord, outcome: ev.Outcome) -> None:
    """Retire a call whose process died, or ask the probe of its effect first."""
    text = "The process that ran the call ended before it answered."
    if session.board.spec(record.tool).probe is not None and session.engine.config.verify:
        take_failure(session, record, Symptom(error=ErrorCode.PROCESS_LOST, message=text, transient=True))
        return
    end_call(session, record, End(outcome=outcome, content=text, error=ErrorCode.PROCESS_LOST))


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
    if message is None and (replayed or record.key not in session.live.stopped):
        return None
    message = message or "The user sent a new message before it was tried again."
    return Symptom(error=ErrorCode.USER_SPOKE, message=message, transient=False, started=replayed)
