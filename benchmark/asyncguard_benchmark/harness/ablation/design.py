"""Design of an ablation: its units, and the arms of each."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from asyncguard.config import FEATURE_NAMES, GUARD_NAMES
from asyncguard_benchmark.harness.ablation.units import Game, Unit
from asyncguard_benchmark.harness.arms import (
    ALL,
    FAMILIES,
    LEAVE_ONE_OUT,
    NONE,
    ONE_IN,
    SHAM,
    with_rules,
)
from asyncguard_benchmark.harness.campaign import Condition, Contestant
from asyncguard_benchmark.harness.registry import AgentSpec, agent_class
from asyncguard_benchmark.harness.scenario import (
    Composition,
    Contract,
    Kind,
    Regime,
    SubTask,
    Surface,
)
from asyncguard_benchmark.harness.suites import registry

FAMILY_ARMS = (NONE, ALL, *FAMILIES)
"""Played in every regime."""
EVERY_ARM = (*FAMILY_ARMS, *LEAVE_ONE_OUT, *ONE_IN, SHAM)
"""Played in the main regime."""
GAME = Game(players=frozenset(GUARD_NAMES), base=frozenset(FEATURE_NAMES))
"""The guards share what they add to the features of the runtime."""
COMPLIANCE = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, kw_only=True)
class Design:
    """An ablation."""

    compositions: Sequence[Composition]
    agents: Sequence[Contestant]
    suite: str = "a choice of its own"
    """Name of the compositions in the findings."""
    players: Sequence[str] = ("graph",)
    regimes: Sequence[Regime] = (Regime.SYNC, Regime.FIXED1)
    declared: Sequence[bool] = (True,)
    seeds: Sequence[int] = (0,)
    surface: Surface = Surface.TEXT
    contract: Contract = Contract.OURS
    shadow: bool = True
    """True if guards are judged as detectors, too."""
    rules: tuple[str, ...] = ()
    """Guards of the user's own, by their places; each is played beside all guards, and alone."""
    compliance: bool = True
    """True if agents that have a compliance are played at several rates of it, too."""
    arms_in_main: tuple[str, ...] = ()
    """Arms of the main regime, if not every arm; guards are then not shared out nor judged as detectors."""
    every: int = 1
    """Each agent and seed plays every n-th composition only; the next one begins one composition later, so that all
    together play all."""
    again: bool = True
    """True if the references are played once more with a seed of their own (A/A)."""
    wild: Sequence[Composition] = ()
    """Compositions of tasks with derived values."""

    @property
    def main(self) -> Regime:
        """The regime in which every arm is played: `fixed1` if it is there, else the first one with delay."""
        if Regime.FIXED1 in self.regimes:
            return Regime.FIXED1
        return next(
            (regime for regime in self.regimes if regime is not Regime.SYNC), self.regimes[0]
        )

    def conditions(self, agent: Contestant) -> Iterator[Condition]:
        """Yield every condition of an agent, without arm and with the first seed."""
        for player in self.players:
            for declared in self.declared:
                for regime in self.regimes:
                    yield Condition(
                        agent=agent,
                        player=player,
                        declared=declared,
                        regime=regime,
                        surface=self.surface,
                        contract=self.contract,
                        seed=self.seeds[0],
                    )

    def units(self, agent: Contestant) -> Iterator[Unit]:
        """Yield everything that is played for an agent."""
        infers, whole = is_repeatable(agent), not is_further_member(agent)
        for condition in self.conditions(agent):
            main = condition.regime is self.main
            arms = (
                self.arms_in_main if main and self.arms_in_main else _arms(main=main, whole=whole)
            )
            full = main and not self.arms_in_main and whole and infers
            for seed in self.seeds:
                for composition in self.drawn(agent, seed):
                    yield Unit(
                        composition=composition,
                        condition=replace(condition, seed=seed),
                        arms=(*arms, *self._own_arms(main=main)),
                        game=GAME if full else None,
                        # Going on with and without a call tells nothing of an agent that does not repeat itself.
                        shadow=full and self.shadow,
                        rules=self.rules,
                        infers=infers,
                    )
        if whole and self.again:
            yield from self._again(agent, infers=infers)
        if whole and self.compliance:
            yield from self._complying(agent)

    def drawn(self, agent: Contestant, seed: int) -> Sequence[Composition]:
        """Return the compositions that an agent of the design plays with a seed."""
        if self.every == 1:
            return self.compositions
        turn = list(self.agents).index(agent) * len(self.seeds) + list(self.seeds).index(seed)
        return self.compositions[turn % self.every :: self.every]

    @property
    def arms(self) -> tuple[str, ...]:
        """All arms that are played in the main regime."""
        return (*(self.arms_in_main or EVERY_ARM), *self._own_arms(main=True))

    def _own_arms(self, *, main: bool) -> Iterator[str]:
        """Yield the arms of the user's own guards; `all` is the arm that switches them off."""
        for rule in self.rules:
            yield with_rules(ALL, [rule])
            if main:
                yield with_rules("ledger+waiting", [rule])

    def _again(self, agent: Contestant, *, infers: bool) -> Iterator[Unit]:
        """Yield the A/A units: the references once more with a seed of their own."""
        for condition in self.conditions(agent):
            if condition.regime is self.main:
                for composition in self.drawn(agent, self.seeds[0]):
                    again = replace(condition, seed=self.other_seed)
                    yield Unit(
                        composition=composition, condition=again, arms=(NONE, ALL), infers=infers
                    )

    @property
    def other_seed(self) -> int:
        """The seed of the A/A arms."""
        return max(self.seeds) + 1

    def _complying(self, agent: Contestant) -> Iterator[Unit]:
        for variant, seed in product(complying(agent), self.seeds):
            for condition in self.conditions(variant):
                if condition.regime is self.main:
                    for composition in self.drawn(agent, seed):
                        yield Unit(
                            composition=composition,
                            condition=replace(condition, seed=seed),
                            arms=(NONE, ALL, SHAM),
                        )

    def wild_units(self, agent: Contestant) -> Iterator[Unit]:
        """Yield the wild split: references in the main regime."""
        for condition in self.conditions(agent):
            if condition.regime is self.main:
                for composition in self.wild:
                    yield Unit(composition=composition, condition=condition, arms=(NONE, ALL))


