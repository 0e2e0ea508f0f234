"""Faults of tools as values: error codes, symptoms and diagnoses.

:attr:`~asyncguard.core.faults.Symptom.error` holds an error code of the runtime, or the name of the
exception class that a tool raised. The values of the codes stand in checkpoints, journals, traces
and queued orders: none may change, and a code that is no longer used stays, so that older files can
be read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class ErrorCode(StrEnum):
    """Name of a failure that is not an exception of the tool."""

    # Ends of attempts that were begun, or were about to be.
    TIMEOUT = "timeout"
    """The tool gave no answer within its time."""
    CANCELLED = "cancelled"
    """The attempt was cancelled."""
    TOOL_ERROR = "tool_error"
    """The tool handled its own error and answered with it."""
    ANOMALY = "anomaly"
    """An answer came without an error, and something is wrong with it."""
    INTERRUPT = "interrupt"
    """The attempt ended with a question to a person; another attempt follows the answer."""
    UNDECLARED_INTERRUPT = "undeclared_interrupt"
    """The tool asked a person and was not declared to do so."""
    CIRCUIT_OPEN = "circuit_open"
    """The breaker of the tool did not let the call through."""
    USER_SPOKE = "user_spoke"
    """A message of the user stopped the attempt before it began."""
    NOT_HAPPENED = "not_happened"
    """A person or a probe found that the attempt did not happen."""
    PROCESS_LOST = "process_lost"
    """The process of the attempt ended, and nothing else is known of the attempt."""

    # Answers of the journal before an attempt began.
    JOURNAL_REFUSED = "journal_refused"
    """The journal did not let the attempt begin."""
    TAKEN_OVER = "taken_over"
    """The same, because another process acquired the thread: the run of this process ends."""
    JOURNAL_UNAVAILABLE = "journal_unavailable"
    """The attempt could not be recorded and therefore did not begin."""

    # Actions of other middleware of the agent.
    NOT_RUN = "not_run"
    """The call ended before its tool was reached."""
    UNANSWERED = "unanswered"
    """The tool was run, and other middleware kept its answer."""
    REPEATED = "repeated"
    """Other middleware ran the tool more than once for one call."""

    # Ends of orders that were sent to a worker.
    NOT_FOR_WORKERS = "not_for_workers"
    """The call cannot be sent: it holds values that only this process can use."""
    REFUSED_BY_WORKER = "refused_by_worker"
    """The worker does not accept orders of this kind."""
    UNREADABLE_ORDER = "unreadable_order"
    """The worker could not read the order."""
    CONFLICTING_ORDER = "conflicting_order"
    """The answer belongs to another call that was sent under the same key."""
    ORDER_REFUSED = "order_refused"
    """The queue did not accept the order."""
    ORDER_LOST = "order_lost"
    """The queue no longer holds the order, and no answer to it."""
    UNREADABLE_ANSWER = "unreadable_answer"
    """The answer of the worker could not be read."""
    WORKERS_GAVE_UP = "workers_gave_up"
    """The workers received the order as often as they may, and none answered."""


class HazardKind(StrEnum):
    """The five kinds of faults of tools."""

    SPECIFICATION = "specification"
    """The contract has changed: fields, types, shapes or units differ from those declared."""
    INVOCATION = "invocation"
    """The call was refused: its arguments did not fit the live contract."""
    EXECUTION = "execution"
    """The tool or the connection to it failed: timeout, connection, limit, server error."""
    OUTPUT = "output"
    """The answer is malformed, incomplete or wrapped."""
    CONFLICT = "conflict"
    """Sources that should agree disagree."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Symptom:
    """Failure of one attempt, as it was observed."""

    error: str
    """Name of the exception class, or an error code; stored as plain text."""
    message: str
    """Text of the failure, for the model; never logged."""
    mro: tuple[str, ...] = ()
    """Names of the exception's classes, most derived first, each with its module."""
    status: int | None = None
    """HTTP status, if the exception carries one."""
    retry_after: float | None = None
    """Seconds that the server asks to wait."""
    transient: bool | None = None
    """True if the tool says that the fault is passing; ``None`` if it says nothing."""
    started: bool = True
    """True if the effect may have begun."""
    answered: bool = False
    """True if the tool itself answered that it failed: its outcome is known."""
    implied: bool = False
    """True if the status does not show that the attempt began nothing.

    It comes from an error that was being handled when this one was raised and need not have caused
    it, or the attempt was begun before in a process that has ended.
    """
    running: bool = False
    """True if the attempt may still run: it was given up, and neither returned nor raised."""

    def of_repetition(self) -> "Symptom":
        """Return the symptom of an attempt that a process which has ended had begun before.

        Neither the tool's word nor a status says anything of that earlier begin.
        """
        return replace(self, started=True, implied=True)

    def __post_init__(self) -> None:
        # Savers and JSON writers store the value as it is: an enum member would be more than text.
        object.__setattr__(self, "error", str(self.error))


class AnomalyKind(StrEnum):
    """Kind of defect of an answer that came without an error."""

    UNREADABLE = "unreadable"
    """The declared result is structured, and the answer is a text that is not JSON."""
    MISSING = "missing"
    """A required field is absent."""
    UNEXPECTED = "unexpected"
    """A field is present that the schema does not allow."""
    TYPE = "type"
    """A value has a type other than declared."""
    VALUE = "value"
    """A value has the right type and breaks the declared enum, pattern or format."""
    UNIT = "unit"
    """The answer names a unit other than declared."""
    BOUNDS = "bounds"
    """A number or a length is outside the declared limits."""
    INVARIANT = "invariant"
    """A declared invariant between arguments and result does not hold."""
    DISAGREEMENT = "disagreement"
    """Another source gives another answer."""


SCHEMA_VISIBLE = frozenset(
    {
        AnomalyKind.UNREADABLE,
        AnomalyKind.MISSING,
        AnomalyKind.UNEXPECTED,
        AnomalyKind.TYPE,
        AnomalyKind.VALUE,
    }
)
"""Anomalies found by the structure of the declared result schema."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Anomaly:
    """One defect of an answer."""

    kind: AnomalyKind
    """Kind of the defect."""
    pointer: str
    """JSON pointer into the answer, empty for the whole."""
    message: str
    """Text for a person or a model; names fields, types and limits, never a value of the answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """Hazard that a symptom indicates."""

    hazard: HazardKind
    """Kind of fault."""
    rule: str
    """Name of the rule that decided."""
    evidence: tuple[str, ...]
    """Grounds, one sentence each; no values of arguments or answers."""
    confidence: float
    """Estimate between 0 and 1 of how often this evidence means this hazard."""


class CircuitState(StrEnum):
    """State of a tool's circuit breaker."""

    CLOSED = "closed"
    """All calls pass."""
    OPEN = "open"
    """No call passes: the tool kept failing."""
    HALF_OPEN = "half_open"
    """One call passes, to see whether the tool works again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contract:
    """Live contract of a tool, as the running service reports it."""

    parameters: Mapping[str, Any] | None
    """JSON Schema of the arguments."""
    returns: Mapping[str, Any] | None
    """JSON Schema of the result."""
