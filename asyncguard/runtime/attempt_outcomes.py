"""Failure cases of calls: observations of their attempts, and the decisions of the recovery policy.

A case is built from the record of its call whenever a decision is due, so a process that resumes a
thread builds the same one. A decision is kept until :mod:`asyncguard.runtime.recovery_driver`
carries it out.
"""

from dataclasses import asdict, replace
from typing import Any

from asyncguard.core import events as ev
from asyncguard.core.calls import CallState, canonical_json
from asyncguard.core.faults import Anomaly, AnomalyKind, ErrorCode, Symptom
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Failure, Success
from asyncguard.recovery.consensus import Candidate, compare
from asyncguard.recovery.decisions import End, Spent
from asyncguard.recovery.failure_case import CallObservation, Case, symptom_of_finding
from asyncguard.recovery.messages import mark_of_units
from asyncguard.recovery.policy import LOOKING, decide
from asyncguard.runtime.circuits import move_circuit, tell_circuit
from asyncguard.runtime.session.session import Session


def handle_failure(session: Session, record: CallRecord, symptom: Symptom) -> None:
    """Handle a failed attempt; its symptom is recorded, so that a restart builds the same case."""
    # Without a journal the state alone shows that a process which has ended had begun the attempt.
    repeated = session.live.replays.get(record.key) == record.last_answer_attempt
    if repeated and session.engine.journal is None:
        symptom = symptom.of_repetition()
    record_finding(
        session, record, ev.Aim.ANSWER, record.answer_tool, asdict(symptom), error=symptom.error
    )
    session.live.saw(record.key, CallObservation(symptom=symptom))
    decide_recovery(session, record)


def attempt_ended(record: CallRecord) -> bool:
    """Return True if the state records the end of the call's current attempt."""
    return any(
        found.aim is record.aim
        and found.tool == record.tool
        and found.tries == record.answer_attempts
        for found in record.findings
    )


def harmless(session: Session, record: CallRecord) -> bool:
    """Return True if no attempt of a call can have had an effect that the model must know of."""
    if session.board.spec(record.answer_tool or record.tool).effect.renewable:
        return True
    if not record.answer_attempts or record.wanted_again:  # then the last attempt did not happen
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
    """Return the tool's answer as it came, or the part that was stored if its process has ended."""
    return result.update if result.raw is None else result.raw


def restore_updates(session: Session) -> None:
    """Take the state updates of results that no model was shown from the journal.

    The state holds of a result only what the model reads, until the result is told.
    """
    for key, known in session.lease.begun_before.items():
        record = session.ledger.find(key)
        if (
            record is not None
            and record.succeeded
            and not record.delivered
            and key not in session.live.raw_results
            and known.number == record.last_answer_attempt
            and isinstance(known.result, Success)
            and known.result.update is not None
        ):
            session.live.answered(key, raw_of(known.result))


def handle_answer(session: Session, record: CallRecord, result: Success) -> None:
    """Handle the answer of an attempt for the call's own result."""
    move_circuit(session, record, record.answer_tool, None)
    anomalies = anomalies_of(session, record, result.content)
    if not anomalies:
        retire(session, record, result, mark=mark_of_units(session.casebook.foreign_units(record)))
        return
    # Kept because a marked answer still carries the state updates that came with it.
    session.live.answered(record.key, raw_of(result))
    record_finding(session, record, ev.Aim.ANSWER, record.answer_tool, result.content)
    session.live.saw(record.key, CallObservation(content=result.content, anomalies=anomalies))
    decide_recovery(session, record)


def seen_of(session: Session, record: CallRecord) -> CallObservation:
    """Return the observation of the latest attempt for the call's own result.

    After a restart it is rebuilt from the findings in the state.
    """
    known = session.live.observations.get(record.key)
    if known is None:
        answers = (found for found in reversed(record.findings) if found.aim is ev.Aim.ANSWER)
        found = next(answers)
        if found.error is not None:
            symptom = symptom_of_finding(found)
            attempt = session.lease.begun_before.get(record.key)
            # An attempt does not outlive its process: the journal knows if it can still run.
            if (
                attempt is not None
                and attempt.number == record.last_answer_attempt
                and isinstance(attempt.result, Failure)
            ):
                running = symptom.running and attempt.result.symptom.running
                symptom = replace(symptom, running=running)
            known = CallObservation(symptom=symptom)
        else:
            known = CallObservation(
                content=found.content, anomalies=anomalies_of(session, record, found.content)
            )
        session.live.saw(record.key, known)
    return known


