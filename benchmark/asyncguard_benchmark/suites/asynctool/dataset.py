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
from asyncguard_benchmark.suites.asynctool.composition_builder import paper_suites, wide_suite

INDEPENDENT = "independent"
"""Name of the set whose tasks have steps that do not need each other: it shows what a guard costs.

The sets of the paper have few such steps, because no two neighbouring calls of theirs can change places.
"""
PLAIN = "plain"
"""Name of the set whose tasks are worded as users type, with about as many independent steps as the paper's source.

The tasks of `independent` are part of it.
"""
WIDE = "wide"
"""Name of the set that deals the tasks of `main` into six times as many compositions."""
_PLAIN_FILES = ("plain_stateful.json", "plain_stateless.json")


def compositions(name: str) -> tuple[Composition, ...]:
    """Return the compositions of a set: `main`, `four`, `lite`, `independent`, `plain` or `wide`.

    Raises:
        DataError: the file breaks the format or names something unknown.
    """
    if name == WIDE:
        return _wide()
    if name not in (INDEPENDENT, PLAIN):
        return shipped_compositions(Suite(name))
    # The plain tasks hold those of the set `independent`.
    known, file = by_id(plain_tasks()), f"{name}.json"
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
def _wide() -> tuple[Composition, ...]:
    return wide_suite(shipped_sub_tasks())


@cache
def _drawn() -> dict[Suite, tuple[Composition, ...]]:
    return paper_suites(shipped_sub_tasks())


def solved_tasks() -> tuple[SubTask, ...]:
    """Return the single tasks of all sets and of the wild split.

    Raises:
        DataError: a file breaks the format.
    """
    return (*shipped_sub_tasks(), *shipped_sub_tasks(Split.WILD), *plain_tasks())


@cache
def independent_tasks() -> tuple[SubTask, ...]:
    """Return the single tasks of the set `independent`.

    Raises:
        DataError: the file breaks the format.
    """
    return _tasks_of("independent_tasks.json")


@cache
def plain_tasks() -> tuple[SubTask, ...]:
    """Return the single tasks of the set `plain`, those of the set `independent` first.

    Raises:
        DataError: a file breaks the format.
    """
    return (*independent_tasks(), *(task for file in _PLAIN_FILES for task in _tasks_of(file)))


def _tasks_of(file: str) -> tuple[SubTask, ...]:
    return tuple(
        sub_task_from_json(task, f"{file}[{number}]") for number, task in enumerate(read_list(file))
    )
