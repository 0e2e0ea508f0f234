"""Build compositions from single tasks, reproducibly from a seed.

``python -m asyncguard_benchmark.suites.asynctool.composition_builder`` builds again and prints the content of the file
that ships.

Two ways to sample. The sets that ship are *dealt*: every task is used once before any is used twice, so that each
counts about equally and the mean length is that of the single tasks. The paper's sets are *drawn*: categories
uniformly, then tasks uniformly within them; a task of a small category is used several times as often as one of a
large category, and tasks of the small categories are long. Similar compositions hold one category, so equal use
weights categories by their size: dealing departs from the paper there, and keeps its number of each kind.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from random import Random

from asyncguard_benchmark.harness.loading import shipped_sub_tasks
from asyncguard_benchmark.harness.scenario import Category, Composition, Kind, SubTask, Suite

SHIPPED_COUNTS: Mapping[Suite, Mapping[Kind, int]] = {
    Suite.MAIN: {Kind.S2: 120, Kind.C2: 132, Kind.S3: 240, Kind.C3: 220},
    Suite.FOUR: {Kind.S4: 300, Kind.C4: 300},
    Suite.LITE: {Kind.S2: 20, Kind.C2: 22, Kind.S3: 41, Kind.C3: 37},
}
"""Number of compositions of each kind that ship with the package."""
SHIPPED_SEED = 12
"""The seed of `data/compositions.json`."""

WIDE = 6
"""Times as many compositions of each kind in the wide set as in `main`."""

_MOST_DRAWS = 1000
"""Draws for one composition before giving up on finding one that is new."""
_Draw = Callable[[Kind, Mapping[str, int], int], Sequence[SubTask]]
"""Draws the sub-tasks of a composition of a kind, given how often each task was used so far and how many draws for
this composition came to nothing."""


def build_suites(
    tasks: Sequence[SubTask], seed: int = SHIPPED_SEED
) -> dict[Suite, tuple[Composition, ...]]:
    """Return all sets of compositions, dealt; `lite` holds the first of each kind of `main`.

    Args:
        tasks: The single tasks of the main split.
        seed: Seed of the draws.

    Raises:
        ValueError: there are too few tasks.
    """
    first, whole = SHIPPED_COUNTS[Suite.LITE], SHIPPED_COUNTS[Suite.MAIN]
    # `lite` is dealt before the rest: it is shorter than one round, so no two compositions of it share a task.
    rest = {kind: count - first[kind] for kind, count in whole.items()}
    main = _build([first, rest], _dealing(tasks, Random(seed)))
    return {
        Suite.MAIN: main,
        Suite.FOUR: build_compositions(tasks, SHIPPED_COUNTS[Suite.FOUR], seed),
        Suite.LITE: tuple(
            each
            for kind, count in first.items()
            for each in [each for each in main if each.kind is kind][:count]
        ),
    }


def wide_suite(tasks: Sequence[SubTask], seed: int = SHIPPED_SEED) -> tuple[Composition, ...]:
    """Return more compositions of the same tasks and shares of kinds as `main`, for narrow intervals.

    Args:
        tasks: The single tasks of the main split.
        seed: Seed of the draws.

    Raises:
        ValueError: there are too few tasks.
    """
    counts = {kind: WIDE * count for kind, count in SHIPPED_COUNTS[Suite.MAIN].items()}
    return _build([counts], _dealing(tasks, Random(seed)), prefix="W-")


def paper_suites(
    tasks: Sequence[SubTask], seed: int = SHIPPED_SEED
) -> dict[Suite, tuple[Composition, ...]]:
    """Return all sets of compositions, drawn as the paper draws; `lite` is drawn from `main`, kind by kind.

    Args:
        tasks: The single tasks of the main split.
        seed: Seed of the draws.

    Raises:
        ValueError: there are too few tasks.
    """
    main, four = (
        _build([SHIPPED_COUNTS[suite]], _drawing(tasks, Random(seed)), prefix="P-")
        for suite in (Suite.MAIN, Suite.FOUR)
    )
    random = Random(seed)
    lite = [
        each
        for kind, count in SHIPPED_COUNTS[Suite.LITE].items()
        for each in random.sample([each for each in main if each.kind is kind], count)
    ]
    return {Suite.MAIN: main, Suite.FOUR: four, Suite.LITE: tuple(sorted(lite, key=main.index))}


def build_compositions(
    tasks: Sequence[SubTask], counts: Mapping[Kind, int], seed: int
) -> tuple[Composition, ...]:
    """Deal tasks into compositions; no composition holds the same tasks as another.

    A cross composition takes each category at most once if there are enough, otherwise each at least once.

    Raises:
        ValueError: there are too few tasks for the counts.
    """
    return _build([counts], _dealing(tasks, Random(seed)))


def _build(
    parts: Sequence[Mapping[Kind, int]], draw: _Draw, prefix: str = ""
) -> tuple[Composition, ...]:
    """Build one part after the other; return all compositions by kind, numbered within it."""
    built: dict[Kind, list[Composition]] = {}
    uses: Counter[str] = Counter()
    seen: set[frozenset[str]] = set()
    for kind in (kind for part in parts for kind, count in part.items() for _ in range(count)):
        drawn = next(
            (new for n in range(_MOST_DRAWS) if _is_new(new := draw(kind, uses, n), kind, seen)),
            None,
        )
        if drawn is None:
            raise ValueError(f"found no new composition of kind {kind}: too few tasks")
        known = built.setdefault(kind, [])
        known.append(
            Composition(id=f"{prefix}{kind}-{len(known) + 1:03}", kind=kind, sub_tasks=tuple(drawn))
        )
        seen.add(frozenset(known[-1].task_ids))
        uses.update(known[-1].task_ids)
    return tuple(each for compositions in built.values() for each in compositions)


def _is_new(drawn: Sequence[SubTask], kind: Kind, seen: Collection[frozenset[str]]) -> bool:
    ids = frozenset(task.id for task in drawn)
    return len(ids) == kind.size and ids not in seen


def _dealing(tasks: Sequence[SubTask], random: Random) -> _Draw:
    """Return a draw that takes the tasks used least so far; of those used alike, any."""

    def deal(kind: Kind, uses: Mapping[str, int], vain: int) -> Sequence[SubTask]:
        # After draws in vain the order is looser: all sets of the least used tasks may be there already.
        order = sorted(tasks, key=lambda task: uses[task.id] + random.random() * (1 + vain))
        if kind.cross:
            firsts = {task.category: task for task in reversed(order)}
            _check_cross(firsts)
            once = [task for task in order if firsts[task.category] is task]
            order = once + [task for task in order if firsts[task.category] is not task]
        else:
            order = [task for task in order if task.category is order[0].category]
        # The least used would always be told first.
        return random.sample(order[: kind.size], min(kind.size, len(order)))

    return deal


def _drawing(tasks: Sequence[SubTask], random: Random) -> _Draw:
    """Return a draw that takes categories uniformly, then tasks uniformly within them."""
    groups = {
        category: [task for task in tasks if task.category is category] for category in Category
    }
    groups = {category: group for category, group in groups.items() if group}

    def draw(kind: Kind, uses: Mapping[str, int], vain: int) -> Sequence[SubTask]:
        known = list(groups)
        if kind.cross:
            _check_cross(known)
            categories = random.sample(known, min(kind.size, len(known)))
            categories += [random.choice(known) for _ in range(kind.size - len(categories))]
        else:
            categories = [random.choice(known)] * kind.size
        return [random.choice(groups[category]) for category in categories]

    return draw


def _check_cross(categories: Collection[StrEnum]) -> None:
    if len(categories) < 2:
        raise ValueError("a cross composition needs two categories")


def suites_to_json(suites: Mapping[Suite, Sequence[Composition]]) -> str:
    """Return the text of the file that ships: one composition a line, sub-tasks by id; `lite` names those of `main`."""
    whole = {suite: suites[suite] for suite in (Suite.MAIN, Suite.FOUR)}
    parts = [
        f"{json.dumps(suite.value)}: [\n"
        + ",\n".join(f" {_line(each)}" for each in compositions)
        + "\n]"
        for suite, compositions in whole.items()
    ]
    lite = json.dumps([each.id for each in suites[Suite.LITE]])
    return "{\n" + ",\n".join([*parts, f'"lite": {lite}']) + "\n}\n"


def _line(composition: Composition) -> str:
    value = {
        "id": composition.id,
        "kind": composition.kind.value,
        "sub_tasks": list(composition.task_ids),
    }
    return json.dumps(value)


def _print() -> None:
    sys.stdout.write(suites_to_json(build_suites(shipped_sub_tasks())))


if __name__ == "__main__":
    _print()
