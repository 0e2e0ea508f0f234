"""Symbols of units that differ only in case: milli is not mega, and a bit is not a byte."""

from typing import Any

import pytest

from asyncguard.recovery.repair.unit_annotations import differ, measured
from asyncguard.recovery.repair.units import unit_named
from tests.recovery.repair.test_results import number, outcome
from tests.recovery.test_translation import counted, read


@pytest.mark.parametrize(
    "text", ["mJ", "mHz", "mPa", "mWh", "Mg", "Mm", "ML", "Mbar", "Mb", "Gb", "M"]
)
def test_a_symbol_is_no_other_symbol_in_another_case(text: str) -> None:
    """A known unit stands for its own spelling; the prefix or the base of this one is another."""
    assert unit_named(text) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *[
            ("KG", "kg"),
            ("MG", "mg"),
            ("Kg", "kg"),
            ("Min", "min"),
            ("MINUTES", "min"),
            ("mL", "ml"),
            ("Mi", "mi"),
        ],
        *[
            ("mhz", "MHz"),
            ("mb", "MB"),
            ("kb", "kB"),
            ("KB", "kB"),
            ("kwh", "kWh"),
            ("eur", "EUR"),
            ("Meters", "m"),
        ],
    ],
)
def test_other_case_is_read_where_it_says_nothing(text: str, name: str) -> None:
    """Words, and symbols in one case throughout."""
    unit = unit_named(text)
    assert unit is not None
    assert unit.name == name


@pytest.mark.parametrize(
    ("declared", "named"), [("mV", "MV"), ("MSv", "mSv"), ("mW", "MW"), ("mJ", "MJ"), ("Gb", "GB")]
)
def test_units_that_are_not_known_are_told_apart_as_well(declared: str, named: str) -> None:
    """A name that is in no table is compared as it is written."""
    assert differ(declared, named)
    assert not differ(declared, declared)


@pytest.mark.parametrize(
    ("answer", "declared", "value"),
    [
        ({"power": "5 mW"}, number("power", unit="MW"), {"power": 5e-9}),
        ({"power": "5 MW"}, number("power", unit="mW"), {"power": 5_000_000_000}),
        ({"power": "5 mw"}, number("power", unit="MW"), "refused"),
        ({"field": "5 MV"}, number("field", unit="mV"), "refused"),
        ({"power_MW": 5}, number("power", unit="W"), {"power": 5_000_000}),
        ({"power_mW": 5}, number("power", unit="W"), {"power": 0.005}),
        ({"power_kW": 5}, number("power", unit="W"), {"power": 5000}),
        ({"energy_in_kWh": 2}, number("energy", unit="Wh"), {"energy": 2000}),
        ({"power_mw": 5}, number("power", unit="MW"), "refused"),
        ({"POWER_MW": 5}, number("power", unit="MW"), "refused"),
        ({"weight_Mg": 1}, number("weight", unit="g"), "refused"),
        ({"WEIGHT_MG": 1}, number("weight", unit="g"), {"weight": 0.001}),
        ({"weightMg": 1}, number("weight", unit="g"), {"weight": 0.001}),
        ({"size_Mb": 5}, number("size", unit="MB"), "refused"),
        ({"size_mb": 5}, number("size", unit="B"), {"size": 5_000_000}),
    ],
    ids=str,
)
def test_a_number_is_told_in_the_unit_that_was_written(
    answer: Any, declared: dict[str, Any], value: Any
) -> None:
    """In a text and at the end of a name; what fits two ways is refused."""
    assert outcome(answer, declared) == value


@pytest.mark.parametrize(
    ("own", "wanted"), [("mV", "MV"), ("mJ", "MJ"), ("ML", "l"), ("Gb", "GB"), ("Mg", "mg")]
)
def test_a_sibling_in_a_unit_of_another_size_is_not_used(own: str, wanted: str) -> None:
    """A sibling's value whose unit does not convert is not used."""
    assert read({"price": 5}, counted(unit=own), counted(unit=wanted)).problems


def test_a_name_and_its_unit_are_parted_at_what_joins_them() -> None:
    """Capitals within the unit part no words."""
    assert [
        measured(name) and measured(name)[0] for name in ("power_kW", "kWh", "net_price_kEUR")
    ] == [  # type: ignore[index]
        "power",
        None,
        "netprice",
    ]