def _arms(*, main: bool, whole: bool) -> tuple[str, ...]:
    if not main:
        return FAMILY_ARMS
    return EVERY_ARM if whole else (*FAMILY_ARMS, *LEAVE_ONE_OUT)


def is_repeatable(agent: Contestant) -> bool:
    """Return True if an agent does the same in the same episode, so that runs can be inferred from others.

    The simulated agents of this package do. For models and classes from elsewhere it is not known.
    """
    return isinstance(agent, AgentSpec) and agent.kind in (
        *registry().agents,
        *registry().personas,
    )


def is_further_member(agent: Contestant) -> bool:
    """Return True for a member of an ensemble other than the best: only the range of its effects is used."""
    return isinstance(agent, AgentSpec) and agent.settings.get("member", 0) > 0


def members(kind: str, count: int) -> list[AgentSpec]:
    """Return an agent by name; of a persona so many members of its ensemble, the best first."""
    if kind not in registry().personas:
        return [AgentSpec(kind=kind)]
    return [
        AgentSpec(kind=kind, settings={"member": number} if number else {})
        for number in range(count)
    ]


def complying(agent: Contestant) -> list[AgentSpec]:
    """Return an agent at every rate of compliance with feedback; empty if it has no such rate."""
    if not (isinstance(agent, AgentSpec) and is_repeatable(agent)):
        return []
    rated = "compliance" in agent_class(agent.kind).model_fields
    if not rated and agent.kind not in registry().personas:
        return []
    return [replace(agent, settings={**agent.settings, "compliance": rate}) for rate in COMPLIANCE]


def wild_compositions(tasks: Sequence[SubTask]) -> list[Composition]:
    """Return the tasks of the wild split, each in one pair; an odd one is left over."""
    shuffled = sorted(tasks, key=lambda task: task.id)
    random.Random("wild").shuffle(shuffled)
    pairs = zip(shuffled[::2], shuffled[1::2], strict=False)
    return [
        Composition(
            id=f"wild-{number:03}",
            kind=Kind.S2 if one.category is other.category else Kind.C2,
            sub_tasks=(one, other),
        )
        for number, (one, other) in enumerate(pairs, 1)
    ]
