"""The circuit breakers of an agent's tools: one per tool, for all threads of the process.

The cause of a failure (see :mod:`asyncguard.recovery.circuit_breaker`) is the fingerprint of the
call.
"""

from asyncguard.core.events import CallRecovered
from asyncguard.core.faults import CircuitState, ErrorCode, HazardKind, Symptom
from asyncguard.core.records import CallRecord
from asyncguard.core.results import Failure
from asyncguard.recovery.circuit_breaker import (
    Circuit,
    admits,
    after_failure,
    after_success,
    remaining,
)
from asyncguard.recovery.diagnosis import is_transient
from asyncguard.recovery.failure_case import Case
from asyncguard.runtime.session.session import Session

_SAYS_NOTHING = frozenset(
    {
        ErrorCode.CIRCUIT_OPEN,
        ErrorCode.USER_SPOKE,
        ErrorCode.CANCELLED,
        ErrorCode.NOT_HAPPENED,
        ErrorCode.PROCESS_LOST,
        ErrorCode.JOURNAL_REFUSED,
        ErrorCode.JOURNAL_UNAVAILABLE,
    }
)
"""Failures that say nothing about the health of the tool."""


def let_through(session: Session, record: CallRecord, tool: str) -> Failure | None:
    """Ask the breaker of a tool, and return the failure of a call that it does not let through.

    An attempt that follows a question to a person goes on with the one that asked, which the
    breaker let through, perhaps as its probe. Refused, it would lose the person's answer.
    """
    engine = session.engine
    circuit = engine.circuits.get(tool)
    if circuit is None or not engine.config.breaker or _asked(record):
        return None
    now, cooldown = engine.clock.now(), engine.config.timing.breaker_cooldown
    admitted, moved = admits(circuit, now, cooldown, record.call.fingerprint)
    _keep(session, tool, circuit, moved)
    if admitted:
        return None
    message = f"{tool} failed {circuit.failures} times in a row and rests."
    # While one call probes the tool, the others come back soon.
    wait = remaining(circuit, now, cooldown) if circuit.state is CircuitState.OPEN else None
    symptom = Symptom(
        error=ErrorCode.CIRCUIT_OPEN,
        message=message,
        transient=True,
        started=False,
        retry_after=wait,
    )
    return Failure(symptom=symptom)


def move_circuit(session: Session, record: CallRecord, tool: str, symptom: Symptom | None) -> None:
    """Tell the breaker of a tool how an attempt ended; ``None`` for an answer."""
    engine = session.engine
    if symptom is None and tool not in engine.circuits:
        return  # a closed breaker without failures has no entry
    if not engine.config.breaker or (symptom is not None and symptom.error in _SAYS_NOTHING):
        return
    circuit, cause = engine.circuits.get(tool, Circuit()), record.call.fingerprint
    if symptom is None:
        moved = after_success(circuit, cause)
    else:
        moved = after_failure(
            circuit, engine.clock.now(), engine.config.limits.breaker_failures, cause
        )
    _keep(session, tool, circuit, moved)


def tell_circuit(session: Session, record: CallRecord, case: Case, symptom: Symptom) -> None:
    """Report a diagnosed failure to the breaker of its tool.

    An outage counts as a failure. A refusal shows that the tool works. Other errors may be the
    caller's and say nothing about the tool.
    """
    if case.diagnosis.hazard is HazardKind.EXECUTION and is_transient(symptom):
        move_circuit(session, record, record.answer_tool, symptom)
    elif case.refused or case.answered:
        move_circuit(session, record, record.answer_tool, None)


def _asked(record: CallRecord) -> bool:
    """Return True if the attempt before this one ended with a question to a person."""
    steps = (event for event in reversed(record.history) if isinstance(event, CallRecovered))
    latest = next(steps, None)
    return latest is not None and latest.asked


def _keep(session: Session, tool: str, before: Circuit, after: Circuit) -> None:
    """Store the new state of a breaker, and record an event if it changed."""
    circuits = session.engine.circuits
    if after.state is CircuitState.CLOSED and not after.failures:
        circuits.pop(tool, None)
    else:
        circuits[tool] = after
    if after.state is not before.state:
        session.record.circuit_moved(tool, state=after.state, failures=after.failures)
