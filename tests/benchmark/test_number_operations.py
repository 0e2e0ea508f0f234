import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard_benchmark.services.number_operations import TOOLSET
from asyncguard_benchmark.services.service import Executor

CALCULATOR = Executor(TOOLSET.tools, {})


def ask(name: str, /, **values: Any) -> Any:
    """A call's result, read."""
    return json.loads(CALCULATOR.call(name, values))


@given(st.integers(2, 100_000))
def test_factors_are_prime_and_multiply_to_the_number(number: int) -> None:
    """The factors multiply to the number, and the divisors are counted right."""
    found = ask("prime_factors", number=number)
    assert math.prod(found["factors"]) == number
    assert all(
        all(prime % below for below in range(2, math.isqrt(prime) + 1))
        for prime in found["distinct"]
    )
    assert (found["smallest"], found["largest"]) == (min(found["factors"]), max(found["factors"]))
    if number < 3000:
        assert found["divisor_count"] == sum(number % each == 0 for each in range(1, number + 1))


def test_primes_are_strictly_beside_the_number() -> None:
    """A prime is not its own neighbour, and below 2 there is none."""
    assert ask("neighbouring_primes", number=13) == {"below": 11, "above": 17, "itself_prime": True}
    assert ask("neighbouring_primes", number=90) == {
        "below": 89,
        "above": 97,
        "itself_prime": False,
    }
    assert ask("neighbouring_primes", number=2) == {"below": None, "above": 3, "itself_prime": True}


@given(st.integers(0, 10**15), st.integers(2, 36))
def test_bases_are_read_as_they_are_written(number: int, base: int) -> None:
    """Reading is the inverse of writing."""
    digits = ask("write_in_base", number=number, base=base)["digits"]
    assert ask("read_in_base", digits=digits.upper(), base=base)["number"] == number
    assert int(digits, base) == number


@pytest.mark.parametrize(
    ("digits", "base"), [("12", 2), ("g", 16), ("-1", 10), ("1.5", 10), ("٣", 10)]
)
def test_only_digits_of_the_base_are_read(digits: str, base: int) -> None:
    """Signs, points and digits of other scripts are none."""
    assert "not a digit" in ask("read_in_base", digits=digits, base=base)["error"]


@pytest.mark.parametrize(
    ("value", "step", "direction", "rounded", "steps"),
    [
        (0.35, 0.1, "nearest", 0.4, 4),
        (-0.25, 0.5, "nearest", -0.5, -1),
        (-7, 5, "up", -5, -1),
        (-7, 5, "down", -10, -2),
        (0.3, 0.1, "up", 0.3, 3),
        (1186.11, 5, "nearest", 1185, 237),
    ],
)
def test_rounding_is_decimal(
    value: float, step: float, direction: str, rounded: float, steps: int
) -> None:
    """Halves go away from zero, and 0.3 is three times 0.1 however binary fractions see it."""
    found = ask("round_to_step", value=value, step=step, direction=direction)
    assert (found["rounded"], found["steps"]) == (rounded, steps)


def test_whole_numbers() -> None:
    """Rest and what is missing, divisors and multiples, powers, fractions."""
    assert ask("divide_with_rest", dividend=1008, divisor=37) == {
        "quotient": 27,
        "rest": 9,
        "missing": 28,
    }
    assert ask("divide_with_rest", dividend=12, divisor=4) == {
        "quotient": 3,
        "rest": 0,
        "missing": 0,
    }
    assert ask("shared_measures", numbers=[24, 36, 40]) == {
        "greatest_divisor": 4,
        "least_multiple": 360,
    }
    assert ask("modular_power", base=4, exponent=13, modulus=497) == {
        "residue": 445,
        "complement": 52,
    }
    assert ask("modular_power", base=10, exponent=3, modulus=5) == {"residue": 0, "complement": 0}
    assert ask("reduce_fraction", numerator=84, denominator=36) == {
        "numerator": 7,
        "denominator": 3,
        "divided_by": 12,
        "decimal": 2.333333,
    }


def test_statistics() -> None:
    """The deviation is that of a population; an even count has its median between two values."""
    found = ask("describe_sample", values=[2, 4, 4, 4, 5, 5, 7, 9])
    assert (found["mean"], found["median"], found["deviation"], found["total"]) == (5, 4.5, 2, 40)
    assert ask("describe_sample", values=[0.1, 0.2])["total"] == 0.3
    assert ask("moving_average", values=[1, 2, 6, 3], window=2) == {
        "averages": [1.5, 4, 4.5],
        "lowest": 1.5,
        "highest": 4.5,
        "latest": 4.5,
    }
    assert "only 2 values" in ask("moving_average", values=[1, 2], window=3)["error"]


def test_percentages_and_shares() -> None:
    """Percent are of the earlier value; parts stand in the order of their shares."""
    assert ask("percent_change", before=-50, after=-25) == {"difference": 25, "percent": 50}
    assert "zero" in ask("percent_change", before=0, after=1)["error"]
    assert ask("apply_percentage", amount=1849.9, percent=12.5) == {
        "part": 231.24,
        "increased": 2081.14,
        "reduced": 1618.66,
    }
    assert ask("split_by_shares", total=100, shares=[1, 2, 3]) == {
        "parts": [16.67, 33.33, 50],
        "per_share": 16.67,
        "share_count": 6,
    }


def test_interest() -> None:
    """The total paid is the rounded instalment times the months; no interest, no cost."""
    assert ask("compound_growth", start=1000, percent=5, periods=2) == {
        "final": 1102.5,
        "gain": 102.5,
    }
    assert ask("loan_plan", principal=1200, yearly_percent=0, months=12) == {
        "instalment": 100,
        "total_paid": 1200,
        "interest": 0,
    }
    assert ask("loan_plan", principal=10000, yearly_percent=6, months=12) == {
        "instalment": 860.66,
        "total_paid": 10327.92,
        "interest": 327.92,
    }
    assert "too large" in ask("compound_growth", start=10**15, percent=1000, periods=600)["error"]


def test_measurements() -> None:
    """Units follow their definitions, temperatures their offset, and kinds are not mixed."""

    def converted(value: float, from_unit: str, to_unit: str) -> Any:
        return ask("convert_unit", value=value, from_unit=from_unit, to_unit=to_unit)

    assert converted(26.2, "miles", "kilometres") == {"value": 42.1648, "unit": "kilometres"}
    assert converted(-40, "°C", "°F") == {"value": -40, "unit": "°F"}
    assert converted(212, "°F", "°C") == {"value": 100, "unit": "°C"}
    assert "measure mass" in converted(1, "kilograms", "litres")["error"]
    assert "temperature" in converted(1, "°C", "metres")["error"]
    assert ask("circle_measures", radius=2) == {
        "diameter": 4,
        "circumference": 12.5664,
        "area": 12.5664,
    }


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_refused(value: float) -> None:
    """JSON readers let such values through; a result must not carry them on."""
    assert "error" in ask("apply_percentage", amount=value, percent=5)
