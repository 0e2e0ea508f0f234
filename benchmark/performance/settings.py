"""Settings of a run of the comparison."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Amount of measurements."""

    repeats: int
    """Rounds in which every subject runs once."""
    steps: int
    """Tool calls of a short run."""
    long_steps: int
    """Tool calls of a long run; growth compares the two."""
    seeds: int
    """Drawn sets of latencies per makespan case."""
    note: Callable[[str], None]
    """Takes a line about what could not be measured, or what is being measured now."""
