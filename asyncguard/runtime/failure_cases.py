"""Failure cases of calls: what was seen of their attempts, and what the recovery policy decides about it.

A case is put together from the record of its call whenever a decision is due, so a process that resumes a thread comes
to the same one. A decision is kept until :mod:`asyncguard.runtime.recovery_driver` carries it out.
"""

from dataclasses import asdict, replace
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core.calls import canonical_json
from asyncguard.core.faults import Anomaly, AnomalyKind, Symptom
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Failure, Success
from asyncguard.core.tool_spec import Source
from asyncguard.recovery.consensus import Candidate, compare
from asyncguard.recovery.decisions import End, Spent
from asyncguard.recovery.failure_case import CallObservation, Case, symptom_of_finding
from asyncguard.recovery.messages import mark_of_units
from asyncguard.recovery.policy import LOOKING, decide
from asyncguard.runtime.circuits import move_circuit, tell_circuit
from asyncguard.runtime.session.session import Session


def handle_failure(session: Session, record: CallRecord, symptom: Symptom) -> None:
    """Take a failed attempt; what was seen of it is kept with the call, so that a restart comes to the same case."""
    record_finding(
        session, record, ev.Aim.ANSWER, record.answer_tool, asdict(symptom), error=symptom.error
    )
    session.live.saw(record.key, CallObservation(symptom=symptom))
    decide_recovery(session, record)


def attempt_ended(record: CallRecord) -> bool:
    """Return whether the state tells how the current attempt of a call ended."""
    return any(
        found.aim is record.aim
        and found.tool == record.tool
        and found.tries == record.answer_attempts
        for found in record.findings
    )


def harmless(session: Session, record: CallRecord) -> bool:
    """Whether nothing that was attempted for a call can have had an effect that the model would have to know of."""
    if session.board.spec(record.answer_tool or record.tool).effect.renewable:
        return True
    if not record.answer_attempts:
        return record.key not in session.live.replays
    ended = any(
        found.aim is ev.Aim.ANSWER and found.tries == record.answer_attempts
        for found in record.findings
    )
    return ended and not case_of(session, record).unknown


def retire(session: Session, record: CallRecord, result: Success, *, mark: str = "") -> None:
    """End a call with the result as it came."""
    session.live.answered(record.key, raw_of(result))
    end = End(outcome=ev.Outcome.DONE, content=result.content, mark=mark, doubtful=bool(mark))
    end_call(session, record, end)


def raw_of(result: Success) -> Any:
    """What the front end hands on: the answer as it came, or what of it outlived its process."""
    return result.update if result.raw is None else result.raw


def handle_answer(session: Session, record: CallRecord, result: Success) -> None:
    """Take the answer of an attempt for the call's own result."""
    move_circuit(session, record, record.answer_tool, None)
    anomalies = anomalies_of(session, record, result.content)
    if not anomalies:
        retire(session, record, result, mark=mark_of_units(session.casebook.foreign_units(record)))
        return
    session.live.answered(
        record.key, raw_of(result)
    )  # a marked answer still has the state updates that came with it
    record_finding(session, record, ev.Aim.ANSWER, record.answer_tool, result.content)
    session.live.saw(record.key, CallObservation(content=result.content, anomalies=anomalies))
    decide_recovery(session, record)


def seen_of(session: Session, record: CallRecord) -> CallObservation:
    """What came of the latest attempt for the call's own result; after a restart, from what the state tells of it."""
    known = session.live.observations.get(record.key)
    if known is None:
        answers = (found for found in reversed(record.findings) if found.aim is ev.Aim.ANSWER)
        found = next(answers)
        if found.error is not None:
            known = CallObservation(symptom=_outlived(session, record, symptom_of_finding(found)))
        else:
            known = CallObservation(
                content=found.content, anomalies=anomalies_of(session, record, found.content)
            )
        session.live.saw(record.key, known)
    return known


def _outlived(session: Session, record: CallRecord, symptom: Symptom) -> Symptom:
    """Return a symptom as the journal has it: no attempt runs on after the end of its process."""
    known = session.lease.begun_before.get(record.key)
    if (
        known is None
        or known.number != record.last_answer_attempt
        or not isinstance(known.result, Failure)
    ):
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
    return _disagreements(
        session, record, session.casebook.panel.comparable(record, record.answer_tool, content)
    )


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
            if not any(
                found.aim is ev.Aim.SOURCE and found.tool == source.tool
                for found in record.findings
            ):
                record_finding(session, record, ev.Aim.SOURCE, source.tool, other.content)
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


def record_finding(
    session: Session,
    record: CallRecord,
    aim: ev.Aim,
    tool: str,
    content: Any,
    *,
    error: str | None = None,
) -> None:
    """Record what was learnt for a call and does not end it."""
    session.record.found(record.key, aim=aim, tool=tool, content=content, error=error)


def decide_recovery(session: Session, record: CallRecord) -> None:
    """Ask the recovery policy about a call; ``recovery_driver.recover`` carries its decision out."""
    case = case_of(session, record)
    if case.normalised is not None and not case.disputed and session.engine.config.cross_check:
        # Brought into its form the answer can be held against what other calls of the task have brought.
        differing = _disagreements(session, record, case.normalised.value)
        if differing:
            session.live.saw(
                record.key, replace(case.seen, anomalies=(*case.seen.anomalies, *differing))
            )
            case = case_of(session, record)
    fresh = record.aim is ev.Aim.ANSWER
    if fresh or case.diagnosis.hazard is not session.live.hazards.get(record.key):
        _log_diagnosis(session, record, case)
    if fresh and case.seen.symptom is not None:
        tell_circuit(session, record, case, case.seen.symptom)
    session.live.decided(
        record.key, decide(case, session.engine.config, _spent(session, record.call.task))
    )


def _spent(session: Session, name: str) -> Spent:
    """Retries so far; decided ones count before they are carried out, for many calls may fail at once."""
    ledger = session.ledger
    task = ledger.task(name)
    due = [
        key
        for key, decided in session.live.recoveries.items()
        if decided.action is ev.RecoveryAction.RETRY
    ]
    of_task = sum(ledger.record(key).call.task == name for key in due)
    return Spent(
        run=ledger.retries + len(due), task=of_task + (0 if task is None else task.retries)
    )


def case_of(session: Session, record: CallRecord, seen: CallObservation | None = None) -> Case:
    """Put together what is known of a call.

    Args:
        session: The thread.
        record: The call.
        seen: What came of its latest attempt; what was seen of it by default.
    """
    known = session.ledger.contracts.get(record.answer_tool)
    return session.casebook.build(record, seen_of(session, record) if seen is None else seen, known)


def _log_diagnosis(session: Session, record: CallRecord, case: Case) -> None:
    session.live.diagnosed(record.key, case.diagnosis.hazard)
    session.record.diagnosed(record.key, case.diagnosis, symptom=case.seen.kinds)


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
