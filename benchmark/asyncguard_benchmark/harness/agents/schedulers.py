"""Agents that never act on a value they do not have: `OracleAgent` interleaves, `SerialAgent` does task after task."""

from collections.abc import Sequence

from typing_extensions import override

from asyncguard_benchmark.harness.agents.progress import TaskProgress
from asyncguard_benchmark.harness.agents.simulated import Decision, SimulatedAgent, call_of
from asyncguard_benchmark.harness.protocol.actions import CallAction, Completed, Idle


class CarefulAgent(SimulatedAgent):
    """Agent that makes a call when every value that it needs has come."""

    def _next_call(self, task: TaskProgress) -> CallAction | None:
        """Return the next call of a sub-task if its operands are known."""
        position = task.next_position
        if position is None or self._given_up(task, position):
            return None
        operands = task.operands(position)
        # What was refused is tried again when the sub-task is at rest: that is what a refusal asks for.
        if not operands.complete or (task.refusals(position) and task.waiting):
            return None
        return call_of(task, position, dict(operands.known))

    def _given_up(self, task: TaskProgress, position: int) -> bool:
        return task.refusals(position) >= self.most_refusals or bool(task.operands(position).lost)

    def _finished(self, task: TaskProgress) -> bool:
        """Return True if nothing is left to do or to wait for."""
        if task.waiting:
            return False
        position = task.next_position
        return position is None or self._given_up(task, position)


class OracleAgent(CarefulAgent):
    """Agent that makes every call whose operands are known, and is idle only when there is none.

    Of several it prefers a sub-task at rest, then the one with most calls to go. It may make a call while another of
    the same sub-task is pending, if it needs none of that one's values: effects happen in the order of issue.
    """

    @override
    def decide(self, tasks: Sequence[TaskProgress]) -> Decision:
        """Return the calls of all sub-tasks that can go on, the most urgent first."""
        if all(self._finished(task) for task in tasks):
            return Completed()
        ranked = sorted(tasks, key=lambda task: (task.waiting, -task.remaining))
        return (
            tuple(call for task in ranked if (call := self._next_call(task)) is not None) or Idle()
        )


class SerialAgent(CarefulAgent):
    """Agent that finishes one sub-task before it begins the next, and waits for every result."""

    @override
    def decide(self, tasks: Sequence[TaskProgress]) -> Decision:
        """Return the next call of the first unfinished sub-task."""
        current = next((task for task in tasks if not self._finished(task)), None)
        if current is None:
            return Completed()
        call = None if current.waiting else self._next_call(current)
        return Idle() if call is None else (call,)
