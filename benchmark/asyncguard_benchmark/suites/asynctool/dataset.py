"""The sets of compositions of AsyncTool, by name."""

from asyncguard_benchmark.harness.loading import shipped_compositions
from asyncguard_benchmark.harness.scenario import Composition, Suite


def compositions(name: str) -> tuple[Composition, ...]:
    """Return the compositions of a set: `main`, `four` or `lite`.

    Raises:
        DataError: the file breaks the format or names something unknown.
    """
    return shipped_compositions(Suite(name))
