"""Everything that an ablation finds, as values that reports are made of; JSON and back without loss.

Shares and differences of shares are in per cent and percentage points. Every interval is a 95 % interval; how it comes
about is said at the field. "No data" is None, never 0.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from asyncguard.cli.output import replace_text
from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.ablation.detections import Detection as Detection
from asyncguard_benchmark.harness.ablation.detections import FalseAlarms as FalseAlarms
from asyncguard_benchmark.harness.ablation.detections import GuardDetections as GuardDetections
from asyncguard_benchmark.harness.ablation.detections import Shadow as Shadow
from asyncguard_benchmark.harness.ablation.detections import Truth as Truth
from asyncguard_benchmark.harness.ablation.detections import Wild as Wild
from asyncguard_benchmark.harness.ablation.setups import HarmVerdict as HarmVerdict
from asyncguard_benchmark.harness.ablation.setups import Setup as Setup
from asyncguard_benchmark.harness.arms import ArmKind as ArmKind
from asyncguard_benchmark.harness.json_lines import whole_content
from asyncguard_benchmark.harness.statistics.estimates import Interval as Interval
from asyncguard_benchmark.harness.statistics.power import least_seen, observations_needed

FORMAT = 1
"""Version of the saved form."""
MOST_ERRORS = 0.02
"""Share of infrastructure errors above which an arm counts for nothing."""
MARGIN = 1.0
"""Non-inferiority margin, in points: a guard that costs less does no harm."""
LEAST_IMITATED = 0.5
"""Share of refusals and reminders that a sham has to make of those of the guards to be a control of them."""
FEW = 4
"""Refusals and reminders of which that cannot be asked: one that comes to nothing is a large share of them."""


@dataclass(frozen=True, kw_only=True)
class ArmFigures:
    """One arm in one setup."""

    arm: str
    kind: ArmKind
    episodes: int
    """Episodes judged."""
    inferred: int = 0
    """Number of them that were not played: a run under more switches is this arm's run, too, if no
    switch that this arm lacks intervened in it."""
    errors: int
    """Infrastructure errors: excluded from every figure, and counted here."""
    valid: bool
    """True if few enough episodes were lost to errors; figures of an invalid arm are not used."""
    overall: Interval | None
    """Compositions solved; dyadic-robust over shared source tasks."""
    accuracy: Interval | None
    """Sub-tasks solved; clustered as above."""
    rounds: float | None
    """Mean messages of the agent, which are model calls."""
    ticks: float | None
    """Mean ticks: rounds, and waits of the runtime."""
    characters: float | None
    """Mean length of all that the agent was sent and said, each message counted in every round that sends it again;
    four make about one token."""
    premature_needed: float | None
    """Mean calls made before a value that they needed was there."""
    interventions: Mapping[str, int] = field(default_factory=dict)
    """Guard -> verdicts other than to let the call pass (or the run end), over all episodes. Rejections, deferrals and
    nudges count alike; what was let pass is not in it."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """The switches."""


@dataclass(frozen=True, kw_only=True)
class McNemar:
    """The pairs in which two arms differ."""

    gained: int
    """Solved by the arm only."""
    lost: int
    """Solved by the arm that it is compared with only."""
    p: float
    """Exact, two-sided. It takes compositions for independent, which they are not: to be read beside the effect."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """An arm beside another, on the same compositions and seeds."""

    arm: str
    against: str
    pairs: int
    against_value: float
    """Overall of the arm that it is compared with, on these pairs, in per cent."""
    difference: Interval
    """Difference of overall, in points; dyadic-robust."""
    standard_error: float
    """Dyadic-robust, in points."""
    naive_error: float
    """As if compositions were independent: to show what sharing sources costs."""
    shared_error: float = 0.0
    """The part of the standard error that is due to different compositions with a task in common, in points: what more
    compositions of the same tasks do not take away."""
    p: float
    """Two-sided, from the robust standard error."""
    p_family: float | None
    """The same, adjusted for all tests of its family by the distribution of their largest statistic (max-t)."""
    family: str
    """Name of the family of tests."""
    rounds: Interval | None
    """Difference of rounds, in messages."""
    ticks: Interval | None
    mcnemar: McNemar
    harm: HarmVerdict

    @property
    def reach(self) -> float:
        """Half of the width of the interval, in points; the longer side where a bound of differences cuts it."""
        found = self.difference
        return max(found.value - found.low, found.high - found.value)

    @property
    def least_seen(self) -> float:
        """The least effect, in points, that would have been seen with a chance of `POWER`."""
        return least_seen(self.reach, self.standard_error)

    def pairs_needed(self, reach: float) -> int | None:
        """Return the pairs for an interval that reaches so many points, or None if these tasks do not allow it."""
        return observations_needed(
            self.pairs,
            error=self.standard_error,
            shared=self.shared_error,
            reach=self.reach,
            wanted=reach,
        )


@dataclass(frozen=True, kw_only=True)
class Flip:
    """A composition whose verdict an arm changes."""

    composition: str
    seed: int
    arm: str
    against: str
    gained: bool
    """Solved by the arm and not by the other; otherwise the reverse."""


@dataclass(frozen=True, kw_only=True)
class ShapleyValue:
    """Effect of one switch, averaged over all orders in which the switches can be turned on."""

    switch: str
    value: Interval
    """Points of overall; dyadic-robust."""


@dataclass(frozen=True, kw_only=True)
class Shapley:
    """The effect of all guards, shared out among them. The values add up to `all` minus `none`."""

    none: float
    """Overall with none of the switches."""
    all: float
    """Overall with all of them."""
    values: tuple[ShapleyValue, ...]
    base: Mapping[str, bool]
    """Switches that are on throughout and get no share."""
    coalitions: int
    """Sets of switches times episodes: what a plain computation plays."""
    played: int
    """Episodes that were played to know them all."""


@dataclass(frozen=True, kw_only=True)
class Sham:
    """Random rejections beside no guards: what feedback and further attempts are worth by themselves."""

    effect: Effect
    """The sham against no guards."""
    beside_features: Effect
    """The sham against the features of the runtime without guards: refusals alone."""
    rejections_wanted: int
    """Rejections in the paired runs with all guards."""
    rejections_made: int
    """Rejections that the sham made of them; fewer if runs ended before."""
    reminders_wanted: int = 0
    """Reminders in place of an end in the paired runs."""
    reminders_made: int = 0

    @property
    def works(self) -> bool:
        """True if it did most of what it was to imitate; otherwise what it is compared with has no control."""
        wanted = self.rejections_wanted + self.reminders_wanted
        made = self.rejections_made + self.reminders_made
        return made >= LEAST_IMITATED * wanted or wanted < FEW


@dataclass(frozen=True, kw_only=True)
class Study:
    """All arms in one setup."""

    setup: Setup
    arms: tuple[ArmFigures, ...]
    effects: tuple[Effect, ...]
    """`all` and every group of guards against the sham, every arm against `none`, and every leave-one-out arm against
    `all`."""
    shapley: Shapley | None = None
    sham: Sham | None = None
    same: tuple[Effect, ...] = ()
    """A/A: arms against themselves with other seeds. An effect here is noise, or an error of the experiment."""
    flips: tuple[Flip, ...] = ()

    def arm(self, name: str) -> ArmFigures | None:
        """Return the figures of an arm, or None."""
        return next((each for each in self.arms if each.arm == name), None)

    def effect(self, arm: str, against: str) -> Effect | None:
        """Return the effect of an arm against another, or None."""
        return next(
            (each for each in self.effects if (each.arm, each.against) == (arm, against)), None
        )


@dataclass(frozen=True, kw_only=True)
class FourCells:
    """Guarded and unguarded, without and with delay. Overall in per cent; all intervals dyadic-robust."""

    setup: Setup
    """Its regime is the delayed one."""
    unguarded_sync: Interval
    guarded_sync: Interval
    unguarded_delayed: Interval
    guarded_delayed: Interval
    timing_delayed: Interval
    """With the timing guards only, delayed."""
    gap: Interval
    """Cost of delay without guards: unguarded sync minus unguarded delayed."""
    closed_by_timing: Interval | None
    """Per cent of the gap that the timing guards close, by Fieller; None where there is no gap to speak of."""
    closed_by_all: Interval | None
    interaction: Interval
    """(guarded - unguarded) delayed minus (guarded - unguarded) sync: what guards do against delay, and not against
    mistakes that delay has no part in."""


@dataclass(frozen=True, kw_only=True)
class CompliancePoint:
    """One rate of compliance with feedback."""

    compliance: float
    unguarded: Interval
    guarded: Interval
    difference: Interval
    """All guards against none, in points."""
    beside_sham: Interval | None = None
    """All guards against the sham, in points; None if no sham was played."""


@dataclass(frozen=True, kw_only=True)
class ComplianceSweep:
    """Dependence of a guard's effect on the agent's compliance with refusals; swept, never fitted."""

    setup: Setup
    points: tuple[CompliancePoint, ...]


@dataclass(frozen=True, kw_only=True)
class Pooled:
    """Several agents as one: each of their episodes is an observation. It speaks of these agents and of no others."""

    agents: tuple[str, ...]
    """Their labels."""
    study: Study
    compliance: ComplianceSweep | None = None


@dataclass(frozen=True, kw_only=True)
class EnsembleEffect:
    """An effect over the parameter sets that describe one model equally well: a range, not a number."""

    ensemble: str
    setup: Setup
    """Its agent is the ensemble."""
    arm: str
    against: str
    members: int
    low: float
    median: float
    high: float
    harmful: int
    """Members for which the verdict is that the arm does harm."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings and data of the ablation."""

    version: str
    """Version of asyncguard."""
    command: str
    """The command line that repeats it."""
    suite: str
    """Name of the compositions."""
    compositions: int
    every: int = 1
    """Each agent and seed played every n-th of them only, and others than the next ones."""
    sub_tasks: int
    """Number over all compositions."""
    sources: int
    """Different sub-tasks among them: what the intervals are robust against sharing."""
    seeds: tuple[int, ...]
    data: str
    """Digest of the compositions."""
    configs: Mapping[str, str]
    """Arm -> digest of its guard configuration."""
    resamples: int
    """Draws behind the max-t distribution."""
    margin: float = MARGIN
    most_errors: float = MOST_ERRORS


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The whole."""

    format: int = FORMAT
    settings: Settings
    studies: tuple[Study, ...] = ()
    four_cells: tuple[FourCells, ...] = ()
    shadow: tuple[Shadow, ...] = ()
    wild: tuple[Wild, ...] = ()
    compliance: tuple[ComplianceSweep, ...] = ()
    ensembles: tuple[EnsembleEffect, ...] = ()
    pooled: tuple[Pooled, ...] = ()
    """The best members of all ensembles as one, in the main regime."""


class FindingsFormatError(DataError):
    """The file holds no findings of this version; run `bench ablate` again."""


_SAVED = TypeAdapter(Findings)


def findings_to_json(findings: Findings) -> dict[str, Any]:
    """Return the saved form: plain JSON values."""
    plain: dict[str, Any] = _SAVED.dump_python(findings, mode="json")
    return plain


def findings_from_json(value: Any, where: str = "findings") -> Findings:
    """Read the saved form back.

    Args:
        value: Plain JSON values.
        where: Name of the source in an error, say the path of the file.

    Raises:
        FindingsFormatError: a part is missing or of the wrong type, or the version is another.
    """
    if isinstance(value, Mapping) and value.get("format") != FORMAT:
        raise FindingsFormatError(
            where, f"has format {value.get('format')!r}; this version reads {FORMAT}"
        )
    try:
        return _SAVED.validate_python(value)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise FindingsFormatError(where, f"{place}: {first['msg']}") from problem


def write_findings(findings: Findings, path: Path) -> None:
    """Save findings."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, _SAVED.dump_json(findings, indent=1).decode() + "\n")


def read_findings(path: Path) -> Findings:
    """Read saved findings.

    Raises:
        FindingsFormatError: the file holds none.
        OSError: the file cannot be read.
    """
    try:
        value = json.loads(whole_content(path).decode())
    except ValueError as problem:
        raise FindingsFormatError(str(path), f"is not JSON: {problem}") from problem
    return findings_from_json(value, str(path))
