"""The tables of legal moves."""

from collections.abc import Iterable

import pytest

from asyncguard.core.calls import OPEN_STATES, SUCCESS_STATES, CallState
from asyncguard.core.lifecycle import (
    CALL_TRANSITIONS,
    TASK_TRANSITIONS,
    Move,
    TaskState,
    advance,
    advance_task,
)
from asyncguard.errors import IllegalTransitionError
from tests.docs.state_diagram import mermaid

TERMINAL = {
    CallState.REJECTED,
    CallState.DONE,
    CallState.FAILED,
    CallState.RESOLVED,
    CallState.SQUASHED,
    CallState.CANCELLED,
}


def reachable(start: CallState) -> set[CallState]:
    """All states that some history leads to."""
    found, waiting = {start}, [start]
    while waiting:
        here = waiting.pop()
        after = {target for (state, _), target in CALL_TRANSITIONS.items() if state is here}
        waiting += after - found
        found |= after
    return found


def test_every_state_can_be_reached() -> None:
    """Every state of a call is reached by some history."""
    assert reachable(CallState.PROPOSED) == set(CallState)


@pytest.mark.parametrize("state", CallState)
def test_every_call_can_end(state: CallState) -> None:
    """An end can be reached from each state."""
    assert reachable(state) & TERMINAL


@pytest.mark.parametrize("state", CallState)
def test_an_end_is_final(state: CallState) -> None:
    """States without a way out are the terminal ones, and there are no others."""
    leaves = any(source is state for source, _ in CALL_TRANSITIONS)
    assert leaves == (state not in TERMINAL)


def test_open_means_more_is_to_come() -> None:
    """All states but the ends and doubt are open; a doubt ends only by a resolution."""
    assert set(CallState) - TERMINAL - {CallState.IN_DOUBT} == OPEN_STATES
    assert SUCCESS_STATES <= TERMINAL


def test_nothing_runs_that_was_not_admitted() -> None:
    """Only an admitted call starts, and only a started one has an outcome."""
    assert {state for state, move in CALL_TRANSITIONS if move is Move.START} == {CallState.QUEUED}
    assert {
        state for (state, _), target in CALL_TRANSITIONS.items() if target is CallState.DONE
    } == {CallState.PENDING}


def test_what_has_begun_is_not_taken_back() -> None:
    """A call that may have had its effect is neither cancelled, squashed nor rejected."""
    begun = {CallState.PENDING, CallState.IN_DOUBT}
    back = {Move.CANCEL, Move.SQUASH, Move.REJECT}
    assert not [pair for pair in CALL_TRANSITIONS if pair[0] in begun and pair[1] in back]


def all_pairs() -> Iterable[tuple[CallState, Move]]:
    """Every state with every move."""
    return ((state, move) for state in CallState for move in Move)


def test_advance_obeys_the_table() -> None:
    """A pair in the table gives its target; any other raises, and says what would be possible."""
    for state, move in all_pairs():
        if (state, move) in CALL_TRANSITIONS:
            assert advance(state, move) is CALL_TRANSITIONS[state, move]
        else:
            with pytest.raises(IllegalTransitionError, match=f"{state.value} cannot {move.value}"):
                advance(state, move)


def test_tasks_obey_their_table() -> None:
    """An ended task is opened again, and ends in one way at a time."""
    for state in TaskState:
        for target in TaskState:
            if (state, target) in TASK_TRANSITIONS:
                assert advance_task(state, target) is target
            else:
                with pytest.raises(IllegalTransitionError):
                    advance_task(state, target)
    assert (TaskState.CLOSED, TaskState.STOPPED) not in TASK_TRANSITIONS


def test_the_diagram_shows_both_tables() -> None:
    """Each transition of both tables is one line, each end leads out, and there is nothing else."""
    calls, tasks = mermaid().strip().split("\n\n")
    expected = {
        f"{source.value} --> {target.value}: {move.value}"
        for (source, move), target in CALL_TRANSITIONS.items()
    }
    expected |= {f"{state.value} --> [*]" for state in TERMINAL} | {"[*] --> proposed"}
    assert {line.strip() for line in calls.splitlines()[1:]} == expected
    expected = {f"{source.value} --> {target.value}" for source, target in TASK_TRANSITIONS} | {
        "[*] --> open"
    }
    assert {line.strip() for line in tasks.splitlines()[1:]} == expected
    assert calls.splitlines()[0] == tasks.splitlines()[0] == "stateDiagram-v2"
