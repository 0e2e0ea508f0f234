"""The circuit breaker of a tool: values in, values out; whoever keeps the circuits has the clock.

A tool that keeps failing rests. After the cooldown one call is let through as a probe, and its end decides.

Failures have *causes*: the arguments that they came with. As long as all failures in a row have one cause, nothing is
known against the tool, and only calls with that cause rest. With several, a call of another cause does not wait for the
cooldown: it may probe at once, one at a time, for it may be fine where the others are not. If it fails it rests, too.

The caller tells of answers (:func:`after_success`) and of failures whose hazard is *execution* (:func:`after_failure`),
and of no others: a refused call or a strange answer says nothing about whether the tool works. A probe may therefore
end without a word, or with its process; half-open, the circuit lets another one through after a further cooldown, so it
cannot stay half-open for ever.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from asyncguard.core.faults import CircuitState
from asyncguard.errors import CallerError


@dataclass(frozen=True, kw_only=True, slots=True)
class Circuit:
    """What is known of one tool's failures."""

    state: CircuitState = CircuitState.CLOSED
    """Whether calls are let through."""
    failures: int = 0
    """Failures in a row."""
    opened_at: float | None = None
    """When it opened or, half-open, when its probe was let through: seconds on the caller's clock; closed ``None``."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many of the failures had which cause."""
    resting: frozenset[str] = frozenset()
    """Causes that wait for the cooldown: each failed often enough by itself, or as a probe."""

    def __post_init__(self) -> None:
        """Refuse circuits that no sequence of ends leads to."""
        if self.failures < 0:
            raise CallerError(f"Circuit.failures is {self.failures}; a count cannot be negative.")
        if (self.state is CircuitState.CLOSED) is not (self.opened_at is None):
            raise CallerError(
                "Circuit.opened_at is None exactly while the circuit is closed; correct one of the two."
            )

    def concerns(self, cause: str) -> bool:
        """Whether a call with this cause is held back: all are, but by failures that have one other cause."""
        return len(self.counts) != 1 or cause in self.counts


def after_success(circuit: Circuit, cause: str = "") -> Circuit:
    """The circuit after an answer: closed, unless it rests because of one other cause alone.

    An answer counts while the circuit is open, too: it belongs to a call that began before, and the tool gave it now.

    Args:
        circuit: As it was.
        cause: Of the call that was answered.
    """
    if circuit.state is not CircuitState.CLOSED and not circuit.concerns(cause):
        return circuit
    return circuit if circuit == Circuit() else Circuit()


def after_failure(circuit: Circuit, now: float, limit: int, cause: str = "") -> Circuit:
    """The circuit after a failure of hazard kind execution; failures of other kinds must not be reported here.

    Args:
        circuit: As it was.
        now: Seconds on the caller's clock.
        limit: Failures in a row that open a closed circuit. Half-open, one failure opens it again; an open one stays as
            it is but for the count, so that late failures of old calls do not prolong the rest.
        cause: Of the call that failed.
    """
    failures = circuit.failures + 1
    counts = {**circuit.counts, cause: circuit.counts.get(cause, 0) + 1}
    closed = circuit.state is CircuitState.CLOSED
    resting = circuit.resting | ({cause} if not closed or counts[cause] >= limit else set())
    if circuit.state is CircuitState.OPEN or (closed and failures < limit):
        return replace(circuit, failures=failures, counts=counts, resting=resting)
    return Circuit(
        state=CircuitState.OPEN, failures=failures, opened_at=now, counts=counts, resting=resting
    )


def admits(circuit: Circuit, now: float, cooldown: float, cause: str = "") -> tuple[bool, Circuit]:
    """Whether a call may go to the tool, and the circuit after that answer.

    Args:
        circuit: As it is.
        now: Seconds on the caller's clock.
        cooldown: Seconds of rest; with 0 every call is a probe.
        cause: Of the call.
    """
    if circuit.state is CircuitState.CLOSED or not circuit.concerns(cause):
        return True, circuit
    early = circuit.state is CircuitState.OPEN and cause not in circuit.resting
    if not early and remaining(circuit, now, cooldown) > 0:
        return False, circuit
    return True, replace(circuit, state=CircuitState.HALF_OPEN, opened_at=now)


def remaining(circuit: Circuit, now: float, cooldown: float) -> float:
    """Seconds until the next probe is let through; 0 if a call may go now."""
    return 0.0 if circuit.opened_at is None else max(0.0, circuit.opened_at + cooldown - now)
