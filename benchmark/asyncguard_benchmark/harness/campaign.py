"""Many episodes: which ones an experiment asks for, how each is named, and playing them on several processes."""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import Any, Protocol, TypeVar

from langchain_core.language_models import BaseChatModel

from asyncguard_benchmark.errors import UnknownNameError
from asyncguard_benchmark.harness.agents.speaking import SpeakingAgent
from asyncguard_benchmark.harness.arms import NONE, arm_of
from asyncguard_benchmark.harness.episode import FORMAT, Episode, Run
from asyncguard_benchmark.harness.episode_key import EpisodeKey
from asyncguard_benchmark.harness.foreign import World, opened
from asyncguard_benchmark.harness.loading import composition_to_json
from asyncguard_benchmark.harness.names import FEW_SHOT, PLAIN
from asyncguard_benchmark.harness.processes import shared_pool
from asyncguard_benchmark.harness.registry import player_of
from asyncguard_benchmark.harness.sandbox import SandboxError
from asyncguard_benchmark.harness.scenario import Composition, Contract, Regime, Surface
from asyncguard_benchmark.harness.suites import registry

_T = TypeVar("_T")


class Contestant(Protocol):
    """A simulated agent or a model, before it is made for a composition. A frozen dataclass."""

    @property
    def label(self) -> str:
        """The name of it in files and tables; says every setting that differs from its default."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the settings of it that an episode records."""
        ...

    def make(self, composition: Composition, seed: int) -> BaseChatModel:
        """Return the agent for one episode."""
        ...


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Everything about an episode but its composition."""

    agent: Contestant
    player: str
    arm: str = NONE
    declared: bool = True
    """True if tools are declared to the guards; the plain player does not declare them to
    anything."""
    regime: Regime = Regime.FIXED1
    surface: Surface = Surface.TEXT
    seed: int = 0
    """Seed of the delays and of what the agent draws."""
    few_shot: bool = False
    """True if the prompt holds one successful trajectory."""
    contract: Contract = Contract.OURS

    @property
    def agent_name(self) -> str:
        """The agent as files and tables call it; a prompt with an example is never pooled with one without."""
        return f"{self.agent.label}{FEW_SHOT if self.few_shot else ''}"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One episode to be played."""

    composition: Composition
    condition: Condition

    @cached_property
    def digest(self) -> str:
        """Return the digest of what is played, beside what an episode's key tells by name."""
        condition = self.condition
        told: dict[str, Any] = {
            "format": FORMAT,
            "composition": composition_to_json(self.composition),
            "agent": {"label": condition.agent_name, **condition.agent.settings},
            "guards": arm_of(condition.arm).to_json(),
            "declared": condition.declared,
        }
        if condition.contract is not Contract.OURS:
            told["contract"] = condition.contract.value
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class Played:
    """An episode and how long it took."""

    episode: Episode
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Failed:
    """An episode that the infrastructure ended; it is left out of every figure, and counted."""

    key: EpisodeKey
    error: str


@dataclass(frozen=True, kw_only=True)
class Grid:
    """An experiment: every combination of these."""

    compositions: Sequence[Composition]
    agents: Sequence[Contestant]
    players: Sequence[str]
    arms: Sequence[str]
    declared: Sequence[bool] = (True,)
    regimes: Sequence[Regime] = (Regime.FIXED1,)
    surfaces: Sequence[Surface] = (Surface.TEXT,)
    seeds: Sequence[int] = (0,)
    few_shot: bool = False
    contract: Contract = Contract.OURS

    def cells(self) -> list[Cell]:
        """Return the episodes, each once; the plain player has no guards, so it plays the arm `none` only."""
        axes = product(
            self.agents,
            self.players,
            self.arms,
            self.declared,
            self.regimes,
            self.surfaces,
            self.seeds,
        )
        found: list[Condition] = []
        for agent, player, arm, declared, regime, surface, seed in axes:
            plain = player == PLAIN
            condition = Condition(
                agent=agent,
                player=player,
                arm=NONE if plain else arm,
                declared=declared or plain,
                regime=regime,
                surface=surface,
                seed=seed,
                few_shot=self.few_shot,
                contract=self.contract,
            )
            if condition not in found:
                found.append(condition)
        return [
            Cell(composition=each, condition=condition)
            for condition in found
            for each in self.compositions
        ]


