"""Claims about personas, each as far as figures that were held out bear it out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from asyncguard_benchmark.harness.loading import shipped_compositions
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.asynctool.agents.personas.shipped import (
    PREFIX,
    Personas,
    shipped_personas,
)
from asyncguard_benchmark.suites.asynctool.calibration.figures import (
    FITTED_COLUMNS,
    MAIN_COLUMNS,
    ROUNDS_COLUMNS,
    weight_of,
)
from asyncguard_benchmark.suites.asynctool.calibration.held_out import (
    ALL_ROUNDS,
    CHEAP_COLUMNS,
    GROUPS,
    groups_of,
    naive_forecasts,
)
from asyncguard_benchmark.suites.asynctool.calibration.pool import digest_of_corpus
from asyncguard_benchmark.suites.asynctool.calibration.tables import (
    PublishedModel,
    published_models,
)

MOST_POINTS, MOST_ROUNDS = 3.0, 1.5
"""Mean errors over the held-out columns of a model up to which the claim stands that its persona foretells them."""
WHOLE_MODEL = "model"
"""Held out instead of a column: everything but the cheap columns."""


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """A published figure that was held out, and what was said of it without it."""

    model: str
    held_out: str
    """The group of columns, or `WHOLE_MODEL`."""
    column: str
    published: float
    foretold: float | None
    """By the persona; None if none of its runs has the figure."""
    mean: float
    """Mean of the column over the other models."""
    regression: float
    """Linear regression over the other models on the columns that are known, without any agent."""

    @property
    def error(self) -> float | None:
        """Error of the persona, in per cent or rounds."""
        return None if self.foretold is None else abs(self.foretold - self.published)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Forecast of a model by its persona, each column held out in turn."""

    model: str
    points: float | None
    """Mean error of scores; None if one was not foretold."""
    rounds: float | None
    """Mean error of rounds on success; None if none are published, or one was not foretold."""
    has_rounds: bool
    """True if the model's rounds are published."""
    fitted_rounds: float | None = None
    """Mean error of the rounds of the persona that is played by default, which was fitted to them."""

    @property
    def scores_stand(self) -> bool:
        """Return True if its scores are foretold."""
        return self.points is not None and self.points <= MOST_POINTS

    @property
    def rounds_stand(self) -> bool:
        """Return True if its rounds are foretold, and are those of the persona."""
        errors = (self.rounds, self.fitted_rounds)
        return all(each is not None and each <= MOST_ROUNDS for each in errors)


def forecasts_of(models: Sequence[PublishedModel], personas: Personas) -> list[Forecast]:
    """Return all that was held out, columns first; nothing for personas of which nothing was."""
    return [each for model in models for each in _forecasts(model, models, personas)]


def _forecasts(
    model: PublishedModel, models: Sequence[PublishedModel], personas: Personas
) -> Iterator[Forecast]:
    published = {**model.main, **model.rounds}
    columns = personas.held_out.columns.get(model.key)
    whole = personas.held_out.models.get(model.key)
    cases = [
        (group, column, row.get(column))
        for group in (groups_of(model) if columns is not None else ())
        for row in ((columns or {}).get(group, {}),)
        for column in FITTED_COLUMNS
        if column in GROUPS[group]
    ]
    if whole is not None:
        known = (column for column in FITTED_COLUMNS if column in published)
        cases += [(WHOLE_MODEL, c, whole.get(c)) for c in known if c not in CHEAP_COLUMNS]
    for held_out, column, foretold in cases:
        group = "" if held_out == WHOLE_MODEL else held_out
        mean, regression = naive_forecasts(model, models, group, column)
        yield Forecast(
            model=model.key,
            held_out=held_out,
            column=column,
            published=published[column],
            foretold=foretold,
            mean=mean,
            regression=regression,
        )


def claims_of(forecasts: Sequence[Forecast], personas: Personas) -> list[Claim]:
    """Return the claim of each model of which columns were held out."""
    in_turn = [each for each in forecasts if each.held_out == each.column]
    claims = []
    for model in dict.fromkeys(each.model for each in in_turn):
        own = [each for each in in_turn if each.model == model]
        rounds = [each for each in own if each.column in ROUNDS_COLUMNS]
        claims.append(
            Claim(
                model=model,
                points=_mean([each.error for each in own if each.column in MAIN_COLUMNS]),
                rounds=_mean([each.error for each in rounds]),
                has_rounds=bool(rounds),
                fitted_rounds=_mean([_fitted_error(each, personas) for each in rounds]),
            )
        )
    return claims


def _fitted_error(each: Forecast, personas: Personas) -> float | None:
    row = personas.ensemble(each.model).members[0].figures[Regime.FIXED1.value]
    return abs(row[each.column] - each.published) if each.column in row else None


def _mean(errors: Sequence[float | None]) -> float | None:
    known = [each for each in errors if each is not None]
    return sum(known) / len(known) if known and len(known) == len(errors) else None


@cache
def persona_note() -> str:
    """Return what a reader of any table with personas must know of them, in a few lines."""
    said = (
        f"`{PREFIX}MODEL` is a simulated agent with rates of errors fitted to figures published for MODEL: nothing of "
        "that model was run."
    )
    personas = shipped_personas()
    forecasts = forecasts_of(published_models(), personas)
    claims = claims_of(forecasts, personas)
    if not claims or personas.corpus != digest_of_corpus(shipped_compositions()):
        return f"{said} No figure was held out on these data, so nothing is claimed of what personas foretell."
    return f"{said} {standing(claims)} {beyond(forecasts)}".rstrip()


def standing(claims: Sequence[Claim]) -> str:
    """Return for how many personas the claims stand, and for which they are withdrawn."""
    with_rounds = [each for each in claims if each.has_rounds]
    stand = sum(each.scores_stand for each in claims)
    rounds_stand = sum(each.rounds_stand for each in with_rounds)
    said = (
        f"At `fixed1`, columns that were held out are foretold within {MOST_POINTS:g} points for {stand} of "
        f"{len(claims)} personas, and rounds on success, which the persona must have, too, within {MOST_ROUNDS:g} for "
        f"{rounds_stand} of {len(with_rounds)} with published ones"
    )
    scores_gone = ", ".join(each.model for each in claims if not each.scores_stand)
    rounds_gone = ", ".join(each.model for each in with_rounds if not each.rounds_stand)
    gone = [
        f"{what} of {names}"
        for what, names in (("scores", scores_gone), ("rounds", rounds_gone))
        if names
    ]
    return f"{said}; withdrawn is the claim for {', and '.join(gone)}." if gone else f"{said}."


def beyond(forecasts: Sequence[Forecast]) -> str:
    """Return what a regression without any agent foretells as well, of what is held out beside single columns."""
    said = []
    for held_out, words in (
        (ALL_ROUNDS, "of rounds from scores alone"),
        (WHOLE_MODEL, "of a model by its step-level scores"),
    ):
        those = [
            each for each in forecasts if each.held_out == held_out and each.foretold is not None
        ]
        ours = _mean([weight_of(each.column) * (each.error or 0.0) for each in those])
        plain = _mean([weight_of(e.column) * abs(e.regression - e.published) for e in those])
        if ours is not None and plain is not None and ours >= plain:
            said.append(words)
    if not said:
        return ""
    return f"No claim is made {' nor '.join(said)}: a regression without any agent is as near or nearer."
