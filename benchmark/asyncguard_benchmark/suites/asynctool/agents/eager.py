"""An agent that runs ahead of its results."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from pydantic import Field
from typing_extensions import override

from asyncguard_benchmark.harness.agents.guesses import foreseen, guess, recalled
from asyncguard_benchmark.harness.agents.plan import schema_at
from asyncguard_benchmark.harness.agents.progress import TaskProgress
from asyncguard_benchmark.harness.agents.simulated import Decision, call_of
from asyncguard_benchmark.harness.pointers import parts
from asyncguard_benchmark.harness.protocol.actions import CallAction, Completed, Idle
from asyncguard_benchmark.suites.asynctool.agents.obedience import ObedientAgent


class EagerAgent(ObedientAgent):
    """Agent that makes the next call of a sub-task right away and invents what has not been delivered.

    A guess that was executed is done for it: it does not know that it was wrong, and goes on. A refusal with a reason
    makes it wait for the real values of that step. The plan holds no real values, and guesses never come from it. Both
    rates are shares of the values guessed: a lucky draw comes first, then a distractor; what neither takes is invented.
    """

    distractor_rate: float = Field(default=0.0, ge=0, le=1)
    """Share of guesses that are, if possible, a value of fitting type that the sub-task was told
    for something else."""
    lucky_rate: float = Field(default=0.0, ge=0, le=1)
    """Share of guesses that are foreseen from the call that is to return them, if its arguments
    tell; right or wrong."""

    @override
    def decide(self, tasks: Sequence[TaskProgress]) -> Decision:
        """Return the next call of the first sub-task that has one, and of the others after it."""
        calls = tuple(call for task in tasks if (call := self._next_call(task)) is not None)
        if calls:
            return calls
        return Completed() if all(self._finished(task) for task in tasks) else Idle()

    def _next_call(self, task: TaskProgress) -> CallAction | None:
        position = task.next_position
        return None if position is None else self._call_at(task, position)

    def _call_at(self, task: TaskProgress, position: int) -> CallAction | None:
        if task.refusals(position) >= self.most_refusals:
            return None
        operands = task.operands(position)
        if self.has_heeded(task, position) and (operands.awaited or task.waiting):
            return None
        unknown = (*operands.awaited, *operands.lost)
        invented = {place: self._guess(task, position, place) for place in unknown}
        return call_of(task, position, {**operands.known, **invented})

    def _guess(self, task: TaskProgress, position: int, place: str) -> Any:
        step = task.step(position)
        # A derived value is said in no result: its guess has the look of the argument, and is never lucky.
        operand = step.operands.get(place)
        schema = schema_at(step.parameters, place) if operand is None else operand.schema
        key = (
            self.seed,
            self.plan.composition_id,
            task.plan.task_id,
            position,
            task.refusals(position),
            place,
        )
        name = next((part for part in reversed(parts(place)) if not part.isdecimal()), "")
        source = None if operand is None else task.made(operand.call)
        expected = foreseen(source.arguments, operand.pointer) if operand and source else None
        if expected is not None and Random(repr((*key, "lucky"))).random() < self.lucky_rate:
            return expected
        found = recalled(name, schema, task.told)
        draw = Random(repr((*key, "distractor")))
        if found and draw.random() < self.distractor_rate:
            return draw.choice(found)
        return guess(name, schema, key)

    def _finished(self, task: TaskProgress) -> bool:
        position = task.next_position
        return not task.waiting and (
            position is None or task.refusals(position) >= self.most_refusals
        )


class EagerBatchAgent(EagerAgent):
    """Agent that makes all calls of a sub-task in one native message and invents what they are to tell each other.

    It guesses as the eager agent does. What was refused it makes again, with all that follows, when the values are
    there. On the text surface it is the eager agent.
    """

    parallel: bool = True

    @override
    def decide(self, tasks: Sequence[TaskProgress]) -> Decision:
        """Return all calls of the first sub-task that has one to make."""
        for task in tasks:
            if calls := tuple(self._calls(task)):
                return calls
        return super().decide(tasks)

    def _calls(self, task: TaskProgress) -> Iterator[CallAction]:
        for position in task.unmade:
            call = self._call_at(task, position)
            if call is None:
                return
            yield call
