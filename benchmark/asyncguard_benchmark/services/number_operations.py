"""NO: functions on numbers: number theory, bases, rounding, statistics, units, percentages and finance.

No state. Everything is computed with whole numbers and fractions and rounded once, at the end, half away from zero, so
that a result is the same JSON value on every machine; only square roots and pi are floating point.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.declarations import State, choice, text
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.measurement_units import UNIT_NAMES, converted
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.stateless import NO_STATE, array, function, integer, number

_LARGEST = 1_000_000_000
"""Largest whole number that is factorised: small enough for trial division."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def _factors(number: int) -> list[int]:
    found, divisor = [], 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return [*found, number] if number > 1 else found


def _prime_factors(_: State, number: int) -> Any:
    factors = _factors(number)
    distinct = sorted(set(factors))
    divisors = math.prod(factors.count(prime) + 1 for prime in distinct)
    return {
        "factors": factors,
        "distinct": distinct,
        "smallest": factors[0],
        "largest": factors[-1],
        "divisor_count": divisors,
    }


def _neighbouring_primes(_: State, number: int) -> Any:
    below, above = number - 1, number + 1
    while below >= 2 and _factors(below) != [below]:
        below -= 1
    while _factors(above) != [above]:
        above += 1
    return {
        "below": below if below >= 2 else None,
        "above": above,
        "itself_prime": _factors(number) == [number],
    }


def _divide_with_rest(_: State, dividend: int, divisor: int) -> Any:
    quotient, rest = divmod(dividend, divisor)
    return {"quotient": quotient, "rest": rest, "missing": divisor - rest if rest else 0}


def _shared_measures(_: State, numbers: Sequence[int]) -> Any:
    return {"greatest_divisor": math.gcd(*numbers), "least_multiple": math.lcm(*numbers)}


def _modular_power(_: State, base: int, exponent: int, modulus: int) -> Any:
    residue = pow(base, exponent, modulus)
    return {"residue": residue, "complement": (modulus - residue) % modulus}


def _reduce_fraction(_: State, numerator: int, denominator: int) -> Any:
    fraction = Fraction(numerator, denominator)
    return {
        "numerator": fraction.numerator,
        "denominator": fraction.denominator,
        "divided_by": math.gcd(numerator, denominator),
        "decimal": rounded(fraction, 6),
    }


def _write_in_base(_: State, number: int, base: int) -> Any:
    digits, rest = "", number
    while rest or not digits:
        rest, digit = divmod(rest, base)
        digits = _DIGITS[digit] + digits
    return {
        "digits": digits,
        "length": len(digits),
        "digit_total": sum(_DIGITS.index(digit) for digit in digits),
    }


def _read_in_base(_: State, digits: str, base: int) -> Any:
    number = 0
    for digit in digits.lower():
        value = _DIGITS.find(digit)
        if not 0 <= value < base:
            raise ToolFailure(f"{digit!r} is not a digit of base {base}.")
        number = number * base + value
    return {"number": number, "length": len(digits)}


def _round_to_step(_: State, value: float, step: float, direction: str) -> Any:
    given, size = exact(value), exact(step)
    ratio = given / size
    steps = {
        "up": math.ceil(ratio),
        "down": math.floor(ratio),
        "nearest": int(rounded(ratio, 0)),
    }[direction]
    return {
        "rounded": rounded(steps * size, 6),
        "steps": steps,
        "difference": rounded(steps * size - given, 6),
    }