def key_of(cell: Cell) -> EpisodeKey:
    """Return the name of an episode before it is played."""
    condition = cell.condition
    return EpisodeKey(
        composition=cell.composition.id,
        agent=condition.agent_name,
        player=condition.player,
        arm=condition.arm,
        regime=condition.regime.value,
        surface=condition.surface.value,
        seed=condition.seed,
        config=cell.digest,
    )


def play(cell: Cell, *, agent: BaseChatModel | None = None, keep_messages: bool = True) -> Played:
    """Play one episode.

    Args:
        cell: The episode to play.
        agent: Agent that plays it, if not the one that the condition's contestant makes.
        keep_messages: True if the episode keeps its conversation; no score needs it, and it is most of the size.

    Raises:
        SandboxError: a process that ran foreign code has ended; what the agent did then counts for nothing.
    """
    started = time.perf_counter()
    condition, composition = cell.condition, cell.composition
    example = _example(cell) if condition.few_shot else None
    playing = agent or condition.agent.make(composition, condition.seed)
    player = player_of(
        condition.player,
        condition.arm,
        declared=condition.declared,
        example=example,
        # The paper allows one call a message; a simulated agent that makes several is let.
        parallel_calls=isinstance(playing, SpeakingAgent) and playing.parallel,
    )
    run = Run(
        regime=condition.regime,
        surface=condition.surface,
        seed=condition.seed,
        contract=condition.contract,
    )
    with opened(composition) as world:
        episode = player(composition, playing, run)
        noted = _noted(world, episode)
    if world is not None and world.ended is not None:
        raise SandboxError(world.ended)
    settings = {
        **episode.settings,
        **noted,
        "arm": condition.arm,
        "declared": condition.declared,
        "agent": dict(condition.agent.settings),
        "digest": cell.digest,
    }
    messages = episode.messages if keep_messages else ()
    whole = replace(episode, agent=condition.agent_name, settings=settings, messages=messages)
    return Played(episode=whole, seconds=time.perf_counter() - started)


def _noted(world: World | None, episode: Episode) -> dict[str, Any]:
    """Return what the suite of foreign tasks notes of an episode whose processes all run still."""
    suite = registry().suite_of(episode.composition.sub_tasks[0].category)
    if world is None or world.ended is not None or not suite.world_notes:
        return {}
    return {"foreign": dict(suite.load(suite.world_notes)(world, episode))}


def _example(cell: Cell) -> str:
    """Return a successful trajectory from the suite of a composition.

    Raises:
        UnknownNameError: the suite has none.
    """
    suite = registry().suite_of(cell.composition.sub_tasks[0].category)
    if not suite.example:
        raise UnknownNameError(f"the suite {suite.name} has no example for a prompt")
    example: str = suite.load(suite.example)(cell.condition.regime, cell.condition.surface)
    return example


def play_all(
    cells: Iterable[Cell], jobs: int, *, keep_messages: bool = True, pool: Executor | None = None
) -> Iterator[Played]:
    """Play episodes in the order given.

    Args:
        cells: Episodes to play.
        jobs: Processes; with 1 everything happens in this one.
        keep_messages: True if episodes keep their conversations.
        pool: Processes that stay for other work, instead.
    """
    yield from _mapped(partial(play, keep_messages=keep_messages), list(cells), jobs, pool)


def play_each(
    cells: Iterable[Cell], jobs: int, *, keep_messages: bool = True
) -> Iterator[Played | Failed]:
    """Play episodes in the order given, and go on where the sandbox of one has ended.

    Args:
        cells: Episodes to play.
        jobs: Processes; with 1 everything happens in this one.
        keep_messages: True if episodes keep their conversations.
    """
    yield from _mapped(partial(_tried, keep_messages=keep_messages), list(cells), jobs)


def _tried(cell: Cell, *, keep_messages: bool) -> Played | Failed:
    try:
        return play(cell, keep_messages=keep_messages)
    except SandboxError as problem:
        return Failed(key=key_of(cell), error=str(problem))


def _mapped(
    playing: Callable[[Cell], _T],
    cells: Sequence[Cell],
    jobs: int,
    open_pool: Executor | None = None,
) -> Iterator[_T]:
    with shared_pool(jobs if len(cells) > 1 else 1, open_pool) as pool:
        yield from map(playing, cells) if pool is None else pool.map(playing, cells, chunksize=4)
