"""Tools of a mission under the clock: the real ones, or the results that the gold has on record."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.fault_pipeline import Outcome
from asyncguard_benchmark.services.service import Executor, error, serialise
from asyncguard_benchmark.suites.missions.bundled.compiler import state_digest
from asyncguard_benchmark.suites.missions.dialogues import told_text
from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, bits


class Observations(StrEnum):
    """Origin of the results of calls."""

    LIVE = "live"
    """The tools run; wrong arguments have their consequences."""
    RECORDED = "recorded"
    """The result of the gold's call, whatever the arguments."""


class Tools(Protocol):
    """The tools of one run."""

    def call(self, number: int, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        """Make one call; never raise for what an agent wrote."""
        ...

    def state(self) -> str | None:
        """Return the digest of the state; None if there is none."""
        ...

    def finish(self, calls: Sequence[CallRecord]) -> Mapping[str, Any]:
        """End, and return what a row says of the calls by rules of their own.

        Raises:
            SandboxError: they run in a process that ended, so that the run says nothing of the agent.
        """
        ...


class LiveTools:
    """Tools that run."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def call(self, number: int, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        """Make one call; never raise for what an agent wrote."""
        return Outcome(text=self._executor.call(tool, arguments))

    def state(self) -> str:
        """Return the digest of the state."""
        return state_digest(self._executor)

    def finish(self, calls: Sequence[CallRecord]) -> Mapping[str, Any]:
        """Return nothing: a row has the state."""
        return {}


class RecordedTools:
    """Results of the gold: of the ready call of that tool that is most like it, and else an error."""

    def __init__(self, graph: GoldGraph, *, bare: bool = False) -> None:
        """Begin with nothing done.

        Args:
            graph: The gold.
            bare: True if a result that is a text is told as it is, as the history tells it, and not as JSON.
        """
        self._graph, self._told = graph, told_text if bare else serialise
        self._done = graph.asks

    def call(self, number: int, tool: str, arguments: Mapping[str, Any]) -> Outcome:
        """Return the result on record; never raise for what an agent wrote."""
        ready = list(bits(self._graph.ready(self._done) & self._graph.named(tool)))
        if not ready:
            return Outcome(text=error(f"No result of {tool} is on record for this step."))
        nodes = self._graph.nodes
        node = next((each for each in ready if nodes[each].arguments == arguments), ready[0])
        self._done |= 1 << node
        return Outcome(text=self._told(nodes[node].observation))

    def state(self) -> None:
        """Return None: nothing runs."""

    def finish(self, calls: Sequence[CallRecord]) -> Mapping[str, Any]:
        """Return nothing."""
        return {}
