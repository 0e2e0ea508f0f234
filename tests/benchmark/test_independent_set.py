"""The set of compositions whose tasks have steps that do not need each other."""

from collections import Counter
from collections.abc import Sequence

import pytest

from asyncguard_benchmark import Composition, Regime, Surface, score
from asyncguard_benchmark.harness.campaign import Cell, Condition, play
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.task_quality import problems
from asyncguard_benchmark.services.catalogue import tools_of
from asyncguard_benchmark.suites.asynctool.dataset import (
    INDEPENDENT,
    compositions,
    independent_tasks,
)

EVERY = compositions(INDEPENDENT)
SOME = EVERY[::11]
SWAP = "can change places"


def test_every_task_is_proved_by_executing_it() -> None:
    """Calls run, values are said, no query names a tool; and some neighbours can change places, as is meant here."""
    for task in independent_tasks():
        found = problems(task)
        assert [each for each in found if SWAP not in each] == [], task.id
        assert any(SWAP in each for each in found), task.id
        assert sum(not call.needs() for call in task.gold) >= 2, task.id


def test_the_set_is_varied() -> None:
    """From 2 to 6 independent calls; one tool and several; chains beside them; effects, lookups and both."""
    tasks = independent_tasks()
    free = Counter(sum(not call.needs() for call in task.gold) for task in tasks)
    assert set(free) == {2, 3, 4, 5, 6}
    one_tool = sum(len({call.tool for call in task.gold}) == 1 for task in tasks)
    chains = sum(any(call.needs() for call in task.gold) for task in tasks)
    effects = sum(all(tools_of(task)[call.tool].writes for call in task.gold) for task in tasks)
    pure = sum(not any(tools_of(task)[call.tool].writes for call in task.gold) for task in tasks)
    assert min(one_tool, chains, effects, pure, len(tasks) - effects - pure) >= 8
    assert len({task.category for task in tasks}) >= 8


def test_there_are_enough_compositions_and_none_is_there_twice() -> None:
    """At least forty, of two and three tasks; every task is in one."""
    assert len(EVERY) >= 40
    assert len({frozenset(each.task_ids) for each in EVERY}) == len(EVERY)
    assert {each.kind.size for each in EVERY} == {2, 3}
    assert {task for each in EVERY for task in each.task_ids} == {
        task.id for task in independent_tasks()
    }


def rounds(
    agent: str, arm: str, regime: Regime, player: str, chosen: Sequence[Composition] = EVERY
) -> list[int]:
    """Rounds of every episode; all have to be solved."""
    found = []
    for each in chosen:
        condition = Condition(
            agent=AgentSpec(kind=agent),
            player=player,
            arm=arm,
            regime=regime,
            surface=Surface.NATIVE,
        )
        verdict = score(play(Cell(composition=each, condition=condition)).episode)
        assert verdict.overall, (each.id, agent, arm, regime)
        found.append(verdict.counters.rounds)
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("regime", list(Regime))
def test_the_oracle_solves_every_composition(regime: Regime) -> None:
    """Under every delay, without a runtime."""
    assert len(rounds("oracle", "none", regime, "plain")) == len(EVERY)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("player", ["graph", "middleware"])
@pytest.mark.parametrize("regime", list(Regime))
def test_guards_cost_the_oracle_nothing(regime: Regime, player: str) -> None:
    """It needs as many rounds as with the features alone, or fewer: it heeds that calls wait."""
    without = rounds("oracle", "features", regime, player, SOME)
    guarded = rounds("oracle", "all", regime, player, SOME)
    assert all(most - 2 <= each <= most for each, most in zip(guarded, without, strict=True))


def test_a_batch_takes_two_messages_where_nothing_needs_a_result() -> None:
    """One with all calls of all tasks, and the end."""
    flat = [
        each
        for each in EVERY
        if not any(call.needs() for task in each.sub_tasks for call in task.gold)
    ]
    assert len(flat) >= 8
    assert set(rounds("batch", "features", Regime.FIXED1, "graph", flat[:3])) == {2}
