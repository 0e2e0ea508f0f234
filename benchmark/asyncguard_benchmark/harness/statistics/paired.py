"""Two arms on the same compositions and draws: how much they differ, and whether one does harm."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

from asyncguard_benchmark.harness.statistics.clustered import Sources, least_error, mean_of
from asyncguard_benchmark.harness.statistics.estimates import Estimate, Interval


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One composition and seed under both arms."""

    composition: str
    seed: int
    sources: Sources
    arm: bool
    """True if the arm solved it."""
    against: bool
    """True if the arm that it is compared with solved it."""

    @property
    def difference(self) -> int:
        """1 gained, -1 lost, 0 the same."""
        return int(self.arm) - int(self.against)


def paired_difference(pairs: Sequence[Pair]) -> Estimate:
    """Return the mean difference of two verdicts, from -1 to 1.

    Pairs that agree all alike say little about the ones to come: the naive error has half a pair more in each of the
    four cells (Agresti and Min 2005), so that no interval is without width. It never falls below that of pairs without
    a change, other seeds of one composition counted once.
    """
    sources = [pair.sources for pair in pairs]
    gained = sum(pair.difference > 0 for pair in pairs)
    lost = sum(pair.difference < 0 for pair in pairs)
    count = len(pairs) + 2
    shift = (gained - lost) / count
    floor = sqrt(max(0.0, (gained + lost + 1) / count - shift**2) / count)
    return mean_of(
        [pair.difference for pair in pairs], sources, floor=max(floor, least_error(sources))
    )


def difference_interval(pairs: Sequence[Pair]) -> Interval:
    """Return the mean difference of two verdicts with its interval, within what a difference of shares can be."""
    return bounded(paired_difference(pairs).interval)


def bounded(found: Interval) -> Interval:
    """Return the interval without values beyond -1 and 1, which no difference of shares can have."""
    return replace(found, low=max(-1.0, found.low), high=min(1.0, found.high))


def mcnemar(gained: int, lost: int) -> float:
    """Return McNemar's exact two-sided p: changes to either side are equally likely."""
    changed, fewer = gained + lost, min(gained, lost)
    # Whole numbers to the end: 2**changed is beyond a float from 1,024 changes on.
    tail = term = 1
    for number in range(fewer):
        term = term * (changed - number) // (number + 1)
        tail += term
    return min(1.0, 2 * tail / (1 << changed))


def is_harmless(estimate: Estimate, margin: float) -> bool:
    """Return True for non-inferiority: the whole interval lies above minus the margin."""
    return estimate.interval.low > -margin


def is_harmful(estimate: Estimate, margin: float) -> bool:
    """Return True if the whole interval lies below 0, and the estimate below minus the margin."""
    return estimate.interval.high < 0 and estimate.value < -margin
