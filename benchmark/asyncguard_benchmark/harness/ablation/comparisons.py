"""Findings that compare setups: four cells, wild split, compliance, ensembles."""

from collections import Counter
from collections.abc import Sequence
from statistics import median

from asyncguard.config import GUARD_NAMES
from asyncguard_benchmark.harness.ablation.analysis import (
    Arms,
    effect_of,
    harm_of,
    pair_of,
    share,
    side_by_side,
)
from asyncguard_benchmark.harness.ablation.findings import (
    CompliancePoint,
    ComplianceSweep,
    EnsembleEffect,
    FalseAlarms,
    FourCells,
    HarmVerdict,
    Interval,
    Setup,
    Study,
    Wild,
)
from asyncguard_benchmark.harness.ablation.outcomes import Outcome
from asyncguard_benchmark.harness.arms import ALL, NONE, SHAM, TIMING
from asyncguard_benchmark.harness.statistics.clustered import (
    Sources,
    least_error,
    mean_of,
    ratio_interval,
    share_among,
)
from asyncguard_benchmark.harness.statistics.paired import difference_interval


def four_cells(sync: Arms, delayed: Arms) -> FourCells | None:
    """Return guarded and unguarded figures without and with delay; None if a cell is missing or invalid."""
    needed = ((sync, NONE), (sync, ALL), (delayed, NONE), (delayed, ALL), (delayed, TIMING))
    if not all(arms.outcomes.get(name) and arms.valid(name) for arms, name in needed):
        return None
    places = sorted(set.intersection(*(set(arms.outcomes[name]) for arms, name in needed)))
    if not places:
        return None
    sources = [sync.outcomes[NONE][place].sources for place in places]
    u_sync, g_sync, u_late, g_late, t_late = (
        [float(arms.outcomes[name][place].overall) for place in places] for arms, name in needed
    )
    unguarded = [(sync.outcomes[NONE][place], delayed.outcomes[NONE][place]) for place in places]
    gap = difference_interval([pair_of(one, other) for one, other in unguarded]).scaled(100)
    closes = gap.low > 0
    return FourCells(
        setup=delayed.setup,
        unguarded_sync=_rate(u_sync, sources),
        guarded_sync=_rate(g_sync, sources),
        unguarded_delayed=_rate(u_late, sources),
        guarded_delayed=_rate(g_late, sources),
        timing_delayed=_rate(t_late, sources),
        gap=gap,
        closed_by_timing=_closed(t_late, u_late, u_sync, sources) if closes else None,
        closed_by_all=_closed(g_late, u_late, u_sync, sources) if closes else None,
        interaction=_interaction(_minus(g_late, u_late), _minus(g_sync, u_sync), sources),
    )


def _minus(left: Sequence[float], right: Sequence[float]) -> list[float]:
    return [one - other for one, other in zip(left, right, strict=True)]


def _rate(verdicts: Sequence[float], sources: Sequence[Sources]) -> Interval:
    found = share([bool(verdict) for verdict in verdicts], sources)
    assert found is not None  # there is at least one place
    return found


def _interaction(
    left: Sequence[float], right: Sequence[float], sources: Sequence[Sources]
) -> Interval:
    return mean_of(_minus(left, right), sources, floor=least_error(sources)).interval.scaled(100)


def _closed(
    reached: Sequence[float],
    bottom: Sequence[float],
    top: Sequence[float],
    sources: Sequence[Sources],
) -> Interval | None:
    ratio = ratio_interval(_minus(reached, bottom), _minus(top, bottom), sources)
    return None if ratio is None else ratio.scaled(100)


def wild_of(arms: Arms) -> Wild | None:
    """Return the effect of guards on an agent without fault where values are derived; None without data."""
    both = arms.both(ALL, NONE)
    if not both or not (arms.valid(ALL) and arms.valid(NONE)):
        return None
    guarded = [one for one, _ in both]
    effect = effect_of(ALL, NONE, both, "wild")
    sources = [outcome.sources for outcome in guarded]
    overall = (
        share([each.overall for each in several], sources) for several in zip(*both, strict=True)
    )
    with_guards, without = overall
    assert with_guards is not None  # there is at least one pair
    assert without is not None
    return Wild(
        setup=arms.setup,
        episodes=len(both),
        calls=sum(map(_proposed, guarded)),
        guards=tuple(_alarms(name, guarded) for name in GUARD_NAMES),
        unguarded=without,
        guarded=with_guards,
        difference=effect.difference,
        harm=harm_of([pair_of(one, other) for one, other in both]),
    )


def _proposed(outcome: Outcome) -> int:
    """Return the calls that the agent made: those that reached a tool, and those that were refused."""
    return outcome.calls + outcome.rejections


def _alarms(guard: str, outcomes: Sequence[Outcome]) -> FalseAlarms:
    said: Counter[str] = Counter()
    refused = []
    for outcome in outcomes:
        own = Counter(
            {verdict: n for (name, verdict), n in outcome.interventions.items() if name == guard}
        )
        said.update(own)
        refused.append(own["reject"] + own["hold"])
    rate = share_among(
        refused, [max(1, _proposed(each)) for each in outcomes], [each.sources for each in outcomes]
    )
    assert rate is not None  # every episode counts for a call at least
    return FalseAlarms(
        guard=guard,
        rejections=said["reject"] + said["hold"],
        deferrals=said["defer"],
        nudges=said["nudge"],
        rate=rate.scaled(100),
    )


def compliance_of(setup: Setup, variants: Sequence[tuple[float, Arms]]) -> ComplianceSweep | None:
    """Return the effect of all guards at every rate of compliance; None without data.

    Args:
        setup: Of the agent as it is.
        variants: Rate and outcomes.
    """
    points = []
    for rate, arms in variants:
        both = side_by_side(arms.outcomes.get(ALL, {}), arms.outcomes.get(NONE, {}))
        if not both or not (arms.valid(ALL) and arms.valid(NONE)):
            continue
        sources = [one.sources for one, _ in both]
        guarded, unguarded = (
            share([each.overall for each in side], sources) for side in zip(*both, strict=True)
        )
        assert guarded is not None  # there is at least one pair
        assert unguarded is not None
        beside_sham = arms.both(ALL, SHAM) if arms.valid(SHAM) else []
        points.append(
            CompliancePoint(
                compliance=rate,
                unguarded=unguarded,
                guarded=guarded,
                difference=effect_of(ALL, NONE, both, "compliance").difference,
                beside_sham=effect_of(ALL, SHAM, beside_sham, "compliance").difference
                if beside_sham
                else None,
            )
        )
    return ComplianceSweep(setup=setup, points=tuple(points)) if points else None


def ensemble_effects(ensemble: str, setup: Setup, members: Sequence[Study]) -> list[EnsembleEffect]:
    """Return the range of every effect over the members of an ensemble.

    Args:
        ensemble: Its name.
        setup: With the ensemble as agent.
        members: The study of each member in this setup.
    """
    found = []
    for arm, against in dict.fromkeys(
        (effect.arm, effect.against) for study in members for effect in study.effects
    ):
        effects = [
            effect for study in members if (effect := study.effect(arm, against)) is not None
        ]
        values = [effect.difference.value for effect in effects]
        found.append(
            EnsembleEffect(
                ensemble=ensemble,
                setup=setup,
                arm=arm,
                against=against,
                members=len(values),
                low=min(values),
                median=median(values),
                high=max(values),
                harmful=sum(effect.harm is HarmVerdict.HARMFUL for effect in effects),
            )
        )
    return found
