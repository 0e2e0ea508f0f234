"""The whole calibration: search, ensembles, other delays."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.asynctool.agents.personas.shipped import (
    Ensemble,
    HeldOut,
    Member,
    Personas,
)
from asyncguard_benchmark.suites.asynctool.calibration.ensembles import (
    LEAST_MEMBERS,
    Chosen,
    Played,
    choose,
)
from asyncguard_benchmark.suites.asynctool.calibration.held_out import hold_out
from asyncguard_benchmark.suites.asynctool.calibration.pool import Pool, Trial
from asyncguard_benchmark.suites.asynctool.calibration.search import WIDENING, Plan, search, widen
from asyncguard_benchmark.suites.asynctool.calibration.space import rates_at
from asyncguard_benchmark.suites.asynctool.calibration.tables import PublishedModel

Told = Callable[[str, int, int], None]
"""Is told what is being done, how many trials of it are done, and how many there are."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """Amount of episodes to play."""

    plan: Plan = field(default_factory=Plan)
    widening: int = 25
    """Rounds at most that are played for ensembles which are too small."""
    delay_members: int = 4
    """Members that are played in the other regimes where something is published."""
    extrapolated: int = 2
    """Members that are played without delay where nothing is published."""


def calibrate(models: Sequence[PublishedModel], pool: Pool, effort: Effort, told: Told) -> Personas:
    """Fit an ensemble to each model.

    Args:
        models: Models to fit.
        pool: Plays and remembers.
        effort: Amount of episodes to play.
        told: Is told of every trial.
    """
    played = searched(models, pool, effort.plan, told)
    held_out = forecast_held_out(models, pool, played, told)
    for number in range(effort.widening):
        thin = [each for each in _choose(models, played) if len(each.indices) < LEAST_MEMBERS]
        if not thin:
            break
        widen(thin, pool, effort.plan, played, number)
        told("widening", number + 1, effort.widening)
    chosen = [choose(model, played, fill=True) for model in models]
    trials = [trial for each in chosen for trial in _delayed(each, played, effort)]
    for done, _ in enumerate(pool.play(trials), 1):
        told("other delays", done, len(trials))
    ensembles = {each.model.key: _ensemble(each, played, pool, effort) for each in chosen}
    return Personas(corpus=pool.digest, seed=0, ensembles=ensembles, held_out=held_out)


def trials_of_fit(models: Sequence[PublishedModel], effort: Effort) -> int:
    """Return the most trials that a fit takes; fewer if ensembles are soon large enough."""
    regimes = sum(len(each.by_regime) - 1 for each in models)
    extrapolated = sum(Regime.SYNC not in each.by_regime for each in models)
    return (
        effort.plan.trials(len(models))
        + len(models)
        + effort.widening * WIDENING * len(models)
        + regimes * effort.delay_members
        + extrapolated * effort.extrapolated
    )


def searched(models: Sequence[PublishedModel], pool: Pool, plan: Plan, told: Told) -> Played:
    """Return the points of the search; see `calibrate`."""
    total = plan.trials(len(models))
    return search(models, pool, plan, lambda done: told("search", done, total))


def forecast_held_out(
    models: Sequence[PublishedModel], pool: Pool, played: Played, told: Told
) -> HeldOut:
    """Return the forecasts of what is held out; see `held_out`."""
    return hold_out(models, pool, played, lambda done: told("held out", done, len(models)))


def _choose(models: Sequence[PublishedModel], played: Played) -> list[Chosen]:
    return [choose(model, played) for model in models]


def _delayed(chosen: Chosen, played: Played, effort: Effort) -> Iterator[Trial]:
    """Yield members in regimes with a published row; and some without delay all the same, which is an extrapolation."""
    for number, index in enumerate(chosen.indices):
        trial = Trial(rates=rates_at(played.points[index]))
        for regime in (Regime.SYNC, Regime.RANDOM01, Regime.RANDOM12, Regime.FIXED2):
            known = regime in chosen.model.by_regime
            most = (
                effort.delay_members
                if known
                else effort.extrapolated
                if regime is Regime.SYNC
                else 0
            )
            if number < most:
                yield replace(trial, regime=regime)


def _ensemble(chosen: Chosen, played: Played, pool: Pool, effort: Effort) -> Ensemble:
    delayed = list(_delayed(chosen, played, effort))
    found = dict(zip(delayed, pool.play(delayed), strict=True))
    members = []
    for index in chosen.indices:
        rates = rates_at(played.points[index])
        others = {
            trial.regime.value: figures for trial, figures in found.items() if trial.rates == rates
        }
        members.append(
            Member(rates=rates, figures={Regime.FIXED1.value: played.figures[index], **others})
        )
    return Ensemble(model=chosen.model.key, members=members)
