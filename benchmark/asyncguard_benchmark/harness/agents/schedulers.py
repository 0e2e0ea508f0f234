"""Agents that never act on a value they do not have: they differ in the order and the number of their calls."""

from collections.abc import Iterator, Sequence

from langchain_core.messages import BaseMessage
from typing_extensions import override

from asyncguard_benchmark.harness.agents.progress import TaskProgress
from asyncguard_benchmark.harness.agents.simulated import Decision, SimulatedAgent, call_of
from asyncguard_benchmark.harness.protocol.actions import CallAction, Completed, Idle
from asyncguard_benchmark.harness.protocol.entries import CALLS_WAIT


class CarefulAgent(SimulatedAgent):
    """Agent that makes a call when every value that it needs has come."""

    def _next_call(self, task: TaskProgress) -> CallAction | None:
        """Return the next call of a sub-task if its operands are known."""
        position = task.next_position
        return None if position is None else self._call_at(task, position)

    def _call_at(self, task: TaskProgress, position: int) -> CallAction | None:
        if self._given_up(task, position):
            return None
        operands = task.operands(position)
        # What was refused is tried again when the sub-task is at rest: that is what a refusal asks for.
        if not operands.complete or (task.refusals(position) and task.waiting):
            return None
        return call_of(task, position, dict(operands.known))

    @staticmethod
    def _is_told_to_wait(messages: Sequence[BaseMessage]) -> bool:
        """Return True if the answer to a call said that further calls of its task wait."""
        return any(CALLS_WAIT.search(str(message.text)) for message in messages)

    @staticmethod
    def _without_early(decision: Decision, tasks: Sequence[TaskProgress]) -> Decision:
        """Return a decision without the calls of sub-tasks that wait for a result."""
        if not isinstance(decision, tuple):
            return decision
        waiting = {task.plan.task_id for task in tasks if task.waiting}
        return tuple(call for call in decision if call.task_id not in waiting) or Idle()

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
    the same sub-task is pending, if it needs none of that one's values: effects happen in the order of issue. Told that
    further calls of a task wait, it does not propose them: it does what it is asked to, as it makes no mistakes.
    """

    @override
    def answer(self, messages: Sequence[BaseMessage]) -> Decision:
        """Decide from the calls of the conversation, and from what it was told of early calls."""
        tasks = self.progress(messages, TaskProgress)
        decision = self.decide(tasks)
        return self._without_early(decision, tasks) if self._is_told_to_wait(messages) else decision

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


class ParallelAgent(CarefulAgent):
    """Agent that makes each call whose values it knows, task after task, and never waits, whatever it is told.

    It makes a refused call again when the sub-task is at rest, and the next one early as before.
    """

    @override
    def decide(self, tasks: Sequence[TaskProgress]) -> Decision:
        """Return the calls of all sub-tasks that can go on, in the order of the tasks."""
        if all(self._finished(task) for task in tasks):
            return Completed()
        return (
            tuple(call for task in tasks if (call := self._next_call(task)) is not None) or Idle()
        )


class HeedingAgent(ParallelAgent):
    """Agent that makes early calls until it learns that they are not wanted, and then waits for the results of a task.

    It learns by a refusal, or by the answer to a call that says that further calls of its task wait.
    """

    @override
    def answer(self, messages: Sequence[BaseMessage]) -> Decision:
        """Decide from the calls of the conversation, and from what it was told of early calls."""
        tasks = self.progress(messages, TaskProgress)
        heeds = any(task.refused for task in tasks) or self._is_told_to_wait(messages)
        decision = self.decide(tasks)
        return self._without_early(decision, tasks) if heeds else decision


class BatchAgent(CarefulAgent):
    """Agent that makes all calls that do not need each other in one native message, and the others after the results.

    It goes on with a sub-task when all of its results are there. On the text surface a message holds one call.
    """

    parallel: bool = True

    @override
    def decide(self, tasks: Sequence[TaskProgress]) -> Decision:
        """Return the calls of all sub-tasks at rest, up to the first of each that needs a result."""
        if all(self._finished(task) for task in tasks):
            return Completed()
        return tuple(call for task in tasks for call in self._ready(task)) or Idle()

    def _ready(self, task: TaskProgress) -> Iterator[CallAction]:
        for position in () if task.waiting else task.unmade:
            call = self._call_at(task, position)
            if call is None:
                return
            yield call
