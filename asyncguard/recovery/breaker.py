"""The circuit breaker of a tool: values in, values out; whoever keeps the circuits has the clock.

A tool that keeps failing rests. After the cooldown one call is let through as a probe, and its end decides.

The caller tells of answers (:func:`after_success`) and of failures whose hazard is *execution* (:func:`after_failure`),
and of no others: a refused call or a strange answer says nothing about whether the tool works. A probe may therefore
end without a word, or with its process; half-open, the circuit lets another one through after a further cooldown, so it
cannot stay half-open for ever.
"""

from dataclasses import dataclass, replace

from asyncguard.core.hazards import CircuitState
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

    def __post_init__(self) -> None:
        """Refuse circuits that no sequence of ends leads to."""
        if self.failures < 0:
            raise CallerError(f"Circuit.failures is {self.failures}; a count cannot be negative.")
        if (self.state is CircuitState.CLOSED) is not (self.opened_at is None):
            raise CallerError("Circuit.opened_at is None exactly while the circuit is closed; correct one of the two.")


def after_success(circuit: Circuit) -> Circuit:
    """The circuit after an answer: closed, whatever it was.

    An answer counts while the circuit is open, too: it belongs to a call that began before, and the tool gave it now.
    """
    return circuit if circuit == Circuit() else Circuit()


def after_failure(circuit: Circuit, now: float, limit: int) -> Circuit:
    """The circuit after a failure of hazard kind execution; failures of other kinds must not be reported here.

    Args:
        circuit: As it was.
        now: Seconds on the caller's clock.
        limit: Failures in a row that open a closed circuit. Half-open, one failure opens it again; an open one stays as
            it is but for the count, so that late failures of old calls do not prolong the rest.
    """
    failures = circuit.failures + 1
    if circuit.state is CircuitState.OPEN or (circuit.state is CircuitState.CLOSED and failures < limit):
        return replace(circuit, failures=failures)
    return Circuit(state=CircuitState.OPEN, failures=failures, opened_at=now)


def admits(circuit: Circuit, now: float, cooldown: float) -> tuple[bool, Circuit]:
    """Whether a call may go to the tool, and the circuit after that answer.

    Args:
        circuit: As it is.
        now: Seconds on the caller's clock.
        cooldown: Seconds of rest; with 0 every call is a probe.
    """
    if circuit.state is CircuitState.CLOSED:
        return True, circuit
    if remaining(circuit, now, cooldown) > 0:
        return False, circuit
    return True, replace(circuit, state=CircuitState.HALF_OPEN, opened_at=now)


def remaining(circuit: Circuit, now: float, cooldown: float) -> float:
    """Seconds until the next probe is let through; 0 if a call may go now."""
    return 0.0 if circuit.opened_at is None else max(0.0, circuit.opened_at + cooldown - now)
