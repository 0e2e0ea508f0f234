"""Persona figures that were not fitted to: every published column held out in turn, and every whole model.

A column of one model is foretold from the points of the search to which no figure of the model has led (see `search`):
near the published row they are weighted by how near they come to its other columns, and the column is regressed on
those, so that what is left of the distance is allowed for. So it says what personas that score like the model elsewhere
have in this column. A whole model is known by its two step-level columns only: each rate is regressed on these two over
the ensembles of the other half of the models, and the persona with the regressed rates is played.
"""

from collections.abc import Callable, Mapping, Sequence
from math import dist
from statistics import pstdev

from asyncguard_benchmark.suites.asynctool.agents.personas.shipped import HeldOut
from asyncguard_benchmark.suites.asynctool.calibration.ensembles import Played, choose
from asyncguard_benchmark.suites.asynctool.calibration.figures import (
    FITTED_COLUMNS,
    MAIN_COLUMNS,
    ROUNDS_COLUMNS,
    SPLIT_COLUMNS,
    Figures,
)
from asyncguard_benchmark.suites.asynctool.calibration.pool import Pool, Trial
from asyncguard_benchmark.suites.asynctool.calibration.search import halves_of, scaled
from asyncguard_benchmark.suites.asynctool.calibration.slopes import nearness, regressed
from asyncguard_benchmark.suites.asynctool.calibration.space import Point, inside, rates_at
from asyncguard_benchmark.suites.asynctool.calibration.tables import PublishedModel

ALL_ROUNDS = "rounds"
"""The group of both columns of rounds: what scores alone say of them."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    **{name: (name,) for name in FITTED_COLUMNS},
    # By kind of composition it is the same figure in four parts.
    "overall": ("overall", *SPLIT_COLUMNS),
    ALL_ROUNDS: tuple(ROUNDS_COLUMNS),
}
"""Name -> columns that are held out together."""
CHEAP_COLUMNS = ("func_f1", "param_f1")
"""Columns that are known of a model that is held out: figures of single calls, which need no run that succeeds."""
_NEAREST = 25
"""The played point whose distance to the published row is the width within which points count."""
_CAUTION = 1.0
"""Points squared: pull of slopes towards 0 among the points near a published row."""


def groups_of(model: PublishedModel) -> list[str]:
    """Return the names of the columns of a model that can be held out."""
    return [
        name for name, columns in GROUPS.items() if columns[0] in {**model.main, **model.rounds}
    ]


def hold_out(
    models: Sequence[PublishedModel], pool: Pool, played: Played, told: Callable[[int], None]
) -> HeldOut:
    """Foretell columns from the points of the search, and play what foretells whole models.

    Args:
        models: The published models.
        pool: Plays and remembers.
        played: Points of the search.
        told: Called after every trial with how many there have been; there is one for each model.
    """
    first, second = halves_of(models)
    others = {each.key: second for each in first} | {each.key: first for each in second}
    unseen = {each.key: played.led_to_by([one.key for one in others[each.key]]) for each in models}
    columns = {
        each.key: {name: _foretold(each, name, unseen[each.key]) for name in groups_of(each)}
        for each in models
    }
    with_others = [each for each in models if others[each.key]]
    points = [_point_of(each, others[each.key], unseen[each.key]) for each in with_others]
    found = pool.play([Trial(rates=rates_at(point)) for point in points])
    whole: dict[str, Figures] = {}
    for done, (each, figures) in enumerate(zip(with_others, found, strict=True), 1):
        whole[each.key] = {name: figures[name] for name in FITTED_COLUMNS if name in figures}
        told(done)
    return HeldOut(columns=columns, models=whole)


def _foretold(model: PublishedModel, group: str, unseen: Played) -> Figures:
    """Return a forecast for each column of a group; a column that no point has is left out."""
    left = [name for name in FITTED_COLUMNS if name in model.target and name not in GROUPS[group]]
    target = scaled(model.target, left)
    found = {}
    for column in (name for name in GROUPS[group] if name in FITTED_COLUMNS):
        rows = [row for row in unseen.figures if row.keys() >= {*left, column}]
        if rows:
            known = [scaled(row, left) for row in rows]
            width = sorted(dist(each, target) for each in known)[:_NEAREST][-1]
            weights = [nearness(each, target, width) for each in known]
            (said,) = regressed(known, [[row[column]] for row in rows], target, _CAUTION, weights)
            found[column] = min(100.0, max(0.0, said))
    return found


def _point_of(model: PublishedModel, others: Sequence[PublishedModel], unseen: Played) -> Point:
    """Return the rates of a model as the others' rates go with the cheap columns."""
    means = []
    for each in others:
        points = [unseen.points[n] for n in choose(each, unseen).indices]
        means.append([sum(column) / len(points) for column in zip(*points, strict=True)])
    known = [[each.main[name] for name in CHEAP_COLUMNS] for each in others]
    return inside(regress_scaled(known, means, [model.main[name] for name in CHEAP_COLUMNS]))


def naive_forecasts(
    model: PublishedModel, models: Sequence[PublishedModel], group: str, column: str
) -> tuple[float, float]:
    """Return what can be said of a held-out column without any agent.

    Args:
        model: The model whose column is held out.
        models: All published models.
        group: Name of what is held out with it; empty for the whole model but its cheap columns.
        column: The column.

    Returns:
        The mean of the column over the other models; and the regression on the columns that are known.
    """
    rows = {each.key: {**each.main, **each.rounds} for each in models}
    others = [row for key, row in rows.items() if key != model.key and column in row]
    known = [
        name
        for name in (FITTED_COLUMNS if group else CHEAP_COLUMNS)
        if name not in (*GROUPS.get(group, ()), column)
        and (name in MAIN_COLUMNS or all(name in row for row in (*others, rows[model.key])))
    ]
    values = [[row[column]] for row in others]
    mean = sum(value for (value,) in values) / len(values)
    (said,) = regress_scaled(
        [[row[name] for name in known] for row in others],
        values,
        [rows[model.key][name] for name in known],
    )
    return mean, said


_RIDGE = 0.1
"""The same where a case is a published model, beside a variance of 1."""


def regress_scaled(
    known: Sequence[Sequence[float]], values: Sequence[Sequence[float]], at: Sequence[float]
) -> list[float]:
    """Return the values that a regression over models says for one more; each column is scaled to variance 1.

    Args:
        known: What is known of every model.
        values: The values of every model.
        at: What is known of the further model.
    """
    columns = list(zip(*known, strict=True))
    spread = [pstdev(column) or 1.0 for column in columns]
    cases = [[x / sd for x, sd in zip(case, spread, strict=True)] for case in (*known, at)]
    return regressed(cases[:-1], values, cases[-1], _RIDGE, [1.0] * len(known))
