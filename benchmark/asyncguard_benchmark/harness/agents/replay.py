"""An agent that says again what another one said: a saved run, laid before other guards or other scorers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from typing_extensions import override

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.chat_model import PlainChatModel
from asyncguard_benchmark.harness.episode import Episode, digest_of
from asyncguard_benchmark.harness.protocol.actions import ALL_COMPLETED
from asyncguard_benchmark.harness.scenario import Composition


class ReplayError(BenchmarkError):
    """A saved run does not hold what is to be said again."""


class ReplayAgent(PlainChatModel):
    """Agent that says the recorded messages in order, whatever it is told, and at their end that all is completed.

    It does not react. Where another runtime answers other than the recorded one did, it shows what that runtime makes
    of the same utterances, not what their author would have done.
    """

    said: Sequence[Mapping[str, Any]]
    """Recorded assistant messages."""

    @override
    def say(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the recorded message of this turn."""
        turn = sum(isinstance(message, AIMessage) for message in messages)
        said: Mapping[str, Any] = (
            self.said[turn] if turn < len(self.said) else {"content": ALL_COMPLETED}
        )
        return AIMessage(content=said["content"], tool_calls=list(said.get("tool_calls", ())))


@dataclass(frozen=True, kw_only=True)
class ReplaySpec:
    """A saved run as a contestant."""

    path: Path
    """A file that `bench run` wrote, with its conversations."""
    episodes: tuple[Episode, ...] = field(repr=False, compare=False)
    """Episodes whose messages are replayed: at most one for a composition."""

    @property
    def label(self) -> str:
        """The name of the file."""
        return f"replay:{self.path.stem}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Return the agents whose messages are replayed."""
        return {"replayed": sorted({episode.agent for episode in self.episodes})}

    @cached_property
    def _by_composition(self) -> Mapping[str, Episode]:
        return {digest_of(episode.composition): episode for episode in self.episodes}

    def make(self, composition: Composition, seed: int) -> BaseChatModel:
        """Return the agent for one composition.

        Raises:
            ReplayError: the file has no conversation of it.
        """
        found = self._by_composition.get(digest_of(composition))
        if found is None or not found.messages:
            raise ReplayError(f"{self.path} holds no conversation about {composition.id}")
        said = [message for message in found.messages if message["role"] == "assistant"]
        return ReplayAgent(name=self.label, said=said)


def replay_spec(path: Path, episodes: Sequence[Episode]) -> ReplaySpec:
    """Return a saved run as a contestant.

    Raises:
        ReplayError: it holds several episodes of one composition, so it is not clear which to say again.
    """
    seen: set[str] = set()
    for episode in episodes:
        digest = digest_of(episode.composition)
        if digest in seen:
            raise ReplayError(
                f"{path} holds several episodes of {episode.composition.id}: replay a run of one agent, player, arm, "
                "regime, surface and seed"
            )
        seen.add(digest)
    if not seen:
        raise ReplayError(f"{path} holds no episode")
    return ReplaySpec(path=path, episodes=tuple(episodes))
