"""NO: functions on numbers: number theory, bases, rounding, statistics, units, percentages and finance.

No state. Everything is computed with whole numbers and fractions and rounded once, at the end, half away from zero, so
that a result is the same JSON value on every machine; only square roots and pi are floating point.
"""

import math
from fractions import Fraction
from typing import Annotated, Any, Literal

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.arguments import Number, Several, Text, one_of, within
from asyncguard_benchmark.services.declarations import State, tool
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.measurement_units import UNIT_NAMES, converted
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.state_shapes import NO_STATE

_LARGEST = 1_000_000_000
"""Largest whole number that is factorised: small enough for trial division."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

Base = Annotated[int, within(2, 36), "Base, 2 to 36."]
Values = Annotated[Several[Annotated[Number, "A value."]], "The values, in their order."]


def _factors(number: int) -> list[int]:
    found, divisor = [], 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return [*found, number] if number > 1 else found


@tool()
def prime_factors(
    _: State, number: Annotated[int, within(2, _LARGEST), "What to factorise."]
) -> Any:
    """Factorises a whole number: prime factors, distinct ones, smallest, largest, number of divisors."""
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


@tool()
def neighbouring_primes(
    _: State, number: Annotated[int, within(1, _LARGEST), "The number."]
) -> Any:
    """Finds the nearest prime strictly below and strictly above a whole number."""
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


@tool()
def divide_with_rest(
    _: State,
    dividend: Annotated[int, within(0), "What is divided."],
    divisor: Annotated[int, within(1), "By what."],
) -> Any:
    """Divides whole numbers: quotient, rest, and what is missing to the next multiple."""
    quotient, rest = divmod(dividend, divisor)
    return {"quotient": quotient, "rest": rest, "missing": divisor - rest if rest else 0}


@tool()
def shared_measures(
    _: State,
    numbers: Annotated[
        list[Annotated[int, within(1, _LARGEST), "A number."]],
        {"minItems": 2, "maxItems": 200},
        "The numbers, in their order.",
    ],
) -> Any:
    """Gives greatest common divisor and least common multiple of whole numbers."""
    return {"greatest_divisor": math.gcd(*numbers), "least_multiple": math.lcm(*numbers)}


@tool()
def modular_power(
    _: State,
    base: Annotated[int, within(0), "What is raised."],
    exponent: Annotated[int, within(0), "Exponent."],
    modulus: Annotated[int, within(2), "Modulus."],
) -> Any:
    """Raises a whole number to a power and gives the residue for a modulus, and the modulus minus the residue."""
    residue = pow(base, exponent, modulus)
    return {"residue": residue, "complement": (modulus - residue) % modulus}


@tool()
def reduce_fraction(
    _: State,
    numerator: Annotated[int, within(1), "Above the line."],
    denominator: Annotated[int, within(1), "Below the line."],
) -> Any:
    """Brings a fraction to lowest terms; also as a decimal with at most 6 places."""
    fraction = Fraction(numerator, denominator)
    return {
        "numerator": fraction.numerator,
        "denominator": fraction.denominator,
        "divided_by": math.gcd(numerator, denominator),
        "decimal": rounded(fraction, 6),
    }


@tool()
def write_in_base(
    _: State, number: Annotated[int, within(0), "The number, in base ten."], base: Base
) -> Any:
    """Writes a whole number in another base, digits above 9 as small letters; also how many and their total."""
    digits, rest = "", number
    while rest or not digits:
        rest, digit = divmod(rest, base)
        digits = _DIGITS[digit] + digits
    return {
        "digits": digits,
        "length": len(digits),
        "digit_total": sum(_DIGITS.index(digit) for digit in digits),
    }


@tool()
def read_in_base(
    _: State,
    digits: Annotated[Text, "The digits; letters in either case.", {"maxLength": 60}],
    base: Base,
) -> Any:
    """Reads digits of another base as a whole number."""
    number = 0
    for digit in digits.lower():
        value = _DIGITS.find(digit)
        if not 0 <= value < base:
            raise ToolFailure(f"{digit!r} is not a digit of base {base}.")
        number = number * base + value
    return {"number": number, "length": len(digits)}


@tool()
def round_to_step(
    _: State,
    value: Annotated[Number, "The value."],
    step: Annotated[Number, "Size of a step.", {"exclusiveMinimum": 0}],
    direction: Annotated[Literal["nearest", "up", "down"], "Which multiple."] = "nearest",
) -> Any:
    """Brings a value to a multiple of a step, halves away from zero; how many steps that is and the difference."""
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


@tool()
def describe_sample(_: State, values: Values) -> Any:
    """Statistics of values, 4 decimals: count, total, mean, median, extremes, population standard deviation."""
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


@tool()
def moving_average(
    _: State, values: Values, window: Annotated[int, within(1, 200), "Values in a run."]
) -> Any:
    """Means of each run of neighbouring values, 4 decimals; also the lowest, highest and latest of these means."""
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


@tool()
def percent_change(
    _: State, before: Annotated[Number, "Earlier value."], after: Annotated[Number, "Later value."]
) -> Any:
    """Compares two values: difference, and percent of the earlier one with 2 decimals."""
    start, end = exact(before), exact(after)
    if start == 0:
        raise ToolFailure("A change from zero has no percentage.")
    return {
        "difference": rounded(end - start, 4),
        "percent": rounded((end - start) / abs(start) * 100, 2),
    }


@tool()
def apply_percentage(
    _: State,
    amount: Annotated[Number, "The amount."],
    percent: Annotated[Number, "Percent, 19 for 19 %."],
) -> Any:
    """Takes a percentage of an amount: the part, the amount increased and reduced by it, 2 decimals."""
    base = exact(amount)
    part = base * exact(percent) / 100
    return {
        "part": rounded(part, 2),
        "increased": rounded(base + part, 2),
        "reduced": rounded(base - part, 2),
    }


@tool()
def split_by_shares(
    _: State,
    total: Annotated[Number, "What is divided."],
    shares: Annotated[
        Several[Annotated[int, within(1, _LARGEST), "A share."]], "Shares, in their order."
    ],
) -> Any:
    """Divides a total in proportion to whole shares; parts in the order of the shares, 2 decimals."""
    per_share = exact(total) / sum(shares)
    parts = [rounded(per_share * share, 2) for share in shares]
    return {"parts": parts, "per_share": rounded(per_share, 2), "share_count": sum(shares)}


@tool()
def compound_growth(
    _: State,
    start: Annotated[Number, "Amount at the start."],
    percent: Annotated[float, within(-100, 1000), "Percent for each period; negative to shrink."],
    periods: Annotated[int, within(1, 600), "Number of periods."],
) -> Any:
    """Lets an amount grow by a percentage each period, compounded; final amount and gain, 2 decimals."""
    begin = exact(start)
    final = begin * (1 + exact(percent) / 100) ** periods
    return {"final": rounded(final, 2), "gain": rounded(final - begin, 2)}


@tool()
def loan_plan(
    _: State,
    principal: Annotated[Number, "What is lent.", {"exclusiveMinimum": 0}],
    yearly_percent: Annotated[
        float, within(0, 1000), "Nominal yearly interest in percent, a twelfth each month."
    ],
    months: Annotated[int, within(1, 600), "Number of instalments."],
) -> Any:
    """Plans a loan with equal monthly instalments, 2 decimals: instalment, total paid, interest."""
    debt, rate = exact(principal), exact(yearly_percent) / 1200
    instalment = debt / months if rate == 0 else debt * rate / (1 - (1 + rate) ** -months)
    monthly = exact(rounded(instalment, 2))
    return {
        "instalment": rounded(monthly, 2),
        "total_paid": rounded(monthly * months, 2),
        "interest": rounded(monthly * months - debt, 2),
    }


@tool()
def circle_measures(
    _: State,
    radius: Annotated[
        Number, "Radius, in any unit; the area is in that unit squared.", {"exclusiveMinimum": 0}
    ],
) -> Any:
    """Gives diameter, circumference and area of a circle, 4 decimals."""
    given, pi = exact(radius), Fraction(math.pi)
    return {
        "diameter": rounded(2 * given, 4),
        "circumference": rounded(2 * pi * given, 4),
        "area": rounded(pi * given**2, 4),
    }


@tool()
def convert_unit(
    _: State,
    value: Annotated[Number, "The measurement."],
    from_unit: Annotated[str, one_of(UNIT_NAMES), "Its unit."],
    to_unit: Annotated[str, one_of(UNIT_NAMES), "Wanted unit."],
) -> Any:
    """Converts a measurement between units of one kind, 4 decimals."""
    return {"value": rounded(converted(exact(value), from_unit, to_unit), 4), "unit": to_unit}


TOOLSET = toolset(
    Category.NUMBER_OPERATIONS,
    NO_STATE,
    (
        prime_factors,
        neighbouring_primes,
        divide_with_rest,
        shared_measures,
        modular_power,
        reduce_fraction,
        write_in_base,
        read_in_base,
        round_to_step,
        describe_sample,
        moving_average,
        percent_change,
        apply_percentage,
        split_by_shares,
        compound_growth,
        loan_plan,
        circle_measures,
        convert_unit,
    ),
)
