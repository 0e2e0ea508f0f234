"""Answers of other tools: read by their own declaration, converted exactly or not used at all."""

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.core.tool_spec import ToolSpec
from asyncguard.recovery.repair.units import unit_named
from asyncguard.recovery.result_check import read_answer
from asyncguard.recovery.translation import Reading, translate, units_told


def counted(name: str = "price", **field: Any) -> dict[str, Any]:
    """A schema of one number."""
    return {"type": "object", "properties": {name: {"type": "number", **field}}, "required": [name]}


def read(answer: Any, own: Any, wanted: Any) -> Reading:
    """An answer of ``other`` in the form of another tool."""
    return translate(
        read_answer(json.dumps(answer)), ToolSpec(name="other", result_schema=own), wanted
    )


EUR, CENT = counted(unit="EUR"), counted(unit="cent")


@pytest.mark.parametrize(
    ("answer", "own", "wanted", "value"),
    [
        ({"price": 1240}, CENT, EUR, {"price": 12.4}),
        ({"price": 12.4}, EUR, CENT, {"price": 1240}),
        (
            {"cost": 1240},
            counted("cost", unit="cent"),
            counted(unit="EUR", aliases=["cost"]),
            {"price": 12.4},
        ),
        ({"price": "1240 cent"}, CENT, EUR, {"price": 12.4}),
        ({"price": 1240}, counted(description="Price in cents."), EUR, {"price": 12.4}),
        (
            [{"price": 1240}],
            {"type": "array", "items": CENT},
            {"type": "array", "items": EUR},
            [{"price": 12.4}],
        ),
        (4200, {"type": "number", "unit": "ms"}, {"type": "number", "unit": "s"}, 4.2),
        ({"price": 99900, "note": "x"}, CENT, counted(unit="EUR", maximum=500), {"price": 999}),
    ],
    ids=str,
)
def test_units_that_both_declare_are_converted(
    answer: Any, own: Any, wanted: Any, value: Any
) -> None:
    """Values are converted if both units are declared; the conversion is described."""
    found = read(answer, own, wanted)
    assert (found.answer.value, found.problems) == (value, ())
    assert any("converted" in change for change in found.changes)
    assert not any("12" in change for change in found.changes)


@pytest.mark.parametrize(
    ("answer", "own", "wanted"),
    [
        ({"price": 12.4}, EUR, counted(unit="EUR", maximum=500)),
        ({"price": 12.4, "note": "x"}, EUR, counted(unit="euros")),
        ({"price": 12.4}, None, EUR),
        ({"price": 12.4}, CENT, None),
        ({"price": 12.4}, {"type": "object"}, EUR),
        ({"price": 12.4}, counted(), counted()),
        ({"price": 12.4, "name": "x"}, counted("name"), counted()),
        ({"price": 900}, counted(unit="EUR", maximum=500), EUR),
    ],
    ids=str,
)
def test_where_no_unit_changes_the_answer_stays_as_it_came(
    answer: Any, own: Any, wanted: Any
) -> None:
    """The answer stays if no unit changes, also if the tool declares nothing of the field."""
    found = read(answer, own, wanted)
    assert (found.answer.value, found.changes, found.problems) == (answer, (), ())


@pytest.mark.parametrize(
    ("answer", "own", "wanted"),
    [
        ({"price": 12.4}, counted(unit="USD"), EUR),
        ({"price": 12.4}, counted(unit="kg"), EUR),
        ({"price": 12.4}, counted(unit="credits"), EUR),
        ({"price": 12.4}, EUR, counted()),
        ({"price": 12.4}, counted(unit="cent"), counted(unit="JPY")),
        ({"cost": 12.4}, CENT, EUR),
        ({"price": "12.4 USD"}, EUR, CENT),
        ("twelve", CENT, EUR),
    ],
    ids=str,
)
def test_what_cannot_be_converted_is_not_used(answer: Any, own: Any, wanted: Any) -> None:
    """Another currency or dimension, a unit of which the other declaration is silent, an answer against its own."""
    assert read(answer, own, wanted).problems


def test_a_unit_that_only_the_naming_tool_declares_is_assumed_and_told() -> None:
    """The answer is that of a tool that was named to stand in, and describes its field without the unit."""
    found = read({"price": 12.4}, counted(), EUR)
    assert (found.answer.value, found.problems) == ({"price": 12.4}, ())
    assert found.changes == ("took the number of 'price' to be in EUR, as declared",)


def test_the_units_of_a_declaration_are_listed() -> None:
    """The units of a declaration are listed for an answer without a declaration of its own."""
    assert units_told(CENT) == "price in cent"
    assert units_told({"type": "array", "items": EUR}) == "price in EUR"
    assert units_told({"type": "number", "unit": "ms"}) == "the answer in ms"
    assert units_told(counted()) == units_told(None) == ""


LENGTHS = st.sampled_from(["mm", "cm", "m", "km", "in", "ft", "mi"])


@given(value=st.integers(-(10**6), 10**6), here=LENGTHS, there=LENGTHS)
def test_a_converted_number_is_the_exact_one(value: int, here: str, there: str) -> None:
    """Within what a double holds of the quotient of two fractions."""
    found = read({"price": value}, counted(unit=here), counted(unit=there))
    source, target = unit_named(here), unit_named(there)
    assert source is not None
    assert target is not None
    exact = value * source.factor / target.factor
    assert not found.problems
    assert abs(Fraction(found.answer.value["price"]) - exact) <= abs(exact) / 10**11
    assert bool(found.changes) is (exact != value)
