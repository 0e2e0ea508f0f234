"""Episodes for the comparison of the two scorers, and the one door by which the reference reaches the tools."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle, product
from typing import Any

from asyncguard_benchmark import (
    Regime,
    Score,
    Suite,
    Surface,
    episode_from_json,
    episode_to_json,
    run_episode,
    score,
    shipped_compositions,
)
from asyncguard_benchmark.harness.loading import sub_task_from_json
from asyncguard_benchmark.harness.registry import AgentSpec, player_of
from asyncguard_benchmark.harness.scenario import Composition, SubTask
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.services.catalogue import tools_of
from asyncguard_benchmark.services.service import Executor
from tests.reference_scorer import scorer as reference

Episode = dict[str, Any]
"""The saved form of an episode."""
PERSONAS = ("persona:gpt-4o", "persona:qwen2.5-32b", "persona:llama-3.1-70b")
PLAIN = ("plain", "none")
GUARDED = (("graph", "none"), ("middleware", "all"), ("middleware", "none"), ("graph", "all"))
"""Players that stand on the library, with and without guards."""


class ExecutorWorld:
    """The project's executor of one sub-task; judges nothing."""

    def __init__(self, task: SubTask) -> None:
        self._tools = tools_of(task)
        self._executor = Executor(self._tools, task.initial_state)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        return self._executor.call(tool, arguments)

    def state(self) -> Any:
        return self._executor.public_state()

    def parameters(self, tool: str) -> Mapping[str, Any]:
        return self._tools[tool].parameters if tool in self._tools else {}


def open_world(task: Mapping[str, Any]) -> ExecutorWorld:
    """The world of a sub-task in its saved form."""
    return ExecutorWorld(_task(json.dumps(task)))


@cache
def _task(text: str) -> SubTask:
    return sub_task_from_json(json.loads(text), "sub-task")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One episode to be played."""

    composition: Composition
    agent: str
    player: str
    arm: str
    regime: Regime
    surface: Surface
    seed: int

    def play(self) -> Episode:
        """The saved form of the episode."""
        agent = AgentSpec(kind=self.agent).make(self.composition, self.seed)
        player = player_of(self.player, self.arm, declared=True)
        episode = run_episode(self.composition, agent, self.regime, self.surface, self.seed, player)
        return episode_to_json(episode)


def settings(
    compositions: Sequence[Composition], players: Sequence[tuple[str, str]], seeds: Sequence[int]
) -> Iterator[Setting]:
    """Every agent, regime and surface with each player; compositions are taken in turn."""
    following = cycle(compositions)
    agents = (*registry().agents, *PERSONAS)
    for seed, (player, arm), agent, regime, surface in product(
        seeds, players, agents, Regime, Surface
    ):
        yield Setting(
            composition=next(following),
            agent=agent,
            player=player,
            arm=arm,
            regime=regime,
            surface=surface,
            seed=seed,
        )


@cache
def plain_corpus() -> list[Episode]:
    """Saved forms of two episodes of every setting of the plain player."""
    return [each.play() for each in settings(shipped_compositions(Suite.LITE), (PLAIN,), (0, 1))]


@cache
def quick_corpus() -> list[Episode]:
    """Saved forms of a few hundred episodes: the same, and some of the other players, which are slow."""
    guarded = list(settings(shipped_compositions(Suite.LITE), GUARDED, (0,)))
    return [*plain_corpus(), *(each.play() for each in guarded[::17])]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """An episode with both verdicts on it."""

    episode: Episode
    score: Score
    """The project's."""
    verdict: reference.Verdict
    """The reference's."""


def judged(episode: Episode) -> Judged:
    """The episode with both verdicts."""
    theirs, ours = score(episode_from_json(episode)), reference.score(episode, open_world)
    return Judged(episode=episode, score=theirs, verdict=ours)


@cache
def plain_judged() -> list[Judged]:
    """The plain corpus with its verdicts: a test that breaks a rule asks for them before it does."""
    return [judged(each) for each in plain_corpus()]


@cache
def quick_judged() -> list[Judged]:
    """The same of the quick corpus."""
    plain = plain_judged()
    return [*plain, *(judged(each) for each in quick_corpus()[len(plain) :])]
