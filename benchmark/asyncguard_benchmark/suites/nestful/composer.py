"""Compositions of tasks: categories drawn uniformly, then tasks uniformly within them, from a seed."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from random import Random

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.scenario import Composition, Kind, SubTask
from asyncguard_benchmark.suites.nestful.terms import TOOLS

_MOST_DRAWS = 1000
"""Draws for one composition before the composer gives up."""


class TooFewTasksError(BenchmarkError):
    """No composition of a kind can be drawn from the tasks."""


def compose(
    tasks: Sequence[SubTask], counts: Mapping[Kind, int], seed: int
) -> tuple[Composition, ...]:
    """Draw compositions; one seed draws the same ones.

    Two tasks with tools of one name and different schemas are not put together: an agent could not tell which is meant.

    Args:
        tasks: The tasks; ids are unique.
        counts: How many of each kind.
        seed: Seed of the draws.

    Raises:
        TooFewTasksError: a kind cannot be drawn.
    """
    random = Random(seed)
    groups: dict[StrEnum, list[SubTask]] = {}
    for task in tasks:
        groups.setdefault(task.category, []).append(task)
    return tuple(
        Composition(
            id=f"nestful-{kind}-{number:03}", kind=kind, sub_tasks=_drawn(kind, groups, random)
        )
        for kind, count in counts.items()
        for number in range(1, count + 1)
    )


def _drawn(
    kind: Kind, groups: Mapping[StrEnum, Sequence[SubTask]], random: Random
) -> tuple[SubTask, ...]:
    large = [
        category for category, group in groups.items() if kind.cross or len(group) >= kind.size
    ]
    for _ in range(_MOST_DRAWS if len(large) > kind.cross else 0):
        if kind.cross:
            # Each category once, as long as there are enough.
            chosen = random.sample(large, min(kind.size, len(large)))
            chosen += random.choices(large, k=kind.size - len(chosen))
            found = [random.choice(groups[category]) for category in chosen]
        else:
            found = random.sample(groups[random.choice(large)], kind.size)
        if len({task.id for task in found}) == kind.size and _fit(found):
            return tuple(found)
    held = ", ".join(f"{category} {len(group)}" for category, group in groups.items())
    raise TooFewTasksError(
        f"no composition {kind} was found in {_MOST_DRAWS} draws: the tasks are {held or 'none'}; "
        "give more tasks, or other kinds with --compose"
    )


def _fit(tasks: Sequence[SubTask]) -> bool:
    """Return True if tools of one name are one tool in all tasks."""
    known: dict[str, object] = {}
    for task in tasks:
        for name, told in task.initial_state[TOOLS].items():
            same = (told["parameters"], told["sha256"])
            if known.setdefault(name, same) != same:
                return False
    return True
