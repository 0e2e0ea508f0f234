"""Repetitions of one episode."""

from collections.abc import Iterable
from math import comb


def pass_hat(successes: int, trials: int, k: int) -> float:
    """Return the unbiased chance that k fresh trials all succeed: C(successes, k) / C(trials, k).

    Raises:
        ValueError: fewer trials than k, or more successes than trials.
    """
    if not 0 <= successes <= trials or not 1 <= k <= trials:
        raise ValueError(
            f"no estimate of {k} successes in a row from {successes} of {trials} trials"
        )
    return comb(successes, k) / comb(trials, k)


def mean_pass_hat(counts: Iterable[tuple[int, int]], k: int) -> float | None:
    """Return the mean of `pass_hat` over compositions that have at least k trials; None if none has.

    Args:
        counts: Successes and trials of each composition.
        k: Number of trials in a row.
    """
    found = [pass_hat(successes, trials, k) for successes, trials in counts if trials >= k]
    return sum(found) / len(found) if found else None
