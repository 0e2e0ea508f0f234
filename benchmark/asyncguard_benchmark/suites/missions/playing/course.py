"""The course of one mission: the user's side of it, and when it is over.

A *step* is what was issued in one tick: the calls of a message, without those that were refused, and calls that a
runtime released later; or a text. Messages that led to no step are counted, as a refusal costs its message. The run
ends with the answer, at the first step that fits no node of the gold by name, or at the cap of messages.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from langchain_core.messages import AIMessage

from asyncguard_benchmark.harness.environment import CallRecord, MessageClock
from asyncguard_benchmark.suites.missions.agents.heard import WAIT
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, bits
from asyncguard_benchmark.suites.missions.scorers.frontier import (
    Match,
    Rules,
    holds_question,
    match,
)
from asyncguard_benchmark.suites.missions.scorers.steps import Step, ToolCall

NEUTRAL = "I have nothing to add to what I said."
"""Reply to a question that the mission does not need."""


@dataclass(kw_only=True)
class Course:
    """Course of a mission so far."""

    graph: GoldGraph
    clock: MessageClock
    play_on: bool = False
    """True if a run goes on after a step that fits nothing."""
    messages: int = 0
    """Messages of the agent, without those that only wait."""
    idle: int = 0
    """Messages that only wait."""
    pending_at_end: int = 0
    """Results that were not there when the answer was given."""
    truncated: bool = False
    """True if the cap ended the run."""
    ended: bool = False
    number_of: Callable[[str], int | None] | None = None
    """Number in the trajectory of a call by its id, where a runtime makes calls of its own, say to probe an effect;
    None if all calls are the agent's."""
    _ids: list[str] = field(default_factory=list)
    """Ids of the agent's calls."""
    _texts: dict[int, str] = field(default_factory=dict)
    """Tick -> text that the user was told in it."""
    _malformed: dict[int, list[ToolCall]] = field(default_factory=dict)
    """Tick -> calls whose arguments could not be read."""
    _said: set[int] = field(default_factory=set)
    """Ticks with a message that does not only wait."""

    @cached_property
    def _rules(self) -> Rules:
        return Rules.by_names(self.graph)

    @property
    def cap(self) -> int:
        """The most messages that an agent has."""
        return 2 * len(self.graph.nodes) + 4

    def waits(self, said: AIMessage) -> bool:
        """Return True if a message only waits for results that are to come."""
        bare = not said.tool_calls and not said.invalid_tool_calls
        return bare and str(said.text).strip() == WAIT and bool(self.clock.pending())

    def hear(self, said: AIMessage) -> None:
        """Take a message of the agent, before its calls are issued."""
        idle = self.waits(said)
        self.clock.begin_round()
        self.idle += idle
        self.messages += not idle
        if not idle:
            self._said.add(self.clock.tick)
        self._ids += [str(each["id"]) for each in said.tool_calls]
        if said.invalid_tool_calls:
            self._malformed[self.clock.tick] = [
                ToolCall(str(each.get("name") or ""), each.get("args"))
                for each in said.invalid_tool_calls
            ]

    @property
    def over(self) -> bool:
        """True if the agent is asked no more; to be read before each of its messages."""
        if not self.ended and self.messages + self.idle // 4 >= self.cap:
            self.truncated = self.ended = True
        if not self.ended and not self.play_on and self.match.diverged:
            self.ended = True
        return self.ended

    def tell(self, text: str) -> str | None:
        """Take a text that ends the agent's turn, and return the user's reply; None if the run is over."""
        before = self.match
        self._texts[self.clock.tick] = text
        asks = 0 if before.diverged else self._ready(before.ideals) & self.graph.asks
        if asks:
            return self.graph.nodes[next(bits(asks))].reply or NEUTRAL
        if self.play_on and self.match.diverged and holds_question(text):
            return NEUTRAL
        self.ended = True
        self.pending_at_end = len(self.clock.pending())
        return None

    def _ready(self, ideals: frozenset[int]) -> int:
        found = 0
        for each in ideals:
            found |= self.graph.ready(each)
        return found

    @property
    def match(self) -> Match:
        """The run along the gold, by names."""
        return match(self._rules, self.steps)

    @property
    def steps(self) -> Sequence[Step]:
        """The steps so far."""
        calls: dict[int, list[ToolCall]] = {}
        for record in self.calls:
            calls.setdefault(record.issued, []).append(
                ToolCall(record.tool, dict(record.arguments))
            )
        for tick, broken in self._malformed.items():
            calls.setdefault(tick, []).extend(broken)
        return [
            Step(tuple(calls[tick])) if tick in calls else Step(text=self._texts[tick])
            for tick in sorted({*calls, *self._texts})
        ]

    @property
    def calls(self) -> Sequence[CallRecord]:
        """The agent's calls that were issued; attempts and queries of the runtime are not among them."""
        if self.number_of is None:
            return self.clock.trajectory
        own = {self.number_of(each) for each in self._ids}
        return [record for record in self.clock.trajectory if record.number in own]

    @property
    def without_step(self) -> int:
        """Messages of the agent that led to no step."""
        made = {record.issued for record in self.calls}
        return len(self._said - made - set(self._texts) - set(self._malformed))
