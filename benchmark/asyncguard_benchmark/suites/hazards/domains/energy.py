"""EN: an energy supplier's meters, tariffs and switches.

The consumption of a meter is told by the grid operator, by the customers' portal, and by the
registers, from whose readings it is computed; the terms of a tariff by the supplier's sheet, by the
regulator and by a comparison site. The state changes only by calls.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.declarations import Remedies, State, Tool, amount, text
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.service_tools import reader, writer
from asyncguard_benchmark.services.state_shapes import COUNT, NUMBER, WORD, record, rows, table
from asyncguard_benchmark.suites.hazards.domains.dates import a_day, days_after, not_before
from asyncguard_benchmark.suites.hazards.domains.effect_log import (
    EFFECTS_SCHEMA,
    perform,
    probe,
    probed,
)
from asyncguard_benchmark.suites.hazards.domains.energy_results import (
    BILL,
    BRACKETS,
    MONTH,
    STATEMENT,
    SUPPLY_POINT,
    SWITCH,
    TERMS,
    USAGE,
    VISIT,
)
from asyncguard_benchmark.suites.hazards.domains.questions import Question
from asyncguard_benchmark.suites.hazards.domains.result_rules import CLOSE, adds_up, echoes, number

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


def _find_supply(state: State, contract_number: str) -> Any:
    if contract_number not in state["contracts"]:
        raise ToolFailure(f"There is no contract {contract_number!r}.")
    return {"contract_number": contract_number, **state["contracts"][contract_number]}


def _usage(meter_id: str, month: str, weeks: list[Any], total: Any) -> Any:
    return {"meter_id": meter_id, "month": month, "weekly_kwh": list(weeks), "usage_kwh": total}


def _operator_usage(state: State, meter_id: str, month: str) -> Any:
    counted = state["operator"].get(meter_id, {}).get(month)
    if counted is None:
        raise ToolFailure(f"The operator counted nothing on {meter_id!r} in {month}.")
    return _usage(meter_id, month, counted["weeks"], counted["month_kwh"])


def _portal_usage(state: State, meter: str, period: str) -> Any:
    for shown in state["portal"]:
        if (shown["meter"], shown["period"]) == (meter, period):
            return _usage(meter, period, shown["weeks"], shown["shown_kwh"])
    raise ToolFailure(f"The portal shows nothing of {meter!r} for {period}.")


def _register_usage(state: State, metering_point: str, read_in: str) -> Any:
    readings = state["registers"].get(metering_point, {}).get(read_in)
    if readings is None:
        raise ToolFailure(f"The registers of {metering_point!r} were not read in {read_in}.")
    weeks = [exact(later) - exact(earlier) for earlier, later in pairwise(readings)]
    return _usage(
        metering_point,
        read_in,
        [rounded(week, 1) for week in weeks],
        rounded(sum(weeks, Fraction()), 1),
    )


def _terms(tariff: str, found: Any) -> Any:
    if found is None:
        raise ToolFailure(f"There are no terms of tariff {tariff!r}.")
    return {"tariff": tariff, **{name: found[name] for name in _TERMS}}


def _tariff_sheet(state: State, tariff: str) -> Any:
    return _terms(tariff, state["sheets"].get(tariff))


def _regulator_filing(state: State, filed_as: str) -> Any:
    return _terms(
        filed_as, next((row for row in state["regulator"] if row["filed_as"] == filed_as), None)
    )


def _compared_offer(state: State, product_code: str) -> Any:
    return _terms(product_code, state["comparison"].get(product_code))


def _cost_usage(state: State, usages_kwh: list[float], price_ct_per_kwh: float) -> Any:
    rules = state["rules"]
    total = sum(map(exact, usages_kwh), Fraction())
    grade = sum(total > exact(rules[limit]) for limit in ("household_above_kwh", "large_above_kwh"))
    return {
        "usages_kwh": usages_kwh,
        "total_kwh": rounded(total, 2),
        "price_ct_per_kwh": price_ct_per_kwh,
        "cost_eur": rounded(total * exact(price_ct_per_kwh) / 100, 2),
        "bracket": BRACKETS[grade],
    }


def _known(state: State, meter_id: str) -> None:
    if meter_id not in state["rounds"]:
        raise ToolFailure(f"There is no meter {meter_id!r}.")


def _switch_tariff(state: State, meter_id: str, tariff: str, starts_on: str) -> Any:
    _known(state, meter_id)
    if tariff not in state["sheets"]:
        raise ToolFailure(f"There is no tariff {tariff!r}.")
    revocable_until = days_after(state["today"], state["rules"]["withdrawal_days"])
    content = {
        "meter_id": meter_id,
        "tariff": tariff,
        "starts_on": starts_on,
        "revocable_until": revocable_until,
    }
    return perform(state, "switch_tariff", "switch_id", "SW", content)


def _switch_record(state: State, meter_id: str, tariff: str) -> Any:
    return probe(state, "switch_tariff", meter_id=meter_id, tariff=tariff)


def _book_visit(state: State, meter_id: str, visit_on: str) -> Any:
    _known(state, meter_id)
    content = {"meter_id": meter_id, "visit_on": visit_on, **state["rounds"][meter_id]}
    return perform(state, "book_visit", "visit_id", "VI", content)


def _visit_record(state: State, meter_id: str, visit_on: str) -> Any:
    return probe(state, "book_visit", meter_id=meter_id, visit_on=visit_on)


def _send_statement(state: State, contract_number: str, amount_eur: float) -> Any:
    if contract_number not in state["contracts"]:
        raise ToolFailure(f"There is no contract {contract_number!r}.")
    due_on = days_after(state["today"], state["rules"]["payment_days"])
    content = {"contract_number": contract_number, "amount_eur": amount_eur, "due_on": due_on}
    return perform(state, "send_statement", "statement_id", "ST", content)


def _cost_fits(_arguments: Mapping[str, Any], result: Any) -> str | None:
    cost, used, price = (
        number(result, name) for name in ("cost_eur", "total_kwh", "price_ct_per_kwh")
    )
    if cost is None or used is None or price is None or abs(cost - used * price / 100) <= CLOSE:
        return None
    return "cost_eur is not total_kwh times price_ct_per_kwh, in euros"


_USES = Question(
    askable={
        "operator_usage": ("meter_id", "month"),
        "portal_usage": ("meter", "period"),
        "register_usage": ("metering_point", "read_in"),
    },
    trusted="operator_usage",
)
_OFFERS = Question(
    askable={
        "tariff_sheet": ("tariff",),
        "regulator_filing": ("filed_as",),
        "compared_offer": ("product_code",),
    },
    trusted="regulator_filing",
)
_METER = text("Number of the meter, as M00-0000.")
_MONTH = text("Month, as 2026-01.", pattern=f"^{MONTH}$")
_CONTRACT = text("Number of the contract, as K-000000.")


def _tells_usage(name: str, description: str, run: Any, resource: str) -> Tool:
    meter, month = _USES.askable[name]
    remedies = Remedies(
        returns=USAGE,
        fallbacks=_USES.others(name),
        sources=_USES.others(name),
        compared=("/usage_kwh",),
        verifier=None if name == "register_usage" else _USES.instead_of(name, "register_usage"),
        invariants=(
            adds_up("usage_kwh", "weekly_kwh"),
            echoes(meter, "meter_id"),
            echoes(month, "month"),
        ),
    )
    return replace(
        reader(name, description, run, (resource,), **{meter: _METER, month: _MONTH}),
        remedies=remedies,
    )


def _tells_terms(name: str, description: str, run: Any, resource: str) -> Tool:
    (argument,) = _OFFERS.askable[name]
    remedies = Remedies(
        returns=TERMS,
        fallbacks=_OFFERS.others(name),
        sources=_OFFERS.others(name),
        compared=("/price_ct_per_kwh", "/kind", "/fixed_until"),
        dated="/as_of",
        invariants=(not_before("fixed_until", "as_of"), echoes(argument, "tariff")),
    )
    named = {argument: text("Code of the tariff, as TAB00.")}
    return replace(reader(name, description, run, (resource,), **named), remedies=remedies)


_LOOKING_UP = (
    replace(
        reader(
            "find_supply",
            "Tells meter, tariff and monthly advance of a contract.",
            _find_supply,
            (_CONTRACTS,),
            contract_number=_CONTRACT,
        ),
        remedies=Remedies(
            returns=SUPPLY_POINT, invariants=(echoes("contract_number", "contract_number"),)
        ),
    ),
    replace(
        reader(
            "cost_usage",
            "Adds up uses, prices them, and tells whether that is a small, a household or a large use.",
            _cost_usage,
            (_RULES,),
            usages_kwh={
                "type": "array",
                "items": {
                    "type": "number",
                    "minimum": 0,
                    "unit": "kWh",
                    "description": "Kilowatt hours.",
                },
                "minItems": 1,
                "maxItems": 50,
                "description": "Uses to add up.",
            },
            price_ct_per_kwh={**amount("Cents for a kilowatt hour."), "unit": "ct/kWh"},
        ),
        remedies=Remedies(
            returns=BILL, invariants=(adds_up("total_kwh", "usages_kwh"), _cost_fits)
        ),
    ),
)
_ACTING = (
    replace(
        writer(
            "switch_tariff",
            "Orders the switch of a meter to a tariff; orders it again when called again.",
            _switch_tariff,
            (_SHEETS, _ROUNDS, _RULES, _EFFECTS),
            (_EFFECTS,),
            meter_id=_METER,
            tariff=text("Code of the new tariff, as TAB00."),
            starts_on=a_day("First day of the new tariff, as 2026-01-31."),
        ),
        remedies=Remedies(
            returns=SWITCH,
            probe="switch_record",
            invariants=(echoes("meter_id", "meter_id"), echoes("tariff", "tariff")),
        ),
    ),
    replace(
        reader(
            "switch_record",
            "Tells whether the switch of a meter to a tariff was ordered.",
            _switch_record,
            (_EFFECTS,),
            meter_id=_METER,
            tariff=text("Code of the new tariff, as TAB00."),
        ),
        remedies=Remedies(returns=probed(SWITCH)),
    ),
    replace(
        writer(
            "book_visit",
            "Books the visit of an engineer to a meter; books it again when called again.",
            _book_visit,
            (_ROUNDS, _EFFECTS),
            (_EFFECTS,),
            meter_id=_METER,
            visit_on=a_day("Day of the visit, as 2026-01-31."),
        ),
        remedies=Remedies(
            returns=VISIT, probe="visit_record", invariants=(echoes("meter_id", "meter_id"),)
        ),
    ),
    replace(
        reader(
            "visit_record",
            "Tells whether a visit to a meter was booked for a day.",
            _visit_record,
            (_EFFECTS,),
            meter_id=_METER,
            visit_on=a_day("Day of the visit, as 2026-01-31."),
        ),
        remedies=Remedies(returns=probed(VISIT)),
    ),
    replace(
        writer(
            "send_statement",
            "Sends a customer a statement of what is to be paid, and tells until when.",
            _send_statement,
            (_CONTRACTS, _RULES, _EFFECTS),
            (_EFFECTS,),
            contract_number=_CONTRACT,
            amount_eur={**amount("Euros to pay."), "unit": "EUR"},
        ),
        remedies=Remedies(
            returns=STATEMENT, invariants=(echoes("contract_number", "contract_number"),)
        ),
    ),
)

TOOLSET = toolset(
    Domain.ENERGY,
    STATE_SCHEMA,
    (
        _tells_usage(
            "operator_usage",
            "Tells the use of a month as the grid operator has it.",
            _operator_usage,
            _OPERATOR,
        ),
        _tells_usage(
            "portal_usage",
            "Tells the use of a month as the customers' portal has it.",
            _portal_usage,
            _PORTAL,
        ),
        _tells_usage(
            "register_usage",
            "Works out the use of a month from the weekly readings of the meter's register.",
            _register_usage,
            _REGISTERS,
        ),
        _tells_terms(
            "tariff_sheet",
            "Tells the terms of a tariff by the supplier's own sheet.",
            _tariff_sheet,
            _SHEETS,
        ),
        _tells_terms(
            "regulator_filing",
            "Tells the terms of a tariff as filed with the regulator.",
            _regulator_filing,
            _REGULATOR,
        ),
        _tells_terms(
            "compared_offer",
            "Tells the terms of a tariff as a comparison site has them.",
            _compared_offer,
            _COMPARISON,
        ),
        *_LOOKING_UP,
        *_ACTING,
    ),
)
