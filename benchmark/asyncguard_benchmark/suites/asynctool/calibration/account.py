"""Account of a calibration, as values that a table or a program can show."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.asynctool.agents.personas.rates import FITTED
from asyncguard_benchmark.suites.asynctool.agents.personas.shipped import Ensemble, Personas
from asyncguard_benchmark.suites.asynctool.calibration.claims import (
    Claim,
    claims_of,
    forecasts_of,
)
from asyncguard_benchmark.suites.asynctool.calibration.claims import (
    Forecast as HeldOutForecast,
)
from asyncguard_benchmark.suites.asynctool.calibration.delays import Forecast, forecasts
from asyncguard_benchmark.suites.asynctool.calibration.figures import (
    FITTED_COLUMNS,
    MAIN_COLUMNS,
    ROUNDS_COLUMNS,
    SPLIT_COLUMNS,
    Figures,
    fit,
)
from asyncguard_benchmark.suites.asynctool.calibration.tables import PublishedModel

COLUMNS = (*MAIN_COLUMNS, *SPLIT_COLUMNS, *ROUNDS_COLUMNS)


@dataclass(frozen=True, kw_only=True)
class ModelAccount:
    """One model: published and predicted side by side."""

    model: PublishedModel
    members: int
    error: float
    """Error of the best fit over the main columns, in points."""
    spread: float
    """Points by which the worst member is worse than the best fit, over all that is fitted to."""
    published: Figures
    predicted: Figures
    """Figures of the best fit."""
    by_column: Figures
    """Absolute errors of the best fit."""
    rates: Mapping[str, tuple[float, float]]
    """Rate -> least and greatest value of the ensemble; the wider, the less the published row tells."""


@dataclass(frozen=True, kw_only=True)
class Account:
    """All models."""

    models: Sequence[ModelAccount]
    forecasts: Sequence[Forecast]
    """Of other delays."""
    held_out: Sequence[HeldOutForecast]
    claims: Sequence[Claim]

    @property
    def error(self) -> float:
        """Mean over models and main columns, in points."""
        return sum(each.error for each in self.models) / len(self.models)

    @property
    def by_column(self) -> Figures:
        """Mean error of each column over the models that have it, in points or rounds."""
        found = {}
        for column in COLUMNS:
            errors = [each.by_column[column] for each in self.models if column in each.by_column]
            if errors:
                found[column] = sum(errors) / len(errors)
        return found

    def to_json(self) -> dict[str, Any]:
        """Return everything, for programs."""
        return {
            "error": self.error,
            "by_column": dict(self.by_column),
            "models": [_model_to_json(each) for each in self.models],
            "delays": [_forecast_to_json(each) for each in self.forecasts],
            "held_out": [asdict(each) | {"error": each.error} for each in self.held_out],
            "claims": [
                asdict(each)
                | {"scores_stand": each.scores_stand, "rounds_stand": each.rounds_stand}
                for each in self.claims
            ],
        }


def account_of(models: Sequence[PublishedModel], personas: Personas) -> Account:
    """Return the account of personas that are fitted.

    Args:
        models: The published models.
        personas: With an ensemble for each of them.
    """
    held_out = forecasts_of(models, personas)
    return Account(
        models=[_model(each, personas.ensemble(each.key)) for each in models],
        forecasts=forecasts(models, personas.ensembles),
        held_out=held_out,
        claims=claims_of(held_out, personas),
    )


def _model(model: PublishedModel, ensemble: Ensemble) -> ModelAccount:
    rows = [member.figures[Regime.FIXED1.value] for member in ensemble.members]
    published = {**model.main, **model.rounds}
    best = fit(rows[0], model.main)
    errors = [fit(row, model.target, FITTED_COLUMNS).error for row in rows]
    rates = [member.rates.to_json() for member in ensemble.members]
    return ModelAccount(
        model=model,
        members=len(rows),
        error=best.error,
        spread=max(errors) - errors[0],
        published=published,
        predicted=rows[0],
        by_column=fit(rows[0], published, COLUMNS).by_column,
        rates={
            name: (min(each[name] for each in rates), max(each[name] for each in rates))
            for name in FITTED
        },
    )


def _model_to_json(each: ModelAccount) -> dict[str, Any]:
    return {
        "model": each.model.key,
        "published": dict(each.published),
        "predicted": dict(each.predicted),
        "error": each.error,
        "members": each.members,
        "spread": each.spread,
        "rates": {name: list(bounds) for name, bounds in each.rates.items()},
    }


def _forecast_to_json(each: Forecast) -> dict[str, Any]:
    return {
        "model": each.model,
        "regime": each.regime.value,
        "distraction": each.level,
        "foreseen": dict(each.foreseen),
        "low": dict(each.low),
        "high": dict(each.high),
        "published": dict(each.published) or None,
        "extrapolation": not each.published,
        "error": each.error,
        "naive_error": each.naive_error,
    }
