"""An agent that runs ahead of its results."""

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from asyncguard_benchmark.agents.guesses import guess
from asyncguard_benchmark.agents.progress import TaskProgress
from asyncguard_benchmark.agents.simulated import Decision, SimulatedAgent, call_of
from asyncguard_benchmark.pointers import parts
from asyncguard_benchmark.protocol.actions import CallAction, Completed, Idle


class EagerAgent(SimulatedAgent):
    """Makes the next call of a sub-task right away and invents what has not been delivered.

    A guess that was executed is done for it: it does not know that it was wrong, and goes on. A refusal with a reason
    makes it wait for the real values of that step. Guesses are invented; the plan holds no real ones.
    """

    seed: int = 0
    """Seed of the guesses; each draw depends on seed, composition, sub-task, step and attempt only."""

    @override
    def decide(self, tasks: Sequence[TaskProgress]) -> Decision:
        """The next call of the first sub-task that has one, and of the others after it."""
        calls = tuple(call for task in tasks if (call := self._next_call(task)) is not None)
        if calls:
            return calls
        return Completed() if all(self._finished(task) for task in tasks) else Idle()

    def _next_call(self, task: TaskProgress) -> CallAction | None:
        position = task.next_position
        if position is None or task.refusals(position) >= self.most_refusals:
            return None
        operands = task.operands(position)
        if task.refusals(position) and (operands.awaited or task.waiting):
            return None
        unknown = (*operands.awaited, *operands.lost)
        invented = {place: self._guess(task, position, place) for place in unknown}
        return call_of(task, position, {**operands.known, **invented})

    def _guess(self, task: TaskProgress, position: int, place: str) -> Any:
        attempt = task.refusals(position)
        key = (self.seed, self.plan.composition_id, task.plan.task_id, position, attempt, place)
        name = next((part for part in reversed(parts(place)) if not part.isdecimal()), "")
        return guess(name, task.step(position).operands[place].schema, key)

    def _finished(self, task: TaskProgress) -> bool:
        position = task.next_position
        return not task.waiting and (position is None or task.refusals(position) >= self.most_refusals)
