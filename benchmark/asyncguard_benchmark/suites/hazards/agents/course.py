"""Course of a task in which calls are made that are not in the plan.

An agent that mends faults repeats calls, asks other tools and reads contracts. A conversation does
not tell the purpose of a call. But the agent is deterministic and keeps no memory, so it finds out
by deciding again: the call that it would have made, with the knowledge that it had when it spoke,
is the call that it made.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from asyncguard_benchmark.harness.agents.message_reader import Standing
from asyncguard_benchmark.harness.agents.plan import Operand, TaskPlan
from asyncguard_benchmark.harness.agents.transcript import Attempt
from asyncguard_benchmark.suites.hazards.agents.answers import Answer, answer_of
from asyncguard_benchmark.suites.hazards.agents.api_list import ApiList


class Purpose(StrEnum):
    """Purpose of a call."""

    STEP = "step"
    """It makes a step of the plan, for the first time or again."""
    SUBSTITUTE = "substitute"
    """Another tool stands in for that of the step."""
    CONTRACT = "contract"
    """It reads the live contract of a tool."""
    PROBE = "probe"
    """It asks whether an effect has happened."""
    COMPARISON = "comparison"
    """It asks one more source, because two disagree."""
    REPORT = "report"
    """It says that the task cannot be done."""


@dataclass(frozen=True, kw_only=True)
class Move:
    """One call that an agent means to make."""

    purpose: Purpose
    step: int
    """Index of the step of the plan that it serves."""
    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Made:
    """A call that was made, and what for."""

    move: Move
    attempt: Attempt

    @cached_property
    def answer(self) -> Answer | None:
        """Return its answer; None before there is one, or if it was refused."""
        return answer_of(self.attempt)

    @property
    def open(self) -> bool:
        """Return True if it has neither an answer nor a refusal."""
        return self.attempt.standing is Standing.OPEN

    @property
    def refused(self) -> bool:
        """Return True if it was refused before it reached its tool."""
        return self.attempt.standing is Standing.REJECTED


@dataclass(frozen=True, kw_only=True)
class Course:
    """A task's plan and the calls that were made for it, in order."""

    plan: TaskPlan
    tools: ApiList
    """Tools of the API list."""
    made: tuple[Made, ...]

    @property
    def waiting(self) -> bool:
        """Return True if a call has no answer yet."""
        return any(each.open for each in self.made)

    @property
    def mending(self) -> bool:
        """Return True if a call that is not in the plan has no answer yet."""
        return any(each.open and each.move.purpose is not Purpose.STEP for each in self.made)

    @property
    def ended(self) -> bool:
        """Return True if a problem was reported, or the answer submitted and not sent back."""
        last = len(self.plan.steps) - 1
        closing = [each for each in self.of(last, Purpose.STEP) if not each.refused]
        reported = any(
            each.move.purpose is Purpose.REPORT and not each.refused for each in self.made
        )
        return reported or any(each.answer is None or not each.answer.failed for each in closing)

    @property
    def next_step(self) -> int | None:
        """Index of the first step that has not reached a tool; None if all have."""
        begun = {
            each.move.step
            for each in self.made
            if each.move.purpose is Purpose.STEP and not each.refused
        }
        return next((step for step in range(len(self.plan.steps)) if step not in begun), None)

    @property
    def remaining(self) -> int:
        """Return the number of steps that have not reached a tool."""
        return len(self.plan.steps) - (
            self.next_step if self.next_step is not None else len(self.plan.steps)
        )

    def of(self, step: int, *purposes: Purpose) -> tuple[Made, ...]:
        """Return the calls that serve a step, refused ones included."""
        return tuple(
            each for each in self.made if each.move.step == step and each.move.purpose in purposes
        )

    def refusals(self, step: int, purpose: Purpose = Purpose.STEP) -> int:
        """Return the number of times that a step was refused."""
        return sum(each.refused for each in self.of(step, purpose))

    def latest(self, step: int) -> Made | None:
        """Return the latest call that reached a tool and whose answer would be the step's."""
        tried = [
            each for each in self.of(step, Purpose.STEP, Purpose.SUBSTITUTE) if not each.refused
        ]
        return tried[-1] if tried else None

    def uses_of(self, step: int) -> tuple[Operand, ...]:
        """Return the operands that later steps take from a step's answer."""
        later = self.plan.steps[step + 1 :]
        return tuple(
            operand for each in later for operand in each.operands.values() if operand.call == step
        )


def course_of(
    plan: TaskPlan,
    tools: ApiList,
    attempts: Iterable[Attempt],
    decide: Callable[[Course], Move | None],
) -> Course:
    """Return the course of a task.

    Args:
        plan: Plan of the task.
        tools: Tools of the API list.
        attempts: The calls of the task in order, each with what has become of it.
        decide: Gives the agent's next move in a task, or None. A call that it would not have made serves the
            first free step of its tool.
    """
    made: list[tuple[Move, Attempt]] = []
    for attempt in attempts:
        then = Course(plan=plan, tools=tools, made=_as_known(made, attempt.said))
        move = decide(then)
        if move is None or move.tool != attempt.tool:
            move = _from_plan(then, attempt)
        made.append((replace(move, arguments=attempt.arguments), attempt))
    return Course(
        plan=plan,
        tools=tools,
        made=tuple(Made(move=move, attempt=attempt) for move, attempt in made),
    )


def _as_known(made: Sequence[tuple[Move, Attempt]], said: int) -> tuple[Made, ...]:
    """Return the calls with those outcomes only that were told before a message was said."""
    known = []
    for move, attempt in made:
        if attempt.told is None or attempt.told >= said:
            attempt = replace(attempt, standing=Standing.OPEN, response=None, told=None)
        known.append(Made(move=move, attempt=attempt))
    return tuple(known)


def _from_plan(course: Course, attempt: Attempt) -> Move:
    begun = {
        each.move.step
        for each in course.made
        if each.move.purpose is Purpose.STEP and not each.refused
    }
    fitting = [step for step, each in enumerate(course.plan.steps) if each.tool == attempt.tool]
    free = [step for step in fitting if step not in begun]
    step = (free or fitting or [len(course.plan.steps) - 1])[0]
    return Move(purpose=Purpose.STEP, step=step, tool=attempt.tool, arguments=attempt.arguments)
