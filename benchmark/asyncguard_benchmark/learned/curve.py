"""Curve of a training run: loss of the agent's own words by pieces read, as SVG."""

from collections.abc import Mapping, Sequence
from math import log10
from typing import Any

_WIDTH, _HEIGHT, _MARGIN = 640, 320, 48
_LINES = (("loss", "#4269d0", "training"), ("validation", "#ff725c", "values never seen"))


def drawn_curve(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return the drawing of a log; the loss has a logarithmic scale.

    Args:
        lines: Lines of the log, at least one.
    """
    most = max(each["pieces"] for each in lines)
    values = [each[name] for each in lines for name, *_ in _LINES if each.get(name)]
    low, high = log10(min(values)) - 0.05, log10(max(values)) + 0.05

    def at(pieces: float, loss: float) -> str:
        x = _MARGIN + pieces / most * (_WIDTH - 2 * _MARGIN)
        y = _MARGIN + (high - log10(loss)) / (high - low) * (_HEIGHT - 2 * _MARGIN)
        return f"{x:.1f},{y:.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12" role="img"><title>Loss of a training run, in nats for each piece</title>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
    ]
    for number, (name, colour, label) in enumerate(_LINES):
        points = " ".join(at(each["pieces"], each[name]) for each in lines if each.get(name))
        parts.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{points}"/>'
        )
        parts.append(
            f'<text x="{_WIDTH - 200}" y="{24 + 16 * number}" fill="{colour}">{label} {lines[-1].get(name, "-")}</text>'
        )
    for loss in (0.1, 0.2, 0.5, 1, 2, 5):
        if low <= log10(loss) <= high:
            y = at(0, loss).partition(",")[2]
            parts.append(f'<text x="12" y="{y}">{loss:g}</text>')
    parts.append(
        f'<text x="{_MARGIN}" y="{_HEIGHT - 12}">0 to {most:,} pieces, {lines[-1]["step"]:,} steps</text></svg>'
    )
    return "\n".join(parts) + "\n"
