"""An agent that forgets what it has asked for."""

from collections.abc import Sequence

from langchain_core.messages import BaseMessage
from typing_extensions import override

from asyncguard_benchmark.harness.agents.message_reader import Standing
from asyncguard_benchmark.harness.agents.progress import TaskProgress
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent
from asyncguard_benchmark.harness.agents.simulated import Decision
from asyncguard_benchmark.harness.protocol.actions import CallAction
from asyncguard_benchmark.suites.asynctool.agents.progress_estimate import Belief


class ForgetfulAgent(OracleAgent):
    """Agent that makes a call a second time while the first has no result yet, and is careful otherwise.

    A result reminds it, so without delay it makes no mistake. Of two results it believes the later one. Where a call is
    refused because it is running already, it goes on with something else. Repeating a call that only reads costs a
    round and no score; the harm lies in those that change something.
    """

    @override
    def answer(self, messages: Sequence[BaseMessage]) -> Decision:
        """Decide from what it believes of its calls."""
        return self.decide(self.progress(messages, Belief))

    @override
    def _next_call(self, task: TaskProgress) -> CallAction | None:
        return self._again(task) or super()._next_call(task)

    def _again(self, task: TaskProgress) -> CallAction | None:
        """Repeat the latest call of a sub-task, if its result has not come and it was not said twice before."""
        if not isinstance(task, Belief) or not task.attempts:
            return None
        last = task.attempts[-1]
        made = task.position_of(last)
        if made is None or last.standing is not Standing.OPEN or task.repeats(made):
            return None
        return CallAction(task_id=last.task_id, tool=last.tool, arguments=last.arguments)
