"""The sets of compositions of AsyncTool, by name."""

from functools import cache

from asyncguard_benchmark.harness.loading import (
    by_id,
    named_composition,
    read_list,
    shipped_compositions,
    shipped_sub_tasks,
    sub_task_from_json,
)
from asyncguard_benchmark.harness.scenario import Composition, Split, SubTask, Suite
from asyncguard_benchmark.suites.asynctool.composition_builder import paper_suites

INDEPENDENT = "independent"
"""Name of the set whose tasks have steps that do not need each other: it shows what a guard costs.

The sets of the paper have few such steps, because no two neighbouring calls of theirs can change places.
"""


def compositions(name: str) -> tuple[Composition, ...]:
    """Return the compositions of a set: `main`, `four`, `lite` or `independent`.

    Raises:
        DataError: the file breaks the format or names something unknown.
    """
    if name != INDEPENDENT:
        return shipped_compositions(Suite(name))
    known, file = by_id(independent_tasks()), "independent.json"
    return tuple(
        named_composition(value, known, f"{file}[{number}]")
        for number, value in enumerate(read_list(file))
    )


def drawn_compositions(name: str) -> tuple[Composition, ...]:
    """Return the compositions of a set as the paper samples them; of a set of our own, its compositions.

    Raises:
        DataError: the file breaks the format or names something unknown.
    """
    return _drawn()[Suite(name)] if name in {each.value for each in Suite} else compositions(name)


@cache
def _drawn() -> dict[Suite, tuple[Composition, ...]]:
    return paper_suites(shipped_sub_tasks())


def solved_tasks() -> tuple[SubTask, ...]:
    """Return the single tasks of all sets and of the wild split.

    Raises:
        DataError: a file breaks the format.
    """
    return (*shipped_sub_tasks(), *shipped_sub_tasks(Split.WILD), *independent_tasks())


@cache
def independent_tasks() -> tuple[SubTask, ...]:
    """Return the single tasks of the set `independent`.

    Raises:
        DataError: the file breaks the format.
    """
    file = "independent_tasks.json"
    return tuple(
        sub_task_from_json(task, f"{file}[{number}]") for number, task in enumerate(read_list(file))
    )
