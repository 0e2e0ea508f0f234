"""Circuit breaker of a tool: pure functions over a frozen `Circuit`; the caller passes the time.

A tool that keeps failing is paused. After the cooldown one call is let through as a probe, and its
end decides.

Failures have *causes*: the arguments that they came with. As long as all failures in a row have one
cause, nothing is known against the tool, and only calls with that cause are held back. With several
causes, a call with yet another one does not wait for the cooldown: it may probe at once, one call
at a time, because it may succeed where the others fail. If it fails, its cause is held back, too.

The caller reports answers (:func:`after_success`) and failures whose hazard is *execution*
(:func:`after_failure`), and nothing else: a refused call or a strange answer does not show whether
the tool works. A probe may therefore end without a report, or with its process; a half-open circuit
lets another one through after a further cooldown, so it cannot stay half-open for ever.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from asyncguard.core.faults import CircuitState
from asyncguard.errors import CallerError


@dataclass(frozen=True, kw_only=True, slots=True)
class Circuit:
    """Failures of one tool, and the state that follows from them."""

    state: CircuitState = CircuitState.CLOSED
    """State of the circuit: calls pass while it is closed."""
    failures: int = 0
    """Failures in a row."""
    opened_at: float | None = None
    """Seconds on the caller's clock, ``None`` while closed.

    When the circuit opened; half-open, when its probe was let through.
    """
    counts: Mapping[str, int] = field(default_factory=dict)
    """Number of failures by cause."""
    resting: frozenset[str] = frozenset()
    """Causes that wait for the cooldown: each failed often enough by itself, or as a probe."""

    def __post_init__(self) -> None:
        """Reject circuits that no sequence of ends leads to."""
        if self.failures < 0:
            raise CallerError(f"Circuit.failures is {self.failures}; a count cannot be negative.")
        if (self.state is CircuitState.CLOSED) is not (self.opened_at is None):
            raise CallerError(
                f"Circuit.opened_at is {self.opened_at} while Circuit.state is {self.state.value}; "
                "give opened_at exactly when the circuit is not closed."
            )

    def concerns(self, cause: str) -> bool:
        """Return True if a call with this cause is held back.

        All causes are, unless the failures have exactly one cause and it is another one.
        """
        return len(self.counts) != 1 or cause in self.counts


def after_success(circuit: Circuit, cause: str = "") -> Circuit:
    """Return the circuit after an answer: closed, unless one other cause alone holds it open.

    An answer counts while the circuit is open, too: it belongs to a call that began before, and
    shows that the tool works now.

    Args:
        circuit: The circuit before the answer.
        cause: Cause of the call that was answered.
    """
    if circuit.state is not CircuitState.CLOSED and not circuit.concerns(cause):
        return circuit
    return circuit if circuit == Circuit() else Circuit()


def after_failure(circuit: Circuit, now: float, limit: int, cause: str = "") -> Circuit:
    """Return the circuit after a failure of hazard kind execution; report no other kind here.

    Args:
        circuit: The circuit before the failure.
        now: Seconds on the caller's clock.
        limit: Failures in a row that open a closed circuit. Half-open, one failure opens it again;
            an open one only counts the failure, so that late failures of old calls do not prolong
            the cooldown.
        cause: Cause of the call that failed.
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
    """Return True if a call may go to the tool, and the circuit after that decision.

    Args:
        circuit: The circuit as it is.
        now: Seconds on the caller's clock.
        cooldown: Seconds for which calls are held back; with 0 every call is a probe.
        cause: Cause of the call.
    """
    if circuit.state is CircuitState.CLOSED or not circuit.concerns(cause):
        return True, circuit
    # Only an open circuit lets a new cause probe early: half-open, another probe is under way.
    early = circuit.state is CircuitState.OPEN and cause not in circuit.resting
    if not early and remaining(circuit, now, cooldown) > 0:
        return False, circuit
    return True, replace(circuit, state=CircuitState.HALF_OPEN, opened_at=now)


def remaining(circuit: Circuit, now: float, cooldown: float) -> float:
    """Return the seconds until the next probe is let through; 0 if a call may go now."""
    return 0.0 if circuit.opened_at is None else max(0.0, circuit.opened_at + cooldown - now)
