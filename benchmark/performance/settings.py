"""Settings of a run of the comparison."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Amount of measurements."""

    repeats: int
    """Rounds in which every subject runs once, at most."""
    long_repeats: int
    """The same of runs so long that they average over their own steps or threads."""
    precision: float
    """Share by which a ratio may be off, at 95 %, for its contest to end before the last round."""
    steps: int
    """Tool calls of a short run."""
    long_steps: int
    """Tool calls of a long run; growth compares the two."""
    seeds: int
    """Drawn sets of latencies per makespan case."""
    threads: int
    """Threads of an agent whose leavings are counted."""
    at_once: int
    """Threads of an agent that run at once."""
    note: Callable[[str], None]
    """Takes a line about what could not be measured, or what is being measured now."""
