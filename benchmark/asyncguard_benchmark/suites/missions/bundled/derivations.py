"""Values that are worked out: the kinds that a program can check; all others say in words how."""

from collections.abc import Callable, Mapping
from math import isclose, prod

from asyncguard_benchmark.suites.missions.bundled.bundle import Source

_CHECKED: Mapping[str, Callable[[list[float]], float]] = {
    "sum": sum,
    "difference": lambda said: abs(said[0] - sum(said[1:])),
    "product": prod,
    "double": lambda said: 2 * said[0],
    "half": lambda said: said[0] / 2,
    "quotient": lambda said: said[0] / said[1],
    "percentage": lambda said: said[0] * said[1] / 100,
    "smallest": min,
    "largest": max,
}
"""First word of `how` -> the value, of the numbers among the inputs in order."""


def derivation_problem(source: Source) -> str | None:
    """Return what is wrong with a derived value, to two decimals, or None; words without a rule are not judged."""
    rule = _CHECKED.get(source.how.split()[0].rstrip(",:"))
    if rule is None:
        return None
    numbers = [each.value for each in source.inputs]
    if not isinstance(source.value, int | float) or not all(
        isinstance(n, int | float) for n in numbers
    ):
        return f"{source.how}: value and inputs must be numbers"
    found = rule(numbers)
    if not isclose(found, source.value, abs_tol=0.0051):
        return f"{source.how} of {numbers} is {found:g}, not {source.value}"
    return None
