"""Build compositions from single tasks, reproducibly from a seed.

``python -m asyncguard_benchmark.suites.asynctool.composition_builder`` builds again and prints the content of the file
that ships.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
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

_MOST_DRAWS = 1000
"""Draws for one composition before giving up on finding one that is new."""


def build_suites(
    tasks: Sequence[SubTask], seed: int = SHIPPED_SEED
) -> dict[Suite, tuple[Composition, ...]]:
    """Return all sets of compositions; `lite` is drawn from `main`, kind by kind.

    Args:
        tasks: The single tasks of the main split.
        seed: Seed of the draws.

    Raises:
        ValueError: there are too few tasks.
    """
    main = build_compositions(tasks, SHIPPED_COUNTS[Suite.MAIN], seed)
    random = Random(seed)
    lite = [
        each
        for kind, count in SHIPPED_COUNTS[Suite.LITE].items()
        for each in random.sample([each for each in main if each.kind is kind], count)
    ]
    four = build_compositions(tasks, SHIPPED_COUNTS[Suite.FOUR], seed)
    return {Suite.MAIN: main, Suite.FOUR: four, Suite.LITE: tuple(sorted(lite, key=main.index))}


def build_compositions(
    tasks: Sequence[SubTask], counts: Mapping[Kind, int], seed: int
) -> tuple[Composition, ...]:
    """Draw categories uniformly, then tasks uniformly within them; no composition holds the same tasks as another.

    A cross composition takes each category at most once if there are enough, otherwise each at least once.

    Raises:
        ValueError: there are too few tasks for the counts.
    """
    random = Random(seed)
    groups = {
        category: [task for task in tasks if task.category is category] for category in Category
    }
    groups = {category: group for category, group in groups.items() if group}
    seen: set[frozenset[str]] = set()
    return tuple(
        Composition(id=f"{kind}-{number:03}", kind=kind, sub_tasks=_new(random, groups, kind, seen))
        for kind, count in counts.items()
        for number in range(1, count + 1)
    )


def _new(
    random: Random, groups: Mapping[Category, list[SubTask]], kind: Kind, seen: set[frozenset[str]]
) -> tuple[SubTask, ...]:
    for _ in range(_MOST_DRAWS):
        drawn = tuple(_draw(random, groups, kind))
        ids = frozenset(task.id for task in drawn)
        if len(ids) == kind.size and ids not in seen:
            seen.add(ids)
            return drawn
    raise ValueError(f"found no new composition of kind {kind}: too few tasks")


def _draw(
    random: Random, groups: Mapping[Category, list[SubTask]], kind: Kind
) -> Iterator[SubTask]:
    for category in _categories(random, list(groups), kind):
        yield random.choice(groups[category])


def _categories(random: Random, known: list[Category], kind: Kind) -> list[Category]:
    if not kind.cross:
        return [random.choice(known)] * kind.size
    if len(known) < 2:
        raise ValueError("a cross composition needs two categories")
    once = random.sample(known, min(kind.size, len(known)))
    return once + [random.choice(known) for _ in range(kind.size - len(once))]


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
