"""Figures over hazard tasks: how they ended by what befell them, what is left of clean success, what an arm gains.

Verdicts of one task under several faults, seeds or delays are not independent: all intervals count them as one cluster.
No data is None, never 0.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from asyncguard_benchmark.harness.scenario import HELD_OUT_DOMAINS
from asyncguard_benchmark.harness.scoring.answers import Ending
from asyncguard_benchmark.harness.scoring.summary import mean
from asyncguard_benchmark.harness.statistics.clustered import share_of
from asyncguard_benchmark.harness.statistics.estimates import Interval
from asyncguard_benchmark.harness.statistics.paired import Pair, difference_interval, mcnemar
from asyncguard_benchmark.suites.hazards.scorer import HazardScore

CLEAN = "clean"
"""Value of a facet of the fault where there is no fault."""


class Facet(StrEnum):
    """By what figures can be split."""

    HAZARD = "hazard"
    MODE = "mode"
    VISIBILITY = "visibility"
    """True if the declared result schema shows the fault."""
    PROFILE = "profile"
    SEVERITY = "severity"
    WORKFLOW = "workflow"
    DOMAIN = "domain"
    HELD_OUT = "held_out"
    """True if the domain was written apart from the rest."""


@dataclass(frozen=True, kw_only=True)
class Endings:
    """Endings of some tasks; shares in per cent."""

    count: int
    struck: int
    """Tasks in which a fault struck."""
    success: Interval
    wrong_answer: Interval
    """Silently wrong."""
    wrong_effects: Interval
    """The right answer with effects missing, too many or others."""
    honest_failure: Interval
    unfinished: Interval
    duplicated: int
    """Effects that happened more often than they were meant to, in all tasks together."""
    duplicating: int
    """Tasks in which one did."""
    straying: int
    """Tasks with an effect that the ground truth does not have, however they ended: an honest failure may have done
    harm before."""
    calls: float
    """Mean calls of a task that reached a tool."""
    rounds: float
    """Mean assistant messages of the episodes."""
    ticks: float


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Comparison of an agent's success under faults with its success without them."""

    pairs: int
    """Injected runs, each beside the clean run of its task."""
    kept: Interval | None
    """P(injected success | clean success) in per cent; None if no clean run succeeded."""
    lost: int
    """Solved clean and not injected."""
    gained: int
    """Solved injected and not clean."""
    p: float
    """McNemar, exact and two-sided, over all pairs."""


@dataclass(frozen=True, kw_only=True)
class Gain:
    """Gain of an arm over a base arm on the same tasks, faults and seeds."""

    pairs: int
    points: Interval
    """Percentage points."""
    newly_recovered: int
    """Solved by the arm alone."""
    regressions: int
    """Solved by the base alone."""
    p: float
    """McNemar, exact and two-sided."""


def endings_of(scores: Sequence[HazardScore]) -> Endings | None:
    """Return the endings of tasks; None without any."""
    if not scores:
        return None
    duplicates = [each.effects.duplicated for each in scores]
    return Endings(
        count=len(scores),
        struck=sum(each.firings > 0 for each in scores),
        **{ending.value: _share(scores, ending) for ending in Ending},
        duplicated=sum(duplicates),
        duplicating=sum(number > 0 for number in duplicates),
        straying=sum(each.effects.extra > 0 for each in scores),
        calls=mean([each.calls for each in scores]) or 0.0,
        rounds=mean([each.rounds for each in scores]) or 0.0,
        ticks=mean([each.ticks for each in scores]) or 0.0,
    )


def endings_by(
    scores: Iterable[HazardScore], facet: Facet, is_visible: Callable[[str], bool]
) -> Mapping[str, Endings]:
    """Return the endings of tasks, split by a facet, its values in order.

    Args:
        scores: Usually of one agent, player and arm.
        facet: The facet to split by.
        is_visible: Tells of a mode's name whether the declared result schema shows it.
    """
    groups: dict[str, list[HazardScore]] = {}
    for score in scores:
        groups.setdefault(facet_of(score, facet, is_visible), []).append(score)
    return {
        name: found
        for name, group in sorted(groups.items())
        if (found := endings_of(group)) is not None
    }


