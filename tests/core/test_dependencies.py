"""Dependencies against a search through all pairs of calls."""

from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from asyncguard.core import events as ev
from asyncguard.core.calls import Call
from asyncguard.core.dependencies import (
    Hazard,
    earlier_untold,
    footprint_dependencies,
    operand_dependencies,
    order_dependencies,
)
from asyncguard.core.footprints import overlap
from asyncguard.core.ledger import Ledger
from asyncguard.core.records import CallRecord
from tests.core.builders import footprint, make_call

sides = st.sampled_from([None, "", "a", "b", "a*", "*", "a b"])
plans = st.lists(
    st.tuples(
        sides, sides, st.sampled_from(["t1", "t2"]), st.booleans(), st.booleans(), st.integers(0, 8)
    ),
    max_size=9,
)


def build(plan: list[tuple[Any, ...]]) -> Ledger:
    """A ledger of calls with these footprints; some are in one message with the call before, some were rejected."""
    ledger = Ledger()
    message = 0
    for sequence, (reads, writes, task, together, ended, source) in enumerate(plan, start=1):
        message += not together
        call = make_call(
            sequence,
            f"x{sequence}",
            task=task,
            message=f"m{message}",
            resources=footprint(reads, writes),
            arguments={"v": {"from_call": f"x{source}#1", "pointer": ""}},
        )
        ledger.apply(ev.CallProposed(n=sequence, at=0.0, call=call))
        if ended:
            ledger.apply(ev.CallRejected(n=sequence, at=0.0, key=call.key, guard="g", reason="r"))
    return ledger


ends = st.lists(
    st.sampled_from(
        ["open", "pending", "done", "failed", "in doubt", "resolved", "told", "squashed"]
    ),
    min_size=9,
    max_size=9,
)


def end_all(ledger: Ledger, wanted: list[str]) -> dict[str, bool]:
    """Bring the open calls to the wanted ends; give for each key whether the model lacks its end."""
    untold = {}
    for record, end in zip(list(ledger.calls()), wanted, strict=False):
        key = record.key
        untold[key] = record.open and end not in ("told", "squashed")
        if not record.open or end == "open":
            continue
        if end == "squashed":
            ledger.apply(ev.CallDeferred(n=1, at=0.0, key=key, guard="g", reason="r", on=()))
            ledger.apply(ev.CallSquashed(n=1, at=0.0, key=key, reason="r"))
            continue
        ledger.apply(ev.CallAdmitted(n=1, at=0.0, key=key))
        ledger.apply(ev.CallStarted(n=1, at=0.0, key=key, attempt=1, tool="x", epoch="e"))
        if end == "pending":
            continue
        outcomes = {
            "failed": ev.Outcome.FAILED,
            "in doubt": ev.Outcome.IN_DOUBT,
            "resolved": ev.Outcome.IN_DOUBT,
        }
        outcome = outcomes.get(end, ev.Outcome.DONE)
        ledger.apply(ev.CallRetired(n=1, at=0.0, key=key, outcome=outcome, content="c", size=1))
        if end == "resolved":
            # The doubt was told, its end was not.
            ledger.apply(ev.CallsDelivered(n=1, at=0.0, keys=(key,)))
            ledger.apply(
                ev.CallRetired(n=1, at=0.0, key=key, outcome=ev.Outcome.DONE, content="c", size=1)
            )
        if end == "told":
            ledger.apply(ev.CallsDelivered(n=1, at=0.0, keys=(key,)))
    return untold


def found(call: Call, ledger: Ledger) -> set[tuple[str, Hazard]]:
    """Return the dependencies that the three sources find."""
    sources = (operand_dependencies, footprint_dependencies, order_dependencies)
    return {(item.on, item.hazard) for source in sources for item in source(call, ledger)}


def expected(call: Call, ledger: Ledger) -> Iterator[tuple[str, Hazard]]:
    """Return the same by looking at every earlier open call."""
    label = call.arguments["v"]["from_call"]
    mine = call.footprint
    for record in ledger.calls():
        other = record.call
        if not record.open or other.sequence >= call.sequence:
            continue
        theirs = other.footprint
        if other.task == call.task and other.label == label:
            yield other.key, Hazard.OPERAND
        pairs = (
            (Hazard.RAW, theirs.writes, mine.reads),
            (Hazard.WAR, theirs.reads, mine.writes),
            (Hazard.WAW, theirs.writes, mine.writes),
        )
        for hazard, left, right in pairs:
            if any(overlap(x, y) for x in left or () for y in right or ()):
                yield other.key, hazard
        if must_queue(record, call):
            yield other.key, Hazard.ORDER


def must_queue(record: CallRecord, call: Call) -> bool:
    """Return True if the barrier of the task orders the two calls."""
    other = record.call
    if other.task != call.task or other.message_id == call.message_id:
        return False
    unknown = None in (
        other.footprint.reads,
        other.footprint.writes,
        call.footprint.reads,
        call.footprint.writes,
    )
    return unknown and (
        other.footprint.writes != frozenset() or call.footprint.writes != frozenset()
    )


@given(plans)
def test_the_indexes_find_what_a_full_search_finds(plan: list[tuple[Any, ...]]) -> None:
    """Every hazard of every call, and none besides."""
    ledger = build(plan)
    for record in ledger.calls():
        assert found(record.call, ledger) == set(expected(record.call, ledger))


@given(plans)
def test_no_call_waits_for_a_later_one(plan: list[tuple[Any, ...]]) -> None:
    """All edges lead back in program order: there is no cycle, and a call can always continue."""
    ledger = build(plan)
    for record in ledger.calls():
        for key, _ in found(record.call, ledger):
            assert ledger.record(key).call.sequence < record.call.sequence
            assert ledger.record(key).open


@given(plans, ends)
def test_earlier_untold_calls_are_those_whose_results_the_model_lacks(
    plan: list[tuple[Any, ...]], wanted: list[str]
) -> None:
    """Such calls are open or ended without the model knowing, of the same task, of an earlier message."""
    ledger = build(plan)
    untold = end_all(ledger, wanted)
    for record in ledger.calls():
        call = record.call
        assert ledger.untold(call.key) == untold[call.key]
        slow = [
            other.call.key
            for other in ledger.calls()
            if untold[other.key]
            and other.call.task == call.task
            and other.call.sequence < call.sequence
            and other.call.message_id != call.message_id
        ]
        assert [other.call.key for other in earlier_untold(call, ledger)] == slow


def test_a_dependency_says_what_it_is_about() -> None:
    """The resource, label or task in question is named."""
    ledger = Ledger()
    for call in (make_call(1, resources=footprint("", "a")), make_call(2, "x")):
        ledger.apply(ev.CallProposed(n=1, at=0.0, call=call))
    reader = make_call(3, resources=footprint("a*"), arguments={"v": {"from_call": "x#1"}})
    assert [item.resource for item in footprint_dependencies(reader, ledger)] == ["a*"]
    assert [item.resource for item in operand_dependencies(reader, ledger)] == ["x#1"]
    assert [item.resource for item in order_dependencies(reader, ledger)] == ["t1"]
