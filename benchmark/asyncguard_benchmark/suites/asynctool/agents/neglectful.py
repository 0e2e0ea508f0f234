"""An agent that declares all tasks done while they are not."""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage
from typing_extensions import override

from asyncguard_benchmark.harness.agents.progress import TaskProgress
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent
from asyncguard_benchmark.harness.agents.simulated import Decision
from asyncguard_benchmark.harness.agents.transcript import reminders
from asyncguard_benchmark.harness.protocol.actions import Completed, Idle
from asyncguard_benchmark.suites.asynctool.agents.obedience import ObedientAgent


class NeglectfulAgent(ObedientAgent, OracleAgent):
    """Agent that has only the first sub-task in mind, and says that all is completed when it would have to wait.

    An objection that names a sub-task brings that one to its mind. Its calls are right.
    """

    @override
    def answer(self, messages: Sequence[BaseMessage]) -> Decision:
        """Decide about the sub-tasks that it has in mind."""
        tasks = self.progress(messages, TaskProgress)
        told = enumerate(reminders(messages))
        said = "\n".join(text for number, text in told if self.heeds("", 0, number))
        first, *others = tasks
        minded = [task for task in others if task.plan.task_id in said or task.begun]
        decision = self.decide([first, *minded])
        return Completed() if isinstance(decision, Idle) else decision
