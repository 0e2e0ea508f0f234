"""Families of tests: how surprising the largest of many statistics is (single-step max-t).

The statistics of a family are dependent, because all arms play the same compositions. Their joint distribution under
the hypothesis that nothing differs is drawn with one random multiplier for each source task: a draw multiplies the
residuals that a source is part of, in all tests alike, so it keeps both the dependence between tests and that between
compositions.
"""

from collections.abc import Mapping, Sequence
from math import sqrt
from operator import mul
from random import Random

from asyncguard_benchmark.harness.statistics.clustered import Sources, mean_of, node_scores

DRAWS = 2000
"""Draws of the joint distribution."""


def max_t(
    tests: Mapping[str, Sequence[float]],
    sources: Sequence[Sources],
    *,
    observed: Mapping[str, float] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> dict[str, float]:
    """Return the adjusted p of each test: the chance that the largest statistic of the family gets so large.

    Args:
        tests: Name -> observations, all over the same compositions.
        sources: Source tasks of each observation.
        observed: Standard score of each test, at least 0, if not that of the plain mean of its observations.
        draws: Number of draws of the joint distribution.
        seed: Of the draws.
    """
    scores = {name: _standardised(values, sources) for name, values in tests.items()}
    moving = [vector for vector in scores.values() if any(vector)]
    random = Random(seed)
    width = len(moving[0]) if moving else 0
    largest: list[float] = []
    for _ in range(draws if moving else 0):
        weights = [random.gauss(0.0, 1.0) for _ in range(width)]
        largest.append(max(abs(sum(map(mul, weights, vector))) for vector in moving))
    found = {}
    for name, values in tests.items():
        # Few sources make large statistics of little surprise: compared is what is as surprising without that.
        statistic = mean_of(values, sources).z if observed is None else observed[name]
        # The data are one draw of their own, so p is never 0.
        found[name] = (
            (1 + sum(each >= statistic for each in largest)) / (1 + draws) if statistic else 1.0
        )
    return found


def _standardised(values: Sequence[float], sources: Sequence[Sources]) -> list[float]:
    scores = [score for _, score in sorted(node_scores(values, sources).items())]
    length = sqrt(sum(score**2 for score in scores))
    # Residuals that are 0 but for rounding make a statistic without a distribution.
    return [score / length for score in scores] if length > 1e-9 else [0.0] * len(scores)
