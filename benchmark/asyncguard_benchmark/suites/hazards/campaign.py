"""Selection of the episodes of an experiment on the suite."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from asyncguard_benchmark.harness.arms import NONE, RECOVER
from asyncguard_benchmark.harness.campaign import Cell, Contestant, Grid
from asyncguard_benchmark.harness.faults import Profile
from asyncguard_benchmark.harness.loading import shipped_compositions
from asyncguard_benchmark.harness.scenario import Composition, Domain, Regime, Suite, Surface
from asyncguard_benchmark.suites.hazards.composition_sets import (
    anywhere,
    benign,
    broken_compositions,
    broken_effects,
    in_company,
)
from asyncguard_benchmark.suites.hazards.fault_sites import with_faults
from asyncguard_benchmark.suites.hazards.instances import (
    Gathering,
    Instance,
    Part,
    Wanted,
    clean_compositions,
    shipped_instances,
)
from asyncguard_benchmark.suites.hazards.sampling import modes_of
from asyncguard_benchmark.suites.hazards.tasks import HazardTask, load_hazard_tasks


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment: what befalls which tasks, and who plays them how."""

    wanted: Wanted
    agents: Sequence[Contestant]
    players: Sequence[str]
    arms: Sequence[str]
    """Without what all arms of the suite begin with."""
    regimes: Sequence[Regime] = (Regime.SYNC,)
    surfaces: Sequence[Surface] = (Surface.TEXT,)
    seeds: Sequence[int] = (0,)
    clean: bool = True
    """True if every task is played clean, too."""

    def compositions(self, seed: int) -> list[Composition]:
        """Return the compositions to play with a seed; those that are drawn differ between seeds."""
        wanted = self.wanted
        match wanted.gathering:
            case Gathering.SINGLE | Gathering.PAIRS:
                found = self.instances()
                return [*self._clean(found), *(each.composition for each in found)]
            case Gathering.COMPANY:
                return list(in_company(self.instances(), 0))
            case Gathering.ANYWHERE:
                return self._anywhere(seed)
            case Gathering.BENIGN:
                return list(benign(self._tasks(), 0))
            case Gathering.EFFECTS:
                return list(broken_effects(self._tasks(), seed))
            case Gathering.BROKEN:
                broken = list(broken_compositions(0))[:: self.wanted.every]
                whole = {each.id.partition("~")[0] for each in broken}
                clean = [each for each in shipped_compositions(Suite.LITE) if each.id in whole]
                return [*(clean if self.clean else ()), *broken]

    def instances(self) -> list[Instance]:
        """Return the shipped instances that are asked for; in company those of one fault."""
        single = self.wanted.gathering is Gathering.COMPANY
        wanted = replace(self.wanted, gathering=Gathering.SINGLE) if single else self.wanted
        return wanted.chosen(shipped_instances())

    def cells(self) -> list[Cell]:
        """Return the episodes, each once."""
        return [cell for seed in self.seeds for cell in self._grid(seed).cells()]

    def _grid(self, seed: int) -> Grid:
        return Grid(
            compositions=self.compositions(seed),
            agents=self.agents,
            players=self.players,
            arms=[f"{RECOVER}{arm}" for arm in self.arms] or [NONE],
            regimes=self.regimes,
            surfaces=self.surfaces,
            seeds=(seed,),
        )

    def _clean(self, found: Sequence[Instance]) -> list[Composition]:
        return clean_compositions(found) if self.clean else []

    def _anywhere(self, seed: int) -> list[Composition]:
        wanted = self.wanted
        drawn = [
            each
            for part in wanted.parts
            for each in anywhere(self._tasks((part,)), modes_of(part), seed)
            if (wanted.hazards is None or each.faults[0].hazard in wanted.hazards)
            and (wanted.severities is None or each.faults[0].severity in wanted.severities)
        ]
        clean = [with_faults(task, ()) for task in self._tasks(wanted.parts)] if self.clean else []
        return [
            *clean,
            *(_with_profile(each, profile) for profile in wanted.profiles for each in drawn),
        ]

    def _tasks(self, parts: Sequence[Part] | None = None) -> list[HazardTask]:
        """Return the tasks of the domains that are asked for, of all parts by default."""
        domains = dict.fromkeys(
            domain for part in parts or self.wanted.parts for domain in part.domains
        )
        kept = [
            each for each in Domain if each in domains and each in (self.wanted.domains or Domain)
        ]
        return [task for domain in kept for task in load_hazard_tasks(domain)][:: self.wanted.every]


def _with_profile(composition: Composition, profile: Profile) -> Composition:
    """Return the same, strict or guided; ids differ as those of instances do."""
    guided = "" if profile is Profile.STRICT else f"~{profile.value}"
    faults = tuple(replace(fault, profile=profile) for fault in composition.faults)
    return replace(composition, id=f"{composition.id}{guided}", faults=faults)