def facet_of(score: HazardScore, facet: Facet, is_visible: Callable[[str], bool]) -> str:
    """Return the value of a facet; of several faults in one task, all values that differ, joined by ``+``."""
    match facet:
        case Facet.WORKFLOW:
            return score.workflow.value
        case Facet.DOMAIN:
            return score.domain.value
        case Facet.HELD_OUT:
            return "held out" if score.domain in HELD_OUT_DOMAINS else "development"
        case Facet.HAZARD:
            values = [fault.hazard.value for fault in score.faults]
        case Facet.MODE:
            values = [fault.mode for fault in score.faults]
        case Facet.VISIBILITY:
            values = [
                "visible" if is_visible(fault.mode) else "invisible" for fault in score.faults
            ]
        case Facet.PROFILE:
            values = [fault.profile.value for fault in score.faults]
        case Facet.SEVERITY:
            values = [str(fault.severity) for fault in score.faults]
    return "+".join(sorted(set(values))) or CLEAN


def kept_of(injected: Sequence[HazardScore], clean: Iterable[HazardScore]) -> Kept:
    """Compare every injected run with the clean run of the same task, agent, player and conditions.

    Raises:
        ValueError: a clean run is missing or is there twice, or a run is on the wrong side.
    """
    if any(each.clean for each in injected):
        raise ValueError("a clean run is among the injected ones")
    pairs = _pairs(injected, _by_key(clean, _clean_key, clean=True), _clean_key)
    where_clean = [pair for pair in pairs if pair.against]
    return Kept(
        pairs=len(pairs),
        kept=_scaled_share([pair.arm for pair in where_clean], where_clean)
        if where_clean
        else None,
        lost=sum(pair.difference < 0 for pair in pairs),
        gained=sum(pair.difference > 0 for pair in pairs),
        p=_mcnemar(pairs),
    )


def gain_of(arm: Sequence[HazardScore], base: Iterable[HazardScore]) -> Gain | None:
    """Compare every run of an arm with that of the base arm with the same faults; None without a run.

    Raises:
        ValueError: the base lacks a run, or has it twice.
    """
    pairs = _pairs(arm, _by_key(base, _key), _key)
    if not pairs:
        return None
    return Gain(
        pairs=len(pairs),
        points=difference_interval(pairs).scaled(100),
        newly_recovered=sum(pair.difference > 0 for pair in pairs),
        regressions=sum(pair.difference < 0 for pair in pairs),
        p=_mcnemar(pairs),
    )


_Key = tuple[object, ...]


def _clean_key(score: HazardScore) -> _Key:
    return (score.task_id, score.together, score.agent, score.player, score.run)


def _key(score: HazardScore) -> _Key:
    """Return the key by which runs are paired; agent, player and arm are not part of it."""
    return (score.task_id, score.together, score.faults, score.run)


def _by_key(
    scores: Iterable[HazardScore], key: Callable[[HazardScore], _Key], *, clean: bool = False
) -> Mapping[_Key, HazardScore]:
    found: dict[_Key, HazardScore] = {}
    for score in scores:
        if clean and not score.clean:
            raise ValueError(f"a run of {score.task_id} with faults is among the clean ones")
        if found.setdefault(key(score), score) is not score:
            raise ValueError(
                f"the run of {score.task_id} with seed {score.run.seed} is there twice"
            )
    return found


def _pairs(
    scores: Sequence[HazardScore],
    others: Mapping[_Key, HazardScore],
    key: Callable[[HazardScore], _Key],
) -> list[Pair]:
    pairs = []
    for score in scores:
        other = others.get(key(score))
        if other is None:
            raise ValueError(
                f"there is no run to lay beside that of {score.composition_id}, seed {score.run.seed}"
            )
        pairs.append(
            Pair(
                composition=score.composition_id,
                seed=score.run.seed,
                sources=frozenset(score.together),
                arm=score.success,
                against=other.success,
            )
        )
    return pairs


def _mcnemar(pairs: Sequence[Pair]) -> float:
    changes = Counter(pair.difference for pair in pairs)
    return mcnemar(changes[1], changes[-1])


def _share(scores: Sequence[HazardScore], ending: Ending) -> Interval:
    sources = [frozenset(score.together) for score in scores]
    return share_of([score.ending is ending for score in scores], sources).scaled(100)


def _scaled_share(verdicts: Sequence[bool], pairs: Sequence[Pair]) -> Interval:
    return share_of(verdicts, [pair.sources for pair in pairs]).scaled(100)
