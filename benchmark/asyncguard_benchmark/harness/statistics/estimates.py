"""Estimates with an error, and their intervals by Student's distribution."""

from dataclasses import dataclass
from math import exp, inf, log, sqrt
from statistics import NormalDist

_NORMAL = NormalDist()
LEVEL = 0.95
"""Of every interval."""
Z = _NORMAL.inv_cdf((1 + LEVEL) / 2)


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate and its 95 % interval."""

    value: float
    low: float
    high: float

    def scaled(self, factor: float) -> "Interval":
        """Return the interval in another unit."""
        return Interval(value=factor * self.value, low=factor * self.low, high=factor * self.high)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean and how sure it is."""

    value: float
    error: float
    """Standard error, robust against observations that share sources."""
    naive: float
    """Standard error as if observations were independent."""
    freedom: int
    """Degrees of freedom: different sources, or different compositions if these are fewer, less one."""

    @property
    def interval(self) -> Interval:
        """95 %, two-sided."""
        reach = t_quantile(self.freedom) * self.error
        return Interval(value=self.value, low=self.value - reach, high=self.value + reach)

    @property
    def t(self) -> float:
        """The estimate in standard errors; 0 if it is 0."""
        if not self.value:
            return 0.0
        return self.value / self.error if self.error else inf

    @property
    def z(self) -> float:
        """The standard score, at least 0, that is as surprising as `t` is with so many degrees of freedom."""
        return standard_score(self.t, self.freedom)

    @property
    def p(self) -> float:
        """Two-sided, against 0."""
        return 2 * _NORMAL.cdf(-self.z)


def t_quantile(freedom: int) -> float:
    """Return the two-sided 95 % point of Student's distribution, by Wallace's approximation (1 % from 4 degrees on)."""
    stretched = (Z * (8 * freedom + 3) / (8 * freedom + 1)) ** 2 / freedom
    return sqrt(freedom * (exp(stretched) - 1))


def standard_score(t: float, freedom: int) -> float:
    """Return the standard score as surprising as t; the inverse of the same approximation, so that both agree."""
    return (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * log(1 + t * t / freedom))


def wilson(share: float, count: float) -> Interval:
    """Return the Wilson interval of a share.

    Args:
        share: From 0 to 1.
        count: Observations, or the number of independent ones that would know as much.
    """
    centre = (share + Z**2 / (2 * count)) / (1 + Z**2 / count)
    spread = Z * sqrt(share * (1 - share) / count + Z**2 / (4 * count**2)) / (1 + Z**2 / count)
    # At 0 and 1 an end of the interval is the value itself, but for rounding.
    return Interval(
        value=share,
        low=max(0.0, min(share, centre - spread)),
        high=min(1.0, max(share, centre + spread)),
    )
