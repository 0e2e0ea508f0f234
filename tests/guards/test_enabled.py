"""All guards together: order, switches, and what they guarantee about order."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncguard.config import GUARD_NAMES, OPT_IN_GUARDS, GuardConfig
from asyncguard.core import events as ev
from asyncguard.core.admission import Admit, Defer, Reject
from asyncguard.core.calls import CallState
from asyncguard.core.footprints import overlap
from asyncguard.core.records import CallRecord
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards import GUARDS, approval, arguments, enabled
from tests.core.builders import Scene


def names(config: GuardConfig) -> list[str]:
    """Names of the guards that are on, in order; the check that is always asked is named by its function."""
    modules = {guard: guard.__module__.rpartition(".")[2] for guard in enabled(config)}
    return [
        "runnable" if guard is arguments.judge_runnable else name for guard, name in modules.items()
    ]


def test_the_guards_stand_in_the_order_of_their_switches() -> None:
    """Each switch but completion has one guard, in its own module; those that are off by default stand between."""
    assert [name for name, _ in GUARDS if name not in OPT_IN_GUARDS] == [
        name for name in GUARD_NAMES if name != "completion"
    ]
    assert {name for name, _ in GUARDS} >= set(OPT_IN_GUARDS)
    assert all(guard.__module__ == f"asyncguard.guards.{name}" for name, guard in GUARDS)


def test_what_is_always_asked() -> None:
    """The check of what can be run comes first, the declared approval last."""
    assert enabled(GuardConfig.none()) == (arguments.judge_runnable, approval.judge)
    default = [name for name, _ in GUARDS if name not in OPT_IN_GUARDS]
    assert names(GuardConfig()) == ["runnable", *default, "approval"]


@pytest.mark.parametrize("name", [name for name, _ in GUARDS])
def test_each_switch_moves_its_guard_only(name: str) -> None:
    """A guard is left out when its switch alone is off, and asked when its switch alone is on."""
    whole = GuardConfig().with_switches(dict.fromkeys(OPT_IN_GUARDS, True))
    everything = names(whole)
    assert names(whole.with_switches({name: False})) == [
        other for other in everything if other != name
    ]
    assert names(GuardConfig.none(ledger=True, **{name: True})) == ["runnable", name, "approval"]


def test_the_timing_guards_need_the_ledger() -> None:
    """Without it only those remain that need no pending calls."""
    assert set(names(GuardConfig())) - set(names(GuardConfig(ledger=False))) == {
        "duplicate",
        "grounding",
        "premature",
        "dependency",
        "conflict",
    }


resources = st.none() | st.lists(st.sampled_from(["a", "b", "a*"]), max_size=2, unique=True).map(
    tuple
)
tools = st.builds(lambda reads, writes: (reads, writes), resources, resources)
programs = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["t1", "t2"]), st.booleans(), st.integers(0, 1)),
    min_size=1,
    max_size=10,
)


def collide(one: CallRecord, other: CallRecord) -> bool:
    """Return True if the order of two calls matters, computed apart from the guards."""

    def meet(left: frozenset[str] | None, right: frozenset[str] | None) -> bool:
        return any(overlap(x, y) for x in left or () for y in right or ())

    a, b = one.call.footprint, other.call.footprint
    if meet(a.writes, b.writes) or meet(a.writes, b.reads) or meet(a.reads, b.writes):
        return True
    unknown = None in (a.reads, a.writes, b.reads, b.writes)
    changing = a.writes != frozenset() or b.writes != frozenset()
    apart = one.call.task == other.call.task and one.call.message_id != other.call.message_id
    return unknown and changing and apart


class Runner:
    """A run without a model: calls are proposed by a program and end in an order that chance decides."""

    def __init__(self, specs: list[ToolSpec]) -> None:
        self.scene = Scene(*specs)
        self.guards = enabled(GuardConfig(grounding=False, premature=False, duplicate=False))

    def judge(self, key: str) -> None:
        verdict = self.scene.admit(self.scene.again(key), self.guards)
        match verdict:
            case Admit():
                self.scene.apply(ev.CallAdmitted, key=key)
                self.check_alone(key)
                self.scene.run(key)
            case Defer():
                self.scene.apply(
                    ev.CallDeferred,
                    key=key,
                    guard=verdict.guard,
                    reason=verdict.reason,
                    on=verdict.on,
                )
            case Reject():
                pytest.fail(f"nothing is wrong with this call: {verdict}")

    def check_alone(self, key: str) -> None:
        """Check that an issued call collides with no earlier open call and with none that runs."""
        ledger = self.scene.ledger
        record = ledger.record(key)
        for other in ledger.calls():
            earlier = other.open and other.call.sequence < record.call.sequence
            if other is not record and (earlier or other.state is CallState.PENDING):
                assert not collide(record, other), (record.call.label, other.call.label)

    def release(self) -> None:
        while ready := self.scene.ledger.ready():
            self.judge(ready[0].key)

    def end_one(self, choice: int) -> bool:
        pending = self.scene.ledger.in_state(CallState.PENDING)
        if pending:
            self.scene.end(pending[choice % len(pending)].key)
            self.release()
        return bool(pending)


four_tools = st.lists(tools, min_size=4, max_size=4)
ten_choices = st.lists(st.integers(0, 5), min_size=10, max_size=10)
Program = list[tuple[int, str, bool, int]]


@settings(max_examples=80)
@given(four_tools, programs, ten_choices)
def test_order_is_kept_and_nothing_waits_for_ever(
    declared: list[tuple[Any, Any]], program: Program, choices: list[int]
) -> None:
    """Calls that collide run in program order and never together; every deferred call is issued in the end."""
    check_order(declared, program, choices)


@pytest.mark.full
@settings(max_examples=2_000)
@given(four_tools, programs, ten_choices)
def test_order_is_kept_in_many_programs(
    declared: list[tuple[Any, Any]], program: Program, choices: list[int]
) -> None:
    """Order is kept in many more programs."""
    check_order(declared, program, choices)


def check_order(declared: list[tuple[Any, Any]], program: Program, choices: list[int]) -> None:
    """Play a program and check the order of its calls."""
    specs = [
        ToolSpec(name=f"x{n}", reads=reads, writes=writes)
        for n, (reads, writes) in enumerate(declared)
    ]
    runner = Runner(specs)
    message = 0
    for number, (tool, task, together, ends) in enumerate(program):
        message += not together
        key = runner.scene.propose(
            f"x{tool}", {"n": number}, task=task, message=f"m{message}"
        ).call.key
        runner.judge(key)
        for _ in range(ends):
            runner.end_one(choices[number])
    for turn in range(2 * len(program)):
        if not runner.end_one(choices[turn % len(choices)]):
            break
    assert all(record.state is CallState.DONE for record in runner.scene.ledger.calls())
