"""Everything that is found on the hazard suite, as values that reports are made of; JSON and back without loss.

Shares are in per cent, differences in points, with 95 % intervals that count all runs of one task as one observation.
"No data" is None, never 0.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from asyncguard.cli.output import replace_text
from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.faults import Hazard, Profile
from asyncguard_benchmark.harness.json_lines import whole_content
from asyncguard_benchmark.harness.statistics.estimates import Interval
from asyncguard_benchmark.suites.hazards.fault_sites import Sign
from asyncguard_benchmark.suites.hazards.instances import Gathering, Part
from asyncguard_benchmark.suites.hazards.metrics import Endings, Facet, Gain, Kept
from asyncguard_benchmark.suites.hazards.splits import BudgetPoint

FORMAT = 1
"""Version of the saved form."""
FILE = "hazards.json"
"""Name of the findings' file in the folder of a campaign."""
UNDIAGNOSED = "none"
"""Column of the confusion table for faults of which nothing was said."""


@dataclass(frozen=True, kw_only=True)
class Setup:
    """Settings that the arms of a study have in common."""

    agent: str
    player: str
    """Empty for the player without a runtime."""
    regime: str
    surface: str
    part: Part
    gathering: Gathering
    profile: Profile

    @property
    def label(self) -> str:
        """As one line of text."""
        named = (
            self.agent,
            self.player,
            self.regime,
            self.surface,
            self.part,
            self.gathering,
            self.profile,
        )
        return " · ".join(filter(None, named))


@dataclass(frozen=True, kw_only=True)
class Detection:
    """Of the runs in which a fault struck that shows itself in one way: in how many it was diagnosed at all."""

    sign: Sign
    struck: int
    detected: int
    share: Interval


@dataclass(frozen=True, kw_only=True)
class FalseAlarms:
    """Diagnoses where nothing was wrong."""

    runs: int
    alarmed: int
    """Runs with at least one."""
    share: Interval
    """Of runs."""
    calls: int
    """Calls of all these runs."""
    alarms: int
    """Diagnoses of all these runs."""


@dataclass(frozen=True, kw_only=True)
class ArmFigures:
    """One arm in one setup."""

    arm: str
    """Without what all arms of the suite have in common; `plain` for the player without a runtime."""
    config: Mapping[str, Any] = field(default_factory=dict)
    injected: Endings
    clean: Endings | None
    silent: Interval
    """Injected runs that ended with a wrong answer, or with wrong effects, and without a word."""
    kept: Kept | None
    """None if the tasks were not played clean."""
    to_none: Gain | None
    """Against the arm without recovery; None for that arm itself, or without it."""
    to_all: Gain | None
    """Against the arm with all of it."""
    to_none_clean: Gain | None
    """The same on clean runs: what recovery costs where nothing is wrong."""
    facets: Mapping[Facet, Mapping[str, Endings]]
    """Facet -> its value -> how the injected runs ended."""
    grid: Mapping[str, Mapping[str, Endings]] = field(default_factory=dict)
    """Hazard -> workflow -> how the injected runs ended."""
    budgets: tuple[BudgetPoint, ...]
    to_strict: Gain | None = None
    """With a hint against the same runs without; None unless this is the guided profile and both were played."""
    detections: tuple[Detection, ...]
    """Empty where no runtime diagnoses."""
    false_alarms: FalseAlarms | None
    """On clean runs; None where no runtime diagnoses, or none was played."""
    benign: FalseAlarms | None
    """On runs whose answers vary within their declarations."""
    confusion: Mapping[Hazard, Mapping[str, int]]
    """Injected hazard -> what was diagnosed first, or `UNDIAGNOSED` -> runs. Of one fault only."""


@dataclass(frozen=True, kw_only=True)
class HazardStudy:
    """All arms in one setup."""

    setup: Setup
    arms: tuple[ArmFigures, ...]

    def arm(self, name: str) -> ArmFigures | None:
        """Return the figures of an arm, or None."""
        return next((each for each in self.arms if each.arm == name), None)


@dataclass(frozen=True, kw_only=True)
class HazardSettings:
    """Settings of the measurement."""

    version: str
    """Version of asyncguard."""
    command: str
    """The command line that repeats it."""
    tasks: int
    instances: int
    seeds: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class HazardFindings:
    """The whole."""

    format: int = FORMAT
    settings: HazardSettings
    studies: tuple[HazardStudy, ...]


class HazardFindingsError(DataError):
    """The file holds no findings of this version; run `bench hazards ablate` again."""


_SAVED = TypeAdapter(HazardFindings)


def hazard_findings_to_json(findings: HazardFindings) -> dict[str, Any]:
    """Return the saved form: plain JSON values."""
    plain: dict[str, Any] = _SAVED.dump_python(findings, mode="json")
    return plain


def write_hazard_findings(findings: HazardFindings, path: Path) -> None:
    """Save findings."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, _SAVED.dump_json(findings, indent=1).decode() + "\n")


def read_hazard_findings(path: Path) -> HazardFindings:
    """Read saved findings.

    Raises:
        HazardFindingsError: the file holds none.
        OSError: the file cannot be read.
    """
    try:
        value = json.loads(whole_content(path).decode())
    except ValueError as problem:
        raise HazardFindingsError(str(path), f"is not JSON: {problem}") from problem
    if isinstance(value, Mapping) and value.get("format") != FORMAT:
        raise HazardFindingsError(
            str(path), f"has format {value.get('format')!r}; this version reads {FORMAT}"
        )
    try:
        return _SAVED.validate_python(value)
    except ValidationError as problem:
        first = problem.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise HazardFindingsError(str(path), f"{place}: {first['msg']}") from problem
