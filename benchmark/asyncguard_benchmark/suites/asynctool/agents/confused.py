"""An agent that mixes up its tasks."""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage
from typing_extensions import override

from asyncguard_benchmark.harness.agents.progress import TaskProgress
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent
from asyncguard_benchmark.harness.agents.simulated import Decision
from asyncguard_benchmark.harness.protocol.actions import CallAction
from asyncguard_benchmark.suites.asynctool.agents.mixups import foreign_call
from asyncguard_benchmark.suites.asynctool.agents.obedience import ObedientAgent
from asyncguard_benchmark.suites.asynctool.agents.progress_estimate import Belief


class ConfusedAgent(ObedientAgent, OracleAgent):
    """Agent that first gives each call of a sub-task the tool and arguments of another sub-task.

    It takes an executed call for done, whatever the result says. A refusal that comes at once makes
    it look again, and then it makes the right call. It uses tools that its own sub-task has no use
    for; if no other sub-task has such a tool, it makes no mistake. If both sub-tasks may use the
    tool, the mistake cannot be seen from outside.
    """

    @override
    def answer(self, messages: Sequence[BaseMessage]) -> Decision:
        """Decide from what it believes of its calls, then mix up those that it makes for the first time."""
        tasks = self.progress(messages, Belief)
        decision = self.decide(tasks)
        if not isinstance(decision, tuple):
            return decision
        return tuple(self._mixed_up(call, tasks) for call in decision)

    def _mixed_up(self, call: CallAction, tasks: Sequence[TaskProgress]) -> CallAction:
        task = next(each for each in tasks if each.plan.task_id == call.task_id)
        position = task.next_position
        if position is None or self.has_heeded(task, position):
            return call
        return foreign_call(task, tasks) or call
