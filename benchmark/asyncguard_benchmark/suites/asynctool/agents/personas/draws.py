"""Random draws by name: the same key gives the same draw, whenever and however often it is asked for."""

import hashlib
from collections.abc import Hashable
from functools import lru_cache
from math import log

_BITS = 53
_LOGISTIC_SD = 1.813799364234218
"""Standard deviation of the logistic distribution, pi / sqrt(3)."""

Key = tuple[Hashable, ...]


@lru_cache(maxsize=1 << 20)
def _share(key: Key) -> float:
    digest = hashlib.blake2b(repr(key).encode(), digest_size=8).digest()
    # Half a step above the grid, so that neither 0 nor 1 comes out and every logit is finite.
    return ((int.from_bytes(digest, "big") >> (64 - _BITS)) + 0.5) / (1 << _BITS)


@lru_cache(maxsize=1 << 20)
def _logit_of(key: Key) -> float:
    return logit(_share(key))


def logit(share: float) -> float:
    """Return the logit of a share; 0 and 1 are minus and plus infinity."""
    if share <= 0:
        return float("-inf")
    return log(share / (1 - share)) if share < 1 else float("inf")


class Draws:
    """The draws of one agent in one composition.

    Keys hold the sub-task, the step, the attempt and what the draw is for, never the turn: two arms of an experiment in
    which a step is made at different times share its draws.
    """

    def __init__(self, seed: int, composition_id: str) -> None:
        self._key: Key = (seed, composition_id)

    def share(self, *key: Hashable) -> float:
        """Return a number from above 0 to below 1, uniform."""
        return _share((*self._key, *key))

    def below(self, threshold: float, *key: Hashable) -> bool:
        """Return True if the draw is below a threshold in logits."""
        return _logit_of((*self._key, *key)) < threshold

    def deviation(self, *key: Hashable) -> float:
        """Return a draw with mean 0 and standard deviation 1."""
        return _logit_of((*self._key, *key)) / _LOGISTIC_SD


def deviation_of_task(task_id: str) -> float:
    """Return the difficulty of a task, in standard deviations: the same in all compositions and for all seeds."""
    return _logit_of(("difficulty", task_id)) / _LOGISTIC_SD
