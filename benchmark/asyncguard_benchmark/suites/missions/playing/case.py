"""One mission to be played, and what is kept of it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.environment import MessageClock
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.missions.agents.plan import Plan
from asyncguard_benchmark.suites.missions.dialogues import History, Message
from asyncguard_benchmark.suites.missions.playing.chat import hint_text, opening, system_text
from asyncguard_benchmark.suites.missions.playing.course import Course
from asyncguard_benchmark.suites.missions.playing.shelf import Shelves, Stand, prompt, stand_of
from asyncguard_benchmark.suites.missions.playing.toolboxes import (
    Observations,
    RecordedTools,
    Tools,
)

TASK = "main"
"""Id of the one task of a plain conversation, as the runtime names it."""


class NotLiveError(BenchmarkError):
    """A mission is to be played with tools that run, and its dialogue has only their results."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Everything about a run but its agent and its guards."""

    dialogue: str
    """Its id."""
    mission: int
    """Place in the dialogue, from 0."""
    history: History
    regime: Regime = Regime.SYNC
    observations: Observations = Observations.LIVE
    seed: int = 0
    """Seed of delays and of what simulated agents draw."""
    play_on: bool = False
    download: Shelves | None = None
    """Download that the dialogue is of; None for a bundled one."""
    hint: bool = False
    """True if the system message says that missing values are to be asked for."""

    @property
    def stand(self) -> Stand:
        """The dialogue."""
        return stand_of(self.dialogue, self.download)

    def prompt(self) -> tuple[Message, ...]:
        """Return the messages before the mission and its task, in the form of OpenAI's chat API."""
        return prompt(self.stand, self.mission, self.history)

    def plan(self) -> Plan:
        """Return the plan of a simulated agent."""
        return self.stand.plan(self.mission, self.history)

    def system(self) -> str:
        """Return the system message."""
        text = system_text(self.stand.time(self.mission), self.regime)
        return f"{text}\n{hint_text()}" if self.hint else text

    def opening(self) -> list[BaseMessage]:
        """Return the messages before the agent's first."""
        return opening(self.system(), self.prompt())

    def begun(self) -> "Begun":
        """Return the world and the user, ready for the first message.

        Raises:
            NotLiveError: results are to come from tools that cannot run.
        """
        stand = self.stand
        graph = stand.dialogue.missions[self.mission].graph
        tools: Tools | None = RecordedTools(graph, bare=not stand.declared)
        if self.observations is Observations.LIVE:
            tools = stand.world(self.mission)
        if tools is None:
            raise NotLiveError(f"{self.dialogue}: its tools cannot run; play it as recorded")
        # Missions share the id of their task, and are to have delays of their own.
        name = f"{self.dialogue} {self.mission} {self.seed}"
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:6])
        clock = MessageClock({TASK: tools}, self.regime, seed)
        return Begun(tools=tools, course=Course(graph=graph, clock=clock, play_on=self.play_on))


@dataclass(frozen=True, kw_only=True)
class Begun:
    """A run on its way."""

    tools: Tools
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
