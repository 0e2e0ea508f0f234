"""Selection of the played points that stand for a model."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from asyncguard_benchmark.suites.asynctool.calibration.figures import FITTED_COLUMNS, Figures, fit
from asyncguard_benchmark.suites.asynctool.calibration.space import Point
from asyncguard_benchmark.suites.asynctool.calibration.tables import PublishedModel

LEAST_MEMBERS = 20
"""Members of an ensemble below which a range says too little."""
MOST_MEMBERS = 24
TOLERANCE = 0.5
"""Points of error above the best fit that a member may have."""


@dataclass(kw_only=True)
class Played:
    """Points with their figures."""

    points: list[Point] = field(default_factory=list)
    figures: list[Figures] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    """The model whose published figures led to a point; empty for those that are spread over the box."""

    def add(self, point: Point, figures: Figures, owner: str = "") -> None:
        """Add a point and its figures."""
        self.points.append(point)
        self.figures.append(figures)
        self.owners.append(owner)

    def led_to_by(self, owners: Collection[str]) -> "Played":
        """Return a copy with the spread points and those that some models' published figures led to."""
        kept = Played()
        for point, figures, owner in zip(self.points, self.figures, self.owners, strict=True):
            if not owner or owner in owners:
                kept.add(point, figures, owner)
        return kept


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The played points that stand for one model."""

    model: PublishedModel
    indices: Sequence[int]
    """Into the played points; the best fit comes first, then each the farthest from those before it."""
    error: float
    """Error of the best fit, in points."""
    fitting: int
    """Number of played points that were within the tolerance."""


def choose(
    model: PublishedModel,
    played: Played,
    *,
    fill: bool = False,
    without: Collection[str] = (),
) -> Chosen:
    """Return the best fit, and of all within the tolerance those that differ most.

    Args:
        model: Model that they stand for.
        played: Points to choose from.
        fill: True if the next best are taken, too, if too few are within the tolerance: a best fit that is a lucky
            draw has few others near it.
        without: Published columns that are left out.
    """
    columns = [name for name in FITTED_COLUMNS if name not in without]
    errors = [fit(figures, model.target, columns).error for figures in played.figures]
    least = min(errors)
    within = [index for index, error in enumerate(errors) if error <= least + TOLERANCE]
    fitting = len(within)
    if fill and len(within) < LEAST_MEMBERS:
        within = sorted(range(len(errors)), key=lambda index: errors[index])[:LEAST_MEMBERS]
    chosen = [min(within, key=lambda index: errors[index])]
    rest = [index for index in within if index not in chosen]
    while rest and len(chosen) < MOST_MEMBERS:
        farthest = max(
            rest, key=lambda index: min(_distance(played, index, other) for other in chosen)
        )
        chosen.append(farthest)
        rest.remove(farthest)
    return Chosen(model=model, indices=chosen, error=least, fitting=fitting)


def _distance(played: Played, one: int, other: int) -> float:
    return sum((a - b) ** 2 for a, b in zip(played.points[one], played.points[other], strict=True))
