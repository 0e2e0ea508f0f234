"""Harm of guards where it can happen: agents that make no mistake and call early, on values that are right.

The oracle waits until every value was told, so that a guard which refuses what stands nowhere can do it no harm. These
agents do not wait: they compute, normalise and foresee values, and every refusal of such a call is an error of a guard.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from asyncguard_benchmark.harness.ablation.design import wild_compositions
from asyncguard_benchmark.harness.arms import ALL, CONTENT_GUARDS, NONE, TIMING_GUARDS
from asyncguard_benchmark.harness.campaign import Cell, Grid
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.loading import shipped_sub_tasks
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.scenario import Composition, Regime, Split, Surface
from asyncguard_benchmark.harness.scoring.false_blocks import (
    FalseBlocks,
    false_blocks,
    proposals_of,
)
from asyncguard_benchmark.harness.scoring.verdict import score
from asyncguard_benchmark.harness.statistics.clustered import least_error, mean_of, share_of
from asyncguard_benchmark.harness.statistics.estimates import Interval
from asyncguard_benchmark.harness.statistics.paired import Pair, difference_interval
from asyncguard_benchmark.harness.suites import registry

WILD = Split.WILD.value
CALL_GUARDS = tuple(name for name in (*TIMING_GUARDS, *CONTENT_GUARDS) if name != "completion")
"""Guards that judge calls; completion judges the end of a run."""
_NATIVE = ("batch",)


def compositions_of(name: str) -> Sequence[Composition]:
    """Return the compositions of a set, or the tasks of the wild split in pairs.

    Raises:
        UnknownNameError: no suite has the set.
    """
    if name == WILD:
        return wild_compositions(shipped_sub_tasks(Split.WILD))
    suite = registry().suite_of_set(name)
    found: Sequence[Composition] = suite.load(suite.compositions)(name)
    return found


def cells_of(
    compositions: Sequence[Composition],
    agents: Sequence[str],
    players: Sequence[str],
    declared: Sequence[bool],
    regimes: Sequence[Regime],
) -> list[Cell]:
    """Return the episodes to play: every agent without guards and with all; without them nothing reads declarations."""
    return [
        cell
        for agent in agents
        for arm in (NONE, ALL)
        for cell in Grid(
            compositions=compositions,
            agents=[AgentSpec(kind=agent)],
            players=players,
            arms=[arm],
            declared=declared if arm == ALL else (True,),
            regimes=regimes,
            surfaces=[Surface.NATIVE if agent in _NATIVE else Surface.TEXT],
        ).cells()
    ]


@dataclass(frozen=True, kw_only=True)
class Harm:
    """Effect of all guards on one agent and set."""

    agent: str
    player: str
    declared: bool
    regime: str
    blocks: tuple[FalseBlocks, ...]
    pairs: int
    """Compositions, each without guards and with all."""
    unguarded: Interval
    """Overall in per cent."""
    guarded: Interval
    difference: Interval
    """In points."""
    rounds_unguarded: float
    """Mean messages of the agent."""
    rounds_guarded: float
    rounds: Interval
    """Guarded less unguarded."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return asdict(self)


def harm_of(episodes: Iterable[Episode]) -> list[Harm]:
    """Return the harm in each condition, in the order in which they first came.

    Args:
        episodes: Of the arms none and all, with their conversations; one without its counterpart is left out.
    """
    bare: dict[tuple[Any, ...], Episode] = {}
    guarded: dict[tuple[str, str, bool, str], list[Episode]] = {}
    for each in episodes:
        if each.settings["arm"] == NONE:
            bare[_counterpart(each)] = each
        else:
            declared = bool(each.settings.get("declared", True))
            place = (each.agent, each.player, declared, each.run.regime.value)
            guarded.setdefault(place, []).append(each)
    paired = {
        place: [(bare[key], each) for each in found if (key := _counterpart(each)) in bare]
        for place, found in guarded.items()
    }
    return [_harm(place, pairs) for place, pairs in paired.items() if pairs]


def _counterpart(episode: Episode) -> tuple[Any, ...]:
    return (episode.composition.id, episode.agent, episode.player, episode.run)


def _harm(place: tuple[str, str, bool, str], pairs: Sequence[tuple[Episode, Episode]]) -> Harm:
    agent, player, declared, regime = place
    sources = [frozenset(each.composition.task_ids) for _, each in pairs]
    solved = [(score(one).overall, score(other).overall) for one, other in pairs]
    rounds = [(one.counters.rounds, other.counters.rounds) for one, other in pairs]
    verdicts = [
        Pair(
            composition=each.composition.id,
            seed=each.run.seed,
            sources=own,
            arm=after,
            against=before,
        )
        for (_, each), own, (before, after) in zip(pairs, sources, solved, strict=True)
    ]
    more = mean_of(
        [float(after - before) for before, after in rounds], sources, floor=least_error(sources)
    )
    runs = ((proposals_of(each), own) for (_, each), own in zip(pairs, sources, strict=True))
    return Harm(
        agent=agent,
        player=player,
        declared=declared,
        regime=regime,
        blocks=false_blocks(runs, CALL_GUARDS),
        pairs=len(pairs),
        unguarded=share_of([before for before, _ in solved], sources).scaled(100),
        guarded=share_of([after for _, after in solved], sources).scaled(100),
        difference=difference_interval(verdicts).scaled(100),
        rounds_unguarded=sum(before for before, _ in rounds) / len(rounds),
        rounds_guarded=sum(after for _, after in rounds) / len(rounds),
        rounds=more.interval,
    )
