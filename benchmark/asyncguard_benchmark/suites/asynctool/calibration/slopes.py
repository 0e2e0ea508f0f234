"""Change of figures with a point, learnt from the points that were played."""

from collections.abc import Sequence
from math import exp

Vector = Sequence[float]
Matrix = list[list[float]]

_RIDGE = 1e-2
"""Pull of slopes towards 0, so that directions without data have none."""


def slopes(
    points: Sequence[Vector], figures: Sequence[Vector], weights: Vector, ridge: float = _RIDGE
) -> Matrix:
    """Return weighted least squares: a row of slopes for each figure.

    Args:
        points: Points that were played.
        figures: Their figures.
        weights: Their weights.
        ridge: Pull towards 0, beside the variance of a coordinate.
    """
    total = sum(weights)
    centre = [
        sum(w * p[i] for w, p in zip(weights, points, strict=True)) / total
        for i in range(len(points[0]))
    ]
    level = [
        sum(w * f[j] for w, f in zip(weights, figures, strict=True)) / total
        for j in range(len(figures[0]))
    ]
    moved = [
        [value - middle for value, middle in zip(point, centre, strict=True)] for point in points
    ]
    risen = [
        [value - middle for value, middle in zip(each, level, strict=True)] for each in figures
    ]
    size = len(centre)
    gram = [
        [
            sum(w * x[i] * x[k] for w, x in zip(weights, moved, strict=True)) / total
            + (ridge if i == k else 0.0)
            for k in range(size)
        ]
        for i in range(size)
    ]
    sides = [
        [
            sum(w * x[i] * y[j] for w, x, y in zip(weights, moved, risen, strict=True)) / total
            for j in range(len(level))
        ]
        for i in range(size)
    ]
    solved = solve(gram, sides)
    return [[solved[i][j] for i in range(size)] for j in range(len(level))]


def regressed(
    known: Sequence[Vector], values: Sequence[Vector], at: Vector, ridge: float, weights: Vector
) -> list[float]:
    """Return the values that a linear regression says for one more case.

    Args:
        known: What is known of every case.
        values: The values of every case.
        at: What is known of the further case.
        ridge: Pull of slopes towards 0, beside the variance of what is known.
        weights: Of the cases.
    """
    total = sum(weights)
    gap = [
        each - sum(w * x for w, x in zip(weights, column, strict=True)) / total
        for each, column in zip(at, zip(*known, strict=True), strict=True)
    ]
    return [
        sum(w * v for w, v in zip(weights, column, strict=True)) / total
        + sum(slope * each for slope, each in zip(row, gap, strict=True))
        for column, row in zip(
            zip(*values, strict=True), slopes(known, values, weights, ridge), strict=True
        )
    ]


def step_towards(jacobian: Matrix, gap: Vector, *, caution: float) -> list[float]:
    """Return the shortest step that closes a gap between figures, by their slopes.

    Args:
        jacobian: A row of slopes for each figure.
        gap: Amount by which each figure is to rise.
        caution: Points squared that are not worth a step; keeps it short where slopes are weak.
    """
    gram = [
        [
            sum(a * b for a, b in zip(first, second, strict=True)) + (caution if i == k else 0.0)
            for k, second in enumerate(jacobian)
        ]
        for i, first in enumerate(jacobian)
    ]
    pulls = solve(gram, [[each] for each in gap])
    columns = len(jacobian[0])
    return [
        sum(row[i] * pull[0] for row, pull in zip(jacobian, pulls, strict=True))
        for i in range(columns)
    ]


def solve(matrix: Matrix, sides: Matrix) -> Matrix:
    """Solve linear equations with several right sides, by elimination with pivots.

    Raises:
        ValueError: the matrix is singular.
    """
    rows = [[*left, *right] for left, right in zip(matrix, sides, strict=True)]
    size = len(rows)
    for at in range(size):
        pivot = max(range(at, size), key=lambda row: abs(rows[row][at]))
        if abs(rows[pivot][at]) < 1e-12:
            raise ValueError("the matrix is singular")
        rows[at], rows[pivot] = rows[pivot], rows[at]
        head = rows[at] = [value / rows[at][at] for value in rows[at]]
        for other in range(size):
            factor = rows[other][at]
            if other != at and factor:
                rows[other] = [
                    value - factor * first for value, first in zip(rows[other], head, strict=True)
                ]
    return [row[size:] for row in rows]


def nearness(point: Vector, other: Vector, width: float) -> float:
    """Return 1 at the same place, and less the farther two points are apart."""
    return exp(-sum((a - b) ** 2 for a, b in zip(point, other, strict=True)) / (2 * width**2))
