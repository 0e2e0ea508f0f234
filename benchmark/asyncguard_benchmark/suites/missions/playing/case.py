"""One mission to be played, and what is kept of it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from asyncguard_benchmark.harness.environment import MessageClock
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.missions.dialogues import History
from asyncguard_benchmark.suites.missions.playing.chat import hint_text, opening, system_text
from asyncguard_benchmark.suites.missions.playing.course import Course
from asyncguard_benchmark.suites.missions.playing.shelf import prompt, shelf, world
from asyncguard_benchmark.suites.missions.playing.toolboxes import (
    LiveTools,
    Observations,
    RecordedTools,
)

TASK = "main"
"""Id of the one task of a plain conversation, as the runtime names it."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Everything about a run but its agent and its guards."""

    dialogue: str
    mission: int
    """Place in the dialogue, from 0."""
    history: History
    regime: Regime = Regime.SYNC
    observations: Observations = Observations.LIVE
    seed: int = 0
    """Seed of delays and of what simulated agents draw."""
    play_on: bool = False
    hint: bool = False
    """True if the system message says that missing values are to be asked for."""

    def system(self) -> str:
        """Return the system message."""
        text = system_text(shelf(self.dialogue).written.time, self.regime)
        return f"{text}\n{hint_text()}" if self.hint else text

    def opening(self) -> list[BaseMessage]:
        """Return the messages before the agent's first."""
        return opening(self.system(), prompt(self.dialogue, self.mission, self.history))

    def begun(self) -> "Begun":
        """Return the world and the user, ready for the first message."""
        graph = shelf(self.dialogue).dialogue.missions[self.mission].graph
        tools = (
            LiveTools(world(self.dialogue, self.mission))
            if self.observations is Observations.LIVE
            else RecordedTools(graph)
        )
        # Missions share the id of their task, and are to have delays of their own.
        name = f"{self.dialogue} {self.mission} {self.seed}"
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:6])
        clock = MessageClock({TASK: tools}, self.regime, seed)
        return Begun(tools=tools, course=Course(graph=graph, clock=clock, play_on=self.play_on))


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A run on its way."""

    tools: LiveTools | RecordedTools
    course: Course


@dataclass(frozen=True, kw_only=True)
class Played:
    """A run that is over."""

    begun: Begun
    messages: Sequence[BaseMessage]
    """The conversation after the prompt, as the agent saw it."""
    notes: Mapping[str, Any]
    """What the player noted: interventions of guards, and the like."""


class Player(Protocol):
    """Plays one mission."""

    def __call__(self, case: Case, agent: BaseChatModel) -> Played:
        """Play it to its end."""
        ...
