"""JSON schemas of the results of the energy supplier's tools."""

from asyncguard_benchmark.services.state_shapes import record
from asyncguard_benchmark.suites.hazards.domains.result_fields import (
    code,
    day,
    one_of,
    quantity,
    several,
)

MONTH = "[0-9]{4}-(0[1-9]|1[0-2])"
"""A month in ISO 8601, as a regular expression."""
_KINDS = ("fixed", "indexed", "dynamic")
_KIND_NAMES = {
    "flat rate": "fixed",
    "index-linked": "indexed",
    "spot": "dynamic",
    "hourly": "dynamic",
}
BRACKETS = ("small", "household", "large")
"""Ranges of consumption, from low to high."""
_BRACKET_NAMES = {"S": "small", "standard": "household", "bulk": "large"}
_SLOTS = ("morning", "noon", "afternoon")
_SLOT_NAMES = {"AM": "morning", "midday": "noon", "PM": "afternoon"}

_CONTRACT = code("Number of the contract.", "K-[0-9]{6}", ("contract_no", "agreement_id"))
_METER = code("Number of the meter.", "M[0-9]{2}-[0-9]{4}", ("meter_number", "metering_point"))
_TARIFF = code("Code of the tariff.", "T[A-Z]{2}[0-9]{2}", ("tariff_code", "product"))
_PRICE = quantity(
    "Price of a kilowatt hour.", 5, 95, unit="ct/kWh", aliases=("unit_price", "energy_price")
)

SUPPLY_POINT = record(
    contract_number=_CONTRACT,
    meter_id=_METER,
    tariff=_TARIFF,
    advance_eur=quantity(
        "What is paid in advance each month.", 0, 1_000_000, unit="EUR", aliases=("instalment",)
    ),
)
"""A contract."""
USAGE = record(
    meter_id=_METER,
    month=code("Month.", MONTH, ("period", "billing_month")),
    weekly_kwh=several("Use of each week.", quantity("Use of a week.", 0, 1_000_000, unit="kWh")),
    usage_kwh=quantity(
        "Use of the month.", 20, 6_000, unit="kWh", aliases=("consumption", "energy_kwh")
    ),
)
"""Consumption of a meter in a month."""
TERMS = record(
    tariff=_TARIFF,
    kind=one_of("How its price is made.", _KINDS, _KIND_NAMES),
    price_ct_per_kwh=_PRICE,
    standing_eur=quantity(
        "Standing charge of a month.", 0, 1_000_000, unit="EUR", aliases=("base_fee",)
    ),
    fixed_until=day("Last day on which these terms hold.", ("valid_until", "price_guarantee")),
    as_of=day("Day of this information.", ("published_on", "updated_on")),
)
"""The terms of a tariff."""
BILL = record(
    usages_kwh=several("What was used.", quantity("A use.", 0, 1_000_000, unit="kWh")),
    total_kwh=quantity("Sum of the uses.", 20, 30_000, unit="kWh", aliases=("sum_kwh",)),
    price_ct_per_kwh=_PRICE,
    cost_eur=quantity(
        "What the energy costs.", 2, 15_000, unit="EUR", aliases=("amount_due", "total_cost")
    ),
    bracket=one_of("How much that is.", BRACKETS, _BRACKET_NAMES),
)
"""Costs of energy."""
SWITCH = record(
    switch_id=code("Number of the switch.", "SW-[0-9]{5}", ("switch_ref", "order_number")),
    meter_id=_METER,
    tariff=_TARIFF,
    starts_on=day("First day of the new tariff.", ("start_date", "supply_start")),
    revocable_until=day("Last day on which it can be revoked.", ("withdrawal_deadline",)),
)
"""A switch to another tariff."""
VISIT = record(
    visit_id=code("Number of the visit.", "VI-[0-9]{5}", ("visit_ref",)),
    meter_id=_METER,
    visit_on=day("Day of the visit.", ("visit_date", "appointment")),
    engineer_id=code("Who comes.", "EN[0-9]{3}", ("engineer", "technician_id")),
    slot=one_of("Part of the day.", _SLOTS, _SLOT_NAMES),
)
"""A booked visit of an engineer."""
STATEMENT = record(
    statement_id=code("Number of the statement.", "ST-[0-9]{5}", ("statement_ref", "invoice_id")),
    contract_number=_CONTRACT,
    amount_eur=quantity("Amount to pay.", 2, 15_000, unit="EUR", aliases=("amount", "total")),
    due_on=day("Last day to pay.", ("due_date", "payable_by")),
)
"""A statement sent to the customer."""
