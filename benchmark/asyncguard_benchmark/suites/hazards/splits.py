"""Success of hazard runs by two facets at once, against calls spent, and with a hint beside without.

"No data" is None, never 0; intervals count all runs of one task as one observation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from asyncguard_benchmark.harness.faults import Profile
from asyncguard_benchmark.harness.statistics.clustered import share_of
from asyncguard_benchmark.harness.statistics.estimates import Interval
from asyncguard_benchmark.suites.hazards.metrics import Endings, Facet, Gain, endings_by, gain_of
from asyncguard_benchmark.suites.hazards.observations import Observed
from asyncguard_benchmark.suites.hazards.scorer import HazardScore

BUDGETS = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0)
"""Budgets of calls, as multiples of the ground truth."""


@dataclass(frozen=True, kw_only=True)
class BudgetPoint:
    """Success where more calls than a budget count as failure."""

    factor: float
    """The budget, in calls of the ground truth."""
    success: Interval


def curve_of(runs: Sequence[Observed]) -> tuple[BudgetPoint, ...]:
    """Return success against the budget of calls; it never falls from one point to the next."""
    sources = [frozenset(each.score.together) for each in runs]
    return tuple(
        BudgetPoint(
            factor=factor,
            success=share_of(
                [
                    each.score.success and each.score.calls <= factor * each.gold_calls
                    for each in runs
                ],
                sources,
            ).scaled(100),
        )
        for factor in BUDGETS
    )


def grid_of(scores: Sequence[HazardScore]) -> Mapping[str, Mapping[str, Endings]]:
    """Return hazard -> workflow -> how its runs ended; a cell without a run is absent."""
    rows: dict[str, list[HazardScore]] = {}
    for score in scores:
        hazards = sorted({fault.hazard.value for fault in score.faults})
        rows.setdefault("+".join(hazards), []).append(score)
    return {
        hazard: endings_by(found, Facet.WORKFLOW, lambda mode: False)
        for hazard, found in sorted(rows.items())
    }


def hint_gain(guided: Sequence[Observed], strict: Sequence[Observed]) -> Gain | None:
    """Compare runs with a hint with those without one: the same task, faults, company and conditions.

    Returns:
        None without a run that was played both ways; runs that were played one way alone are left out.
    """
    without = {_key(each): _unhinted(each.score) for each in strict}
    pairs = [
        (_unhinted(each.score), without[_key(each)]) for each in guided if _key(each) in without
    ]
    return gain_of([arm for arm, _ in pairs], [base for _, base in pairs])


def _unhinted(score: HazardScore) -> HazardScore:
    faults = tuple(replace(fault, profile=Profile.STRICT) for fault in score.faults)
    return replace(score, faults=faults)


def _key(each: Observed) -> tuple[object, ...]:
    score = _unhinted(each.score)
    return (score.task_id, score.together, score.faults, score.run)
