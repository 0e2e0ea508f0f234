"""Progress of a sub-task: its plan compared with the conversation."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from asyncguard_benchmark.harness.agents.message_reader import Standing
from asyncguard_benchmark.harness.agents.plan import Operand, Plan, PlanStep, TaskPlan
from asyncguard_benchmark.harness.agents.transcript import Attempt
from asyncguard_benchmark.harness.pointers import PointerError, put, resolve


@dataclass(frozen=True, kw_only=True)
class Operands:
    """The operands of a step, as far as messages have told them."""

    known: Mapping[str, Any]
    """Values by their pointer into the arguments."""
    awaited: tuple[str, ...]
    """Pointers whose value a call without a result will return."""
    lost: tuple[str, ...]
    """Pointers whose value is not in the result that came, say because that was an error."""

    @property
    def complete(self) -> bool:
        """Return True if every value is known."""
        return not self.awaited and not self.lost


class TaskProgress:
    """Progress of one sub-task."""

    def __init__(self, plan: TaskPlan, attempts: Sequence[Attempt], question: str = "") -> None:
        self.plan = plan
        results = (each.response for each in attempts if each.standing is Standing.ANSWERED)
        self.told = (question, *(text for text in results if text is not None))
        """Texts of the messages for this sub-task: its question and its results so far."""
        self._made: dict[int, Attempt] = {}
        self._refused: dict[int, int] = {}
        self._meant: set[tuple[int, int]] = set()
        self._next = 0
        for attempt in attempts:
            self._assign(attempt)
            while self._next in self._made:
                self._next += 1
        self.waiting = any(attempt.standing is Standing.OPEN for attempt in self._made.values())
        """True if a call has no result yet."""

    def _assign(self, attempt: Attempt) -> None:
        """Give an attempt to the earliest step without one that uses its tool; a refused one leaves the step free.

        Calls of one message stand for different steps, in order: the second is not the first one again.
        """
        fitting = (
            n
            for n, step in enumerate(self.plan.steps)
            if n not in self._made
            and (attempt.said, n) not in self._meant
            and step.tool == attempt.tool
        )
        position = next(fitting, None)
        if position is None:
            return
        if attempt.said:
            self._meant.add((attempt.said, position))
        if attempt.standing is Standing.REJECTED:
            self._refused[position] = self._refused.get(position, 0) + 1
        else:
            self._made[position] = attempt

    @property
    def begun(self) -> bool:
        """Return True if a call was made."""
        return bool(self._made)

    @property
    def next_position(self) -> int | None:
        """Index of the first step that is still to be made, or None."""
        return self._next if self._next < len(self.plan.steps) else None

    @property
    def unmade(self) -> tuple[int, ...]:
        """Indices of all steps that are still to be made, in order."""
        return tuple(n for n in range(self._next, len(self.plan.steps)) if n not in self._made)

    @property
    def remaining(self) -> int:
        """Return the number of steps that are still to be made."""
        return len(self.plan.steps) - len(self._made)

    def made(self, position: int) -> Attempt | None:
        """Return the call that stands for a step, or None."""
        return self._made.get(position)

    def refusals(self, position: int) -> int:
        """Return the number of times that a step was refused."""
        return self._refused.get(position, 0)

    @property
    def refused(self) -> bool:
        """Return True if any call was refused."""
        return bool(self._refused)

    def step(self, position: int) -> PlanStep:
        """Return a step of the plan."""
        return self.plan.steps[position]

    def operands(self, position: int) -> Operands:
        """Return the values of a step's operands, as far as messages have told them."""
        known: dict[str, Any] = {}
        awaited, lost = [], []
        for place, operand in self.step(position).operands.items():
            source = self._made.get(operand.call)
            if source is None or source.response is None:
                awaited.append(place)
                continue
            try:
                known[place] = _value(source.response, operand)
            except PointerError:
                lost.append(place)
        for place, derivation in self.step(position).derivations.items():
            read = [self._made[call].response for call in derivation.uses if call in self._made]
            if len(read) == len(derivation.uses) and None not in read:
                known[place] = derivation.value
            else:
                awaited.append(place)
        return Operands(known=known, awaited=tuple(awaited), lost=tuple(lost))

    def arguments(self, position: int, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a step with the operands filled in."""
        arguments: Any = self.step(position).arguments
        for place, value in values.items():
            arguments = put(arguments, place, value)
        return dict(arguments)


def _value(response: str, operand: Operand) -> Any:
    try:
        return resolve(json.loads(response), operand.pointer)
    except ValueError as problem:
        raise PointerError(f"the result is not JSON: {response[:80]}") from problem


_P = TypeVar("_P", bound=TaskProgress)


def progress_of(
    plan: Plan,
    attempts: Sequence[Attempt],
    questions: Mapping[str, str],
    kind: Callable[[TaskPlan, Sequence[Attempt], str], _P],
) -> tuple[_P, ...]:
    """Return the progress of every sub-task.

    Args:
        plan: The steps of the sub-tasks.
        attempts: The calls so far.
        questions: Sub-task id -> its question, as far as messages tell.
        kind: Makes the progress of one sub-task from its plan, its calls and its question.
    """
    return tuple(
        kind(
            task,
            [each for each in attempts if each.task_id == task.task_id],
            questions.get(task.task_id, ""),
        )
        for task in plan.tasks
    )
