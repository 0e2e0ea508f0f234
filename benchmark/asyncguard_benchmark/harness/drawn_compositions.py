"""Compositions of tasks from elsewhere: categories are drawn uniformly, then tasks uniformly within them."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from random import Random

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.scenario import Composition, Kind, SubTask
from asyncguard_benchmark.services.catalogue import tools_of

_MOST_DRAWS = 1000
"""Draws for one composition before giving up on finding one that is new."""


class TooFewTasksError(BenchmarkError):
    """Tasks do not suffice for the compositions that were asked for."""


def draw_compositions(
    tasks: Sequence[SubTask], counts: Mapping[Kind, int], seed: int, prefix: str
) -> tuple[Composition, ...]:
    """Draw compositions; none holds the same tasks as another, nor two tools of one name with different schemas.

    Args:
        tasks: Single tasks, each with an id of its own.
        counts: Kind -> number of compositions.
        seed: Seed of the draws: the same tasks, counts and seed give the same compositions.
        prefix: Begins each id.

    Raises:
        TooFewTasksError: there are too few tasks for the counts.
    """
    random = Random(seed)
    groups: dict[StrEnum, list[SubTask]] = {}
    for task in tasks:
        groups.setdefault(task.category, []).append(task)
    seen: set[frozenset[str]] = set()
    found = []
    for kind, count in counts.items():
        for number in range(1, count + 1):
            drawn = _new(kind, groups, seen, random)
            seen.add(frozenset(task.id for task in drawn))
            found.append(Composition(id=f"{prefix}{kind}-{number:03}", kind=kind, sub_tasks=drawn))
    return tuple(found)


def _new(
    kind: Kind,
    groups: Mapping[StrEnum, Sequence[SubTask]],
    seen: set[frozenset[str]],
    random: Random,
) -> tuple[SubTask, ...]:
    known = list(groups)
    if known and (len(known) > 1 or not kind.cross):
        for _ in range(_MOST_DRAWS):
            if kind.cross:
                categories = random.sample(known, min(kind.size, len(known)))
                categories += [random.choice(known) for _ in range(kind.size - len(categories))]
            else:
                categories = [random.choice(known)] * kind.size
            drawn = tuple(random.choice(groups[category]) for category in categories)
            ids = frozenset(task.id for task in drawn)
            if len(ids) == kind.size and ids not in seen and _one_schema_each(drawn):
                return drawn
    raise TooFewTasksError(
        f"found no new composition of kind {kind} among {sum(map(len, groups.values()))} tasks of {len(known)} "
        "categories; ask for fewer, or for further kinds of tasks"
    )


def _one_schema_each(tasks: Sequence[SubTask]) -> bool:
    """Return True if tools of one name are described alike: on the native surface a name stands for one schema."""
    told: dict[str, object] = {}
    return all(
        told.setdefault(name, schema := tool.function_schema()) == schema
        for task in tasks
        for name, tool in tools_of(task).items()
    )
