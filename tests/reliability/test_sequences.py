"""Seeded sequences of questions, answers, faults and deaths, and the judge that looks at them."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from reliability.cases import Build, Effect
from reliability.effectlog import Line, What
from reliability.evidence import Process, ThreadCall
from reliability.parts import sequence
from reliability.sequence_judge import Heard, judge_sequence
from reliability.sequence_plans import Fault, Life, Plan, Tool, plan_of
from tests.reliability.playing import Play

FEW = (18, 51, 67, 79, 83)
MANY = range(10, 50)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", FEW)
def test_a_sequence_keeps_its_promises(seed: int, play: Play) -> None:
    """Seeds that have found something: four payments made twice, and one told as not made."""
    assert play(sequence(seed)).violations == []


@pytest.mark.slow(seconds=60)
def test_many_sequences_keep_their_promises(play: Play) -> None:
    """As `make reliability` plays them, a tenth."""
    played = [play(sequence(seed)) for seed in MANY]
    assert [item for item in played if item.violations] == []
    assert sum(item.kills for item in played) > 10


def test_a_seed_makes_the_same_plan_everywhere() -> None:
    """A violation is played again by its seed; the front ends take turns."""
    assert [plan_of(seed) for seed in range(50)] == [plan_of(seed) for seed in range(50)]
    assert [sequence(seed).build for seed in (6, 7)] == [Build.GRAPH, Build.MIDDLEWARE]


def test_plans_hold_every_thing_that_can_happen() -> None:
    """Classes, faults, acts and points are all drawn within the seeds of `make reliability`."""
    plans = [plan_of(seed) for seed in range(300)]
    tools = [tool for plan in plans for tool in plan.tools]
    assert {tool.effect for tool in tools} == {*Effect} - {Effect.PROBED}
    assert {fault for tool in tools for fault in tool.faults} == {*Fault}
    acts = {act for plan in plans for life in plan.lives for act in life.acts}
    assert len(acts) == 12
    assert {plan.journal for plan in plans} == {plan.sync for plan in plans} == {True, False}


# -- forged histories ----------------------------------------------------------------------------------------------

PLAN = Plan(
    seed=0,
    tools=(
        Tool(name="pay", effect=Effect.KEYED, fallbacks=("bank",), asks=1, approval=True),
        Tool(name="bank", effect=Effect.AT_MOST_ONCE),
    ),
    waves=((("pay", "a"),),),
    tasks=("a", "b"),
    journal=True,
    sync=True,
    lives=(Life(acts=()),),
)
MADE = (What.MADE, "pay", "", "a")
YES = (What.ANSWERED, "", "", "yes")
GIVEN = (What.GIVEN, "pay", "", "A3/x/pay/0.0")
GOT = (What.GOT, "pay", "0.0", "A3/x/pay/0.0")
BEGUN = (What.BEGUN, "pay", "k", "")
EFFECT = (What.EFFECT, "pay", "k", "")
DONE = (What.RETURNED, "pay", "", "")
SOUND = (MADE, YES, GIVEN, GOT, BEGUN, EFFECT, DONE)
CANCEL = ((What.ACTS, "", "", "cancel"), (What.DID, "", "", "cancel a"))

Told = tuple[What, str, str, str]


def heard(*told: Told, end: str = "done") -> Heard:
    """Evidence of one call for the item `x`."""
    lines = tuple(
        Line(n=n, life=0, pid=1, what=what, tool=tool, item="x", key=key, note=note)
        for n, (what, tool, key, note) in enumerate(told, 1)
    )
    call = ThreadCall(
        key="k", tool="pay", item="x", task="a", label="pay#1", call_id="c", ends=[(1, end)]
    )
    process = Process(life=0, pid=1, died=False)
    return Heard(plan=PLAN, lines=lines, processes=(process,), state={"next": []}, calls=(call,))


FORGED: dict[str, tuple[str, Sequence[Told], str]] = {
    "paid twice": ("P2", (*SOUND, EFFECT), "done"),
    "the sibling paid, too": ("P2", (*SOUND, (What.BEGUN, "bank", "", "")), "done"),
    "an unanswered request": ("P3", (*SOUND, (What.UNANSWERED, "", "", "c")), "done"),
    "told as failed": ("P4", SOUND, "failed"),
    "told as not run": ("P4", SOUND, "cancelled"),
    "told as done": ("P4", (MADE,), "done"),
    "in doubt for no reason": ("P4", (MADE, YES, GIVEN, GOT), "in_doubt"),
    "settled, and in doubt": ("P4", (*SOUND, (What.SETTLED, "", "", "--happened")), "in_doubt"),
    "not approved": ("P5", tuple(line for line in SOUND if line is not YES), "done"),
    "begun after a cancellation": ("P5", (*SOUND[:4], *CANCEL, *SOUND[4:]), "done"),
    "an answer of no question": ("P6", (*SOUND, (What.GOT, "pay", "0.0", "late")), "done"),
    "another question's answer": ("P6", (*SOUND, (What.GOT, "pay", "1.0", GIVEN[3])), "done"),
    "an answer twice": ("P6", (*SOUND, (What.GOT, "pay", "0.1", GIVEN[3])), "done"),
}


def test_a_sound_history_passes() -> None:
    """Asked, approved, answered, paid, told."""
    assert judge_sequence(heard(*SOUND)) == []
    assert judge_sequence(heard(*SOUND[:6], end="in_doubt")) == []


@pytest.mark.parametrize(("promise", "told", "end"), FORGED.values(), ids=FORGED)
def test_a_forged_history_is_found_out(promise: str, told: Sequence[Told], end: str) -> None:
    """One thing is changed, and the promise that it breaks is named."""
    found = judge_sequence(heard(*told, end=end))
    assert {violation.promise for violation in found} == {promise}


def test_a_thread_without_an_end_is_a_violation() -> None:
    """No process brought the run to its end."""
    found = judge_sequence(replace(heard(*SOUND), state=None))
    assert [violation.promise for violation in found] == ["run"]
