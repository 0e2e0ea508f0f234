"""Faults of tools as values: what was seen, and what it is taken to mean."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


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
    """Name of the exception class, or an :class:`~asyncguard.core.error_codes.ErrorCode`; a plain ``str`` when made."""
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
    {AnomalyKind.UNREADABLE, AnomalyKind.MISSING, AnomalyKind.UNEXPECTED, AnomalyKind.TYPE, AnomalyKind.VALUE}
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
