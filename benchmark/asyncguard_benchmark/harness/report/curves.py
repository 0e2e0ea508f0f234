"""Lines over a few named places, drawn as SVG."""

from collections.abc import Sequence
from html import escape

from asyncguard_benchmark.harness.report.blocks import Curves, Series
from asyncguard_benchmark.harness.statistics.estimates import Interval

_WIDTH, _HEIGHT = 330, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 42, 10, 26
_APART = 13
"""Least distance of two labels, in pixels."""
_SIDE = 3.0
"""Series stand a little beside each other, so that their intervals do not cover each other."""


def drawing(curves: Curves) -> str:
    """Return the chart; it scales down to the width that it is given, and is never larger than its letters want."""
    said = "; ".join(f"{each.label}: {_spoken(each, curves.places)}" for each in curves.series)
    grid = "".join(_grid_line(share) for share in (0, 25, 50, 75, 100))
    places = "".join(
        f'<text x="{_x(n, len(curves.places)):.1f}" y="{_HEIGHT - 8}" class="place">{escape(place)}</text>'
        for n, place in enumerate(curves.places)
    )
    lines = "".join(_series(each, n, curves) for n, each in enumerate(curves.series))
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" class="curves" role="img" aria-label="Overall in per cent by '
        f'{escape(curves.axis_name)}. {escape(said)}">{grid}{places}{lines}{_labels(curves)}</svg>'
    )


def _spoken(series: Series, places: Sequence[str]) -> str:
    return ", ".join(
        f"{place} {each.value:.0f}"
        for place, each in zip(places, series.values, strict=True)
        if each
    )


def _x(place: int, places: int) -> float:
    inner = _WIDTH - _LEFT - _RIGHT - 2 * 14
    return _LEFT + 14 + (inner * place / (places - 1) if places > 1 else inner / 2)


def _y(share: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (100 - share) / 100


def _grid_line(share: int) -> str:
    y = _y(share)
    return (
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}">{share}{" %" if share == 100 else ""}</text>'
    )


def _series(series: Series, number: int, curves: Curves) -> str:
    side = _SIDE * (2 * number - len(curves.series) + 1)
    points = [
        (_x(n, len(curves.places)) + side, value)
        for n, value in enumerate(series.values)
        if value is not None
    ]
    path = " ".join(f"{x:.1f},{_y(value.value):.1f}" for x, value in points)
    return f'<g class="{series.tone}"><polyline points="{path}"/>{"".join(_point(x, value) for x, value in points)}</g>'


def _point(x: float, value: Interval) -> str:
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_y(value.low):.1f}" y2="{_y(value.high):.1f}"/>'
        f'<circle cx="{x:.1f}" cy="{_y(value.value):.1f}" r="3.2"/>'
    )


def _labels(curves: Curves) -> str:
    """Return the names at the ends of the lines; names that would meet are moved apart."""
    ends = sorted(
        (
            (_y(last.value), series)
            for series in curves.series
            if (last := _last(series)) is not None
        ),
        key=lambda each: each[0],
    )
    drawn, lowest = [], float(-_APART)
    for y, series in ends:
        lowest = max(y, lowest + _APART)
        place = f'x="{_WIDTH - _RIGHT + 2}" y="{lowest + 4:.1f}"'
        drawn.append(f'<text class="name {series.tone}" {place}>{escape(series.label)}</text>')
    return "".join(drawn)


def _last(series: Series) -> Interval | None:
    return next((value for value in reversed(series.values) if value is not None), None)
