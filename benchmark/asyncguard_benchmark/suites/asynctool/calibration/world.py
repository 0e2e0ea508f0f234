"""One sub-task's world, with everything that was ever tried in it remembered.

A sub-task's results and verdict depend on nothing but its own calls in their order. So the calls form a tree: a node is
a history, an edge is a call with its response. Executing and scoring happen once for each node, with the executor and
the scorers of the benchmark; every further run that comes the same way reads them off.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from asyncguard_benchmark.harness.environment import CallRecord
from asyncguard_benchmark.harness.scenario import SubTask
from asyncguard_benchmark.harness.scoring import checks
from asyncguard_benchmark.harness.scoring.call_labels import CallLabels
from asyncguard_benchmark.harness.scoring.canonical import canonical
from asyncguard_benchmark.harness.scoring.evidence import Evidence, Replay, replay
from asyncguard_benchmark.harness.scoring.labels import labels
from asyncguard_benchmark.services.catalogue import fresh_executor, tools_of
from asyncguard_benchmark.services.service import Executor, copy_json


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Verdict of the scorers on one history."""

    trajectory: bool
    state: bool
    accurate: bool
    functions: frozenset[str]
    """Names of the tools that were called."""
    parameters: Mapping[str, frozenset[str]]
    """Tool -> labels of the arguments of its last call."""


@dataclass(kw_only=True)
class Node:
    """A history of calls; grows branches as they are tried."""

    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    results: tuple[str, ...] = ()
    executor: Executor | None = None
    """The world after this history, until the next call takes it further or the history is judged."""
    branches: dict[str, tuple[str, "Node"]] = field(default_factory=dict)
    """Call as text -> its response and the history with it."""
    verdict: Verdict | None = None


class World:
    """All histories of one sub-task that were tried so far."""

    def __init__(self, task: SubTask) -> None:
        self.task = task
        self.root = Node()
        self.gold_labels: tuple[CallLabels, ...] = labels(task, task.gold)
        self._gold: Replay = replay(task, task.gold)

    def call(self, node: Node, tool: str, arguments: Mapping[str, Any]) -> tuple[str, Node]:
        """Return the response to a call after a history, and the history with it."""
        # Not JSON: writing that takes longer than the rest of a call, and equal text means equal arguments here, too.
        name = f"{tool} {arguments!r}"
        found = node.branches.get(name)
        if found is None:
            executor, node.executor = node.executor or self._executor_after(node), None
            response = executor.call(tool, arguments)
            further = Node(
                calls=(*node.calls, (tool, copy_json(dict(arguments)))),
                results=(*node.results, response),
                executor=executor,
            )
            found = node.branches[name] = (response, further)
        return found

    def _executor_after(self, node: Node) -> Executor:
        executor = fresh_executor(self.task)
        for tool, arguments in node.calls:
            executor.call(tool, arguments)
        return executor

    def verdict(self, node: Node) -> Verdict:
        """Return the verdict of the scorers on a history."""
        if node.verdict is None:
            executor, node.executor = node.executor or self._executor_after(node), None
            node.verdict = self._verdict(node, executor.public_state())
        return node.verdict

    def _verdict(self, node: Node, final: Mapping[str, Any]) -> Verdict:
        records = tuple(
            CallRecord(
                number=n,
                task_id=self.task.id,
                tool=tool,
                arguments=arguments,
                response="",
                issued=n,
                due=n,
            )
            for n, (tool, arguments) in enumerate(node.calls)
        )
        made = labels(self.task, records)
        tools = tools_of(self.task)
        had = Replay(
            calls=tuple(canonical(tool, arguments, tools) for tool, arguments in node.calls),
            labels=made,
            results=node.results,
            state=final,
        )
        evidence = Evidence(task=self.task, records=records, gold=self._gold, made=had)
        trajectory, state = checks.trajectory(evidence), checks.state(evidence)
        return Verdict(
            trajectory=trajectory,
            state=state,
            accurate=trajectory and state and checks.result(evidence),
            functions=frozenset(each.function for each in made),
            parameters={each.function: frozenset(each.parameters) for each in made},
        )
