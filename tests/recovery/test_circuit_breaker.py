"""Circuit breakers: the conditions under which calls of a failing tool are let through."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.core.faults import CircuitState
from asyncguard.errors import CallerError
from asyncguard.recovery.circuit_breaker import (
    Circuit,
    admits,
    after_failure,
    after_success,
    remaining,
)

COOLDOWN = 30.0
LIMIT = 3


def _opened(at: float = 0.0) -> Circuit:
    circuit = Circuit()
    for _ in range(LIMIT):
        circuit = after_failure(circuit, at, LIMIT)
    return circuit


def test_failures_in_a_row_open_it() -> None:
    """Below the limit nothing is held back, at the limit all is."""
    circuit = Circuit()
    for failures in range(1, LIMIT):
        circuit = after_failure(circuit, 1.0, LIMIT)
        assert circuit == Circuit(failures=failures, counts={"": failures})
        assert admits(circuit, 1.0, COOLDOWN) == (True, circuit)
    circuit = after_failure(circuit, 1.0, LIMIT)
    rests = {"counts": {"": LIMIT}, "resting": frozenset({""})}
    assert circuit == Circuit(state=CircuitState.OPEN, failures=LIMIT, opened_at=1.0, **rests)  # type: ignore[arg-type]
    assert admits(circuit, 1.0, COOLDOWN) == (False, circuit)


def test_an_answer_between_failures_starts_the_count_anew() -> None:
    """Only failures in a row count."""
    circuit = after_failure(after_failure(Circuit(), 0.0, LIMIT), 0.0, LIMIT)
    circuit = after_failure(after_success(circuit), 0.0, LIMIT)
    assert circuit == Circuit(failures=1, counts={"": 1})


def test_one_call_probes_after_the_cooldown() -> None:
    """Exactly one call probes, and not before the cooldown has passed."""
    circuit = _opened(at=5.0)
    assert not admits(circuit, 34.9, COOLDOWN)[0]
    admitted, probing = admits(circuit, 35.0, COOLDOWN)
    assert admitted
    assert probing.state is CircuitState.HALF_OPEN
    assert not admits(probing, 35.0, COOLDOWN)[0]
    assert not admits(probing, 64.9, COOLDOWN)[0]


def test_the_probe_decides() -> None:
    """Its answer closes the circuit, its failure opens it for another cooldown, whatever the limit."""
    _, probing = admits(_opened(), COOLDOWN, COOLDOWN)
    assert after_success(probing) == Circuit()
    again = after_failure(probing, 31.0, 1_000)
    assert (again.state, again.failures, again.opened_at) == (CircuitState.OPEN, LIMIT + 1, 31.0)
    assert remaining(again, 31.0, COOLDOWN) == COOLDOWN


def test_a_probe_that_never_ends_is_followed_by_another() -> None:
    """A lost or refused probe tells nothing; without this the tool would never be called again."""
    _, probing = admits(_opened(), COOLDOWN, COOLDOWN)
    admitted, second = admits(probing, 2 * COOLDOWN, COOLDOWN)
    assert admitted
    assert not admits(second, 2 * COOLDOWN, COOLDOWN)[0]


def test_late_failures_do_not_prolong_the_rest() -> None:
    """Calls that began before may fail while the circuit is open."""
    circuit = after_failure(_opened(at=0.0), 20.0, LIMIT)
    assert circuit.failures == LIMIT + 1
    assert remaining(circuit, 20.0, COOLDOWN) == 10.0
    assert admits(circuit, COOLDOWN, COOLDOWN)[0]


def test_what_remains() -> None:
    """Seconds to the next probe, never negative; none for a closed circuit."""
    assert remaining(Circuit(failures=2), 3.0, COOLDOWN) == 0.0
    assert remaining(_opened(at=1.0), 11.0, COOLDOWN) == 20.0
    assert remaining(_opened(at=1.0), 99.0, COOLDOWN) == 0.0


@pytest.mark.parametrize(
    "fields",
    [
        {"failures": -1},
        {"opened_at": 1.0},
        {"state": CircuitState.OPEN},
        {"state": CircuitState.HALF_OPEN},
    ],
)
def test_impossible_circuits_are_refused(fields: dict[str, object]) -> None:
    """A count is not negative, and only what is not closed has a time."""
    with pytest.raises(CallerError):
        Circuit(**fields)  # type: ignore[arg-type]


def _failing(*causes: str, at: float = 0.0) -> Circuit:
    circuit = Circuit()
    for cause in causes:
        circuit = after_failure(circuit, at, LIMIT, cause)
    return circuit


def test_failures_of_one_cause_hold_nobody_else_back() -> None:
    """Failures of one set of arguments hold back only calls with these arguments."""
    circuit = _failing(*["bad"] * LIMIT)
    assert not admits(circuit, 0.0, COOLDOWN, "bad")[0]
    assert admits(circuit, 0.0, COOLDOWN, "good") == (True, circuit)
    assert after_success(circuit, "good") == circuit
    assert not admits(after_success(circuit, "good"), 29.0, COOLDOWN, "bad")[0]
    assert after_success(circuit, "bad") == Circuit()


def test_another_cause_fails_beside_one_that_rests() -> None:
    """Now the tool itself is in doubt, and others go one at a time."""
    circuit = after_failure(_failing(*["bad"] * LIMIT), 1.0, LIMIT, "worse")
    admitted, probing = admits(circuit, 1.0, COOLDOWN, "good")
    assert admitted
    assert not admits(probing, 1.0, COOLDOWN, "other")[0]
    assert not admits(circuit, 1.0, COOLDOWN, "worse")[0]


def test_with_several_causes_another_call_probes_at_once_and_alone() -> None:
    """It does not wait for the cooldown; one that fails as a probe rests with the others, an answer closes it."""
    circuit = _failing("a", "b", "c")
    admitted, probing = admits(circuit, 0.0, COOLDOWN, "d")
    assert (admitted, probing.state) == (True, CircuitState.HALF_OPEN)
    assert not admits(probing, 0.0, COOLDOWN, "e")[0]
    assert after_success(probing, "d") == Circuit()
    failed = after_failure(probing, 2.0, LIMIT, "d")
    assert not admits(failed, 2.0, COOLDOWN, "d")[0]
    assert admits(failed, 2.0, COOLDOWN, "e")[0]


def test_a_call_that_failed_once_before_has_its_early_probe_too() -> None:
    """One failure among many of another cause does not make it rest."""
    circuit = _failing("bad", "good", "bad")
    admitted, probing = admits(circuit, 0.0, COOLDOWN, "good")
    assert admitted
    assert not admits(after_failure(probing, 1.0, LIMIT, "good"), 1.0, COOLDOWN, "good")[0]


# -- for all histories ---------------------------------------------------------------------------------------------

pauses = st.sampled_from([0.0, 0.5, 10.0, 29.5, 30.0, 45.0])


@dataclass(frozen=True)
class Reached:
    """A circuit and the time at which a history of calls and ends has left it."""

    circuit: Circuit
    now: float


@st.composite
def reached(draw: st.DrawFn) -> Reached:
    """Any circuit that calls and ends lead to."""
    circuit, now = Circuit(), 0.0
    for what in draw(
        st.lists(st.sampled_from(["call", "success", "failure", "failure", "failure"]), max_size=12)
    ):
        now += draw(pauses)
        match what:
            case "call":
                circuit = admits(circuit, now, COOLDOWN)[1]
            case "success":
                circuit = after_success(circuit)
            case _:
                circuit = after_failure(circuit, now, LIMIT)
    return Reached(circuit=circuit, now=now)


@given(at=reached(), pause=pauses)
def test_an_open_circuit_never_admits_before_its_cooldown(at: Reached, pause: float) -> None:
    """It answers by what remains, and a refusal changes nothing."""
    now = at.now + pause
    admitted, after = admits(at.circuit, now, COOLDOWN)
    rested = at.circuit.opened_at is None or now >= at.circuit.opened_at + COOLDOWN
    assert admitted is rested
    assert admitted is (remaining(at.circuit, now, COOLDOWN) == 0)
    assert admitted or after == at.circuit


@given(at=reached(), waits=st.lists(st.floats(0, COOLDOWN, exclude_max=True), max_size=5))
def test_exactly_one_call_probes(at: Reached, waits: list[float]) -> None:
    """Any number of calls may ask; none follows the probe before it has ended."""
    circuit = at.circuit
    while circuit.state is CircuitState.CLOSED:
        circuit = after_failure(circuit, at.now, LIMIT)
    start = at.now + remaining(circuit, at.now, COOLDOWN)
    admitted, circuit = admits(circuit, start, COOLDOWN)
    assert admitted
    for wait in sorted(waits):
        admitted, circuit = admits(circuit, start + wait, COOLDOWN)
        assert not admitted or start + wait >= start + COOLDOWN  # a wait may vanish in rounding
    assert circuit.state is CircuitState.HALF_OPEN


@given(at=reached())
def test_an_answer_closes_and_a_failed_probe_opens(at: Reached) -> None:
    """An answer closes any circuit; a closed one has fewer failures than the limit."""
    assert after_success(at.circuit) == Circuit()
    failed = after_failure(at.circuit, at.now, LIMIT)
    assert failed.failures == at.circuit.failures + 1
    if at.circuit.state is CircuitState.HALF_OPEN:
        assert (failed.state, failed.opened_at) == (CircuitState.OPEN, at.now)
    assert (failed.state is CircuitState.CLOSED) is (
        at.circuit.state is CircuitState.CLOSED and failed.failures < LIMIT
    )