def _describe_sample(_: State, values: Sequence[float]) -> Any:
    sample = sorted(exact(value) for value in values)
    count, total = len(sample), sum(sample, Fraction(0))
    mean = total / count
    middle = (sample[(count - 1) // 2] + sample[count // 2]) / 2
    variance = sum(((value - mean) ** 2 for value in sample), Fraction(0)) / count
    return {
        "count": count,
        "total": rounded(total, 4),
        "mean": rounded(mean, 4),
        "median": rounded(middle, 4),
        "minimum": rounded(sample[0], 4),
        "maximum": rounded(sample[-1], 4),
        "deviation": rounded(Fraction(math.sqrt(variance)), 4),
    }


def _moving_average(_: State, values: Sequence[float], window: int) -> Any:
    given = [exact(value) for value in values]
    if window > len(given):
        raise ToolFailure(f"The window is {window} wide, but there are only {len(given)} values.")
    means = [
        sum(given[at : at + window], Fraction(0)) / window for at in range(len(given) - window + 1)
    ]
    averages = [rounded(mean, 4) for mean in means]
    return {
        "averages": averages,
        "lowest": min(averages),
        "highest": max(averages),
        "latest": averages[-1],
    }


def _percent_change(_: State, before: float, after: float) -> Any:
    start, end = exact(before), exact(after)
    if start == 0:
        raise ToolFailure("A change from zero has no percentage.")
    return {
        "difference": rounded(end - start, 4),
        "percent": rounded((end - start) / abs(start) * 100, 2),
    }


def _apply_percentage(_: State, amount: float, percent: float) -> Any:
    base = exact(amount)
    part = base * exact(percent) / 100
    return {
        "part": rounded(part, 2),
        "increased": rounded(base + part, 2),
        "reduced": rounded(base - part, 2),
    }


def _split_by_shares(_: State, total: float, shares: Sequence[int]) -> Any:
    per_share = exact(total) / sum(shares)
    parts = [rounded(per_share * share, 2) for share in shares]
    return {"parts": parts, "per_share": rounded(per_share, 2), "share_count": sum(shares)}


def _compound_growth(_: State, start: float, percent: float, periods: int) -> Any:
    begin = exact(start)
    final = begin * (1 + exact(percent) / 100) ** periods
    return {"final": rounded(final, 2), "gain": rounded(final - begin, 2)}


def _loan_plan(_: State, principal: float, yearly_percent: float, months: int) -> Any:
    debt, rate = exact(principal), exact(yearly_percent) / 1200
    instalment = debt / months if rate == 0 else debt * rate / (1 - (1 + rate) ** -months)
    monthly = exact(rounded(instalment, 2))
    return {
        "instalment": rounded(monthly, 2),
        "total_paid": rounded(monthly * months, 2),
        "interest": rounded(monthly * months - debt, 2),
    }


def _circle_measures(_: State, radius: float) -> Any:
    given, pi = exact(radius), Fraction(math.pi)
    return {
        "diameter": rounded(2 * given, 4),
        "circumference": rounded(2 * pi * given, 4),
        "area": rounded(pi * given**2, 4),
    }


def _convert_unit(_: State, value: float, from_unit: str, to_unit: str) -> Any:
    return {"value": rounded(converted(exact(value), from_unit, to_unit), 4), "unit": to_unit}


_BASE = integer("Base, 2 to 36.", 2, 36)
_VALUES = array("The values, in their order.", number("A value."), 1)

TOOLSET = toolset(
    Category.NUMBER_OPERATIONS,
    NO_STATE,
    (
        function(
            "prime_factors",
            "Factorises a whole number: prime factors, distinct ones, smallest, largest, number of divisors.",
            _prime_factors,
            number=integer("What to factorise.", 2, _LARGEST),
        ),
        function(
            "neighbouring_primes",
            "Finds the nearest prime strictly below and strictly above a whole number.",
            _neighbouring_primes,
            number=integer("The number.", 1, _LARGEST),
        ),
        function(
            "divide_with_rest",
            "Divides whole numbers: quotient, rest, and what is missing to the next multiple.",
            _divide_with_rest,
            dividend=integer("What is divided.", 0),
            divisor=integer("By what.", 1),
        ),
        function(
            "shared_measures",
            "Gives greatest common divisor and least common multiple of whole numbers.",
            _shared_measures,
            numbers=array("The numbers, in their order.", integer("A number.", 1, _LARGEST), 2),
        ),
        function(
            "modular_power",
            "Raises a whole number to a power and gives the residue for a modulus, and the modulus minus the residue.",
            _modular_power,
            base=integer("What is raised.", 0),
            exponent=integer("Exponent.", 0),
            modulus=integer("Modulus.", 2),
        ),
        function(
            "reduce_fraction",
            "Brings a fraction to lowest terms; also as a decimal with at most 6 places.",
            _reduce_fraction,
            numerator=integer("Above the line.", 1),
            denominator=integer("Below the line.", 1),
        ),
        function(
            "write_in_base",
            "Writes a whole number in another base, digits above 9 as small letters; also how many and their total.",
            _write_in_base,
            number=integer("The number, in base ten.", 0),
            base=_BASE,
        ),
        function(
            "read_in_base",
            "Reads digits of another base as a whole number.",
            _read_in_base,
            digits=text("The digits; letters in either case.", maxLength=60),
            base=_BASE,
        ),
        function(
            "round_to_step",
            "Brings a value to a multiple of a step, halves away from zero; how many steps that is and the difference.",
            _round_to_step,
            value=number("The value."),
            step=number("Size of a step.", exclusiveMinimum=0),
            direction=choice("Which multiple.", ("nearest", "up", "down"), default="nearest"),
        ),
        function(
            "describe_sample",
            "Statistics of values, 4 decimals: count, total, mean, median, extremes, population standard deviation.",
            _describe_sample,
            values=_VALUES,
        ),
        function(
            "moving_average",
            "Means of each run of neighbouring values, 4 decimals; also the lowest, highest and latest of these means.",
            _moving_average,
            values=_VALUES,
            window=integer("Values in a run.", 1, 200),
        ),
        function(
            "percent_change",
            "Compares two values: difference, and percent of the earlier one with 2 decimals.",
            _percent_change,
            before=number("Earlier value."),
            after=number("Later value."),
        ),
        function(
            "apply_percentage",
            "Takes a percentage of an amount: the part, the amount increased and reduced by it, 2 decimals.",
            _apply_percentage,
            amount=number("The amount."),
            percent=number("Percent, 19 for 19 %."),
        ),
        function(
            "split_by_shares",
            "Divides a total in proportion to whole shares; parts in the order of the shares, 2 decimals.",
            _split_by_shares,
            total=number("What is divided."),
            shares=array("Shares, in their order.", integer("A share.", 1, _LARGEST), 1),
        ),
        function(
            "compound_growth",
            "Lets an amount grow by a percentage each period, compounded; final amount and gain, 2 decimals.",
            _compound_growth,
            start=number("Amount at the start."),
            percent=number(
                "Percent for each period; negative to shrink.", minimum=-100, maximum=1000
            ),
            periods=integer("Number of periods.", 1, 600),
        ),
        function(
            "loan_plan",
            "Plans a loan with equal monthly instalments, 2 decimals: instalment, total paid, interest.",
            _loan_plan,
            principal=number("What is lent.", exclusiveMinimum=0),
            yearly_percent=number(
                "Nominal yearly interest in percent, a twelfth each month.", minimum=0, maximum=1000
            ),
            months=integer("Number of instalments.", 1, 600),
        ),
        function(
            "circle_measures",
            "Gives diameter, circumference and area of a circle, 4 decimals.",
            _circle_measures,
            radius=number(
                "Radius, in any unit; the area is in that unit squared.", exclusiveMinimum=0
            ),
        ),
        function(
            "convert_unit",
            "Converts a measurement between units of one kind, 4 decimals.",
            _convert_unit,
            value=number("The measurement."),
            from_unit=choice("Its unit.", UNIT_NAMES),
            to_unit=choice("Wanted unit.", UNIT_NAMES),
        ),
    ),
)
