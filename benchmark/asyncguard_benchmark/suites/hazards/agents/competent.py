"""An agent that finds out by itself what is wrong, and does what an attentive person would."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field
from typing_extensions import override

from asyncguard_benchmark.harness.agents.plan import Operand
from asyncguard_benchmark.harness.pointers import PointerError
from asyncguard_benchmark.harness.scoring.canonical import freeze
from asyncguard_benchmark.services.common_tools import COMMON_NAMES, DESCRIBE
from asyncguard_benchmark.suites.hazards.agents.answers import Answer
from asyncguard_benchmark.suites.hazards.agents.argument_pairs import carried_over
from asyncguard_benchmark.suites.hazards.agents.course import Course, Made, Move, Purpose
from asyncguard_benchmark.suites.hazards.agents.learnt_facts import (
    agreeing,
    contract_of,
    happened,
    looks,
    majority,
    said_to_have_happened,
    same_question,
)
from asyncguard_benchmark.suites.hazards.agents.siblings import is_telling, probe_of, stand_ins
from asyncguard_benchmark.suites.hazards.agents.simple import NaiveAgent
from asyncguard_benchmark.suites.hazards.agents.suspicions import (
    Suspicion,
    is_doubtful,
    left_untouched,
    named_in,
    suspect,
)
from asyncguard_benchmark.suites.hazards.agents.value_search import find_value

_LOOKS = 2
"""Tries at reading a contract."""
_TRIES_IN_THE_DARK = 2
"""Calls of one tool with the same arguments where its failure says nothing of a kind that is known."""


class CompetentAgent(NaiveAgent):
    """Agent that diagnoses from the text of failures and answers alone; good, not perfect.

    It repeats a call whose failure passes, if the tool plainly only tells something; a failed
    effect it probes first. After a refusal it reads the live contract and rewrites the arguments;
    in a strange answer it looks for the value; if a tool stays broken it asks a similar one, and if
    two disagree, a third. Tools that a note or a failure names come first. It reports a problem
    that it cannot mend. It does not see a fault that no message shows.
    """

    most_tries: int = Field(default=4, ge=1)
    """Calls of one tool with the same arguments."""
    most_mends: int = Field(default=9, ge=1)
    """Calls for one step, all kinds together; after them it reports a problem."""
    diagnosis_rate: float = Field(default=1.0, ge=0, le=1)
    """Share of steps that it looks into at all; else it does as the naive agent does."""

    @override
    def mend(self, course: Course, step: int, latest: Made) -> Move | None:
        """Return the next thing to find out or to try."""
        if not self._attends(course, step):
            return super().mend(course, step, latest)
        answer = latest.answer
        if answer is None or happened(course, step) is not None:
            return None
        move = self._mended(course, step, latest, answer)
        if move is None or move.purpose is Purpose.REPORT:
            return move
        spent = len(course.of(step, *Purpose))
        return move if spent < self.most_mends else self.report(course, step, "nothing has helped")

    def _mended(self, course: Course, step: int, latest: Made, answer: Answer) -> Move | None:
        if answer.failed:
            return self._after_failure(course, step, latest, answer.words)
        if not self._readable(course, step):
            return self._after_strange(course, step, latest, answer.words)
        if self._disputed(course, step, alone=is_doubtful(answer.note)):
            return self._other_tool(course, step, latest, answer.words, Purpose.COMPARISON)
        return None

    @override
    def read(self, course: Course, step: int, place: str, operand: Operand) -> Any:
        """Return the value at its place, or where it was found; of sources that disagree, that of the majority."""
        if not self._attends(course, operand.call):
            return super().read(course, step, place, operand)
        voices = self._voices(course, operand)
        if not voices:
            raise PointerError(f"step {operand.call} has no result in which the value is certain")
        return majority(voices)

    def _attends(self, course: Course, step: int) -> bool:
        return self.drawn(course, step, "diagnoses") < self.diagnosis_rate

    # -- what is wrong ---------------------------------------------------------------------------------------------

    def _after_failure(self, course: Course, step: int, latest: Made, words: str) -> Move:
        suspicion = suspect(words)
        if suspicion is Suspicion.REFUSED:
            return self._rewritten(course, step, latest, words)
        if not is_telling(course.tools, latest.move.tool):
            return self._probed(course, step, latest, words)
        if latest.move.purpose is Purpose.STEP and not _options(course, latest, words):
            if suspicion is Suspicion.UNKNOWN:
                return self._rewritten(course, step, latest, words, most=_TRIES_IN_THE_DARK)
            if self._may_repeat(course, step, latest.attempt.arguments, self.most_tries):
                return self.again(course, step)
        return self._other_tool(course, step, latest, words, Purpose.SUBSTITUTE)

    def _after_strange(self, course: Course, step: int, latest: Made, words: str) -> Move:
        tool = latest.move.tool
        if contract_of(course, step, tool) is None and len(looks(course, step, tool)) < _LOOKS:
            return _describe(step, tool)
        if not is_telling(course.tools, tool):
            return self._probed(course, step, latest, words, repeats=False)
        if latest.move.purpose is Purpose.STEP and len(course.of(step, Purpose.STEP)) < 2:
            return self.again(course, step)
        return self._other_tool(course, step, latest, words, Purpose.SUBSTITUTE)

    def _readable(self, course: Course, step: int) -> bool:
        """Return True if everything that later steps take from a step can be found in its latest answer."""
        return all(
            self._value(course, step, operand) is not None for operand in course.uses_of(step)
        )

    def _disputed(self, course: Course, step: int, *, alone: bool) -> bool:
        """Return True if no two sources agree about something that later steps take from a step.

        Args:
            course: Of the task.
            step: Its position.
            alone: Result if only the step itself has been asked.
        """
        heard = [self._voices(course, operand) for operand in course.uses_of(step)]
        return any(
            alone if len(voices) == 1 else agreeing(voices) < 2 for voices in heard if voices
        )

    # -- what is done ----------------------------------------------------------------------------------------------

    def _may_repeat(
        self, course: Course, step: int, arguments: Mapping[str, Any], most: int
    ) -> bool:
        same = [
            each
            for each in course.of(step, Purpose.STEP)
            if freeze(each.attempt.arguments) == freeze(arguments)
        ]
        return len(same) < most

    def _rewritten(
        self, course: Course, step: int, latest: Made, words: str, most: int | None = None
    ) -> Move:
        """Return the call in the form that the live contract wants, the contract being read first."""
        if latest.move.purpose is not Purpose.STEP:
            return self._other_tool(course, step, latest, words, Purpose.SUBSTITUTE)
        tool, declared = latest.move.tool, course.plan.steps[step].parameters
        contract = contract_of(course, step, tool)
        if contract is None and len(looks(course, step, tool)) < _LOOKS:
            return _describe(step, tool)
        live = declared if contract is None else contract.get("parameters", declared)
        arguments = carried_over(course.of(step, Purpose.STEP)[0].attempt.arguments, declared, live)
        if arguments is not None and self._may_repeat(
            course, step, arguments, most or self.most_tries
        ):
            return self.again(course, step, arguments)
        return self._other_tool(course, step, latest, words, Purpose.SUBSTITUTE)

    def _probed(
        self, course: Course, step: int, latest: Made, words: str, *, repeats: bool = True
    ) -> Move:
        """Return the question whether an effect has happened, or the effect once more if it has not."""
        since = course.made[course.made.index(latest) + 1 :]
        asked = [
            each for each in since if each.move.purpose is Purpose.PROBE and each.move.step == step
        ]
        denied = any(said_to_have_happened(each) is False for each in asked)
        arguments = latest.attempt.arguments
        if (
            repeats
            and (denied or left_untouched(words))
            and self._may_repeat(course, step, arguments, self.most_tries)
        ):
            return self.again(course, step)
        probe = probe_of(
            course.tools, latest.move.tool, arguments, named=_options(course, latest, words)
        )
        if probe is None or denied or len(asked) >= self.most_tries:
            return self.report(course, step, f"it is not certain what {latest.move.tool} has done")
        return Move(purpose=Purpose.PROBE, step=step, tool=probe[0], arguments=probe[1])

    def _other_tool(
        self, course: Course, step: int, latest: Made, words: str, purpose: Purpose
    ) -> Move:
        """Ask a tool like that of the step, in its place or for comparison; report a problem if there is none."""
        tool, first = course.plan.steps[step].tool, course.of(step, Purpose.STEP)[0]
        asked = {each.move.tool for each in course.of(step, Purpose.SUBSTITUTE, Purpose.COMPARISON)}
        if purpose is Purpose.COMPARISON:
            asked |= {each.move.tool for each in course.made if same_question(first, each)}
        named = _options(course, latest, words)
        others = stand_ins(course.tools, tool, first.attempt.arguments, named=named, but=asked)
        if not others or not is_telling(course.tools, tool):
            return self.report(
                course, step, f"{tool} cannot be relied on, and nothing can take its place"
            )
        return Move(purpose=purpose, step=step, tool=others[0][0], arguments=others[0][1])

    # -- values ----------------------------------------------------------------------------------------------------

    def _value(self, course: Course, step: int, operand: Operand, made: Made | None = None) -> Any:
        """Return the value at an operand's place in an answer, by default the step's latest; None if unknown."""
        found = happened(course, step) if made is None else None
        made = made or course.latest(step)
        answer = made.answer if made is not None else None
        if made is None or answer is None or (answer.failed and found is None):
            return None
        returns = (contract_of(course, step, made.move.tool) or {}).get("returns")
        try:
            return find_value(
                answer.value if found is None else found, operand.pointer, operand.schema, returns
            )
        except PointerError:
            return None

    def _voices(self, course: Course, operand: Operand) -> list[Any]:
        """Return the values of the step, of steps that asked the same, and of other sources, the step first."""
        latest = course.latest(operand.call)
        own = self._value(course, operand.call, operand)
        if latest is None or own is None:
            return []
        others = [
            rival
            for other in range(len(course.plan.steps))
            if other != operand.call
            and (rival := course.latest(other)) is not None
            and same_question(latest, rival)
        ]
        others += course.of(operand.call, Purpose.COMPARISON)
        said = [self._value(course, each.move.step, operand, each) for each in others]
        return [own, *(value for value in said if value is not None)]


def _describe(step: int, tool: str) -> Move:
    return Move(purpose=Purpose.CONTRACT, step=step, tool=DESCRIBE, arguments={"tool": tool})


def _options(course: Course, latest: Made, words: str) -> tuple[str, ...]:
    """Return other tools that a failure or a note names."""
    return named_in(
        words, [tool for tool in course.tools if tool not in (latest.move.tool, *COMMON_NAMES)]
    )
