"""Samples of compositions: dealt, each task counts about equally; drawn as the paper draws, it does not."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from asyncguard_benchmark.harness.loading import shipped_compositions, shipped_sub_tasks
from asyncguard_benchmark.harness.scenario import Composition, Kind, Suite
from asyncguard_benchmark.suites.asynctool.composition_builder import (
    SHIPPED_COUNTS,
    build_compositions,
    paper_suites,
)
from asyncguard_benchmark.suites.asynctool.dataset import WIDE, compositions

TASKS = shipped_sub_tasks()
PAPER_LENGTH = 2.71
"""Mean number of calls of the paper's single tasks."""


def uses(compositions: Sequence[Composition]) -> list[int]:
    """How many of some compositions hold each task."""
    counted = Counter(task_id for each in compositions for task_id in each.task_ids)
    return [counted[task.id] for task in TASKS]


def mean_length(compositions: Sequence[Composition]) -> float:
    """Calls of a sub-task, on average."""
    return sum(each.gold_calls for each in compositions) / sum(uses(compositions))


@pytest.mark.parametrize("suite", Suite)
def test_the_sets_that_ship_use_each_task_equally(suite: Suite) -> None:
    """No task is used twice more than another, and the mean length is the paper's."""
    compositions = shipped_compositions(suite)
    assert max(uses(compositions)) - min(uses(compositions)) <= 1
    assert mean_length(compositions) == pytest.approx(PAPER_LENGTH, abs=0.03)


@pytest.mark.parametrize("suite", Suite)
def test_the_sets_that_ship_have_the_papers_numbers_of_each_kind(suite: Suite) -> None:
    """Counts of kinds; each id says its kind and occurs once, as do the tasks of a composition."""
    compositions = shipped_compositions(suite)
    assert Counter(each.kind for each in compositions) == SHIPPED_COUNTS[suite]
    assert all(re.fullmatch(rf"{each.kind}-\d{{3}}", each.id) for each in compositions)
    assert len({each.id for each in compositions}) == len(compositions)
    assert len({frozenset(each.task_ids) for each in compositions}) == len(compositions)


def test_the_same_file_is_printed_under_any_hash_seed() -> None:
    """The builder does not depend on the order of sets."""
    command = [sys.executable, "-m", "asyncguard_benchmark.suites.asynctool.composition_builder"]
    printed = subprocess.run(
        command, check=True, capture_output=True, text=True, env={"PYTHONHASHSEED": "77"}
    ).stdout
    assert printed == (files("asyncguard_benchmark") / "data" / "compositions.json").read_text()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60))
def test_dealing_uses_no_task_much_more_than_another(seed: int, count: int) -> None:
    """Whatever the seed and the size of the set; a similar composition may take a category's next task early."""
    counts = {Kind.S2: count, Kind.C2: count, Kind.S3: count, Kind.C3: count}
    built = build_compositions(TASKS, counts, seed)
    assert max(uses(built)) - min(uses(built)) <= 2
    assert len({frozenset(each.task_ids) for each in built}) == len(built)


@pytest.mark.parametrize("kind", [Kind.S2, Kind.C2, Kind.S4, Kind.C4])
def test_the_place_of_a_task_says_nothing_of_its_length(kind: Kind) -> None:
    """The task that is told first is as long as any: tasks are told in a random order."""
    built = build_compositions(TASKS, {kind: 300}, 3)
    first = sum(len(each.sub_tasks[0].gold) for each in built) / len(built)
    assert first == pytest.approx(mean_length(built), abs=0.15)


def test_the_papers_draw_takes_categories_uniformly() -> None:
    """Each category has a twelfth of the sub-tasks, so that tasks of small ones are used often and some never."""
    drawn = paper_suites(TASKS)
    main = drawn[Suite.MAIN]
    by_category = Counter(task.category for each in main for task in each.sub_tasks)
    share = sum(by_category.values()) / len(by_category)
    assert all(count == pytest.approx(share, rel=0.25) for count in by_category.values())
    assert min(uses(main)) == 0
    assert max(uses(main)) > 12
    assert {suite: Counter(each.kind for each in drawn[suite]) for suite in Suite} == SHIPPED_COUNTS
    # Both may be played into one file: an id names one composition.
    assert {each.id for each in main}.isdisjoint(each.id for each in shipped_compositions())


def test_the_wide_set_deals_the_same_tasks_into_more_compositions() -> None:
    """Six times as many of each kind, all different, no task used twice more than another, with ids of their own."""
    wide = compositions(WIDE)
    assert Counter(each.kind for each in wide) == {
        kind: 6 * count for kind, count in SHIPPED_COUNTS[Suite.MAIN].items()
    }
    assert (
        len({frozenset(each.task_ids) for each in wide})
        == len({each.id for each in wide})
        == len(wide)
    )
    assert max(uses(wide)) - min(uses(wide)) <= 1
    assert mean_length(wide) == pytest.approx(PAPER_LENGTH, abs=0.03)
    assert {each.id for each in wide}.isdisjoint(each.id for each in shipped_compositions())
