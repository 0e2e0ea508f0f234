"""Rates at which a persona errs, by kind of error."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Self

from asyncguard_benchmark.errors import BenchmarkError


class RatesError(BenchmarkError):
    """Rates of a persona are unknown, missing or out of range."""


SPREADS = frozenset({"frailty", "difficulty", "distraction"})
"""The rates that are widths in logits, not shares."""


@dataclass(frozen=True, kw_only=True)
class Rates:
    """The parameters of a persona. All are shares of occasions, but for the three that say they are logits.

    The defaults make no mistake.
    """

    haste: float = 0.0
    """Goes on with a sub-task while its latest call has no result, and guesses what it needs."""
    insight: float = 0.0
    """A guess is worked out in its head, where the call that is awaited is a pure function without state."""
    foresight: float = 0.0
    """A guess follows from the arguments of the awaited call, where they tell; right or wrong."""
    distractor: float = 0.0
    """A guess, or a wrong value, is one of fitting look that the sub-task was told for something else."""
    neglect: float = 0.0
    """Never begins a sub-task."""
    dropout: float = 0.0
    """Leaves a sub-task before a step; an occasion is a step."""
    slip: float = 0.0
    """Gives one argument of a call a wrong value though it knows the right one."""
    sprawl: float = 0.0
    """Gives each further argument of a call a wrong value, too, once one is wrong or guessed."""
    confusion: float = 0.0
    """Makes a call that belongs to another sub-task."""
    untidy: float = 0.0
    """Says a call with an argument missing, unknown or of a wrong type."""
    garbled: float = 0.0
    """Says a call in broken JSON."""
    repeat: float = 0.0
    """Makes the same call a second time."""
    repair: float = 0.0
    """Sees that a result is an error, and makes the step again with more care."""
    impatience: float = 0.0
    """Says that all is completed when it would have to wait."""
    collapse: float = 0.0
    """Breaks a run off at a random place; an occasion is a run."""
    persistence: float = 0.0
    """Looks at the sub-task of its latest call first, before it turns to another."""
    rotation: float = 0.0
    """Turns to the sub-task that it has left alone longest, and not to the first in the order of the prompt."""
    linger: float = 0.0
    """Waits for the result of its latest call, though another sub-task could go on."""
    frailty: float = 0.0
    """Logits by which runs differ: one standard deviation of what all error rates of a run share."""
    difficulty: float = 0.0
    """Logits by which single tasks differ: one standard deviation of what a task's error rates share in all runs."""
    distraction: float = 0.0
    """Logits by which errors become more likely with each result that is awaited."""
    compliance: float = 1.0
    """Does what a refusal asks for. Set, never fitted: the published tables know no refusals."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 0 or (value > 1 and name not in SPREADS):
                raise RatesError(
                    f"the rate {name} is {value}; it must be {'0 or more' if name in SPREADS else '0 to 1'}"
                )

    @classmethod
    def from_json(cls, value: Mapping[str, float]) -> Self:
        """Read rates back.

        Raises:
            RatesError: one is unknown or out of range.
        """
        unknown = sorted(set(value) - set(RATE_NAMES))
        if unknown:
            raise RatesError(
                f"there are no rates {', '.join(unknown)}; there are {', '.join(RATE_NAMES)}"
            )
        return cls(**value)

    def to_json(self) -> dict[str, float]:
        """Return every rate by its name."""
        return asdict(self)


RATE_NAMES: tuple[str, ...] = tuple(each.name for each in fields(Rates))
"""All rates, in the order of their definition."""
FITTED: tuple[str, ...] = tuple(name for name in RATE_NAMES if name != "compliance")
"""The rates that calibration looks for."""
