"""Findings from the kept data of episodes: figures by setup and arm."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from asyncguard_benchmark.harness.arms import ALL, NONE
from asyncguard_benchmark.harness.faults import Hazard, Profile
from asyncguard_benchmark.harness.names import PLAIN
from asyncguard_benchmark.harness.scoring.answers import Ending
from asyncguard_benchmark.harness.statistics.clustered import share_of
from asyncguard_benchmark.harness.statistics.estimates import Interval
from asyncguard_benchmark.suites.hazards.fault_sites import Sign
from asyncguard_benchmark.suites.hazards.findings import (
    UNDIAGNOSED,
    ArmFigures,
    Detection,
    FalseAlarms,
    HazardStudy,
    Setup,
)
from asyncguard_benchmark.suites.hazards.instances import Gathering
from asyncguard_benchmark.suites.hazards.metrics import (
    Facet,
    Gain,
    Kept,
    endings_by,
    endings_of,
    gain_of,
    kept_of,
)
from asyncguard_benchmark.suites.hazards.mode_table import MODES
from asyncguard_benchmark.suites.hazards.observations import Observed
from asyncguard_benchmark.suites.hazards.scorer import HazardScore
from asyncguard_benchmark.suites.hazards.splits import curve_of, grid_of, hint_gain

FACETS = (Facet.HAZARD, Facet.MODE, Facet.SEVERITY, Facet.WORKFLOW, Facet.DOMAIN)
SILENT = frozenset({Ending.WRONG_ANSWER, Ending.WRONG_EFFECTS})


def studies_of(kept: Iterable[Observed]) -> tuple[HazardStudy, ...]:
    """Return the figures of all setups, in the order in which they first came.

    Clean runs, and those with benign variation, count beside the injected runs of the same tasks and conditions. Those
    with benign variation are a setup of their own, too.
    """
    injected: dict[Setup, dict[str, list[Observed]]] = {}
    quiet: dict[tuple[str, ...], list[Observed]] = {}
    for each in kept:
        if each.gathering is Gathering.BENIGN or not each.score.faults:
            quiet.setdefault(_conditions(each), []).append(each)
        if each.score.faults:
            injected.setdefault(_setup(each), {}).setdefault(each.arm, []).append(each)
    return tuple(
        HazardStudy(setup=setup, arms=_arms(setup, arms, quiet, _unhinted(setup, injected)))
        for setup, arms in injected.items()
    )


def _unhinted(
    setup: Setup, injected: Mapping[Setup, Mapping[str, Sequence[Observed]]]
) -> Mapping[str, Sequence[Observed]]:
    """Return the runs without a hint that belong to a setup with hints; none if it has none itself."""
    if setup.profile is Profile.STRICT:
        return {}
    return injected.get(replace(setup, profile=Profile.STRICT), {})


def _setup(each: Observed) -> Setup:
    return Setup(
        agent=each.score.agent,
        # One line of the tables, so that what a runtime is worth without any recovery is seen, too.
        player="" if each.arm == PLAIN else each.score.player,
        regime=each.regime,
        surface=each.surface,
        part=each.part,
        gathering=each.gathering or Gathering.SINGLE,
        profile=each.profile,
    )


def _conditions(each: Observed) -> tuple[str, ...]:
    return (
        each.arm,
        each.score.agent,
        "" if each.arm == PLAIN else each.score.player,
        each.regime,
        each.surface,
    )


def _arms(
    setup: Setup,
    arms: Mapping[str, Sequence[Observed]],
    quiet: Mapping[tuple[str, ...], Sequence[Observed]],
    unhinted: Mapping[str, Sequence[Observed]],
) -> tuple[ArmFigures, ...]:
    clean = {
        arm: _beside(setup, runs, quiet.get(_conditions(runs[0]), ())) for arm, runs in arms.items()
    }
    return tuple(_figures(arm, arms, clean, unhinted) for arm in arms)


def _beside(setup: Setup, runs: Sequence[Observed], quiet: Sequence[Observed]) -> list[Observed]:
    """Return the clean and benign runs that belong to injected ones: of the same tasks in the same company."""
    own = {(each.score.task_id, each.score.together) for each in runs}
    return [each for each in quiet if (each.score.task_id, each.score.together) in own]


def _figures(
    arm: str,
    arms: Mapping[str, Sequence[Observed]],
    quiet: Mapping[str, Sequence[Observed]],
    unhinted: Mapping[str, Sequence[Observed]],
) -> ArmFigures:
    runs = arms[arm]
    clean = {
        name: [each for each in found if not each.score.faults] for name, found in quiet.items()
    }
    benign = [each for each in quiet[arm] if each.score.faults]
    scores = _scores(runs)
    endings = endings_of(scores)
    if endings is None:
        raise ValueError(f"no run of {arm}")
    diagnoses = arm not in (PLAIN,)
    return ArmFigures(
        arm=arm,
        config=runs[0].config,
        injected=endings,
        clean=endings_of(_scores(clean[arm])),
        silent=_share([each.ending in SILENT for each in scores], scores),
        kept=_kept(scores, _scores(clean[arm])),
        to_none=_gain(arm, NONE, arms),
        to_all=_gain(arm, ALL, arms),
        to_none_clean=_gain(arm, NONE, clean),
        facets={facet: endings_by(scores, facet, _is_visible) for facet in FACETS},
        grid=grid_of(scores),
        budgets=curve_of(runs),
        to_strict=hint_gain(runs, unhinted.get(arm, ())) if unhinted else None,
        detections=_detections(runs) if diagnoses else (),
        false_alarms=_false_alarms(clean[arm]) if diagnoses else None,
        benign=_false_alarms(benign) if diagnoses else None,
        confusion=_confusion(runs) if diagnoses else {},
    )


def _scores(runs: Iterable[Observed]) -> list[HazardScore]:
    return [each.score for each in runs]


def _share(verdicts: Sequence[bool], scores: Sequence[HazardScore]) -> Interval:
    return share_of(verdicts, [frozenset(each.together) for each in scores]).scaled(100)


def _is_visible(mode: str) -> bool:
    return MODES[mode].visible


def _kept(injected: Sequence[HazardScore], clean: Sequence[HazardScore]) -> Kept | None:
    """Return the comparison with clean runs; None unless every injected run has its clean one."""
    there = {(each.task_id, each.together, each.run) for each in clean}
    wanted = {(each.task_id, each.together, each.run) for each in injected}
    return kept_of(injected, clean) if wanted <= there else None


def _gain(arm: str, base: str, arms: Mapping[str, Sequence[Observed]]) -> Gain | None:
    """Return the gain over a base arm; None against itself, and unless every run has its counterpart."""
    if arm == base or not arms.get(base):
        return None
    there = {_pair_key(each) for each in arms[base]}
    own = [each for each in arms[arm] if _pair_key(each) in there]
    return gain_of(_scores(own), _scores(arms[base])) if len(own) == len(arms[arm]) else None


def _pair_key(each: Observed) -> tuple[object, ...]:
    return (each.score.task_id, each.score.together, each.score.faults, each.score.run)


def _detections(runs: Sequence[Observed]) -> tuple[Detection, ...]:
    found = []
    for sign in Sign:
        struck = [each for each in runs if each.struck and each.sign is sign]
        if struck:
            verdicts = [each.detected for each in struck]
            share = _share(verdicts, _scores(struck))
            found.append(
                Detection(sign=sign, struck=len(struck), detected=sum(verdicts), share=share)
            )
    return tuple(found)


def _false_alarms(runs: Sequence[Observed]) -> FalseAlarms | None:
    if not runs:
        return None
    alarmed = [bool(each.diagnosed) for each in runs]
    return FalseAlarms(
        runs=len(runs),
        alarmed=sum(alarmed),
        share=_share(alarmed, _scores(runs)),
        calls=sum(each.score.calls for each in runs),
        alarms=sum(len(each.diagnosed) for each in runs),
    )


def _confusion(runs: Sequence[Observed]) -> dict[Hazard, dict[str, int]]:
    counts: dict[Hazard, Counter[str]] = {}
    for each in runs:
        if each.struck and len(each.score.faults) == 1:
            counts.setdefault(each.score.faults[0].hazard, Counter())[
                each.at_fault or UNDIAGNOSED
            ] += 1
    return {hazard: dict(counts[hazard]) for hazard in Hazard if hazard in counts}
