"""The instances of the suite: a task, the faults that it meets, and a plan that solves it all the same.

Those that ship were drawn by `drawing`, and `bench hazards validate` repeats the draw.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cache
from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.fault_modes import Way
from asyncguard_benchmark.harness.faults import Fault, Hazard, Profile
from asyncguard_benchmark.harness.loading import read_list
from asyncguard_benchmark.harness.saved_form import parse, saved_form
from asyncguard_benchmark.harness.scenario import HELD_OUT_DOMAINS, Composition, Domain
from asyncguard_benchmark.suites.hazards.fault_sites import Sign, with_faults
from asyncguard_benchmark.suites.hazards.solvability_proof import Plan
from asyncguard_benchmark.suites.hazards.tasks import PACKAGE, HazardTask, load_hazard_tasks

SHIPPED = "instances.json"


class Part(StrEnum):
    """Part of the suite, by what was unknown to those who worked on diagnosis and recovery."""

    DEVELOPMENT = "development"
    """Nothing: domain and mode are of development."""
    DOMAINS = "held-out-domains"
    """The domain; the mode is one of development."""
    MODES = "held-out-modes"
    """The mode; the domain is one of development."""
    BOTH = "held-out-both"

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Its domains, in order."""
        held_out = self in (Part.DOMAINS, Part.BOTH)
        return tuple(domain for domain in Domain if (domain in HELD_OUT_DOMAINS) is held_out)


HELD_OUT_PARTS = (Part.DOMAINS, Part.MODES, Part.BOTH)


class Gathering(StrEnum):
    """The sets of compositions of the suite; `single` and `pairs` ship, the others are made when they are asked for."""

    SINGLE = "single"
    """One fault on a task: every task meets every hazard once, as far as a fitting place is there."""
    PAIRS = "pairs"
    """Two faults of different hazards on a task."""
    ANYWHERE = "anywhere"
    """One fault on a task wherever one can be put: whether it matters, shows itself or can be survived is not asked."""
    BENIGN = "benign"
    """Answers that vary within their declarations: nothing is wrong."""
    EFFECTS = "effects"
    """An effect breaks, alone or together with another fault; whether it can be survived is not asked."""
    COMPANY = "company"
    """One fault on a task that is worked on together with a sub-task of the twelve categories."""
    BROKEN = "broken"
    """Compositions of the twelve categories in which a tool breaks."""


@dataclass(frozen=True, kw_only=True)
class Instance:
    """A task and what befalls it."""

    task: HazardTask
    faults: tuple[Fault, ...]
    part: Part
    gathering: Gathering = Gathering.SINGLE
    sign: Sign
    """Sign by which the faults show themselves."""
    witness: Plan
    """A plan that solves it."""

    @property
    def id(self) -> str:
        """Task, hazard, mode and severity of each fault, and whether there is a hint: ``lg-03~output.truncated~s2``."""
        named = "".join(
            f"~{fault.hazard.value}.{fault.mode}~s{fault.severity}" for fault in self.faults
        )
        return f"{self.task.id}{named}{'' if self.profile is Profile.STRICT else '~guided'}"

    @property
    def profile(self) -> Profile:
        """Return the help that comes with the first strange answer."""
        return self.faults[0].profile

    @property
    def composition(self) -> Composition:
        """As it is played."""
        return with_faults(self.task, self.faults, self.id)

    def with_profile(self, profile: Profile) -> "Instance":
        """Return the same instance, strict or guided."""
        return replace(self, faults=tuple(replace(fault, profile=profile) for fault in self.faults))


@saved_form()
@dataclass(frozen=True, kw_only=True)
class _Saved:
    """The saved form of an instance; its task is named by its faults."""

    part: Part
    gathering: Gathering
    faults: Annotated[tuple[Fault, ...], Field(min_length=1)]
    sign: Sign
    witness: Mapping[Annotated[int, Field(ge=0)], Way]


_SAVED = TypeAdapter(_Saved)


def instance_to_json(instance: Instance) -> dict[str, Any]:
    """Return the saved form; the task is named by its faults."""
    saved = _Saved(**{each.name: getattr(instance, each.name) for each in fields(_Saved)})
    return dict(_SAVED.dump_python(saved, mode="json"))


def instance_from_json(value: Any, tasks: Mapping[str, HazardTask], where: str) -> Instance:
    """Read one instance.

    Args:
        value: The form of `instance_to_json`.
        tasks: Id -> task.
        where: Name of the source in an error.

    Raises:
        DataError: it breaks the format, or names a task that is not there.
    """
    saved = parse(_SAVED, value, where)
    names = {fault.task for fault in saved.faults}
    if len(names) != 1 or not names <= tasks.keys():
        raise DataError(
            where, f"its faults are put on {sorted(names)}, which is not one task of the suite"
        )
    return Instance(
        task=tasks[names.pop()],
        **{each.name: getattr(saved, each.name) for each in fields(_Saved)},
    )


@cache
def all_tasks() -> Mapping[str, HazardTask]:
    """Return every task of the suite under its id."""
    return {task.id: task for domain in Domain for task in load_hazard_tasks(domain)}


@cache
def shipped_instances() -> tuple[Instance, ...]:
    """Return the instances that ship with the package, strict ones.

    Raises:
        DataError: the file breaks the format.
    """
    tasks = all_tasks()
    return tuple(
        instance_from_json(value, tasks, f"{SHIPPED}[{number}]")
        for number, value in enumerate(read_list(SHIPPED, PACKAGE))
    )


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Filter for instances; None stands for all."""

    gathering: Gathering = Gathering.SINGLE
    parts: tuple[Part, ...] = (Part.DEVELOPMENT,)
    hazards: tuple[Hazard, ...] | None = None
    domains: tuple[Domain, ...] | None = None
    severities: tuple[int, ...] | None = None
    profiles: tuple[Profile, ...] = (Profile.STRICT,)
    every: int = 1
    """Takes every n-th of what is left, for quick looks."""

    def chosen(self, known: Iterable[Instance]) -> list[Instance]:
        """Return the instances that are asked for, all of whose faults fit."""
        fitting = [each for each in known if self._fits(each)]
        # A stride that shares no factor with the number of hazards takes all of them in turn.
        return [
            each.with_profile(profile)
            for profile in self.profiles
            for each in fitting[:: self.every]
        ]

    def _fits(self, instance: Instance) -> bool:
        return (
            instance.gathering is self.gathering
            and instance.part in self.parts
            and (self.domains is None or instance.task.domain in self.domains)
            and all(
                self.hazards is None or fault.hazard in self.hazards for fault in instance.faults
            )
            and all(
                self.severities is None or fault.severity in self.severities
                for fault in instance.faults
            )
        )


def clean_compositions(found: Sequence[Instance]) -> list[Composition]:
    """Return the tasks of some instances, each once, with nothing befalling them."""
    tasks = {instance.task.id: instance.task for instance in found}
    return [with_faults(task, ()) for task in tasks.values()]
