"""Properties of a composition of the suite, read from the composition alone: a saved episode needs no other file."""

from functools import lru_cache

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.faults import Profile
from asyncguard_benchmark.harness.scenario import HELD_OUT_DOMAINS, Composition, Domain
from asyncguard_benchmark.suites.hazards.composition_sets import ANYWHERE, BENIGN, DRAWN
from asyncguard_benchmark.suites.hazards.fault_sites import Sign, sign_of
from asyncguard_benchmark.suites.hazards.held_out_modes import HELD_OUT_MODES
from asyncguard_benchmark.suites.hazards.instances import Gathering, Part

_HELD_OUT = frozenset(mode.name for mode in HELD_OUT_MODES)


def gathering_of(composition: Composition) -> Gathering:
    """Return the set that a composition with faults belongs to."""
    if not any(isinstance(task.category, Domain) for task in composition.sub_tasks):
        return Gathering.BROKEN
    if len(composition.sub_tasks) > 1:
        return Gathering.COMPANY
    if BENIGN in composition.id:
        return Gathering.BENIGN
    if ANYWHERE in composition.id:
        return Gathering.ANYWHERE
    if DRAWN in composition.id:
        return Gathering.EFFECTS
    return Gathering.SINGLE if len(composition.faults) == 1 else Gathering.PAIRS


def part_of(composition: Composition) -> Part:
    """Return the part of the suite that it belongs to: held-out domain, held-out mode, both or none."""
    domain = any(task.category in HELD_OUT_DOMAINS for task in composition.sub_tasks)
    mode = any(fault.mode in _HELD_OUT for fault in composition.faults)
    if domain:
        return Part.BOTH if mode else Part.DOMAINS
    return Part.MODES if mode else Part.DEVELOPMENT


def profile_of(composition: Composition) -> Profile:
    """Return the profile of its faults: guided if one of them comes with a hint."""
    guided = any(fault.profile is Profile.GUIDED for fault in composition.faults)
    return Profile.GUIDED if guided else Profile.STRICT


def sign_of_episode(episode: Episode) -> Sign:
    """Return the sign by which the faults of an episode of one task show themselves."""
    return _sign(_Key(episode.composition))


class _Key:
    """A composition as the key of a cache: told apart by its id and faults, as the JSON in it cannot be hashed."""

    def __init__(self, composition: Composition) -> None:
        self.composition = composition
        self._parts = (composition.id, composition.faults)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other._parts == self._parts

    def __hash__(self) -> int:
        return hash(self._parts)


@lru_cache(maxsize=8192)
def _sign(key: _Key) -> Sign:
    return sign_of(key.composition)
