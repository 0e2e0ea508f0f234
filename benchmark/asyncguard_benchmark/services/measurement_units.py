"""Units of measurement, by their exact definitions."""

from collections.abc import Mapping
from fractions import Fraction

from asyncguard_benchmark.errors import ToolFailure

_UNITS: Mapping[str, tuple[str, Fraction]] = {
    "centimetres": ("length", Fraction(1, 100)),
    "metres": ("length", Fraction(1)),
    "kilometres": ("length", Fraction(1000)),
    "inches": ("length", Fraction("0.0254")),
    "feet": ("length", Fraction("0.3048")),
    "miles": ("length", Fraction("1609.344")),
    "nautical miles": ("length", Fraction(1852)),
    "grams": ("mass", Fraction(1, 1000)),
    "kilograms": ("mass", Fraction(1)),
    "ounces": ("mass", Fraction("0.028349523125")),
    "pounds": ("mass", Fraction("0.45359237")),
    "millilitres": ("volume", Fraction(1, 1000)),
    "litres": ("volume", Fraction(1)),
    "US gallons": ("volume", Fraction("3.785411784")),
    "seconds": ("time", Fraction(1)),
    "minutes": ("time", Fraction(60)),
    "hours": ("time", Fraction(3600)),
    "days": ("time", Fraction(86400)),
    "square metres": ("area", Fraction(1)),
    "hectares": ("area", Fraction(10_000)),
    "acres": ("area", Fraction("4046.8564224")),
}
"""Unit -> what it measures, and how many base units of it one is; temperatures, with their offset, are apart."""

UNIT_NAMES = (*_UNITS, "°C", "°F")
"""Every unit, as agents write it."""


def converted(value: Fraction, from_unit: str, to_unit: str) -> Fraction:
    """Return a measurement in another unit.

    Raises:
        ToolFailure: the units measure different things.
    """
    if {from_unit, to_unit} <= {"°C", "°F"}:
        celsius = value if from_unit == "°C" else (value - 32) * 5 / 9
        return celsius if to_unit == "°C" else celsius * 9 / 5 + 32
    (kind, size), (other_kind, other_size) = _unit(from_unit), _unit(to_unit)
    if kind != other_kind:
        raise ToolFailure(f"{from_unit} measure {kind} and {to_unit} measure {other_kind}.")
    return value * size / other_size


def _unit(name: str) -> tuple[str, Fraction]:
    return _UNITS.get(name, ("temperature", Fraction(1)))
