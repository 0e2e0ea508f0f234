"""The box in which calibration looks for rates: a point is one number from 0 to 1 for each rate."""

from collections.abc import Mapping, Sequence
from math import exp
from random import Random

from asyncguard_benchmark.suites.asynctool.agents.personas.draws import logit
from asyncguard_benchmark.suites.asynctool.agents.personas.rates import FITTED, SPREADS, Rates

BOUNDS: Mapping[str, tuple[float, float]] = {
    "haste": (0.03, 0.95),
    "insight": (0.02, 0.9),
    "foresight": (0.02, 0.9),
    "distractor": (0.02, 0.9),
    "neglect": (0.002, 0.5),
    "dropout": (0.002, 0.4),
    "slip": (0.005, 0.85),
    "sprawl": (0.02, 0.99),
    "confusion": (0.001, 0.3),
    "untidy": (0.001, 0.25),
    "garbled": (0.001, 0.1),
    "repeat": (0.001, 0.4),
    "repair": (0.01, 0.98),
    "impatience": (0.001, 0.4),
    "collapse": (0.001, 0.5),
    "persistence": (0.05, 0.95),
    "rotation": (0.05, 0.95),
    "linger": (0.005, 0.9),
    "frailty": (0.0, 3.5),
    "difficulty": (0.0, 3.0),
    "distraction": (0.0, 1.0),
}
"""Least and greatest value of each rate that is looked at."""
_DIGITS = 5

Point = tuple[float, ...]


def rates_at(point: Sequence[float]) -> Rates:
    """Return the rates of a point: shares move in logits, widths evenly; rounded, so that a file holds them exactly."""
    return Rates(
        **{
            name: round(_value(name, each), _DIGITS)
            for name, each in zip(FITTED, point, strict=True)
        }
    )


def _value(name: str, place: float) -> float:
    low, high = BOUNDS[name]
    if name in SPREADS:
        return low + place * (high - low)
    return 1 / (1 + exp(-(logit(low) + place * (logit(high) - logit(low)))))


def inside(point: Sequence[float]) -> Point:
    """Return the nearest point of the box."""
    return tuple(min(1.0, max(0.0, each)) for each in point)


def spread_points(count: int, random: Random) -> list[Point]:
    """Return points over the whole box: each rate takes each of `count` levels once, in an order of its own."""
    columns = []
    for _ in FITTED:
        levels = [(level + random.random()) / count for level in range(count)]
        random.shuffle(levels)
        columns.append(levels)
    return list(zip(*columns, strict=True))