def anomalies_of(session: Session, record: CallRecord, content: Any) -> tuple[Anomaly, ...]:
    """Check an answer against the tool's declaration and the answers of other calls of the task."""
    called, config = session.board.spec(record.call.tool), session.engine.config
    sources = session.casebook.panel.question(called.name).sources
    if called.result_schema is None and not (called.invariants or sources):
        return ()  # nothing to check against; most tools declare nothing about their answers
    if not any(getattr(config, name) for name in LOOKING):
        return ()
    found = session.casebook.inspect(record, content)
    if found or not config.cross_check:
        return found
    return _disagreements(
        session, record, session.casebook.panel.comparable(record, record.answer_tool, content)
    )


def _disagreements(session: Session, record: CallRecord, value: Any) -> tuple[Anomaly, ...]:
    """Return a disagreement per call of the task that asked another source the same and differs."""
    panel = session.casebook.panel
    called = panel.question(record.call.tool)
    if not called.sources:
        return ()
    own = Candidate(source=record.tool, value=value, trusted=False, date=None)
    differing: list[Anomaly] = []
    for source in called.sources:
        asked = canonical_json(source.translate(record.effective_arguments))
        for other in session.ledger.of_tool(record.call.task, source.tool):
            answered = other.succeeded and not other.doubtful and other.content is not None
            if not answered or canonical_json(other.effective_arguments) != asked:
                continue  # without an answer, or asked something else
            answer = panel.comparable(record, source.tool, other.content)
            theirs = Candidate(source=source.tool, value=answer, trusted=False, date=None)
            if not compare((own, theirs), called.compared, None).differing:
                continue  # they agree, or one of them lacks the compared fields
            if not any(
                found.aim is ev.Aim.SOURCE and found.tool == source.tool
                for found in record.findings
            ):
                record_finding(session, record, ev.Aim.SOURCE, source.tool, other.content)
            message = f"{other.call.label} says something else about the same"
            differing.append(Anomaly(kind=AnomalyKind.DISAGREEMENT, pointer="", message=message))
    return tuple(differing)


def record_finding(
    session: Session,
    record: CallRecord,
    aim: ev.Aim,
    tool: str,
    content: Any,
    *,
    error: str | None = None,
) -> None:
    """Record an answer or failure that informs the recovery of a call and does not end it."""
    session.record.found(record.key, aim=aim, tool=tool, content=content, error=error)


def decide_recovery(session: Session, record: CallRecord) -> None:
    """Ask the recovery policy about a call; ``recovery_driver.recover`` executes the decision."""
    case = case_of(session, record)
    if case.normalised is not None and not case.disputed and session.engine.config.cross_check:
        # Only the normalised answer can be compared with the answers of other calls.
        differing = _disagreements(session, record, case.normalised.value)
        if differing:
            session.live.saw(
                record.key, replace(case.seen, anomalies=(*case.seen.anomalies, *differing))
            )
            case = case_of(session, record)
    fresh = record.aim is ev.Aim.ANSWER
    if fresh or case.diagnosis.hazard is not session.live.hazards.get(record.key):
        session.live.diagnosed(record.key, case.diagnosis.hazard)
        session.record.diagnosed(record.key, case.diagnosis, symptom=case.seen.kinds)
    if fresh and case.seen.symptom is not None:
        tell_circuit(session, record, case, case.seen.symptom)
    session.live.decided(
        record.key, decide(case, session.engine.config, _spent(session, record.call.task))
    )


def _spent(session: Session, name: str) -> Spent:
    """Return the retries so far; decided ones count already, as many calls may fail at once."""
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
    """Build the failure case of a call.

    Args:
        session: The thread.
        record: The call.
        seen: Observation of its latest attempt; by default the one that was kept.
    """
    known = session.ledger.contracts.get(record.answer_tool)
    observed = seen_of(session, record) if seen is None else seen
    return session.casebook.build(record, observed, known, _doubted(session, record))


def _doubted(session: Session, record: CallRecord) -> list[str]:
    """Return the siblings whose equal call of the task is in doubt: it may have happened."""
    board = session.board
    return [
        sibling.tool
        for sibling in board.spec(record.call.tool).fallbacks
        if any(
            other.state is CallState.IN_DOUBT and other.key != record.key
            for other in board.equal_calls(record.call.task, board.sent_by(record, sibling))
        )
    ]


def end_call(session: Session, record: CallRecord, end: End) -> None:
    """Retire a call, and drop what was kept about its attempts."""
    done = end.outcome is ev.Outcome.DONE
    session.live.ended(record.key, used=done or end.error == ErrorCode.TOOL_ERROR)
    session.record.retired(
        record.key,
        outcome=end.outcome,
        content=end.content,
        error=end.error,
        mark=end.mark,
        doubtful=end.doubtful,
    )
