"""EN: an energy supplier's meters, tariffs and switches.

The consumption of a meter is told by the grid operator, by the customers' portal, and by the
registers, from whose readings it is computed; the terms of a tariff by the supplier's sheet, by the
regulator and by a comparison site. The state changes only by calls.
"""

from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any

from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.arguments import ISO_DAY, Amount, Few, Text
from asyncguard_benchmark.services.declarations import Remedies, State, tool
from asyncguard_benchmark.services.exact_numbers import exact, exact_sum, rounded
from asyncguard_benchmark.services.records import entry, fields_of, require, row_with
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.state_shapes import COUNT, NUMBER, WORD, record, rows, table
from asyncguard_benchmark.suites.hazards.domains.dates import days_after, not_before
from asyncguard_benchmark.suites.hazards.domains.effect_log import (
    EFFECTS_SCHEMA,
    perform,
    probe,
    probed,
)
from asyncguard_benchmark.suites.hazards.domains.questions import Question
from asyncguard_benchmark.suites.hazards.domains.result_rules import (
    CLOSE,
    adds_up,
    echoes,
    relation,
)
from asyncguard_benchmark.suites.hazards.domains.result_schemas import result_schemas

_CONTRACTS = "energy:{task_id}:contracts"
_OPERATOR = "energy:{task_id}:operator"
_PORTAL = "energy:{task_id}:portal"
_REGISTERS = "energy:{task_id}:registers"
_SHEETS = "energy:{task_id}:sheets"
_REGULATOR = "energy:{task_id}:regulator"
_COMPARISON = "energy:{task_id}:comparison"
_RULES = "energy:{task_id}:rules"
_ROUNDS = "energy:{task_id}:rounds"
_EFFECTS = "energy:{task_id}:effects"
_TERMS = {
    "kind": WORD,
    "price_ct_per_kwh": NUMBER,
    "standing_eur": NUMBER,
    "fixed_until": WORD,
    "as_of": WORD,
}
_BRACKETS = ("small", "household", "large")
"""Ranges of consumption, from low to high."""
_RESULTS = result_schemas(Domain.ENERGY)
STATE_SCHEMA = record(
    today=WORD,
    contracts=table(record(meter_id=WORD, tariff=WORD, advance_eur=NUMBER)),
    operator=table(table(record(weeks=rows(NUMBER), month_kwh=NUMBER))),
    portal=rows(record(meter=WORD, period=WORD, weeks=rows(NUMBER), shown_kwh=NUMBER)),
    registers=table(table(rows(NUMBER))),
    sheets=table(record(**_TERMS)),
    regulator=rows(record(filed_as=WORD, **_TERMS)),
    comparison=table(record(**_TERMS)),
    rules=record(
        household_above_kwh=NUMBER,
        large_above_kwh=NUMBER,
        payment_days=COUNT,
        withdrawal_days=COUNT,
    ),
    rounds=table(record(engineer_id=WORD, slot=WORD)),
    effects=EFFECTS_SCHEMA,
)

Contract = Annotated[Text, "Number of the contract, as K-000000."]
Meter = Annotated[Text, "Number of the meter, as M00-0000."]
Month = Annotated[Text, "Month, as 2026-01.", {"pattern": "^[0-9]{4}-(0[1-9]|1[0-2])$"}]
Tariff = Annotated[Text, "Code of the tariff, as TAB00."]


_cost_fits = relation(
    "cost_eur total_kwh price_ct_per_kwh",
    lambda cost, used, price: abs(cost - used * price / 100) <= CLOSE,
    "cost_eur is not total_kwh times price_ct_per_kwh, in euros",
)
_USES = Question(
    askable={
        "operator_usage": ("meter_id", "month"),
        "portal_usage": ("meter", "period"),
        "register_usage": ("metering_point", "read_in"),
    },
    trusted="operator_usage",
    returns=_RESULTS["usage"],
    echoed=("meter_id", "month"),
    compared=("/usage_kwh",),
    derived_by="register_usage",
    rules=(adds_up("usage_kwh", "weekly_kwh"),),
)
_OFFERS = Question(
    askable={
        "tariff_sheet": ("tariff",),
        "regulator_filing": ("filed_as",),
        "compared_offer": ("product_code",),
    },
    trusted="regulator_filing",
    returns=_RESULTS["terms"],
    echoed=("tariff",),
    compared=("/price_ct_per_kwh", "/kind", "/fixed_until"),
    dated="/as_of",
    rules=(not_before("fixed_until", "as_of"),),
)


