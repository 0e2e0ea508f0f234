"""The course of missions that overlap: the user puts the next one whatever is pending.

Mission i+1 is put a fixed number of ticks after the first call or text of mission i; in the plain loop a tick is a
message of the agent. A mission is over with its answer, or at the first step that fits no node of its gold by name; the
others go on. Scorers judge the same steps again from the file.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from langchain_core.messages import AIMessage

from asyncguard_benchmark.harness.environment import CallRecord, MessageClock
from asyncguard_benchmark.suites.missions.agents.heard import WAIT
from asyncguard_benchmark.suites.missions.agents.together import parts_of, said_of, task_name
from asyncguard_benchmark.suites.missions.gold_graph import bits
from asyncguard_benchmark.suites.missions.playing.course import NEUTRAL
from asyncguard_benchmark.suites.missions.scorers.frontier import Rules
from asyncguard_benchmark.suites.missions.scorers.joint import (
    JointGold,
    JointMatch,
    follow,
    labelled,
)
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall


@dataclass(kw_only=True)
class JointCourse:
    """Course of a dialogue's missions so far."""

    gold: JointGold
    texts: Sequence[str]
    """The user's message of each mission."""
    overlap: int
    """Ticks after the first call or text of a mission at which the next is put."""
    clock: MessageClock
    pending: Mapping[int, tuple[int, ...]]
    """Number of a call -> calls of all missions that were pending when it was issued."""
    number_of: Callable[[str], int | None] | None = None
    """Number in the trajectory of a call by its id, where a runtime makes calls of its own; None if all calls are the
    agent's."""
    put: int = 0
    """Missions whose message the user has said."""
    messages: int = 0
    """Messages of the agent, without those that only wait."""
    idle: int = 0
    """Messages that only wait."""
    truncated: bool = False
    """True if the cap ended the run, or it could not go on."""
    pending_at_end: dict[int, int] = field(default_factory=dict)
    """Mission that was answered -> its results that were not there then."""
    _first: dict[int, int] = field(default_factory=dict)
    """Mission -> tick of its first call or text."""
    _told: dict[int, dict[int, str]] = field(default_factory=dict)
    """Tick -> mission -> text that the user was told."""
    _replies: list[str] = field(default_factory=list)
    _ids: list[str] = field(default_factory=list)
    """Ids of the agent's calls."""

    @cached_property
    def _rules(self) -> Rules:
        return Rules.by_names(self.gold.graph)

    @property
    def cap(self) -> int:
        """The most messages that an agent has."""
        return 2 * len(self.gold.graph.nodes) + 4 * len(self.texts)

    def hear(self, said: AIMessage) -> bool:
        """Take a message of the agent, before its calls are issued; return True if it only waits."""
        bare = not said.tool_calls and not said.invalid_tool_calls
        waits = bare and str(said.text).strip() == WAIT and bool(self.clock.pending())
        self.clock.begin_round()
        self.idle += waits
        self.messages += not waits
        self._ids += [str(each["id"]) for each in said.tool_calls]
        return waits

    def tell(self, said: AIMessage, calling: Collection[int]) -> None:
        """Take the texts of a message that the user is shown.

        Args:
            said: The message.
            calling: Missions for which it also makes calls, or whose text is not final; what it says of them does not
                count.
        """
        before = self.match
        for mission, text in parts_of(str(said.text)):
            if mission in calling or not self.is_open(mission, before):
                continue
            self._told.setdefault(self.clock.tick, {})[mission] = text
            self._first.setdefault(mission, self.clock.tick)
            asks = 0
            for done in before.ideals:
                asks |= (
                    self.gold.graph.ready(done) & self.gold.graph.asks & self.gold.parts[mission]
                )
            if asks:
                reply = self.gold.graph.nodes[next(bits(asks))].reply or NEUTRAL
                self._replies.append(said_of(mission, reply))
            else:
                self.pending_at_end[mission] = len(self.clock.pending(task_name(mission)))

    def is_open(self, mission: int, match: JointMatch | None = None) -> bool:
        """Return True if a mission was put and is neither answered nor off its gold."""
        found = self.match if match is None else match
        return (
            mission < self.put
            and mission not in self.pending_at_end
            and mission not in found.diverged
        )

    @property
    def any_open(self) -> bool:
        """True if a mission is open."""
        found = self.match
        return any(self.is_open(mission, found) for mission in range(self.put))

    @property
    def speaks(self) -> bool:
        """True if the user has something to say now."""
        return bool(self._replies) or self._next_due

    @property
    def _next_due(self) -> bool:
        if self.put == len(self.texts):
            return False
        if not self.put:
            return True
        for record in self.calls:
            self._first.setdefault(int(record.task_id[1:]) - 1, record.issued)
        began = self._first.get(self.put - 1)
        return began is not None and self.clock.tick >= began + self.overlap

    def speak(self) -> tuple[list[str], list[int]]:
        """Return the replies of the user, each with the name of its mission, and the missions that are put now."""
        replies, self._replies = self._replies, []
        new = list[int]()
        while self._next_due:
            new.append(self.put)
            self.put += 1
        return replies, new

    @property
    def over(self) -> bool:
        """True if the agent is asked no more."""
        if self.messages + self.idle // 4 >= self.cap:
            self.truncated = True
        waits = self.speaks or self.put < len(self.texts)
        return self.truncated or not (waits or self.any_open)

    @property
    def calls(self) -> Sequence[CallRecord]:
        """The agent's calls that were issued; attempts and queries of the runtime are not among them."""
        if self.number_of is None:
            return self.clock.trajectory
        own = {self.number_of(each) for each in self._ids}
        return [each for each in self.clock.trajectory if each.number in own]

    @property
    def steps(self) -> list[tuple[int, dict[int, Step]]]:
        """The steps so far: tick, and by mission its calls or its text."""
        found: dict[int, dict[int, Step]] = {}
        for record in self.calls:
            parts = found.setdefault(record.issued, {})
            mission = int(record.task_id[1:]) - 1
            before = parts.get(mission, Step()).calls
            call = ToolCall(record.tool, dict(record.arguments))
            parts[mission] = Step((*before, call))
        for tick, texts in self._told.items():
            for mission, text in texts.items():
                found.setdefault(tick, {}).setdefault(mission, Step(text=text))
        return sorted(found.items())

    @property
    def match(self) -> JointMatch:
        """The run along the gold, by names."""
        steps = (
            {mission: labelled(mission, step) for mission, step in parts.items()}
            for _, parts in self.steps
        )
        return follow(self.gold, self._rules, steps)
