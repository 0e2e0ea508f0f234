"""Names of episodes in a file. Apart from what plays them: who only reads a file loads no agent."""

from dataclasses import dataclass

from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.saved_form import Whole


@dataclass(frozen=True, kw_only=True, order=True)
class EpisodeKey:
    """Name of an episode in a file; two episodes of one name would be equal."""

    composition: str
    agent: str
    player: str
    arm: str
    regime: str
    surface: str
    seed: Whole
    config: str
    """Digest of everything that the names do not say: data, settings, guard configuration."""


def key_of_episode(episode: Episode) -> EpisodeKey:
    """Return the name of a played episode; parts that another tool did not save are empty."""
    return EpisodeKey(
        composition=episode.composition.id,
        agent=episode.agent,
        player=episode.player,
        arm=str(episode.settings.get("arm", "")),
        regime=episode.run.regime.value,
        surface=episode.run.surface.value,
        seed=episode.run.seed,
        config=str(episode.settings.get("digest", "")),
    )
