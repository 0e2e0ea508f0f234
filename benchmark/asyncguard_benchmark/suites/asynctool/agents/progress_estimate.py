"""Belief of an agent that errs about its own calls.

The careful agents make the calls of their plan and no others, so a call stands for the first free
step of its tool. An agent that errs makes other calls, too. Here a call that says the same as the
one before it repeats that one; a call of a tool that no free step has was meant for the next step;
and one that came out broken was refused before anything happened. An executed call counts as done,
right or wrong, unless its answer came at once and was an error: an agent reads the answer to its
last message, and does not look back at results that come later.
"""

from collections.abc import Sequence

from typing_extensions import override

from asyncguard_benchmark.harness.agents.message_reader import Standing
from asyncguard_benchmark.harness.agents.plan import TaskPlan
from asyncguard_benchmark.harness.agents.progress import TaskProgress
from asyncguard_benchmark.harness.agents.transcript import UNREADABLE, Attempt

_ERROR = '{"error":'
"""Beginning of the result of a failed call."""


def failed(attempt: Attempt) -> bool:
    """Return True if a call was executed and answered with an error."""
    return attempt.standing is Standing.ANSWERED and (attempt.response or "").startswith(_ERROR)


class Belief(TaskProgress):
    """Progress of a sub-task as an agent sees it that makes calls which are not in its plan."""

    def __init__(self, plan: TaskPlan, attempts: Sequence[Attempt], question: str = "") -> None:
        self._before: tuple[Attempt, int | None] | None = None
        self._repeats: dict[int, int] = {}
        self._vain: dict[int, Attempt] = {}
        self.attempts = tuple(attempts)
        """All its calls, in order."""
        super().__init__(plan, attempts, question)

    @override
    def _assign(self, attempt: Attempt) -> None:
        repeated = self._repeated_by(attempt)
        if repeated is not None:
            self._repeats[repeated] = self._repeats.get(repeated, 0) + 1
            # Of two answers the later one is believed, though it may only say that there is nothing left to do.
            if attempt.standing is not Standing.REJECTED:
                self._made[repeated] = attempt
            return
        position = self._position_for(attempt)
        self._before = (attempt, position)
        if position is None:
            return
        if self._in_vain(attempt):
            self._vain[position] = attempt
            self._refused[position] = self._refused.get(position, 0) + 1
        else:
            self._made[position] = attempt

    def _repeated_by(self, attempt: Attempt) -> int | None:
        """Return the step whose call an attempt says a second time, or None.

        Two calls in a row that say the same never stand for two steps: swapping them would change nothing, and the
        steps of a sub-task are strictly ordered. Wrong calls may, so that a third one stands for the next step.
        """
        if self._before is None:
            return None
        before, position = self._before
        executed = before.standing is not Standing.REJECTED and before.tool != UNREADABLE
        same = executed and before.tool == attempt.tool and before.arguments == attempt.arguments
        return position if same and position is not None and not self.repeats(position) else None

    def _position_for(self, attempt: Attempt) -> int | None:
        if attempt.tool == UNREADABLE:
            return self.next_position
        free = (
            n
            for n, step in enumerate(self.plan.steps)
            if n not in self._made and step.tool == attempt.tool
        )
        return next(free, self.next_position)

    def _in_vain(self, attempt: Attempt) -> bool:
        """Return True if a call is known to have had no effect, so that its step is still to be made."""
        refused = attempt.tool == UNREADABLE or attempt.standing is Standing.REJECTED
        return refused or (failed(attempt) and attempt.told_at_once)

    def repeats(self, position: int) -> int:
        """Return the number of times that the call of a step was repeated, executed or refused."""
        return self._repeats.get(position, 0)

    def position_of(self, attempt: Attempt) -> int | None:
        """Return the step that a call stands for as the last word, or None."""
        return next((position for position, made in self._made.items() if made is attempt), None)

    def latest_in_vain(self, position: int) -> Attempt | None:
        """Return the latest try at a step that came to nothing."""
        return self._vain.get(position)
