"""Guards beside unguarded runs: the runs are unguarded indeed, labels ask no guard, and figures are counted right."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from asyncguard_benchmark.harness.ablation.findings import Detection, Shadow, Truth
from asyncguard_benchmark.harness.ablation.labels import irrecoverable, wrong
from asyncguard_benchmark.harness.ablation.shadow import (
    JudgedCall,
    JudgedRun,
    continuations,
    dropped,
    judged_run,
    shadow_of,
)
from asyncguard_benchmark.harness.arms import NONE, SHADOW
from asyncguard_benchmark.harness.campaign import Cell, Condition, play
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.loading import shipped_compositions
from asyncguard_benchmark.harness.players.plain import NAME as PLAIN
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.scenario import Composition, Regime, Surface
from asyncguard_benchmark.suites.asynctool.sceptic import HONEST
from asyncguard_benchmark.suites.asynctool.suite import AGENTS
from tests.benchmark.builders import SUB_TASKS, compose, gold, played
from tests.benchmark.builders_findings import setup

SOME = shipped_compositions()[::100]
PLAYERS = ("graph", "middleware")


def episode(
    composition: Composition, agent: str, arm: str, player: str = "graph", **more: object
) -> Episode:
    """One episode."""
    condition = Condition(agent=AgentSpec(kind=agent), player=player, arm=arm, **more)  # type: ignore[arg-type]
    return play(Cell(composition=composition, condition=condition)).episode


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("agent", "player"),
    [
        pytest.param(
            agent, player, marks=[pytest.mark.slow] if number > 1 and player != "graph" else []
        )
        for number, agent in enumerate(AGENTS)
        for player in PLAYERS
        # Which of several calls in a message LangChain ends first moves the middleware's clock.
        if player == "graph" or agent not in ("batch", "eager-batch")
    ],
)
def test_shadowed_runs_are_unguarded_runs(agent: str, player: str) -> None:
    """Message for message and call for call the plain loop, whatever the guards say."""
    said = 0
    for number, composition in enumerate(SOME[:3]):
        surface = list(Surface)[number % 2]
        # Results of one message that come at different times the runtime tells together, and the plain player apart.
        several = agent in ("batch", "eager-batch")
        regime = Regime.RANDOM12 if number % 2 and not several else Regime.FIXED1
        plain = episode(composition, agent, NONE, PLAIN, surface=surface, regime=regime)
        shadowed = episode(composition, agent, SHADOW, player, surface=surface, regime=regime)
        assert shadowed.messages == plain.messages
        assert shadowed.trajectory == plain.trajectory
        assert shadowed.counters == plain.counters
        assert not any(each.get("enforced", True) for each in shadowed.settings["interventions"])
        said += len(shadowed.settings["interventions"])
    assert said or agent in (*HONEST, "oracle", "serial", "keyword-and-copy")


def test_wrong_is_what_differs_from_the_remaining_gold() -> None:
    """A gold call is right once; repeated, changed or foreign calls are wrong."""
    task_id = "fs-07"
    calls = gold(task_id)
    (_, tool, arguments) = calls[0]
    strange = (task_id, tool, {**arguments, "strange": 1})
    records = played(compose(task_id, "tb-07"), [calls[0], calls[0], strange, *calls[1:]]).calls_of(
        task_id
    )
    assert wrong(SUB_TASKS[task_id], records) == [False, True, True, *([False] * (len(calls) - 1))]


def test_the_ground_truth_is_never_irrecoverable() -> None:
    """Gold calls, and a look that changes nothing, are not marked irrecoverable."""
    for task_id in ("fs-07", "tb-07"):
        records = played(compose("fs-07", "tb-07"), gold(task_id)).calls_of(task_id)
        assert irrecoverable(SUB_TASKS[task_id], records) == [False] * len(records)


def test_the_call_after_which_nothing_helps_is_marked_once() -> None:
    """A stray order cannot be taken back; later calls do not count as a second loss."""
    found = False
    for task_id, task in SUB_TASKS.items():
        changing = [call for call in gold(task_id) if call[1] not in ("cat", "ls")]
        other = next((each for each in SUB_TASKS if each != task_id), None)
        if other is None or len(changing) < 2:
            continue
        calls = [*gold(task_id), changing[-1], changing[-1]]
        records = played(compose(task_id, other), calls).calls_of(task_id)
        labels = irrecoverable(task, records)
        assert sum(labels) <= 1
        assert not any(labels[: len(gold(task_id))])
        found = found or any(labels)
    assert found


def test_guesses_are_wrong_and_seen() -> None:
    """Calls of the eager agent with invented values are wrong, and grounding objects to nearly all of them."""
    runs = [judged_run(episode(each, "eager", SHADOW), {}) for each in SOME]
    found = detection(shadow_of(setup(), runs), "grounding", Truth.WRONG)
    assert found.positives > 5
    assert found.precision is not None
    assert found.recall is not None
    assert found.precision.value >= 95
    assert found.recall.value >= 60


def test_an_agent_without_fault_makes_no_bad_call() -> None:
    """No call of the oracle is wrong, irrecoverable or harmful, and nothing has to be played to know that."""
    for composition in SOME:
        shadowed = episode(composition, "oracle", SHADOW)
        assert list(continuations(shadowed)) == []
        assert not any(call.truths for call in judged_run(shadowed, {}).calls)


def test_harm_is_what_is_solved_more_without_the_call() -> None:
    """The call is harmful without which one of three continuations solves a sub-task more."""
    long, other = "fs-07", "tb-07"
    composition = compose(long, other)
    half, whole = gold(long), [*gold(long), *gold(other)]
    without = {dropped(n): played(composition, way) for n, way in enumerate(([], whole, half))}
    calls = judged_run(played(composition, half), without).calls
    assert [Truth.HARMFUL in call.truths for call in calls] == [
        number == 1 for number in range(len(half))
    ]


def test_a_continuation_lacks_one_call() -> None:
    """It is the same run up to that call, which the agent is refused."""
    for composition in SOME[:4]:
        shadowed = episode(composition, "malformed", SHADOW)
        without = {
            name: episode(composition, "malformed", name) for name in continuations(shadowed)
        }
        for number in range(len(without)):
            other = without[dropped(number)]
            assert other.settings["refused"] == 1
            before = [(each.tool, each.arguments) for each in shadowed.trajectory[:number]]
            assert [(each.tool, each.arguments) for each in other.trajectory[:number]] == before


def run_of(*calls: tuple[bool, str | None]) -> JudgedRun:
    """Calls as wrong or not, and what grounding says."""
    return JudgedRun(
        sources=frozenset({"a", str(len(calls))}),
        calls=tuple(
            JudgedCall(
                truths=frozenset({Truth.WRONG} if is_wrong else ()),
                objections={"grounding": said} if said else {},
            )
            for is_wrong, said in calls
        ),
    )


def detection(shadow: Shadow, guard: str, truth: Truth) -> Detection:
    """One figure."""
    found = next(each for each in shadow.guards if each.guard == guard)
    return next(each for each in found.detections if each.truth is truth)


def test_precision_and_recall() -> None:
    """Hits over objections, and hits over what there was to hit; with nothing to hit it is None."""
    runs: Sequence[JudgedRun] = [
        run_of((True, "reject"), (True, None), (False, "defer")),
        run_of((False, None), (True, "reject")),
    ]
    shadow = shadow_of(setup(), runs)
    found = detection(shadow, "grounding", Truth.WRONG)
    assert (shadow.calls, found.positives, found.hits) == (5, 3, 2)
    assert found.precision is not None
    assert found.recall is not None
    assert found.precision.value == pytest.approx(200 / 3)
    assert found.recall.value == pytest.approx(200 / 3)
    assert detection(shadow, "grounding", Truth.HARMFUL).recall is None
    assert detection(shadow, "scope", Truth.WRONG).precision is None
    guard = next(each for each in shadow.guards if each.guard == "grounding")
    assert (guard.rejections, guard.deferrals, guard.objections) == (2, 1, 3)


def test_labels_are_the_same_under_other_guards() -> None:
    """The labels of a call do not depend on the guards' verdicts."""
    composition = SOME[0]
    shadowed = episode(composition, "eager", SHADOW)
    silent = replace(shadowed, settings={**shadowed.settings, "interventions": []})
    assert [call.truths for call in judged_run(shadowed, {}).calls] == [
        call.truths for call in judged_run(silent, {}).calls
    ]
