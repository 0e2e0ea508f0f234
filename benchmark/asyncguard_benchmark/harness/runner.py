"""Run of one episode: the seam between a composition, an agent and a player."""

from collections.abc import Callable

from langchain_core.language_models import BaseChatModel

from asyncguard_benchmark.harness.episode import Episode, Run
from asyncguard_benchmark.harness.players.plain import play_plain
from asyncguard_benchmark.harness.scenario import Composition, Regime, Surface

Player = Callable[[Composition, BaseChatModel, Run], Episode]
"""Drives an agent through a composition. A player with settings is a partial of a function with more parameters."""


def run_episode(
    composition: Composition,
    agent: BaseChatModel,
    regime: Regime = Regime.FIXED1,
    surface: Surface = Surface.TEXT,
    seed: int = 0,
    player: Player = play_plain,
) -> Episode:
    """Run one episode.

    Args:
        composition: The tasks.
        agent: Any chat model; simulated agents are made for one composition.
        regime: Delays of results.
        surface: Text protocol or native tool calling.
        seed: Seed of random delays.
        player: Player that drives the agent; the unguarded loop unless given.
    """
    return player(composition, agent, Run(regime=regime, surface=surface, seed=seed))
