"""Decimal numbers kept exact while a function calculates, and rounded once, at its end."""

import math
from collections.abc import Iterable
from fractions import Fraction

from asyncguard_benchmark.errors import ToolFailure

_LARGEST_RESULT = 10**300
"""Beyond it a float would be infinite, which JSON does not know."""


def exact(value: float) -> Fraction:
    """Return the decimal number that the agent wrote, not its nearest binary neighbour."""
    if not math.isfinite(value):
        raise ToolFailure(f"{value} is not a number to calculate with.")
    return Fraction(str(value))


def exact_sum(values: Iterable[float]) -> Fraction:
    """Return the sum of decimal numbers."""
    return sum(map(exact, values), Fraction())


def rounded(value: Fraction, places: int) -> int | float:
    """Return a number rounded to `places` decimals, half away from zero; a whole number comes without a fraction."""
    if abs(value) > _LARGEST_RESULT:
        raise ToolFailure("The result is too large.")
    scaled = math.floor(abs(value) * 10**places + Fraction(1, 2))
    result = Fraction(scaled if value >= 0 else -scaled, 10**places)
    return result.numerator if result.denominator == 1 else float(result)
