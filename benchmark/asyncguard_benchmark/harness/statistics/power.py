"""Power of a comparison: the effect it could have missed, and the observations that another one needs."""

from math import ceil, sqrt
from statistics import NormalDist

POWER = 0.8
"""Chance with which an effect is to be seen, that is, with which its 95 % interval leaves zero out."""


def least_seen(reach: float, error: float) -> float:
    """Return the least effect that a comparison would have shown in four of five repetitions.

    An effect below it could have been missed. It is taken from the error that was found, so for an effect near zero.

    Args:
        reach: Half of the width of the 95 % interval.
        error: Standard error, in the same unit.
    """
    return reach + NormalDist().inv_cdf(POWER) * error


def observations_needed(
    count: int, *, error: float, shared: float, reach: float, wanted: float
) -> int | None:
    """Return the observations at which the 95 % interval reaches no farther than wanted; None if no number is enough.

    What compositions add that have no task in common falls with their number. What pairs of them have in common stays,
    however many are made of the same tasks: then only more tasks narrow the interval.

    Args:
        count: Observations that there are.
        error: Their standard error.
        shared: The part of it that is due to pairs of different compositions with a task in common.
        reach: Half of the width of their 95 % interval.
        wanted: The same as it should be.
    """
    if reach <= wanted:
        return count
    bound = (wanted * error / reach) ** 2 - shared**2
    return ceil(count * (error**2 - shared**2) / bound) if bound > 0 else None


def tasks_needed(tasks: int, *, reach: float, wanted: float) -> int:
    """Return the tasks at which the 95 % interval reaches no farther than wanted, each in as many compositions.

    What tasks add to the variance falls with their number, as that of compositions does with theirs. It holds for tasks
    drawn from where these were drawn.

    Args:
        tasks: Different tasks of the compositions that there are.
        reach: Half of the width of their 95 % interval.
        wanted: The same as it should be.
    """
    return ceil(tasks * (reach / wanted) ** 2)


def shared_part(error: float, own: float) -> float:
    """Return the part of a standard error that is left if that of separate compositions is taken away."""
    return sqrt(max(0.0, error**2 - own**2))
