"""JSON schemas of the results of the treasury's tools."""

from asyncguard_benchmark.services.state_shapes import record
from asyncguard_benchmark.suites.hazards.domains.result_fields import (
    code,
    day,
    one_of,
    quantity,
    several,
)

CURRENCIES = ("EUR", "USD", "GBP", "CHF", "JPY", "SEK", "PLN")
"""Currencies that are dealt in."""
_CURRENCY_NAMES = {
    "euro": "EUR",
    "US dollar": "USD",
    "pound sterling": "GBP",
    "Swiss franc": "CHF",
    "yen": "JPY",
}
METHODS = ("sepa", "wire", "card", "cheque", "debit")
"""Ways to pay."""
_METHOD_NAMES = {
    "SEPA credit transfer": "sepa",
    "bank wire": "wire",
    "check": "cheque",
    "direct debit": "debit",
}


_INVOICE_ID = code("Number of the invoice.", "INV-[0-9]{4}", ("invoice_no", "number"))
INVOICE_RESULT = record(
    invoice_id=_INVOICE_ID,
    supplier_id=code("Who sent it.", "SUP-[0-9]{3}", ("supplier", "vendor_id")),
    payout_currency=one_of("Currency in which the supplier is paid.", CURRENCIES, _CURRENCY_NAMES),
    method=one_of("How the supplier is paid.", METHODS, _METHOD_NAMES),
    due_on=day("Last day to pay.", ("due_date", "payable_by")),
    lines=several("Amounts of its lines.", quantity("Amount of a line.", 1, 25_000, unit="EUR")),
    total=quantity(
        "Amount to pay.", 200, 25_000, unit="EUR", aliases=("amount_due", "invoice_total")
    ),
)
"""An invoice; the same for each source."""
RATE_RESULT = record(
    base=one_of("Currency sold.", CURRENCIES, _CURRENCY_NAMES),
    quote=one_of("Currency bought.", CURRENCIES, _CURRENCY_NAMES),
    rate=quantity(
        "Units of the currency bought for one of the currency sold.",
        0.01,
        500,
        aliases=("price", "fx_rate"),
    ),
    as_of=day("Day of the quotation.", ("quoted_on", "date")),
)
"""An exchange rate."""
PAYMENT_RESULT = record(
    payment_id=code("Number of the payment.", "PAY-[0-9]{5}", ("payment_ref",)),
    invoice_id=_INVOICE_ID,
    amount=quantity("Amount paid.", 200, 60_000, unit="EUR", aliases=("paid",)),
    method=one_of("How it was paid.", METHODS, _METHOD_NAMES),
    value_date=day("Day on which the money moves.", ("valued_on",)),
)
"""A payment that was ordered."""
DEAL_RESULT = record(
    deal_id=code("Number of the deal.", "FX-[0-9]{5}", ("trade_id", "deal_ref")),
    currency=one_of("Currency bought.", CURRENCIES, _CURRENCY_NAMES),
    amount=quantity("Units of it.", 1, 10_000_000, aliases=("volume",)),
    settles_on=day("Day on which it arrives.", ("settlement_date",)),
)
"""Currency that was bought."""
REMINDER_RESULT = record(
    reminder_id=code("Number of the reminder.", "REM-[0-9]{5}", ("reminder_ref",)),
    invoice_id=_INVOICE_ID,
    remind_on=day("Day of the reminder.", ("reminder_date",)),
)
"""A reminder that was set."""
CONVERTED = record(
    amount=quantity("Amount before.", 1, 60_000, unit="EUR"),
    rate=quantity("Rate that was used.", 0.01, 500, aliases=("fx_rate",)),
    converted=quantity(
        "Amount after, rounded to cents.", 1, 10_000_000, aliases=("result", "counter_value")
    ),
)
"""An amount in another currency."""
ADDED = record(
    amounts=several("What was added.", quantity("An amount.", 1, 25_000, unit="EUR")),
    total=quantity("Their sum.", 200, 60_000, unit="EUR", aliases=("sum",)),
)
"""A sum of amounts."""
