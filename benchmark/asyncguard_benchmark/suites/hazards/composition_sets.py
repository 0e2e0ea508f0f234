"""Sets of compositions that are made when they are asked for.

None of them needs a plan of its own: in benign variation nothing is wrong; of broken effects only duplicates are
counted, and a run that honestly fails has none; tasks in company are those of instances that have a plan. Faults put
anywhere are there to say what the choice of the places that ship is worth: of them nothing was asked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from asyncguard_benchmark.harness.fault_modes import Mode
from asyncguard_benchmark.harness.faults import Fault, Hazard, draw
from asyncguard_benchmark.harness.loading import shipped_compositions, shipped_sub_tasks
from asyncguard_benchmark.harness.pointers import covers
from asyncguard_benchmark.harness.scenario import Composition, Kind, SubTask, Suite
from asyncguard_benchmark.services.catalogue import tools_of
from asyncguard_benchmark.services.common_tools import COMMON_NAMES
from asyncguard_benchmark.services.declarations import Effect
from asyncguard_benchmark.suites.hazards.benign_modes import BENIGN_MODES
from asyncguard_benchmark.suites.hazards.fault_sites import (
    Place,
    Sign,
    all_places,
    fault_at,
    places,
    sign_of,
    taken_from,
    with_faults,
)
from asyncguard_benchmark.suites.hazards.instances import Instance
from asyncguard_benchmark.suites.hazards.mode_table import DEVELOPMENT_MODES
from asyncguard_benchmark.suites.hazards.tasks import HazardTask

BENIGN = "~benign."
"""Part of the ids of compositions with benign variation."""
ANYWHERE = "~anywhere"
"""Part of the ids of compositions with faults put anywhere, before the number of the draw."""
DRAWN = "~drawn"
"""Part of the ids of compositions with broken effects, before the number of the draw."""


def benign(tasks: Sequence[HazardTask], seed: int) -> Iterator[Composition]:
    """Yield each task with each benign variation on every tool that the ground truth calls and that it fits."""
    for task, mode in product(tasks, BENIGN_MODES):
        found = [
            fault
            for fault in _variations(task, mode, seed)
            if sign_of(with_faults(task, (fault,))) is Sign.NONE
        ]
        if found:
            yield with_faults(task, tuple(found), f"{task.id}{BENIGN}{mode.name}")


def _variations(task: HazardTask, mode: Mode, seed: int) -> Iterator[Fault]:
    """Yield a mode on every tool that the ground truth calls, but where a value stands that the ground truth takes."""
    tools = tools_of(task.sub_task)
    for name in dict.fromkeys(
        call.tool for call in task.sub_task.gold if call.tool not in COMMON_NAMES
    ):
        for site in mode.sites(tools[name]):
            if not site or not any(
                covers(site, pointer) for pointer in taken_from(task.sub_task, name)
            ):
                yield fault_at(task.sub_task, mode, tools[name], site, 1, seed)


def broken_effects(tasks: Sequence[HazardTask], seed: int) -> Iterator[Composition]:
    """Yield each task with an effect, with a drawn breakdown of it alone, and together with a drawn fault elsewhere.

    Args:
        tasks: Of the suite.
        seed: Of the draws; another one breaks other effects in other ways.
    """
    for task in tasks:
        found = list(places(task, DEVELOPMENT_MODES, seed))
        breaking = [each for each in found if each.acts and each.fault.hazard is Hazard.EXECUTION]
        if not breaking:
            continue
        first = _one(breaking, seed, "first")
        others = [each for each in found if each.fault.hazard is not Hazard.EXECUTION]
        yield _named(task, (first,), seed)
        yield _named(task, (first, _one(others, seed, "second")), seed)


def _one(found: Sequence[Place], seed: int, what: str) -> Fault:
    chance = draw(seed, what, found[0].task.id)
    return found[int(chance * len(found))].fault


def anywhere(
    tasks: Sequence[HazardTask], modes: Sequence[Mode], seed: int
) -> Iterator[Composition]:
    """Yield each task with one fault of each hazard that fits it, wherever a fault can be put.

    The mode is drawn first and then its place, all with the same chance, so that modes are about as level as in what
    ships.

    Args:
        tasks: Of the suite.
        modes: To draw from.
        seed: Of the draws.
    """
    for task, hazard in product(tasks, Hazard):
        found: dict[str, list[Place]] = {}
        for place in all_places(task, [mode for mode in modes if mode.hazard is hazard], seed):
            found.setdefault(place.fault.mode, []).append(place)
        if found:
            of_mode = list(found.values())[
                int(draw(seed, "anywhere", task.id, hazard) * len(found))
            ]
            fault = _one(of_mode, seed, f"place of {hazard}")
            yield with_faults(task, (fault,), f"{task.id}{_named_by((fault,))}{ANYWHERE}{seed}")


def _named(task: HazardTask, faults: tuple[Fault, ...], seed: int) -> Composition:
    return with_faults(task, faults, f"{task.id}{_named_by(faults)}{DRAWN}{seed}")


def _named_by(faults: Sequence[Fault]) -> str:
    return "".join(f"~{fault.hazard.value}.{fault.mode}~s{fault.severity}" for fault in faults)


def in_company(found: Sequence[Instance], seed: int) -> Iterator[Composition]:
    """Yield each instance together with a drawn sub-task of the twelve categories, and the same without the fault."""
    others = shipped_sub_tasks()
    for instance in found:
        task = instance.task.sub_task
        other = others[int(draw(seed, "company", task.id) * len(others))]
        yield _beside(instance.id, task, other, instance.faults)
    for task in {instance.task.id: instance.task.sub_task for instance in found}.values():
        other = others[int(draw(seed, "company", task.id) * len(others))]
        yield _beside(task.id, task, other, ())


def _beside(name: str, task: SubTask, other: SubTask, faults: tuple[Fault, ...]) -> Composition:
    return Composition(
        id=f"{name}&{other.id}", kind=Kind.C2, sub_tasks=(task, other), faults=faults
    )


def broken_compositions(seed: int, suite: Suite = Suite.LITE) -> Iterator[Composition]:
    """Yield compositions of the twelve categories with a tool that may be called again, each with that tool broken."""
    for composition in shipped_compositions(suite):
        fitting = list(_breakdowns(composition, seed))
        if fitting:
            fault = fitting[int(draw(seed, "broken", composition.id) * len(fitting))]
            name = f"{composition.id}~{fault.hazard.value}.{fault.mode}~s{fault.severity}"
            yield replace(composition, id=name, faults=(fault,))


def _breakdowns(composition: Composition, seed: int) -> Iterator[Fault]:
    for task in composition.sub_tasks:
        tools = tools_of(task)
        called = dict.fromkeys(
            call.tool for call in task.gold if tools[call.tool].effect is Effect.PURE
        )
        for name, mode in product(called, DEVELOPMENT_MODES):
            if mode.hazard is Hazard.EXECUTION:
                yield fault_at(
                    task,
                    mode,
                    tools[name],
                    "",
                    1 + int(2 * draw(seed, task.id, name, mode.name)),
                    seed,
                )
