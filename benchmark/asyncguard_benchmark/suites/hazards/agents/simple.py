"""Agents that do not diagnose: each does the same about every fault."""

from typing import Any

from pydantic import Field
from typing_extensions import override

from asyncguard_benchmark.harness.agents.guesses import guess
from asyncguard_benchmark.harness.agents.plan import Operand
from asyncguard_benchmark.harness.pointers import PointerError, parts, resolve
from asyncguard_benchmark.suites.hazards.agents.course import Course, Made, Move, Purpose
from asyncguard_benchmark.suites.hazards.agents.hasty import fits
from asyncguard_benchmark.suites.hazards.agents.plan_follower import HazardAgent


class NaiveAgent(HazardAgent):
    """Agent that takes what it gets, and reports a problem when a call fails.

    Notes mean nothing to it. Where a value is not at its place it takes what a hasty reader would take.
    """

    hasty_rate: float = Field(default=1.0, ge=0, le=1)
    """Share of misplaced values for which it takes one that looks like them; else it reports a
    problem."""

    @override
    def mend(self, course: Course, step: int, latest: Made) -> Move | None:
        """Return the report of a failure; None for any other answer, which is taken."""
        return self.report(course, step, f"{latest.move.tool} failed") if _failed(latest) else None

    @override
    def read(self, course: Course, step: int, place: str, operand: Operand) -> Any:
        """Return the value at its place, or a hasty reading, or neither."""
        if _is_strange(course, operand) and self.drawn(course, step, place) >= self.hasty_rate:
            raise PointerError(f"nothing is at {operand.pointer}")
        return super().read(course, step, place, operand)


class RetryHappyAgent(NaiveAgent):
    """Agent that repeats a failed call with the same arguments, whatever it does and whatever the failure says."""

    most_repeats: int = Field(default=3, ge=0)
    """Repetitions of one call; after them it reports a problem."""

    @override
    def mend(self, course: Course, step: int, latest: Made) -> Move | None:
        """Return the same call once more, if any is left."""
        if not _failed(latest) or len(course.of(step, Purpose.STEP)) > self.most_repeats:
            return super().mend(course, step, latest)
        return self.again(course, step)


class GivesUpEarlyAgent(NaiveAgent):
    """Agent that reports a problem at the first failure, and at the first answer that is strange or has a note."""

    give_up_rate: float = Field(default=1.0, ge=0, le=1)
    """Share of strange answers at which it gives up though nothing failed; else it does as the
    naive agent does."""

    @override
    def mend(self, course: Course, step: int, latest: Made) -> Move | None:
        """Return a report of whatever is not as expected."""
        noted = latest.answer is not None and bool(latest.answer.note)
        odd = noted or any(_is_strange(course, operand) for operand in course.uses_of(step))
        if odd and self.drawn(course, step, "gives up") < self.give_up_rate:
            return self.report(course, step, f"the answer of {latest.move.tool} is strange")
        return super().mend(course, step, latest)


class OverTrustingAgent(NaiveAgent):
    """Agent that goes on after a failure as if there were none, with made-up values of the right type."""

    made_up_rate: float = Field(default=1.0, ge=0, le=1)
    """Share of failed calls after which it goes on; else it reports a problem."""

    @override
    def mend(self, course: Course, step: int, latest: Made) -> Move | None:
        """Return None, or the report of a failure."""
        goes_on = self.drawn(course, step, "goes on") < self.made_up_rate
        return None if goes_on else super().mend(course, step, latest)

    @override
    def read(self, course: Course, step: int, place: str, operand: Operand) -> Any:
        """Return the value that was read, or a made-up one."""
        try:
            return super().read(course, step, place, operand)
        except PointerError:
            name = next((part for part in reversed(parts(place)) if not part.isdecimal()), "")
            return guess(
                name,
                operand.schema,
                (self.seed, self.plan.composition_id, course.plan.task_id, step, place),
            )


def _failed(made: Made) -> bool:
    return made.answer is not None and made.answer.failed


def _is_strange(course: Course, operand: Operand) -> bool:
    """Return True if an answer is not a failure and a value is not at its place in it, or of another type."""
    latest = course.latest(operand.call)
    if latest is None or latest.answer is None or latest.answer.failed:
        return False
    try:
        return not fits(resolve(latest.answer.value, operand.pointer), operand.schema)
    except PointerError:
        return True
