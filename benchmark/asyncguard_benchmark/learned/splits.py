"""Parts of the data that no training run sees, chosen by hash before the first one.

`held_out.json` lists them with its digest; `python -m asyncguard_benchmark.learned splits --check` compares. Three
kinds of novelty are told apart: *values* (tasks seen in training, with the values of the bundle: training draws all
values that can be drawn), *compositions* (a set of tasks that the bundle plays together is never put together in
training), and *tasks* (a tenth of the tasks is never trained on).
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.loading import shipped_compositions, shipped_sub_tasks
from asyncguard_benchmark.harness.scenario import Composition, SubTask, Suite

_ONE_IN = 10
_FILE = "held_out.json"


def is_held_out(task_id: str) -> bool:
    """Return True if the hash of a task's id keeps it from training."""
    return int(hashlib.sha256(f"learned:{task_id}".encode()).hexdigest(), 16) % _ONE_IN == 0


def training_tasks() -> tuple[SubTask, ...]:
    """Return the bundled single tasks that training may draw again."""
    return tuple(task for task in shipped_sub_tasks() if not is_held_out(task.id))


def unseen_tasks() -> tuple[SubTask, ...]:
    """Return the bundled single tasks that no training sees."""
    return tuple(task for task in shipped_sub_tasks() if is_held_out(task.id))


@cache
def held_out_sets() -> frozenset[frozenset[str]]:
    """Return the sets of tasks that training never puts together: those of all bundled compositions."""
    bundled = (*shipped_compositions(Suite.MAIN), *shipped_compositions(Suite.FOUR))
    return frozenset(frozenset(each.task_ids) for each in bundled)


def is_unseen_composition(composition: Composition) -> bool:
    """Return True if all tasks of a composition are trained on: then it is new as a whole only."""
    return not any(is_held_out(each) for each in composition.task_ids)


def statement() -> dict[str, Any]:
    """Return what is held out, with its digest."""
    tasks = sorted(task.id for task in unseen_tasks())
    sets = sorted("+".join(sorted(each)) for each in held_out_sets())
    return {"tasks": tasks, "compositions": len(sets), "digest": _digest([*tasks, *sets])}


def check() -> None:
    """Compare what is held out with what was written down before the first training run.

    Raises:
        DataError: they differ.
    """
    written = json.loads((files("asyncguard_benchmark.learned") / _FILE).read_text("utf-8"))
    if written != statement():
        raise DataError(
            _FILE, "is not what the hashes hold out; a run on other parts is another study"
        )


def _digest(names: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(names).encode()).hexdigest()


def sets_of(compositions: Sequence[Composition]) -> list[Composition]:
    """Return the compositions of which every task is trained on."""
    return [each for each in compositions if is_unseen_composition(each)]
