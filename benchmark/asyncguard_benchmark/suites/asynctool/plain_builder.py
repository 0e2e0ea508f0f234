"""Build the compositions of the set `plain`, which use each of its tasks about equally, reproducibly from a seed.

``python -m asyncguard_benchmark.suites.asynctool.plain_builder`` builds again and prints the content of the file that
ships.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random

from asyncguard_benchmark.harness.scenario import Composition, Kind, SubTask
from asyncguard_benchmark.suites.asynctool.dataset import plain_tasks

PLAIN_COUNTS: Mapping[Kind, int] = {Kind.S2: 36, Kind.C2: 44, Kind.S3: 32, Kind.C3: 48}
"""Number of compositions of each kind in `data/plain.json`."""
PLAIN_SEED = 17
"""The seed of `data/plain.json`."""
_MOST_DRAWS = 1000
"""Draws for one composition before giving up on finding one that is new."""


def build_plain(
    tasks: Sequence[SubTask],
    counts: Mapping[Kind, int] = PLAIN_COUNTS,
    seed: int = PLAIN_SEED,
) -> tuple[Composition, ...]:
    """Draw tasks uniformly from those that were used least so far; no two compositions hold the same tasks.

    Raises:
        ValueError: there are too few tasks for the counts.
    """
    random, uses = Random(seed), Counter[str]()
    seen: set[frozenset[str]] = set()
    built = []
    for kind, count in counts.items():
        for number in range(1, count + 1):
            drawn = _new(random, tasks, uses, kind, seen)
            uses.update(task.id for task in drawn)
            seen.add(frozenset(task.id for task in drawn))
            built.append(Composition(id=f"P-{kind}-{number:03}", kind=kind, sub_tasks=drawn))
    return tuple(built)


def _new(
    random: Random,
    tasks: Sequence[SubTask],
    uses: Counter[str],
    kind: Kind,
    seen: set[frozenset[str]],
) -> tuple[SubTask, ...]:
    for _ in range(_MOST_DRAWS):
        drawn = tuple(_draw(random, tasks, uses, kind))
        if len(drawn) == kind.size and frozenset(task.id for task in drawn) not in seen:
            return drawn
    raise ValueError(f"found no new composition of kind {kind}: too few tasks")


def _draw(
    random: Random, tasks: Sequence[SubTask], uses: Counter[str], kind: Kind
) -> Iterator[SubTask]:
    """Yield tasks that fit the kind, as many as there are."""
    left = list(tasks)
    for _ in range(kind.size):
        if not left:
            return
        least = min(uses[task.id] for task in left)
        drawn = random.choice([task for task in left if uses[task.id] == least])
        yield drawn
        left = [
            task
            for task in left
            if task is not drawn and (task.category is drawn.category) is not kind.cross
        ]


def plain_to_json(compositions: Sequence[Composition]) -> str:
    """Return the text of the file that ships: one composition a line, sub-tasks by id."""
    lines = [
        json.dumps({"id": each.id, "kind": each.kind.value, "sub_tasks": list(each.task_ids)})
        for each in compositions
    ]
    return "[\n " + ",\n ".join(lines) + "\n]\n"


if __name__ == "__main__":
    sys.stdout.write(plain_to_json(build_plain(plain_tasks())))
