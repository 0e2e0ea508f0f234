"""Means over compositions that share source tasks.

Two compositions with a sub-task in common are not two observations: if an agent fails that sub-task, it fails in both.
The variance of a mean counts every pair of observations that share a source, whole groups of two, three or four at once
(dyadic-robust, after Fafchamps and Gubert 2007, Aronow, Samii and Assenova 2015):

    V = 1/n^2 * sum of u_i u_j over all i, j that share at least one source,   u = value - mean

The sum over pairs that share *at least one* source is taken by inclusion and exclusion over sets of sources, which
costs a few dictionary entries an observation and no pair of observations. Repetitions of one composition (other seeds)
share all their sources and so are one cluster, as they should be.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from math import sqrt

from asyncguard_benchmark.harness.statistics.estimates import (
    Estimate,
    Interval,
    t_quantile,
    wilson,
)

Sources = frozenset[str]
"""Ids of the source tasks that an observation is made of; never empty."""


def shared_sum(values: Sequence[float], sources: Sequence[Sources]) -> float:
    """Return the sum of value_i * value_j over all ordered pairs that share at least one source, i = j included."""
    return sum(
        sign * sum(map(values.__getitem__, places)) ** 2
        for sign, places in _sharing(tuple(sources))
    )


@lru_cache(maxsize=2**8)
def _shared_pairs(sources: tuple[Sources, ...]) -> float:
    """Return the number of ordered pairs of observations that share at least one source."""
    return shared_sum([1.0] * len(sources), sources)


@lru_cache(maxsize=2**8)
def _sharing(sources: tuple[Sources, ...]) -> Sequence[tuple[int, Sequence[int]]]:
    """Return the observations that share each set of sources, with its sign in inclusion and exclusion.

    Kept, as the figures of a condition are of the same observations.
    """
    found: dict[tuple[str, ...], list[int]] = {}
    for place, own in enumerate(sources):
        for subset in _subsets(own):
            found.setdefault(subset, []).append(place)
    return [(1 if len(subset) % 2 else -1, places) for subset, places in found.items()]


@lru_cache(maxsize=2**14)
def _subsets(own: Sources) -> tuple[tuple[str, ...], ...]:
    # Kept: the same compositions are looked at for each pair of arms, agent and figure.
    ordered = sorted(own)
    sizes = range(1, len(ordered) + 1)
    return tuple(subset for size in sizes for subset in combinations(ordered, size))


def mean_of(values: Sequence[float], sources: Sequence[Sources], *, floor: float = 0.0) -> Estimate:
    """Return the mean of observations, with a dyadic-robust error.

    The robust error is never smaller than the naive one: the estimator of the variance may come out too small, or even
    negative, where few sources are shared.

    Args:
        values: At least one.
        sources: Source tasks of each observation.
        floor: Least naive standard error, for observations that happen to be all alike.

    Raises:
        ValueError: there is no observation.
    """
    count = len(values)
    if not count:
        raise ValueError("a mean needs an observation")
    mean = sum(values) / count
    residuals = [value - mean for value in values]
    naive = max(
        floor, sqrt(sum(residual**2 for residual in residuals) / (count * max(1, count - 1)))
    )
    nodes = len(frozenset().union(*sources))
    # Residuals add up to 0, which makes them too small by the share of pairs that count (with separate clusters of one
    # size this is the usual G / (G - 1)).
    alike = _shared_pairs(tuple(sources)) / count**2
    variance = shared_sum(residuals, sources) / count**2 / max(1 - alike, 1 / nodes)
    # Compositions that share nothing have more sources than there are independent observations.
    freedom = max(1, min(nodes, len(set(sources))) - 1)
    return Estimate(value=mean, error=sqrt(max(variance, naive**2)), naive=naive, freedom=freedom)


def least_error(sources: Sequence[Sources]) -> float:
    """Return the least uncertainty of a mean difference, though all observations agree.

    Repetitions are not counted: with more seeds, an agent that does the same with every seed would
    seem ever more certain.
    """
    return 1 / (len(set(sources)) + 2)


def share_of(verdicts: Sequence[bool], sources: Sequence[Sources]) -> Interval:
    """Return a share with a Wilson interval in which clustering counts as fewer observations; from 0 to 1.

    Raises:
        ValueError: there is no observation.
    """
    estimate = mean_of([float(verdict) for verdict in verdicts], sources)
    # Verdicts that are all alike do not show how far repetitions depend on each other: they count once.
    alike = len(verdicts) / len(set(sources))
    effect = (estimate.error / estimate.naive) ** 2 if estimate.naive else alike
    return wilson(estimate.value, len(verdicts) / effect)


def ratio_of(
    numerators: Sequence[float], denominators: Sequence[float], sources: Sequence[Sources]
) -> Estimate | None:
    """Return the ratio of two sums over the same observations, linearised; None if the denominator is 0."""
    total = sum(denominators)
    if not total:
        return None
    ratio = sum(numerators) / total
    scale = len(numerators) / total
    found = mean_of(
        [scale * (up - ratio * down) for up, down in zip(numerators, denominators, strict=True)],
        sources,
    )
    return Estimate(value=ratio, error=found.error, naive=found.naive, freedom=found.freedom)


def ratio_interval(
    numerators: Sequence[float], denominators: Sequence[float], sources: Sequence[Sources]
) -> Interval | None:
    """Return the ratio of two means with Fieller's interval; None if the denominator may be 0.

    It holds every ratio r for which numerator - r * denominator may be 0, so it is not symmetric, and right where the
    denominator is known badly.
    """
    top, bottom, both = (
        mean_of(values, sources, floor=least_error(sources))
        for values in (
            numerators,
            denominators,
            [up - down for up, down in zip(numerators, denominators, strict=True)],
        )
    )
    square = t_quantile(bottom.freedom) ** 2
    common = (top.error**2 + bottom.error**2 - both.error**2) / 2
    lead = bottom.value**2 - square * bottom.error**2
    if lead <= 0:
        return None
    middle = top.value * bottom.value - square * common
    spread = sqrt(max(0.0, middle**2 - lead * (top.value**2 - square * top.error**2)))
    value = top.value / bottom.value
    low, high = (middle - spread) / lead, (middle + spread) / lead
    return Interval(value=value, low=min(low, value), high=max(high, value))


def own_error(values: Sequence[float], sources: Sequence[Sources]) -> float:
    """Return the standard error of a mean as if compositions shared nothing; repetitions of one are one cluster."""
    mean, sums = sum(values) / len(values), dict[Sources, float]()
    for value, own in zip(values, sources, strict=True):
        sums[own] = sums.get(own, 0.0) + value - mean
    count = len(sums)
    return sqrt(sum(each**2 for each in sums.values()) * count / max(1, count - 1)) / len(values)


def share_among(
    hits: Sequence[int], chances: Sequence[int], sources: Sequence[Sources]
) -> Interval | None:
    """Return the share of hits among chances that come in clusters, 0 to 1; None without a chance.

    Args:
        hits: By observation.
        chances: By observation, never fewer than its hits.
        sources: Source tasks of each observation.
    """
    ratio = ratio_of(hits, chances, sources)
    if ratio is None:
        return None
    count = float(sum(chances))
    if ratio.error:
        count = min(count, ratio.value * (1 - ratio.value) / ratio.error**2)
    return wilson(ratio.value, max(1.0, count))


def node_scores(values: Sequence[float], sources: Sequence[Sources]) -> Mapping[str, float]:
    """Return the sum of the residuals of all observations of each source."""
    mean = sum(values) / len(values)
    scores: dict[str, float] = {}
    for value, own in zip(values, sources, strict=True):
        for source in own:
            scores[source] = scores.get(source, 0.0) + value - mean
    return scores
