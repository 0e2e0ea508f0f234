"""Forecasts of scores under delays that a persona was not fitted to.

The rates were fitted to the main regime alone. The effect of other delays on a persona follows from
its rates, above all from how much awaited results distract it, which the main regime does not tell.
So one level of distraction is sought for all models, on the other regimes' tables of all models but
one, and used to forecast the one left out. A forecast is the published row of the main regime,
moved by as much as the ensemble moves. The naive forecast is that row unmoved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp

from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.asynctool.agents.personas.shipped import Ensemble, Member
from asyncguard_benchmark.suites.asynctool.calibration.figures import Figures
from asyncguard_benchmark.suites.asynctool.calibration.tables import PublishedModel

LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Levels of distraction that are tried."""
_WIDTH = 0.2
OTHER_REGIMES = (Regime.SYNC, Regime.RANDOM01, Regime.RANDOM12, Regime.FIXED2)


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Forecast for one model in one regime."""

    model: str
    regime: Regime
    level: float
    """Level of distraction, found on the other models."""
    foreseen: Figures
    low: Figures
    """Least of the ensemble's members."""
    high: Figures
    published: Figures
    """Empty where nothing is published: then the forecast is an extrapolation."""
    error: float | None
    """Mean over the published columns, in points."""
    naive_error: float | None
    """Error of the main regime's row, unmoved."""


def forecasts(
    models: Sequence[PublishedModel], ensembles: Mapping[str, Ensemble]
) -> list[Forecast]:
    """Return every model in every other regime for which its members were played, each left out of its own fit."""
    found: list[Forecast] = []
    for model in models:
        others = [each for each in models if each is not model]
        level = min(LEVELS, key=lambda tried: _training_error(others, ensembles, tried))
        ensemble = ensembles[model.key]
        played = [regime for regime in OTHER_REGIMES if _played(ensemble, regime)]
        found += [_forecast(model, ensemble, regime, level) for regime in played]
    return found


def _training_error(
    models: Sequence[PublishedModel], ensembles: Mapping[str, Ensemble], level: float
) -> float:
    errors = [
        error
        for model in models
        for regime in OTHER_REGIMES
        if regime in model.by_regime and _played(ensembles[model.key], regime)
        for error in [_forecast(model, ensembles[model.key], regime, level).error]
        if error is not None
    ]
    return sum(errors) / len(errors) if errors else 0.0


def _played(ensemble: Ensemble, regime: Regime) -> list[Member]:
    return [member for member in ensemble.members if regime.value in member.figures]


def _forecast(model: PublishedModel, ensemble: Ensemble, regime: Regime, level: float) -> Forecast:
    members = _played(ensemble, regime)
    weights = [
        exp(-(((member.rates.distraction - level) / _WIDTH) ** 2) / 2) + 1e-6 for member in members
    ]
    columns = [name for name in members[0].figures[regime.value] if name in model.main]
    moves = [
        {
            name: member.figures[regime.value][name] - member.figures[Regime.FIXED1.value][name]
            for name in columns
        }
        for member in members
    ]
    mean = {
        name: sum(w * move[name] for w, move in zip(weights, moves, strict=True)) / sum(weights)
        for name in columns
    }
    published = model.by_regime.get(regime, {})
    foreseen = {name: model.main[name] + mean[name] for name in columns}
    return Forecast(
        model=model.key,
        regime=regime,
        level=level,
        foreseen=foreseen,
        low={name: model.main[name] + min(move[name] for move in moves) for name in columns},
        high={name: model.main[name] + max(move[name] for move in moves) for name in columns},
        published=published,
        error=_error(foreseen, published),
        naive_error=_error(model.main, published),
    )


def _error(foreseen: Figures, published: Figures) -> float | None:
    shared = [name for name in published if name in foreseen]
    return (
        sum(abs(foreseen[name] - published[name]) for name in shared) / len(shared)
        if shared
        else None
    )
