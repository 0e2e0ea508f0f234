"""Missions of one dialogue to be played together, and what is kept of them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from langchain_core.messages import BaseMessage

from asyncguard_benchmark.harness.environment import MessageClock
from asyncguard_benchmark.harness.fault_pipeline import Outcome
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.services.declarations import TASK_ARGUMENT
from asyncguard_benchmark.suites.missions.agents.joint_plan import joint_plans
from asyncguard_benchmark.suites.missions.agents.plan import Plan
from asyncguard_benchmark.suites.missions.agents.together import task_name
from asyncguard_benchmark.suites.missions.playing.chat import system_text
from asyncguard_benchmark.suites.missions.playing.joint_course import JointCourse
from asyncguard_benchmark.suites.missions.playing.shelf import shelf
from asyncguard_benchmark.suites.missions.playing.toolboxes import (
    Observations,
    RecordedTools,
    Tools,
)
from asyncguard_benchmark.suites.missions.scorers.joint import Across, JointGold, Place, qualified

_RULES = (
    "The user may ask for more while you work. Each thing that is asked for has a name: [m1], [m2] and so on. Begin "
    f"what you say of one with its name on a line of its own, as in [m1]: Done. Say with {TASK_ARGUMENT} which one a "
    "call is for."
)


@cache
def joint(dialogue: str) -> tuple[tuple[Plan, ...], Mapping[Place, Across]]:
    """Return the plans of a dialogue's missions, and the edges between them."""
    found = shelf(dialogue)
    return joint_plans(found.bundle, found.written)


@cache
def joint_gold(dialogue: str) -> JointGold:
    """Return the gold of a dialogue as one graph."""
    missions = shelf(dialogue).dialogue.missions
    return JointGold(tuple(each.graph for each in missions), joint(dialogue)[1])


@dataclass(frozen=True, kw_only=True)
class JointCase:
    """Everything about a run but its agent and its guards."""

    dialogue: str
    overlap: int
    """Ticks after the first call or text of a mission at which the next is put."""
    regime: Regime = Regime.SYNC
    observations: Observations = Observations.LIVE
    seed: int = 0
    """Seed of delays and of what simulated agents draw."""

    def system(self) -> str:
        """Return the system message."""
        return f"{system_text(shelf(self.dialogue).written.time, self.regime)}\n{_RULES}"

    def begun(self) -> "JointBegun":
        """Return the world and the user, ready for the first message."""
        found, gold = shelf(self.dialogue), joint_gold(self.dialogue)
        recorded = self.observations is Observations.RECORDED
        tools: Tools = RecordedTools(gold.graph) if recorded else found.world(0)
        pending: dict[int, tuple[int, ...]] = {}
        boxes = {
            task_name(mission): _Box(mission=mission, tools=tools, pending=pending)
            for mission in range(len(gold.missions))
        }
        seed = hashlib.sha256(f"{self.dialogue} {self.seed}".encode()).digest()[:6]
        clock = MessageClock(boxes, self.regime, int.from_bytes(seed))
        for box in boxes.values():
            box.clock = clock
        course = JointCourse(
            gold=gold,
            texts=[each.text for each in found.written.missions],
            overlap=self.overlap,
            clock=clock,
            pending=pending,
        )
        return JointBegun(tools=tools, course=course)


@dataclass(kw_only=True)
class _Box:
    """The tools of a dialogue as one mission has them: all share one world."""

    mission: int
    tools: Tools
    pending: dict[int, tuple[int, ...]]
    clock: MessageClock = field(init=False)

    def call(self, number: int, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        """Make one call, and note the calls of all missions that are pending; never raise for what an agent wrote."""
        self.pending[number] = tuple(each.number for each in self.clock.pending())
        name = qualified(self.mission, tool) if isinstance(self.tools, RecordedTools) else tool
        return self.tools.call(number, name, arguments)


@dataclass(frozen=True, kw_only=True)
class JointBegun:
    """A run on its way."""

    tools: Tools
    course: JointCourse


@dataclass(frozen=True, kw_only=True)
class JointPlayed:
    """A run that is over."""

    begun: JointBegun
    messages: Sequence[BaseMessage]
    """The conversation after the system message, as the agent saw it."""
    notes: Mapping[str, Any]
    """What the player noted: interventions of guards, and the like."""
