"""Rules that hold between the arguments of a call and its result.

A rule judges only what it can read: where a field is missing or of another type, the schema has already said so.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from operator import le
from typing import Any

from asyncguard_benchmark.services.declarations import Invariant

CLOSE = Fraction(1, 100)
"""Numbers that were rounded to two decimals may differ by so much."""
_DIGITS = 14
"""Decimal digits that binary arithmetic keeps over a few steps; a float holds between 15 and 17."""


def echoes(argument: str, field: str = "") -> Invariant:
    """Return the rule that the result repeats what was asked: `field`, or the field of its name, equals `argument`."""
    field = field or argument

    def rule(arguments: Mapping[str, Any], result: Any) -> str | None:
        said = _field(result, field)
        if argument not in arguments or said is None or _same(said, arguments[argument]):
            return None
        return f"{field} is not the {argument} that was asked for"

    return rule


def adds_up(total: str, parts: str, part: str = "") -> Invariant:
    """Return the rule that `total` is the sum of the list `parts`, or of the field `part` of its items."""

    def rule(_arguments: Mapping[str, Any], result: Any) -> str | None:
        said, listed = number(result, total), _field(result, parts)
        if said is None or not isinstance(listed, list):
            return None
        addends = [as_number(_field(item, part) if part else item) for item in listed]
        known = [each for each in addends if each is not None]
        if len(known) != len(addends) or abs(said - sum(known)) <= CLOSE:
            return None
        return f"{total} is not the sum of {parts}"

    return rule


def relation(names: str, holds: Callable[..., bool], problem: str) -> Invariant:
    """Return the rule that something holds for the numbers in fields of the result.

    Args:
        names: The fields, with blanks between them.
        holds: Takes the numbers in this order; it is asked only if each field holds one.
        problem: What to say where it does not hold.
    """

    def rule(_arguments: Mapping[str, Any], result: Any) -> str | None:
        numbers = [number(result, name) for name in names.split()]
        return None if None in numbers or holds(*numbers) else problem

    return rule


def product(result_field: str, first: str, second: str) -> Invariant:
    """Return the rule that `result_field` is the product of two other fields, rounded to two decimals."""
    return relation(
        f"{result_field} {first} {second}",
        lambda said, left, right: abs(said - left * right) <= CLOSE,
        f"{result_field} is not {first} times {second}",
    )


def difference(result_field: str, first: str, second: str) -> Invariant:
    """Return the rule that `result_field` is one field less another."""
    return relation(
        f"{result_field} {first} {second}",
        lambda said, left, right: abs(said - (left - right)) <= CLOSE,
        f"{result_field} is not {first} less {second}",
    )


def not_above(lower: str, upper: str) -> Invariant:
    """Return the rule that `lower` is at most `upper`."""
    return relation(f"{lower} {upper}", le, f"{lower} is above {upper}")


def number(result: Any, name: str) -> Fraction | None:
    """Return the number that a field of a result holds, as `as_number` reads it; None if there is none."""
    return as_number(_field(result, name))


def as_number(value: Any) -> Fraction | None:
    """Return a JSON number as the decimal that was meant; None for anything else.

    A difference that binary arithmetic leaves in the last digits is ignored: 0.30000000000000004 is
    0.3.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return Fraction(value) if isinstance(value, int) else Fraction(f"{value:.{_DIGITS}g}")


def _same(one: Any, other: Any) -> bool:
    """Return True if two JSON values are equal; numbers, also in lists, are compared as `as_number` reads them."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    first, second = as_number(one), as_number(other)
    return bool(one == other) if first is None or second is None else first == second


def _field(result: Any, name: str) -> Any:
    return result.get(name) if isinstance(result, Mapping) else None
