"""Search for rates with which a persona scores what a model scored.

The models are searched for in two halves. Those of a half share one pool of played points. It begins with points spread
over the box. Then, round by round, each model proposes points: it starts at one of its best, takes a random step, and
closes the gap to the published row by the slopes that the pool shows around there. Random steps go where the figures
say nothing, so what is kept in the end differs where the published row does not tell. In the end a model may be stood
for by any point. That the halves do not see each other leaves each with points to which no figure of the other has led:
what is held out is foretold from these.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from asyncguard_benchmark.suites.asynctool.calibration.ensembles import Chosen, Played
from asyncguard_benchmark.suites.asynctool.calibration.figures import (
    FITTED_COLUMNS,
    SPLIT_COLUMNS,
    Figures,
    fit,
    weight_of,
)
from asyncguard_benchmark.suites.asynctool.calibration.pool import Pool, Trial
from asyncguard_benchmark.suites.asynctool.calibration.slopes import nearness, slopes, step_towards
from asyncguard_benchmark.suites.asynctool.calibration.space import (
    Point,
    inside,
    rates_at,
    spread_points,
)
from asyncguard_benchmark.suites.asynctool.calibration.tables import PublishedModel

COLUMNS = (*FITTED_COLUMNS, *SPLIT_COLUMNS)
_WEIGHT = {
    **{name: weight_of(name) for name in FITTED_COLUMNS},
    **dict.fromkeys(SPLIT_COLUMNS, 0.35),
}
"""Weight of a column in a step: those by kind have a sixth of the compositions each."""
_STARTS = 8
"""Best points of a model from which it starts."""
_WIDTH = 14.0
"""Points, over all columns, at which a played point counts little for the slopes around another."""
_NEAREST = 160
"""Played points from which slopes are learnt."""
_CAUTION = 60.0
"""Points squared."""
WIDENING = 4
"""Points that are played in a round for a model with too few that fit."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Length of the search."""

    seed: int = 0
    spread: int = 120
    """Points over the whole box."""
    rounds: int = 10
    proposals: int = 2
    """Points that each model proposes in a round."""
    step: float = 0.12
    """Standard deviation of a random step, as a share of the box."""

    @property
    def trials(self) -> Callable[[int], int]:
        """Trials by number of models."""
        return lambda models: self.spread + self.rounds * self.proposals * models


def search(
    models: Sequence[PublishedModel],
    pool: Pool,
    plan: Plan,
    told: Callable[[int], None] = lambda _: None,
) -> Played:
    """Play points for all models.

    Args:
        models: Models to fit.
        pool: Plays and remembers.
        plan: Length of the search.
        told: Called after every trial with how many there have been.
    """
    played = Played()
    spread = [(point, "") for point in spread_points(plan.spread, Random(plan.seed))]
    count = itertools.count(1)

    def note(_: int) -> None:
        told(next(count))

    _play(spread, pool, played, note)
    for number, half in enumerate(halves_of(models)):
        random = Random(f"{plan.seed} half {number}")
        own = played.led_to_by(())
        for _ in range(plan.rounds):
            points = [
                (point, model.key)
                for model in half
                for point in _proposals(model.target, own, plan, random)
            ]
            _play(points, pool, own, note)
        for point, figures, owner in zip(own.points, own.figures, own.owners, strict=True):
            if owner:
                played.add(point, figures, owner)
    return played


def halves_of(
    models: Sequence[PublishedModel],
) -> tuple[Sequence[PublishedModel], Sequence[PublishedModel]]:
    """Return the models in two halves, each with every other one: relatives stand beside each other in the table."""
    return models[::2], models[1::2]


def widen(thin: Sequence[Chosen], pool: Pool, plan: Plan, played: Played, number: int) -> None:
    """Play more points near the fitting ones of models that have too few.

    Args:
        thin: Models with too few points, and the points that fit them so far.
        pool: Plays and remembers.
        plan: Size of the steps.
        played: Takes in what is played.
        number: Of this round, for its draws.
    """
    random = Random(f"{plan.seed} widening {number}")
    points = [
        # Ever shorter steps: where the fit is good by luck, only its surroundings are as good.
        (
            _proposal(
                each.model.target,
                played,
                random.choice(each.indices),
                plan.step / (2 + number / 3),
                random,
            ),
            each.model.key,
        )
        for each in thin
        for _ in range(WIDENING)
    ]
    _play(points, pool, played, lambda _: None)


def _play(
    points: Sequence[tuple[Point, str]], pool: Pool, played: Played, told: Callable[[int], None]
) -> None:
    trials = [Trial(rates=rates_at(point)) for point, _ in points]
    for (point, owner), figures in zip(points, pool.play(trials), strict=True):
        played.add(point, figures, owner)
        told(len(played.points))


def _proposals(target: Figures, played: Played, plan: Plan, random: Random) -> Iterator[Point]:
    """Yield points that are to be played next for figures that a persona is to have."""
    best = sorted(range(len(played.points)), key=lambda n: loss(played.figures[n], target))[
        :_STARTS
    ]
    for number in range(plan.proposals):
        # The very best is built on in every round, the others by chance.
        start = best[0] if number == 0 else random.choice(best)
        yield _proposal(target, played, start, plan.step, random)


def _proposal(target: Figures, played: Played, start: int, step: float, random: Random) -> Point:
    columns = [name for name in COLUMNS if name in target and name in played.figures[start]]
    here = scaled(played.figures[start], columns)
    rows = {
        number: scaled(each, columns)
        for number, each in enumerate(played.figures)
        if each.keys() >= set(columns)
    }
    near = sorted(rows, key=lambda n: -nearness(rows[n], here, _WIDTH))[:_NEAREST]
    jacobian = slopes(
        [played.points[n] for n in near],
        [rows[n] for n in near],
        [nearness(rows[n], here, _WIDTH) + 1e-3 for n in near],
    )
    moved = inside([each + random.gauss(0, step) for each in played.points[start]])
    shift = [b - a for a, b in zip(played.points[start], moved, strict=True)]
    foreseen = [
        value + sum(slope * each for slope, each in zip(row, shift, strict=True))
        for value, row in zip(here, jacobian, strict=True)
    ]
    gap = [wanted - value for wanted, value in zip(scaled(target, columns), foreseen, strict=True)]
    return inside(
        [a + b for a, b in zip(moved, step_towards(jacobian, gap, caution=_CAUTION), strict=True)]
    )


def scaled(figures: Figures, columns: Sequence[str]) -> list[float]:
    """Return columns of a row, each in the points that it counts."""
    return [_WEIGHT[name] * figures[name] for name in columns]


def loss(figures: Figures, target: Figures) -> float:
    """Return the loss of proposals: the error of what is fitted, and a little of that by kind."""
    kinds = figures.keys() & target.keys() & SPLIT_COLUMNS.keys()
    by_kind = fit(figures, target, tuple(kinds)).error if kinds else 0.0
    return fit(figures, target, FITTED_COLUMNS).error + 0.15 * by_kind
