"""What an agent that errs believes of its own calls.

The careful agents make the calls of their plan and no others, so a call stands for the first free step of its tool. An
agent that errs makes other calls, too. Here a call that says the same as the one before it repeats that one; a call of
a tool that no free step has was meant for the next step; and one that came out broken was refused before anything
happened. What was executed is done, right or wrong, unless its answer came at once and was an error: an agent reads the
answer to what it has just said, and does not look back at results that come later.
"""

from collections.abc import Sequence

from typing_extensions import override

from asyncguard_benchmark.agents.plan import TaskPlan
from asyncguard_benchmark.agents.progress import TaskProgress
from asyncguard_benchmark.agents.reading import Standing
from asyncguard_benchmark.agents.transcript import UNREADABLE, Attempt

_ERROR = '{"error":'
"""How the result of a failed call begins."""


def failed(attempt: Attempt) -> bool:
    """Whether a call was executed and answered with an error."""
    return attempt.standing is Standing.ANSWERED and (attempt.response or "").startswith(_ERROR)


class Belief(TaskProgress):
    """Progress of a sub-task as an agent sees it that makes calls which are not in its plan."""

    def __init__(self, plan: TaskPlan, attempts: Sequence[Attempt], question: str = "") -> None:
        self._before: Attempt | None = None
        self._meant: dict[int, int] = {}
        self._repeats: dict[int, int] = {}
        self.attempts = tuple(attempts)
        """All its calls, in order."""
        super().__init__(plan, attempts, question)

    @override
    def _assign(self, attempt: Attempt) -> None:
        before = self._before
        if before is not None and _same(before, attempt):
            position = self._meant.get(id(before))
            if position is not None:
                self._repeats[position] = self._repeats.get(position, 0) + 1
                # Of two answers the later one is believed, though it may only say that there is nothing left to do.
                if attempt.standing is not Standing.REJECTED:
                    self._made[position] = attempt
            return
        self._before = attempt
        position = self._position_for(attempt)
        if position is None:
            return
        self._meant[id(attempt)] = position
        if self._in_vain(attempt):
            self._refused[position] = self._refused.get(position, 0) + 1
        else:
            self._made[position] = attempt

    def _position_for(self, attempt: Attempt) -> int | None:
        if attempt.tool == UNREADABLE:
            return self.next_position
        free = (n for n, step in enumerate(self.plan.steps) if n not in self._made and step.tool == attempt.tool)
        return next(free, self.next_position)

    def _in_vain(self, attempt: Attempt) -> bool:
        """Whether a call is known to have come to nothing, so that its step is still to be made."""
        refused = attempt.tool == UNREADABLE or attempt.standing is Standing.REJECTED
        return refused or (failed(attempt) and attempt.told_at_once)

    def repeats(self, position: int) -> int:
        """How often the call of a step was said again, executed or refused."""
        return self._repeats.get(position, 0)

    def last_refusal(self, position: int) -> str | None:
        """What the latest refusal of a step said."""
        said = [
            each.response for each in self.attempts if self._meant.get(id(each)) == position and self._in_vain(each)
        ]
        return said[-1] if said else None


def _same(before: Attempt, attempt: Attempt) -> bool:
    """Whether a call repeats one that was not refused.

    Two calls in a row that say the same never stand for two steps: swapping them would change nothing, and the steps of
    a sub-task are strictly ordered.
    """
    executed = before.standing is not Standing.REJECTED and before.tool != UNREADABLE
    return executed and before.tool == attempt.tool and before.arguments == attempt.arguments
