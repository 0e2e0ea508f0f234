"""Figures as a reader sees them: rounded alike everywhere, with one minus sign, and a dash where there is no data."""

from asyncguard_benchmark.harness.statistics.estimates import Interval

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"
NO_DATA = DASH
_SMALLEST_P = 0.001
_TENTH = 0.05
"""Half of the last digit of a difference: what is nearer to zero has no sign."""


def number(value: float | None, digits: int = 1) -> str:
    """Return a figure without a sign of its own."""
    return NO_DATA if value is None else f"{value:,.{digits}f}".replace("-", MINUS)


def count(value: float | None) -> str:
    """Return a whole number with thousands apart."""
    return number(value, 0)


def signed(value: float | None, digits: int = 1) -> str:
    """Return a difference; zero has no sign."""
    if value is None:
        return NO_DATA
    if abs(value) < _TENTH / 10 ** (digits - 1):
        return f"{0:.{digits}f}"
    return f"{value:+,.{digits}f}".replace("-", MINUS)


def share(interval: Interval | None) -> str:
    """Return the value of an interval."""
    return NO_DATA if interval is None else number(interval.value)


def span(interval: Interval | None) -> str:
    """Return the ends of an interval of shares."""
    return NO_DATA if interval is None else f"{number(interval.low)} to {number(interval.high)}"


def difference(interval: Interval | None, digits: int = 1) -> str:
    """Return the value of an interval of differences."""
    return NO_DATA if interval is None else signed(interval.value, digits)


def signed_span(interval: Interval | None, digits: int = 1) -> str:
    """Return the ends of an interval of differences."""
    return (
        NO_DATA
        if interval is None
        else f"{signed(interval.low, digits)} to {signed(interval.high, digits)}"
    )


def p_value(p: float | None) -> str:
    """Return a probability, never as zero."""
    if p is None:
        return NO_DATA
    return f"< {_SMALLEST_P}" if p < _SMALLEST_P else f"{p:.3f}"


def thousands(value: float | None) -> str:
    """Return a large figure in thousands."""
    return NO_DATA if value is None else f"{value / 1000:,.1f} k"


def is_figure(text: str) -> bool:
    """Return True if a cell of a table holds a figure, or stands for a missing one."""
    return text in ("", "-", NO_DATA) or text.lstrip(f"+-{MINUS}< ")[:1].isdigit()
