"""Findings about guards as detectors: beside unguarded runs, and on derived values."""

from dataclasses import dataclass
from enum import StrEnum

from asyncguard_benchmark.harness.ablation.setups import HarmVerdict, Setup
from asyncguard_benchmark.harness.statistics.estimates import Interval


class Truth(StrEnum):
    """Criterion by which a call of an unguarded run is judged; none of them reads a guard's state."""

    WRONG = "wrong"
    """It is none of the gold calls that remain."""
    IRRECOVERABLE = "irrecoverable"
    """The sub-task cannot be solved any more: the oracle, going on from here, does not."""
    HARMFUL = "harmful"
    """The same agent, going on without it, solves more sub-tasks than going on with it."""


@dataclass(frozen=True, kw_only=True)
class Detection:
    """One guard as a detector of one kind of call."""

    truth: Truth
    positives: int
    """Calls that are of this kind."""
    hits: int
    """Calls of this kind that the guard objected to."""
    precision: Interval | None
    """Hits among its objections, in per cent (a ratio of sums, linearised; dyadic-robust)."""
    recall: Interval | None
    """Hits among the calls of this kind."""


@dataclass(frozen=True, kw_only=True)
class GuardDetections:
    """One guard in shadow mode."""

    guard: str
    rejections: int
    deferrals: int
    detections: tuple[Detection, ...]

    @property
    def objections(self) -> int:
        """Calls that it would not have let pass as they came."""
        return self.rejections + self.deferrals


@dataclass(frozen=True, kw_only=True)
class Shadow:
    """The guards beside unguarded trajectories: judged, and not heeded."""

    setup: Setup
    episodes: int
    calls: int
    guards: tuple[GuardDetections, ...]


@dataclass(frozen=True, kw_only=True)
class FalseAlarms:
    """Interventions of one guard against an agent that makes no mistake."""

    guard: str
    rejections: int
    deferrals: int
    """A deferral costs no round; it is listed apart."""
    nudges: int
    rate: Interval
    """Rejections per 100 calls (Wilson)."""


@dataclass(frozen=True, kw_only=True)
class Wild:
    """Guard errors on the wild split, where values are derived: the oracle plays, every intervention is an error."""

    setup: Setup
    episodes: int
    calls: int
    guards: tuple[FalseAlarms, ...]
    unguarded: Interval
    guarded: Interval
    difference: Interval
    harm: HarmVerdict
