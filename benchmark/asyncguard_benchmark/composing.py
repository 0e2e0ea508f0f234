"""Builds compositions from single tasks, reproducibly from a seed."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from asyncguard_benchmark.scenario import Category, Composition, Kind, SubTask

SHIPPED_COUNTS: Mapping[Kind, int] = {Kind.S2: 6, Kind.C2: 6, Kind.S3: 6, Kind.C3: 6}
"""How many compositions of each kind ship with the package."""
SHIPPED_SEED = 12
"""The seed of `data/compositions.json`: the first with which every task occurs and none more than four times."""

_MOST_DRAWS = 1000
"""Draws for one composition before giving up on finding one that is new."""


def build_compositions(tasks: Sequence[SubTask], counts: Mapping[Kind, int], seed: int) -> tuple[Composition, ...]:
    """Draws categories uniformly, then tasks uniformly within them; no composition holds the same tasks as another.

    A cross composition takes each category at most once if there are enough, otherwise each at least once.

    Raises:
        ValueError: there are too few tasks for the counts.
    """
    random = Random(seed)
    groups = {category: [task for task in tasks if task.category is category] for category in Category}
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


def _draw(random: Random, groups: Mapping[Category, list[SubTask]], kind: Kind) -> Iterator[SubTask]:
    for category in _categories(random, list(groups), kind):
        yield random.choice(groups[category])


def _categories(random: Random, known: list[Category], kind: Kind) -> list[Category]:
    if not kind.cross:
        return [random.choice(known)] * kind.size
    if len(known) < 2:
        raise ValueError("a cross composition needs two categories")
    once = random.sample(known, min(kind.size, len(known)))
    return once + [random.choice(known) for _ in range(kind.size - len(once))]
