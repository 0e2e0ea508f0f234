"""Decisions of a persona: a pure function of the messages it got, its rates and its draws.

Theory of operation. Every draw has a name made of sub-task, step, attempt and purpose, and nothing
that changes with the turn, so two arms of an experiment share it. A rate is a threshold for a draw.
The thresholds of a run are moved together by three amounts in logits: how frail the run is, how
hard the single task is, how many results are awaited.

The mind knows the world from messages alone: its calls with their results, the questions, refusals
and reminders. Its plan says which tool comes next and where values come from (see `agents.plan`).
It knows of no guard, and cannot tell a guarded run from another but by the messages that it gets.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from asyncguard_benchmark.harness.agents.guesses import (
    foreseen,
    guess,
    recalled,
    worked_out,
)
from asyncguard_benchmark.harness.agents.message_reader import Standing
from asyncguard_benchmark.harness.agents.plan import Plan, TaskPlan, schema_at
from asyncguard_benchmark.harness.agents.speaking import Decision, Garbled
from asyncguard_benchmark.harness.agents.transcript import UNREADABLE, Attempt
from asyncguard_benchmark.harness.pointers import parts
from asyncguard_benchmark.harness.protocol.actions import CallAction, Completed, Idle
from asyncguard_benchmark.suites.asynctool.agents.mixups import foreign_call
from asyncguard_benchmark.suites.asynctool.agents.personas.draws import (
    Draws,
    deviation_of_task,
    logit,
)
from asyncguard_benchmark.suites.asynctool.agents.personas.rates import Rates
from asyncguard_benchmark.suites.asynctool.agents.progress_estimate import Belief, failed
from asyncguard_benchmark.suites.asynctool.agents.slips import Slip, slipped

_MOST_VAIN = 8
"""Attempts at one step that came to nothing, after which it gives the sub-task up."""
_UNTIDY = (Slip.MISSING, Slip.UNKNOWN, Slip.WRONG_TYPE)


_NEVER = float("-inf")


@lru_cache(maxsize=64)
def _thresholds(rates: Rates) -> Mapping[str, float]:
    """Return rates as logits: every draw is compared with one of these."""
    return {name: logit(rate) for name, rate in rates.to_json().items()}


@dataclass(frozen=True, kw_only=True)
class Sight:
    """Input of a persona in a turn."""

    tasks: Sequence[Belief]
    reminders: Sequence[str] = ()
    """Objections to the end of the run; see `transcript.reminders`."""


class Mind:
    """The decisions of one persona in one composition; holds nothing that a turn changes."""

    def __init__(self, plan: Plan, rates: Rates, draws: Draws) -> None:
        self._rates = rates
        self._draws = draws
        self._thresholds = _thresholds(rates)
        frailty = rates.frailty * draws.deviation("run", "frailty")
        self._shifts = {
            task.task_id: frailty + rates.difficulty * deviation_of_task(task.task_id)
            for task in plan.tasks
        }
        steps = sum(len(task.steps) for task in plan.tasks)
        broken = self._happens("collapse", 0.0, "run")
        self._last_call = int(draws.share("run", "breaks off at") * steps) if broken else None

    def believe(self, plan: TaskPlan, attempts: Sequence[Attempt], question: str) -> Belief:
        """Return the persona's belief about its calls for one sub-task."""
        return _RepairingBelief(plan, attempts, question, mind=self)

    def notices(self, task_id: str, position: int, nth: int) -> bool:
        """Return True if it sees that the nth result of a step is an error."""
        return self._happens("repair", 0.0, task_id, position, nth)

    def decide(self, sight: Sight) -> Decision:
        """Return the decision in this turn."""
        reminded = {
            task.plan.task_id
            for task in sight.tasks
            for number, said in enumerate(sight.reminders)
            if task.plan.task_id in said
            and self._happens("compliance", 0.0, task.plan.task_id, "reminder", number)
        }
        calls = sum(len(task.attempts) for task in sight.tasks)
        if self._last_call is not None and calls >= self._last_call and not reminded:
            return Completed()
        waiting = sum(task.waiting for task in sight.tasks)
        turn = _Turn(tasks=sight.tasks, reminded=reminded, awaited=waiting)
        looked_at = self._looked_at(sight.tasks)
        for task in looked_at:
            move = self._move(task, turn)
            if move is not None:
                return move
        if not waiting:
            return Completed()
        if len(looked_at) < len(sight.tasks):
            return Idle()
        hurries = self._happens("impatience", 0.0, "run", calls, len(sight.reminders))
        return Completed() if hurries else Idle()

    def _happens(self, rate: str, shift: float, *key: Any) -> bool:
        threshold = self._thresholds[rate]
        return threshold > _NEVER and self._draws.below(threshold + shift, *key, rate)

    def _looked_at(self, tasks: Sequence[Belief]) -> list[Belief]:
        """Return the sub-tasks that it may go on with, the first choice first.

        Those at rest come before those that wait. How it goes from one to the next is drawn for its latest call: it
        waits for that one's result, or looks at the same sub-task first, or at the one that it left alone longest.
        """
        latest = max(tasks, key=_latest_call)
        if not latest.attempts:
            return list(tasks)
        key = (latest.plan.task_id, len(latest.attempts))
        if latest.waiting and self._happens("linger", 0.0, *key):
            return [latest]
        rotates = self._happens("rotation", 0.0, *key)
        ranked = sorted(tasks, key=lambda task: (task.waiting, rotates and _latest_call(task)))
        if self._happens("persistence", 0.0, *key):
            return [latest, *(task for task in ranked if task is not latest)]
        return ranked

    def _move(self, task: Belief, turn: "_Turn") -> tuple[CallAction, ...] | Garbled | None:
        """Return the next call of a sub-task, or None if it has none for now."""
        task_id, shift = task.plan.task_id, self._shifts[task.plan.task_id]
        if task_id not in turn.reminded and self._happens("neglect", shift, task_id):
            return None
        again = self._again(task)
        if again is not None:
            return (again,)
        position = task.next_position
        if position is None or task.refusals(position) >= _MOST_VAIN:
            return None
        moved = shift + self._rates.distraction * turn.awaited
        if task_id not in turn.reminded and self._happens("dropout", moved, task_id, position):
            return None
        key = (task_id, position, task.refusals(position))
        careful = self._is_careful(task, position)
        if task.waiting and (careful or not self._happens("haste", shift, *key)):
            return None
        if careful:
            return (self._call(task, position),)
        if self._happens("garbled", 0.0, *key):
            return Garbled(call=self._call(task, position))
        if self._happens("confusion", moved, *key):
            mixed_up = foreign_call(task, turn.tasks)
            if mixed_up is not None:
                return (mixed_up,)
        return (self._spoilt(task, position, self._call(task, position), moved),)

    def _again(self, task: Belief) -> CallAction | None:
        """Return the latest call of a sub-task once more."""
        if not task.attempts:
            return None
        last = task.attempts[-1]
        made = task.position_of(last)
        if (
            made is None
            or task.repeats(made)
            or not self._happens("repeat", 0.0, task.plan.task_id, made)
        ):
            return None
        return CallAction(task_id=last.task_id, tool=last.tool, arguments=last.arguments)

    def _is_careful(self, task: Belief, position: int) -> bool:
        """Return True if it heeds the outcome of its latest try at a step: a refusal, or an error that it has seen."""
        last = task.latest_in_vain(position)
        if last is None or last.tool == UNREADABLE:
            return False
        if last.standing is not Standing.REJECTED:
            return True
        return self._happens(
            "compliance", 0.0, task.plan.task_id, position, task.refusals(position)
        )

    def _call(self, task: Belief, position: int) -> CallAction:
        operands = task.operands(position)
        unknown = (*operands.awaited, *operands.lost)
        values = dict(operands.known) | {
            place: self._guessed(task, position, place) for place in unknown
        }
        step = task.step(position)
        return CallAction(
            task_id=task.plan.task_id, tool=step.tool, arguments=task.arguments(position, values)
        )

    def _guessed(self, task: Belief, position: int, place: str) -> Any:
        """Return a value for an operand that it was not told; never looked up anywhere but in messages."""
        step, key = (
            task.step(position),
            (task.plan.task_id, position, task.refusals(position), place),
        )
        operand = step.operands.get(place)
        if operand is None:
            return self._wrong(task, place, schema_at(step.parameters, place), key)
        source, head = task.made(operand.call), task.step(operand.call).head
        if source is not None and head is not None and self._happens("insight", 0.0, *key):
            value = worked_out(head, source.arguments, operand.pointer)
            if value is not None:
                return value
        if source is not None and head is None and self._happens("foresight", 0.0, *key):
            value = foreseen(source.arguments, operand.pointer)
            if value is not None:
                return value
        return self._wrong(task, place, operand.schema, key)

    def _wrong(
        self, task: Belief, place: str, schema: Mapping[str, Any], key: tuple[Any, ...]
    ) -> Any:
        """Return a value for something else, or an invented one."""
        name = next((part for part in reversed(parts(place)) if not part.isdecimal()), "")
        if self._happens("distractor", 0.0, *key):
            found = recalled(name, schema, task.told)
            if found:
                return found[int(self._draws.share(*key, "which") * len(found))]
        return guess(name, schema, (*key, self._draws.share(*key, "invention")))

    def _spoilt(self, task: Belief, position: int, call: CallAction, shift: float) -> CallAction:
        """Return a call with what slips into it."""
        key = (task.plan.task_id, position, task.refusals(position))
        arguments = dict(call.arguments)
        parameters = task.step(position).parameters
        for name in self._wrong_arguments(task, position, arguments, shift):
            arguments[name] = self._wrong(
                task, f"/{name}", schema_at(parameters, f"/{name}"), (*key, name)
            )
        if self._happens("untidy", shift, *key):
            kind = _UNTIDY[int(self._draws.share(*key, "kind of slip") * len(_UNTIDY))]
            arguments = slipped(kind, arguments, self._draws.share(*key, "untidy at"))
        return CallAction(task_id=call.task_id, tool=call.tool, arguments=arguments)

    def _wrong_arguments(
        self, task: Belief, position: int, arguments: Mapping[str, Any], shift: float
    ) -> Iterator[str]:
        """Yield the arguments that get a wrong value: one that slips, and others if one is wrong or guessed already."""
        key = (task.plan.task_id, position, task.refusals(position))
        operands = task.operands(position)
        guessed = {parts(place)[0] for place in (*operands.awaited, *operands.lost)}
        slips = bool(arguments) and self._happens("slip", shift, *key)
        at = int(self._draws.share(*key, "slips at") * len(arguments)) if slips else None
        for number, name in enumerate(arguments):
            sprawls = (
                (guessed or slips)
                and name not in guessed
                and self._happens("sprawl", 0.0, *key, name)
            )
            if number == at or sprawls:
                yield name


def _latest_call(task: Belief) -> int:
    """Return the number of the message with the latest call of a sub-task; 0 before the first."""
    return task.attempts[-1].said if task.attempts else 0


@dataclass(frozen=True, kw_only=True)
class _Turn:
    """Facts that all sub-tasks of a turn share."""

    tasks: Sequence[Belief]
    reminded: Collection[str]
    """Sub-tasks that it was told are not done, and that it will see to."""
    awaited: int
    """Sub-tasks that wait for a result."""


class _RepairingBelief(Belief):
    """A belief that takes a step for undone if its result is an error that the persona notices."""

    def __init__(
        self, plan: TaskPlan, attempts: Sequence[Attempt], question: str, *, mind: Mind
    ) -> None:
        self._mind = mind
        super().__init__(plan, attempts, question)

    def _in_vain(self, attempt: Attempt) -> bool:
        if attempt.tool == UNREADABLE or attempt.standing is Standing.REJECTED:
            return True
        if not failed(attempt):
            return False
        position = self._position_for(attempt)
        return position is not None and self._mind.notices(
            self.plan.task_id, position, self.refusals(position)
        )
