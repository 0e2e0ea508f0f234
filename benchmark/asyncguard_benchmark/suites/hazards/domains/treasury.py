"""TR: the treasury of a company that books in euros and pays its suppliers in their own currencies.

An invoice is told by the register, by the scan of its paper, and by the delivered items, from which
the amounts are computed; a rate by the central bank, by the market and by the dealing desk. The
state changes only by calls.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.declarations import Remedies, State, Tool, amount, choice, text
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.service_tools import reader, writer
from asyncguard_benchmark.services.state_shapes import COUNT, NUMBER, WORD, record, rows, table
from asyncguard_benchmark.suites.hazards.domains.effect_log import (
    EFFECTS_SCHEMA,
    perform,
    probe,
    probed,
)
from asyncguard_benchmark.suites.hazards.domains.questions import Question
from asyncguard_benchmark.suites.hazards.domains.result_rules import adds_up, echoes, product
from asyncguard_benchmark.suites.hazards.domains.treasury_results import (
    ADDED,
    CONVERTED,
    CURRENCIES,
    DEAL_RESULT,
    INVOICE_RESULT,
    METHODS,
    PAYMENT_RESULT,
    RATE_RESULT,
    REMINDER_RESULT,
)

_REGISTER = "treasury:{task_id}:register"
_SCANS = "treasury:{task_id}:scans"
_DELIVERIES = "treasury:{task_id}:deliveries"
_CENTRAL_BANK = "treasury:{task_id}:central_bank"
_MARKET = "treasury:{task_id}:market"
_DESK = "treasury:{task_id}:desk"
_EFFECTS = "treasury:{task_id}:effects"
_CALENDAR = "treasury:{task_id}:calendar"

_HEADER = {"supplier_id": WORD, "payout_currency": WORD, "method": WORD, "due_on": WORD}
_QUOTED = {"rate": NUMBER, "as_of": WORD}
STATE_SCHEMA = record(
    value_day=WORD,
    register=table(record(**_HEADER, total=NUMBER, lines=rows(NUMBER))),
    scans=rows(record(document=WORD, **_HEADER, amounts=rows(NUMBER), amount_due=NUMBER)),
    deliveries=table(record(**_HEADER, items=rows(record(quantity=COUNT, unit_price=NUMBER)))),
    central_bank=table(record(**_QUOTED)),
    market=rows(record(sold=WORD, bought=WORD, **_QUOTED)),
    desk=table(table(record(**_QUOTED))),
    effects=EFFECTS_SCHEMA,
)


def _invoice(invoice_id: str, header: dict[str, Any], lines: list[Any], total: Any) -> Any:
    kept = {name: header[name] for name in _HEADER}
    return {"invoice_id": invoice_id, **kept, "lines": list(lines), "total": total}


def _registered(state: State, invoice_id: str) -> dict[str, Any]:
    found: dict[str, Any] | None = state["register"].get(invoice_id)
    if found is None:
        raise ToolFailure(f"The register holds no invoice {invoice_id!r}.")
    return found


def _look_up_invoice(state: State, invoice_id: str) -> Any:
    invoice = _registered(state, invoice_id)
    return _invoice(invoice_id, invoice, invoice["lines"], invoice["total"])


def _read_scan(state: State, document: str) -> Any:
    for scan in state["scans"]:
        if scan["document"] == document:
            return _invoice(document, scan, scan["amounts"], scan["amount_due"])
    raise ToolFailure(f"Nothing was scanned under {document!r}.")


def _recount_invoice(state: State, invoice_number: str) -> Any:
    delivery = state["deliveries"].get(invoice_number)
    if delivery is None:
        raise ToolFailure(f"No delivery belongs to invoice {invoice_number!r}.")
    prices = [item["quantity"] * exact(item["unit_price"]) for item in delivery["items"]]
    return _invoice(
        invoice_number,
        delivery,
        [rounded(p, 2) for p in prices],
        rounded(sum(prices, Fraction()), 2),
    )


def _rate(base: str, quote: str, found: Any) -> Any:
    if found is None:
        raise ToolFailure(f"There is no rate from {base} to {quote}.")
    return {"base": base, "quote": quote, "rate": found["rate"], "as_of": found["as_of"]}


def _central_bank_rate(state: State, base: str, quote: str) -> Any:
    return _rate(base, quote, state["central_bank"].get(f"{base}/{quote}"))


def _market_rate(state: State, sold: str, bought: str) -> Any:
    listed = (row for row in state["market"] if (row["sold"], row["bought"]) == (sold, bought))
    return _rate(sold, bought, next(listed, None))


def _desk_rate(state: State, from_currency: str, to_currency: str) -> Any:
    return _rate(from_currency, to_currency, state["desk"].get(from_currency, {}).get(to_currency))


def _convert_amount(_state: State, amount: float, rate: float) -> Any:
    return {"amount": amount, "rate": rate, "converted": rounded(exact(amount) * exact(rate), 2)}


def _add_amounts(_state: State, amounts: list[float]) -> Any:
    return {"amounts": amounts, "total": rounded(sum(map(exact, amounts), Fraction()), 2)}


def _pay_invoice(state: State, invoice_id: str, amount: float, method: str) -> Any:
    due_on = _registered(state, invoice_id)["due_on"]
    content = {"invoice_id": invoice_id, "amount": amount, "method": method, "value_date": due_on}
    return perform(state, "pay_invoice", "payment_id", "PAY", content)


def _find_payment(state: State, invoice_id: str, amount: float) -> Any:
    return probe(state, "pay_invoice", invoice_id=invoice_id, amount=amount)


def _buy_currency(state: State, currency: str, amount: float) -> Any:
    content = {"currency": currency, "amount": amount, "settles_on": state["value_day"]}
    return perform(state, "buy_currency", "deal_id", "FX", content)


def _find_deal(state: State, currency: str, amount: float) -> Any:
    return probe(state, "buy_currency", currency=currency, amount=amount)


def _set_reminder(state: State, invoice_id: str, remind_on: str) -> Any:
    _registered(state, invoice_id)
    content = {"invoice_id": invoice_id, "remind_on": remind_on}
    return perform(state, "set_reminder", "reminder_id", "REM", content)


_INVOICES = Question(
    askable={
        "look_up_invoice": ("invoice_id",),
        "read_scan": ("document",),
        "recount_invoice": ("invoice_number",),
    },
    trusted="recount_invoice",
)
_RATES = Question(
    askable={
        "central_bank_rate": ("base", "quote"),
        "market_rate": ("sold", "bought"),
        "desk_rate": ("from_currency", "to_currency"),
    },
    trusted="central_bank_rate",
)


def _tells_invoice(
    name: str, description: str, run: Any, resource: str, argument_description: str
) -> Tool:
    (argument,) = _INVOICES.askable[name]
    recount = None if name == "recount_invoice" else _INVOICES.instead_of(name, "recount_invoice")
    remedies = Remedies(
        returns=INVOICE_RESULT,
        fallbacks=_INVOICES.others(name),
        sources=_INVOICES.others(name),
        compared=("/total", "/due_on", "/method", "/payout_currency", "/supplier_id"),
        verifier=recount,
        invariants=(adds_up("total", "lines"), echoes(argument, "invoice_id")),
    )
    return replace(
        reader(name, description, run, (resource,), **{argument: text(argument_description)}),
        remedies=remedies,
    )


def _tells_rate(name: str, description: str, run: Any, resource: str) -> Tool:
    base, quote = _RATES.askable[name]
    remedies = Remedies(
        returns=RATE_RESULT,
        fallbacks=_RATES.others(name),
        sources=_RATES.others(name),
        compared=("/rate",),
        dated="/as_of",
        invariants=(echoes(base, "base"), echoes(quote, "quote")),
    )
    sides = {
        base: choice("Currency sold.", CURRENCIES),
        quote: choice("Currency bought.", CURRENCIES),
    }
    return replace(reader(name, description, run, (resource,), **sides), remedies=remedies)


_ID_ARGUMENT = text("Number of the invoice, as INV-0000.")
_EUROS = {**amount("Euros."), "unit": "EUR"}
_BOUGHT = choice("Currency to buy.", CURRENCIES)
_UNITS = amount("Units of the currency.")

_CALCULATING = (
    replace(
        reader(
            "convert_amount",
            "Turns euros into another currency at a given rate.",
            _convert_amount,
            (),
            amount=_EUROS,
            rate=amount("Units of the other currency for one euro."),
        ),
        remedies=Remedies(returns=CONVERTED, invariants=(product("converted", "amount", "rate"),)),
    ),
    replace(
        reader(
            "add_amounts",
            "Adds up amounts in euros.",
            _add_amounts,
            (),
            amounts={
                "type": "array",
                "items": _EUROS,
                "minItems": 1,
                "maxItems": 50,
                "description": "What to add.",
            },
        ),
        remedies=Remedies(returns=ADDED, invariants=(adds_up("total", "amounts"),)),
    ),
)
_MOVING_MONEY = (
    replace(
        writer(
            "pay_invoice",
            "Orders the payment of an invoice on its due day; orders it again when called again.",
            _pay_invoice,
            (_REGISTER, _EFFECTS),
            (_EFFECTS,),
            invoice_id=_ID_ARGUMENT,
            amount=_EUROS,
            method=choice("How to pay.", METHODS),
        ),
        remedies=Remedies(
            returns=PAYMENT_RESULT,
            probe="find_payment",
            invariants=(echoes("invoice_id", "invoice_id"),),
        ),
    ),
    replace(
        reader(
            "find_payment",
            "Tells whether a payment of this amount was ordered for an invoice.",
            _find_payment,
            (_EFFECTS,),
            invoice_id=_ID_ARGUMENT,
            amount=_EUROS,
        ),
        remedies=Remedies(returns=probed(PAYMENT_RESULT)),
    ),
    replace(
        writer(
            "buy_currency",
            "Buys units of a currency from the dealing desk; buys them again when called again.",
            _buy_currency,
            (_CALENDAR, _EFFECTS),
            (_EFFECTS,),
            currency=_BOUGHT,
            amount=_UNITS,
        ),
        remedies=Remedies(
            returns=DEAL_RESULT, probe="find_deal", invariants=(echoes("currency", "currency"),)
        ),
    ),
    replace(
        reader(
            "find_deal",
            "Tells whether this many units of a currency were bought.",
            _find_deal,
            (_EFFECTS,),
            currency=_BOUGHT,
            amount=_UNITS,
        ),
        remedies=Remedies(returns=probed(DEAL_RESULT)),
    ),
    replace(
        writer(
            "set_reminder",
            "Puts a reminder of an invoice into the team's calendar.",
            _set_reminder,
            (_REGISTER, _EFFECTS),
            (_EFFECTS,),
            invoice_id=_ID_ARGUMENT,
            remind_on=text("Day, as 2026-01-31.", pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
        ),
        remedies=Remedies(
            returns=REMINDER_RESULT, invariants=(echoes("invoice_id", "invoice_id"),)
        ),
    ),
)

TOOLSET = toolset(
    Domain.TREASURY,
    STATE_SCHEMA,
    (
        _tells_invoice(
            "look_up_invoice",
            "Shows an invoice as the accounts-payable register has it.",
            _look_up_invoice,
            _REGISTER,
            "Number of the invoice, as INV-0000.",
        ),
        _tells_invoice(
            "read_scan",
            "Shows an invoice as it was read from the scanned paper.",
            _read_scan,
            _SCANS,
            "Number on the scanned invoice, as INV-0000.",
        ),
        _tells_invoice(
            "recount_invoice",
            "Works an invoice out anew from the items that were delivered and their prices.",
            _recount_invoice,
            _DELIVERIES,
            "Number of the invoice that the delivery belongs to, as INV-0000.",
        ),
        _tells_rate(
            "central_bank_rate",
            "Tells the central bank's exchange rate.",
            _central_bank_rate,
            _CENTRAL_BANK,
        ),
        _tells_rate("market_rate", "Tells the exchange rate on the market.", _market_rate, _MARKET),
        _tells_rate("desk_rate", "Tells the exchange rate of the dealing desk.", _desk_rate, _DESK),
        *_CALCULATING,
        *_MOVING_MONEY,
    ),
)
