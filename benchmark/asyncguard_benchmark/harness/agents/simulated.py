"""Agents that hold a symbolic plan: `decide` says what to do from where the sub-tasks stand."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage
from typing_extensions import override

from asyncguard_benchmark.harness.agents.message_reader import (
    MessageReader,
    read_message,
    read_questions,
)
from asyncguard_benchmark.harness.agents.plan import Plan, TaskPlan
from asyncguard_benchmark.harness.agents.progress import TaskProgress, progress_of
from asyncguard_benchmark.harness.agents.speaking import Decision, SpeakingAgent
from asyncguard_benchmark.harness.agents.transcript import Attempt, read_transcript
from asyncguard_benchmark.harness.protocol.actions import CallAction

__all__ = ["Decision", "PlanningAgent", "SimulatedAgent", "call_of"]

_P = TypeVar("_P", bound=TaskProgress)


class PlanningAgent(SpeakingAgent):
    """An agent that knows which tool comes next and where values come from, and takes the values from messages.

    It sees the messages it is sent and its plan, and nothing else: neither ground truth nor what a guard holds.
    """

    plan: Plan
    """Order of the tools and sources of the values; holds no value of a result."""
    reader: MessageReader = read_message
    """Reads the messages of the adapter that the agent works with."""

    def progress(
        self,
        messages: Sequence[BaseMessage],
        kind: Callable[[TaskPlan, Sequence[Attempt], str], _P],
    ) -> tuple[_P, ...]:
        """Return the progress of every sub-task, as the conversation shows it."""
        task_ids = [task.task_id for task in self.plan.tasks]
        attempts = read_transcript(messages, task_ids, self.reader, self.task_argument)
        return progress_of(self.plan, attempts, read_questions(messages), kind)


class SimulatedAgent(PlanningAgent):
    """A planning agent that decides from the progress of its sub-tasks alone."""

    most_refusals: int = 8
    """Refusals of one step after which it gives the sub-task up."""

    @abstractmethod
    def decide(self, tasks: Sequence[TaskProgress]) -> Decision:
        """Return the decision in this turn, from the progress of the sub-tasks."""

    @override
    def answer(self, messages: Sequence[BaseMessage]) -> Decision:
        """Decide from the calls that the conversation shows."""
        return self.decide(self.progress(messages, TaskProgress))


def call_of(task: TaskProgress, position: int, values: dict[str, Any]) -> CallAction:
    """Return the action that makes a step with these operand values."""
    return CallAction(
        task_id=task.plan.task_id,
        tool=task.step(position).tool,
        arguments=task.arguments(position, values),
    )
