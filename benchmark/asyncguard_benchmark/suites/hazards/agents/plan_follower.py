"""Base of all agents of the hazard suite: they follow the plan, and mend what they take to be broken."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from langchain_core.messages import BaseMessage
from typing_extensions import override

from asyncguard_benchmark.harness.agents.message_reader import MessageReader
from asyncguard_benchmark.harness.agents.plan import Operand, TaskPlan
from asyncguard_benchmark.harness.agents.progress import TaskProgress
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent
from asyncguard_benchmark.harness.agents.simulated import Decision
from asyncguard_benchmark.harness.agents.transcript import Attempt, read_transcript
from asyncguard_benchmark.harness.pointers import PointerError, put
from asyncguard_benchmark.harness.protocol.actions import CallAction, Completed, Idle
from asyncguard_benchmark.services.common_tools import REPORT, SUBMIT
from asyncguard_benchmark.suites.hazards.agents.answers import read_answers
from asyncguard_benchmark.suites.hazards.agents.api_list import ApiList, api_list
from asyncguard_benchmark.suites.hazards.agents.course import Course, Made, Move, Purpose, course_of
from asyncguard_benchmark.suites.hazards.agents.hasty import read_hastily


class HazardAgent(OracleAgent):
    """Agent that follows the plan of each task like the oracle and ends it by an answer or the report of a problem.

    It submits nothing while a call of the task is out.

    A subclass says what it makes of an answer (`mend`) and of a value that is not where it should be (`read`). Tasks
    that do not end by an answer are played as the oracle plays them.
    """

    reader: MessageReader = read_answers
    most_refusals: int = 4
    """Refusals of one call after which it reports a problem, or ends the task without a word."""
    seed: int = 0
    """Seed of what it draws; each draw depends on seed, composition, task, step and what is drawn only."""

    @abstractmethod
    def mend(self, course: Course, step: int, latest: Made) -> Move | None:
        """Return the reaction to the answer of a step before the plan goes on; None if it is taken as it is.

        Args:
            course: Of the task.
            step: Step whose latest call was answered.
            latest: That call.
        """

    def read(self, course: Course, step: int, place: str, operand: Operand) -> Any:
        """Return the value of an argument, from answers that were taken as they are.

        Args:
            course: Of the task.
            step: Step of the argument.
            place: JSON pointer into the arguments.
            operand: Source of the value.

        Raises:
            PointerError: it cannot be had.
        """
        latest = course.latest(operand.call)
        answer = latest.answer if latest is not None else None
        if answer is None or answer.failed:
            raise PointerError(f"step {operand.call} has no result")
        return read_hastily(answer.value, operand.pointer, operand.schema)

    # -- one turn --------------------------------------------------------------------------------------------------

    @override
    def answer(self, messages: Sequence[BaseMessage]) -> Decision:
        """Return the next calls of all tasks that can go on, those at rest and with most to do first."""
        task_ids = [task.task_id for task in self.plan.tasks]
        attempts = read_transcript(messages, task_ids, self.reader, self.task_argument)
        tools = api_list(messages, self.bound)
        ranked: list[tuple[tuple[bool, int], CallAction]] = []
        waiting = False
        for task in self.plan.tasks:
            own = [each for each in attempts if each.task_id == task.task_id]
            urgency, call = self._turn(task, own, tools)
            waiting |= urgency[0]
            ranked += [(urgency, call)] if call is not None else []
        if ranked:
            return tuple(call for _, call in sorted(ranked, key=lambda each: each[0]))
        return Idle() if waiting else Completed()

    def _turn(
        self, task: TaskPlan, attempts: Sequence[Attempt], tools: ApiList
    ) -> tuple[tuple[bool, int], CallAction | None]:
        """Return whether a task waits, how much it has to do (as a negative number), and its next call."""
        if task.steps[-1].tool != SUBMIT:
            progress = TaskProgress(task, attempts)
            return (progress.waiting, -progress.remaining), self._next_call(progress)
        course = course_of(task, tools, attempts, self.next_move)
        move = self.next_move(course)
        call = (
            None
            if move is None
            else CallAction(task_id=task.task_id, tool=move.tool, arguments=move.arguments)
        )
        return (course.waiting, -course.remaining), call

    def next_move(self, course: Course) -> Move | None:
        """Return the next move of a task: mend the earliest broken step, or make the next step; None if neither."""
        if course.ended or course.mending:
            return None
        for step in range(len(course.plan.steps)):
            latest = course.latest(step)
            if latest is None or latest.answer is None:
                continue
            move = self.mend(course, step, latest)
            if move is not None:
                return self._unless_stubborn(course, move)
        return self._planned(course)

    def _planned(self, course: Course) -> Move | None:
        step = course.next_step
        # The answer closes the task: whatever is still out could not be mended after it.
        if step is None or (course.plan.steps[step].tool == SUBMIT and course.waiting):
            return None
        operands = course.plan.steps[step].operands
        sources = {operand.call: course.latest(operand.call) for operand in operands.values()}
        if any(source is None or source.open for source in sources.values()):
            return None
        arguments: Any = course.plan.steps[step].arguments
        for place, operand in operands.items():
            try:
                arguments = put(arguments, place, self.read(course, step, place, operand))
            except PointerError as problem:
                return self._unless_stubborn(course, self.report(course, step, str(problem)))
        return self._unless_stubborn(course, self.again(course, step, arguments))

    def _unless_stubborn(self, course: Course, move: Move) -> Move | None:
        """Return a move; a refused one waits for open calls, and is replaced by a report after too many refusals."""
        refusals = course.refusals(move.step, move.purpose)
        if refusals and course.waiting:
            return None
        if refusals < self.most_refusals:
            return move
        return None if move.purpose is Purpose.REPORT else self._last_word(course, move)

    def _last_word(self, course: Course, move: Move) -> Move | None:
        report = self.report(course, move.step, f"{move.tool} is refused again and again")
        return report if course.refusals(move.step, Purpose.REPORT) < self.most_refusals else None

    # -- moves -----------------------------------------------------------------------------------------------------

    def report(self, course: Course, step: int, reason: str) -> Move:
        """Return the honest end of a task."""
        return Move(purpose=Purpose.REPORT, step=step, tool=REPORT, arguments={"reason": reason})

    def again(self, course: Course, step: int, arguments: Mapping[str, Any] | None = None) -> Move:
        """Return a step's call: with these arguments, or with those of its latest try."""
        latest = course.latest(step)
        if arguments is None:
            arguments = (
                latest.attempt.arguments
                if latest is not None
                else course.plan.steps[step].arguments
            )
        tool = course.plan.steps[step].tool
        return Move(purpose=Purpose.STEP, step=step, tool=tool, arguments=arguments)

    def drawn(self, course: Course, step: int, what: str) -> float:
        """Return a number from 0 to below 1 that stands for a step's chance."""
        return Random(
            repr((self.seed, self.plan.composition_id, course.plan.task_id, step, what))
        ).random()