@tool(
    reads=(_CONTRACTS,),
    remedies=Remedies(returns=_RESULTS["supply_point"], invariants=(echoes("contract_number"),)),
)
def find_supply(state: State, contract_number: Contract) -> Any:
    """Tells meter, tariff and monthly advance of a contract."""
    return {
        "contract_number": contract_number,
        **entry(state, "contracts", contract_number, "contract"),
    }


def _usage(meter_id: str, month: str, weeks: list[Any], total: Any) -> Any:
    return {"meter_id": meter_id, "month": month, "weekly_kwh": list(weeks), "usage_kwh": total}


@tool(reads=(_OPERATOR,), remedies=_USES.remedies)
def operator_usage(state: State, meter_id: Meter, month: Month) -> Any:
    """Tells the use of a month as the grid operator has it."""
    counted = require(
        state["operator"].get(meter_id, {}).get(month),
        f"The operator counted nothing on {meter_id!r} in {month}.",
    )
    return _usage(meter_id, month, counted["weeks"], counted["month_kwh"])


@tool(reads=(_PORTAL,), remedies=_USES.remedies)
def portal_usage(state: State, meter: Meter, period: Month) -> Any:
    """Tells the use of a month as the customers' portal has it."""
    shown = require(
        row_with(state["portal"], meter=meter, period=period),
        f"The portal shows nothing of {meter!r} for {period}.",
    )
    return _usage(meter, period, shown["weeks"], shown["shown_kwh"])


@tool(reads=(_REGISTERS,), remedies=_USES.remedies)
def register_usage(state: State, metering_point: Meter, read_in: Month) -> Any:
    """Works out the use of a month from the weekly readings of the meter's register."""
    readings = require(
        state["registers"].get(metering_point, {}).get(read_in),
        f"The registers of {metering_point!r} were not read in {read_in}.",
    )
    weeks = [exact(later) - exact(earlier) for earlier, later in pairwise(readings)]
    return _usage(
        metering_point,
        read_in,
        [rounded(week, 1) for week in weeks],
        rounded(sum(weeks, Fraction()), 1),
    )


def _terms(tariff: str, found: Any) -> Any:
    found = require(found, f"There are no terms of tariff {tariff!r}.")
    return {"tariff": tariff, **fields_of(found, _TERMS)}


@tool(reads=(_SHEETS,), remedies=_OFFERS.remedies)
def tariff_sheet(state: State, tariff: Tariff) -> Any:
    """Tells the terms of a tariff by the supplier's own sheet."""
    return _terms(tariff, state["sheets"].get(tariff))


@tool(reads=(_REGULATOR,), remedies=_OFFERS.remedies)
def regulator_filing(state: State, filed_as: Tariff) -> Any:
    """Tells the terms of a tariff as filed with the regulator."""
    return _terms(filed_as, row_with(state["regulator"], filed_as=filed_as))


@tool(reads=(_COMPARISON,), remedies=_OFFERS.remedies)
def compared_offer(state: State, product_code: Tariff) -> Any:
    """Tells the terms of a tariff as a comparison site has them."""
    return _terms(product_code, state["comparison"].get(product_code))


