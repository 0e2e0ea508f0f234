"""Faults of tools as values: error codes, what was seen, and what it is taken to mean.

:attr:`~asyncguard.core.faults.Symptom.error` holds an error code of the runtime, or the name of the exception class
that a tool raised. The values of the codes stand in checkpoints, journals, traces and queued orders: none may change,
and a code that is no longer given stays, so that older files can be read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class ErrorCode(StrEnum):
    """Name a failure that is not an exception of the tool."""

    # How an attempt ended that was begun, or was about to be.
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
    """The tool asked a person and was not declared as one that does."""
    CIRCUIT_OPEN = "circuit_open"
    """The breaker of the tool did not let the call through."""
    USER_SPOKE = "user_spoke"
    """A message of the user stopped the attempt before it began."""
    NOT_HAPPENED = "not_happened"
    """A person or a probe found that the attempt did not happen."""
    PROCESS_LOST = "process_lost"
    """The process of the attempt ended, and nothing else is known of it."""

    # What the journal said before an attempt began.
    JOURNAL_REFUSED = "journal_refused"
    """The journal did not let the attempt begin."""
    TAKEN_OVER = "taken_over"
    """The same, because another process holds the thread: the run of this process ends."""
    JOURNAL_UNAVAILABLE = "journal_unavailable"
    """The attempt could not be written down and therefore did not begin."""

    # What other middleware of an agent did with a call.
    NOT_RUN = "not_run"
    """The call ended before its tool was reached."""
    UNANSWERED = "unanswered"
    """The tool was run, and other middleware kept its answer."""
    REPEATED = "repeated"
    """Other middleware ran the tool more than once for one call."""

    # What became of an order that was sent to a worker.
    NOT_FOR_WORKERS = "not_for_workers"
    """The call cannot be sent: it holds what only this process can use."""
    REFUSED_BY_WORKER = "refused_by_worker"
    """The worker does not take orders of this kind."""
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
    """The workers took the order as often as they may, and none answered."""


class HazardKind(StrEnum):
    """The five ways in which a tool lets its caller down."""

    SPECIFICATION = "specification"
    """The contract has changed: fields, types, shapes or units are others than declared."""
    INVOCATION = "invocation"
    """The call was refused: its arguments did not arrive as the live contract wants them."""
    EXECUTION = "execution"
    """The tool, or the way to it, broke: timeout, connection, limit, server error."""
    OUTPUT = "output"
    """The answer is malformed, incomplete or dressed up."""
    CONFLICT = "conflict"
    """Sources that should agree do not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Symptom:
    """How an attempt failed."""

    error: str
    """Name of the exception class, or an :class:`~asyncguard.core.faults.ErrorCode`; a plain ``str`` when made."""
    message: str
    """Text of the failure, for the model; never logged."""
    mro: tuple[str, ...] = ()
    """Names of the exception's classes, most derived first, each with its module."""
    status: int | None = None
    """HTTP status, where the exception carries one."""
    retry_after: float | None = None
    """Seconds that the server asks to wait."""
    transient: bool | None = None
    """What the tool itself says; ``None`` if it says nothing."""
    started: bool = True
    """Whether the effect may have begun."""
    answered: bool = False
    """Whether the tool itself answered, and said that it failed: its outcome is known."""
    implied: bool = False
    """Whether status and some classes are those of an error that was being handled when this one was raised, without a
    word that the one caused the other."""
    running: bool = False
    """Whether the attempt may still run: it was given up, and did not end by a return or an exception of its own."""

    def __post_init__(self) -> None:
        # Savers and JSON writers get the value as it is: a member of an enum would be stored as more than its text.
        object.__setattr__(self, "error", str(self.error))


class AnomalyKind(StrEnum):
    """What can be wrong with an answer that came without an error."""

    UNREADABLE = "unreadable"
    """The declared result is structured, and the answer is a text that is no JSON."""
    MISSING = "missing"
    """A required field is not there."""
    UNEXPECTED = "unexpected"
    """A field is there that the schema does not allow."""
    TYPE = "type"
    """A value has another type than declared."""
    VALUE = "value"
    """A value has the right type and is not one of those declared (enum, pattern, format)."""
    UNIT = "unit"
    """The answer names another unit than declared."""
    BOUNDS = "bounds"
    """A number or a length is outside the declared limits."""
    INVARIANT = "invariant"
    """What has to hold between arguments and result does not."""
    DISAGREEMENT = "disagreement"
    """Another source says something else."""


SCHEMA_VISIBLE = frozenset(
    {
        AnomalyKind.UNREADABLE,
        AnomalyKind.MISSING,
        AnomalyKind.UNEXPECTED,
        AnomalyKind.TYPE,
        AnomalyKind.VALUE,
    }
)
"""Anomalies that the structure of the declared result schema shows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Anomaly:
    """One thing that is wrong with an answer."""

    kind: AnomalyKind
    """What."""
    pointer: str
    """Where: JSON pointer into the answer, empty for the whole."""
    message: str
    """For a person or a model; names fields, types and limits, never a value of the answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """What a symptom is taken to mean."""

    hazard: HazardKind
    """The kind of fault."""
    rule: str
    """Name of the rule that said so."""
    evidence: tuple[str, ...]
    """What it rests on, one sentence each; no values of arguments or answers."""
    confidence: float
    """Between 0 and 1: how often this evidence means this hazard, as far as the rule can know."""


class CircuitState(StrEnum):
    """Whether calls of a tool are let through."""

    CLOSED = "closed"
    """All are."""
    OPEN = "open"
    """None is: the tool kept failing."""
    HALF_OPEN = "half_open"
    """One is, to see whether the tool works again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contract:
    """What a tool says of itself while it runs."""

    parameters: Mapping[str, Any] | None
    """JSON Schema of the arguments."""
    returns: Mapping[str, Any] | None
    """JSON Schema of the result."""
