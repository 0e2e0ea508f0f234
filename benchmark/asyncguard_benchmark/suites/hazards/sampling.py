"""Draw the instances of the suite from a seed.

Every task meets every hazard once, in one mode on one of its tools, as far as there is a place that
fits. The draw balances modes, their severities, effects and workflows: of the places that a task
offers, those whose mode was taken least often so far come first.

``python -m asyncguard_benchmark.suites.hazards.sampling`` draws again and prints the content of the file
that ships.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from asyncguard_benchmark.harness.fault_modes import Mode
from asyncguard_benchmark.harness.faults import Fault, Hazard, draw
from asyncguard_benchmark.suites.hazards.fault_sites import (
    Place,
    Sign,
    acts,
    matters,
    places,
    sign_of,
    with_faults,
    witness_of,
)
from asyncguard_benchmark.suites.hazards.held_out_modes import HELD_OUT_MODES
from asyncguard_benchmark.suites.hazards.instances import (
    Gathering,
    Instance,
    Part,
    instance_to_json,
)
from asyncguard_benchmark.suites.hazards.mode_table import DEVELOPMENT_MODES
from asyncguard_benchmark.suites.hazards.tasks import HazardTask, load_hazard_tasks

SHIPPED_SEED = 7
"""Seed of the instances that ship."""


def drawn_instances(seed: int = SHIPPED_SEED) -> Iterator[Instance]:
    """Yield all instances, part by part: those of one fault by task and hazard, and then the pairs."""
    for part in Part:
        single = list(_single(part, seed))
        yield from single
        yield from _pairs(single, seed)


def modes_of(part: Part) -> tuple[Mode, ...]:
    """Return the modes of a part."""
    return HELD_OUT_MODES if part in (Part.MODES, Part.BOTH) else DEVELOPMENT_MODES


def _single(part: Part, seed: int) -> list[Instance]:
    tasks = [task for domain in part.domains for task in load_hazard_tasks(domain)]
    modes, taken = modes_of(part), _Taken()
    found: dict[tuple[str, Hazard], Instance] = {}
    for hazard in Hazard:
        for task in sorted(tasks, key=lambda task: draw(seed, "order", task.id, hazard)):
            instance = _drawn(
                task, [mode for mode in modes if mode.hazard is hazard], part, seed, taken
            )
            if instance is not None:
                found[task.id, hazard] = instance
    return [
        found[task.id, hazard] for task in tasks for hazard in Hazard if (task.id, hazard) in found
    ]


class _Taken:
    """Counts of the modes, severities, effects and workflows that were taken so far."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[object, ...]] = Counter()

    def rank(self, place: Place, seed: int) -> tuple[float, ...]:
        """Return the sort key of a place: the least often taken comes first; a draw decides among equals."""
        fault = place.fault
        chance = draw(
            seed, fault.task, fault.mode, fault.tool, fault.site, fault.failpoint, fault.severity
        )
        return (*(self._counts[key] for key in _keys(place)), chance)

    def take(self, place: Place) -> None:
        """Count one."""
        self._counts.update(_keys(place))


def _keys(place: Place) -> tuple[tuple[object, ...], ...]:
    fault = place.fault
    return (
        (fault.mode,),
        (fault.mode, fault.severity),
        (fault.hazard, place.acts),
        (fault.mode, place.task.workflow),
        (fault.mode, fault.failpoint),
    )


def _drawn(
    task: HazardTask, modes: Sequence[Mode], part: Part, seed: int, taken: _Taken
) -> Instance | None:
    """Return the first place, in the order of the draw, that is worth a fault."""
    for place in sorted(places(task, modes, seed), key=lambda place: taken.rank(place, seed)):
        instance = placed(task, (place.fault,), part)
        if instance is not None:
            taken.take(place)
            return instance
    return None


def placed(
    task: HazardTask, faults: tuple[Fault, ...], part: Part, gathering: Gathering = Gathering.SINGLE
) -> Instance | None:
    """Return the instance, if its faults matter, show themselves, and can be survived."""
    composition = with_faults(task, faults)
    if not matters(task, composition) or (sign := sign_of(composition)) is Sign.NONE:
        return None
    plan = witness_of(task, composition)
    if plan is None:
        return None
    return Instance(
        task=task, faults=faults, part=part, gathering=gathering, sign=sign, witness=plan
    )


def _pairs(single: Sequence[Instance], seed: int) -> Iterator[Instance]:
    """Yield one pair a task, if one can be survived: with a broken effect, where the task has one."""
    by_task: dict[str, list[Instance]] = {}
    for instance in single:
        by_task.setdefault(instance.task.id, []).append(instance)
    for own in by_task.values():
        ranked = sorted(combinations(own, 2), key=lambda two: _pair_rank(two, seed))
        tried = (
            placed(one.task, one.faults + two.faults, one.part, Gathering.PAIRS)
            for one, two in ranked
        )
        found = next((each for each in tried if each is not None), None)
        if found is not None:
            yield found


def _pair_rank(two: tuple[Instance, Instance], seed: int) -> tuple[bool, float]:
    breaks = any(
        each.faults[0].hazard is Hazard.EXECUTION and acts(each.task, each.faults[0])
        for each in two
    )
    return (not breaks, draw(seed, "pair", two[0].id, two[1].id))


def instances_to_json(found: Sequence[Instance]) -> str:
    """Return the text of the file that ships: one instance a line."""
    return "[\n" + ",\n".join(f" {json.dumps(instance_to_json(each))}" for each in found) + "\n]\n"


def _print() -> None:
    sys.stdout.write(instances_to_json(list(drawn_instances())))


if __name__ == "__main__":
    _print()