@tool(
    reads=(_RULES,),
    remedies=Remedies(
        returns=_RESULTS["bill"], invariants=(adds_up("total_kwh", "usages_kwh"), _cost_fits)
    ),
)
def cost_usage(
    state: State,
    usages_kwh: Annotated[
        Few[Annotated[float, {"minimum": 0, "unit": "kWh"}, "Kilowatt hours."]], "Uses to add up."
    ],
    price_ct_per_kwh: Annotated[Amount, "Cents for a kilowatt hour.", {"unit": "ct/kWh"}],
) -> Any:
    """Adds up uses, prices them, and tells whether that is a small, a household or a large use."""
    rules = state["rules"]
    total = exact_sum(usages_kwh)
    grade = sum(total > exact(rules[limit]) for limit in ("household_above_kwh", "large_above_kwh"))
    return {
        "usages_kwh": usages_kwh,
        "total_kwh": rounded(total, 2),
        "price_ct_per_kwh": price_ct_per_kwh,
        "cost_eur": rounded(total * exact(price_ct_per_kwh) / 100, 2),
        "bracket": _BRACKETS[grade],
    }


@tool(
    reads=(_SHEETS, _ROUNDS, _RULES, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["switch"],
        probe="switch_record",
        invariants=(echoes("meter_id"), echoes("tariff")),
    ),
)
def switch_tariff(
    state: State,
    meter_id: Meter,
    tariff: Annotated[Text, "Code of the new tariff, as TAB00."],
    starts_on: Annotated[Text, "First day of the new tariff, as 2026-01-31.", ISO_DAY],
) -> Any:
    """Orders the switch of a meter to a tariff; orders it again when called again."""
    entry(state, "rounds", meter_id, "meter")
    entry(state, "sheets", tariff, "tariff")
    revocable_until = days_after(state["today"], state["rules"]["withdrawal_days"])
    content = {
        "meter_id": meter_id,
        "tariff": tariff,
        "starts_on": starts_on,
        "revocable_until": revocable_until,
    }
    return perform(state, "switch_tariff", "switch_id", "SW", content)


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["switch"])))
def switch_record(
    state: State, meter_id: Meter, tariff: Annotated[Text, "Code of the new tariff, as TAB00."]
) -> Any:
    """Tells whether the switch of a meter to a tariff was ordered."""
    return probe(state, "switch_tariff", meter_id=meter_id, tariff=tariff)


@tool(
    reads=(_ROUNDS, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["visit"], probe="visit_record", invariants=(echoes("meter_id"),)
    ),
)
def book_visit(
    state: State,
    meter_id: Meter,
    visit_on: Annotated[Text, "Day of the visit, as 2026-01-31.", ISO_DAY],
) -> Any:
    """Books the visit of an engineer to a meter; books it again when called again."""
    visit = entry(state, "rounds", meter_id, "meter")
    content = {"meter_id": meter_id, "visit_on": visit_on, **visit}
    return perform(state, "book_visit", "visit_id", "VI", content)


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["visit"])))
def visit_record(
    state: State,
    meter_id: Meter,
    visit_on: Annotated[Text, "Day of the visit, as 2026-01-31.", ISO_DAY],
) -> Any:
    """Tells whether a visit to a meter was booked for a day."""
    return probe(state, "book_visit", meter_id=meter_id, visit_on=visit_on)


@tool(
    reads=(_CONTRACTS, _RULES, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(returns=_RESULTS["statement"], invariants=(echoes("contract_number"),)),
)
def send_statement(
    state: State,
    contract_number: Contract,
    amount_eur: Annotated[Amount, "Euros to pay.", {"unit": "EUR"}],
) -> Any:
    """Sends a customer a statement of what is to be paid, and tells until when."""
    entry(state, "contracts", contract_number, "contract")
    due_on = days_after(state["today"], state["rules"]["payment_days"])
    content = {"contract_number": contract_number, "amount_eur": amount_eur, "due_on": due_on}
    return perform(state, "send_statement", "statement_id", "ST", content)


TOOLSET = toolset(
    Domain.ENERGY,
    STATE_SCHEMA,
    (
        operator_usage,
        portal_usage,
        register_usage,
        tariff_sheet,
        regulator_filing,
        compared_offer,
        find_supply,
        cost_usage,
        switch_tariff,
        switch_record,
        book_visit,
        visit_record,
        send_statement,
    ),
)
