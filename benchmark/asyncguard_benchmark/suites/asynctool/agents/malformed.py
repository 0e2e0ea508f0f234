"""An agent that cannot get its arguments right at the first go."""

from collections.abc import Sequence
from random import Random

from langchain_core.messages import BaseMessage
from typing_extensions import override

from asyncguard_benchmark.harness.agents.progress import TaskProgress
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent
from asyncguard_benchmark.harness.agents.simulated import Decision
from asyncguard_benchmark.harness.agents.speaking import Garbled
from asyncguard_benchmark.harness.protocol.actions import CallAction
from asyncguard_benchmark.suites.asynctool.agents.progress_estimate import Belief
from asyncguard_benchmark.suites.asynctool.agents.slips import SLIPS, Slip, slipped


class MalformedAgent(OracleAgent):
    """Agent that says each call first in a form that its tool cannot take: an argument missing, unknown or mistyped.

    One in four comes out as broken JSON. What answers a message at once and says what was wrong is mended in the next
    try; an error among results that come later is overlooked, and the step counts as done.
    """

    seed: int = 0
    """Seed of the slips; each draw depends on seed, composition, sub-task and step only."""

    @override
    def answer(self, messages: Sequence[BaseMessage]) -> Decision:
        """Decide from what it believes of its calls, then spoil those that it makes for the first time."""
        tasks = self.progress(messages, Belief)
        decision = self.decide(tasks)
        if not isinstance(decision, tuple):
            return decision
        return self._spoilt(decision[0], tasks)

    def _spoilt(self, call: CallAction, tasks: Sequence[TaskProgress]) -> Decision:
        task = next(each for each in tasks if each.plan.task_id == call.task_id)
        position = task.next_position
        if position is None or task.refusals(position):
            return (call,)
        random = Random(repr((self.seed, self.plan.composition_id, call.task_id, position, "slip")))
        slip = random.choice(SLIPS)
        if slip is Slip.BROKEN_JSON:
            return Garbled(call=call)
        required = task.step(position).parameters.get("required", ())
        if slip is Slip.MISSING and not set(required) & set(call.arguments):
            slip = Slip.UNKNOWN  # leaving out what has a default is no mistake of form
        arguments = slipped(slip, call.arguments, random.random(), droppable=required)
        return (CallAction(task_id=call.task_id, tool=call.tool, arguments=arguments),)
