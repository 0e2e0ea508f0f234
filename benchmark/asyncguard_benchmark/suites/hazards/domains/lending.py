"""LE: the desk of a library with several branches: holdings, holds, loans and fees.

A holding is told by the catalogue, by the union catalogue, and by a count of the copies on the shelves; a debt by the
account, by the till, which books in cents, and by the overdue days and their rates.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.declarations import Remedies, Tool, amount, text, whole
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.service_tools import reader, writer
from asyncguard_benchmark.services.state_shapes import record
from asyncguard_benchmark.suites.hazards.domains import lending_service as service
from asyncguard_benchmark.suites.hazards.domains.effect_log import probed
from asyncguard_benchmark.suites.hazards.domains.questions import Question
from asyncguard_benchmark.suites.hazards.domains.result_fields import (
    code,
    day,
    one_of,
    quantity,
    several,
    tally,
)
from asyncguard_benchmark.suites.hazards.domains.result_rules import (
    adds_up,
    as_number,
    difference,
    echoes,
    not_above,
)

_CATALOGUE = "lending:{task_id}:catalogue"
_UNION = "lending:{task_id}:union"
_COPIES = "lending:{task_id}:copies"
_ACCOUNTS = "lending:{task_id}:accounts"
_TILLS = "lending:{task_id}:tills"
_OVERDUE = "lending:{task_id}:overdue"
_QUEUES = "lending:{task_id}:queues"
_TERMS = "lending:{task_id}:terms"
_EFFECTS = "lending:{task_id}:effects"

_HOLDINGS = Question(
    askable={
        "catalogue_holding": ("title", "branch"),
        "union_holding": ("work", "library"),
        "shelf_count": ("book", "site"),
    },
    trusted="shelf_count",
)
_DEBTS = Question(
    askable={"account_debt": ("card",), "till_debt": ("patron",), "overdue_debt": ("member",)},
    trusted="account_debt",
)


def _is_enough(_arguments: Mapping[str, Any], result: Any) -> str | None:
    if not isinstance(result, Mapping):
        return None
    owed, months, monthly = (as_number(result.get(name)) for name in ("owed", "months", "monthly"))
    if owed is None or not months or monthly is None:
        return None
    share = owed / months
    return (
        None
        if share <= monthly < share + exact(0.01)
        else "monthly is not the share of owed that falls on a month"
    )


def _is_the_sum(_arguments: Mapping[str, Any], result: Any) -> str | None:
    if not isinstance(result, Mapping):
        return None
    first, second, together = (
        as_number(result.get(name)) for name in ("first", "second", "together")
    )
    if (
        first is None
        or second is None
        or together is None
        or rounded(first + second, 2) == together
    ):
        return None
    return "together is not the sum of first and second"


_USES = ("loan", "reading_room", "short_loan")
_USE_NAMES = {
    "lendable": "loan",
    "reference": "reading_room",
    "on site": "reading_room",
    "overnight": "short_loan",
}
_STANDINGS = ("good", "reminded", "blocked")
_STANDING_NAMES = {"clear": "good", "dunned": "reminded", "suspended": "blocked"}

_WORDS = {"type": "string", "minLength": 2}
_TITLE_ID = code("Number of the title.", "T[0-9]{6}", ("title_no", "record_id"))
_CARD = code("Number of the card.", "K-[0-9]{5}", ("member", "patron"))
_OWED = quantity("What is owed.", 0.05, 90, unit="EUR", aliases=("balance", "amount_due"))
_HOLDING_RESULT = record(
    title={**_WORDS, "description": "The title."},
    branch={**_WORDS, "description": "The branch.", "aliases": ["library", "site"]},
    title_id=_TITLE_ID,
    use=one_of("How it may be used.", _USES, _USE_NAMES),
    counted_on=day("Day of the count.", ("as_of", "count_date")),
    total=tally("Copies that the branch has.", 1, 60, aliases=("held", "copies_total")),
    lent=tally("Copies that are out.", 0, 60, aliases=("out", "checked_out")),
    free=tally("Copies that can be had.", 0, 60, aliases=("available", "in_stock")),
    shelves=several(
        "Where its copies belong.",
        record(
            shelf={**_WORDS, "description": "The shelf."},
            copies=tally("Copies that belong there.", 1, 100_000),
        ),
    ),
)
_DEBT_RESULT = record(
    card=_CARD,
    owed=_OWED,
    standing=one_of("What the card may be used for.", _STANDINGS, _STANDING_NAMES),
    billed_on=day("Day of the bill.", ("invoice_date", "as_of")),
    items=several(
        "What it is owed for.",
        record(
            loan=code("Number of the loan.", "L[0-9]{5}", ("loan_no",)),
            fee=quantity("Fee for the loan.", 0.05, 100_000, unit="EUR"),
        ),
    ),
)
_INSTALMENT_RESULT = record(
    owed=_OWED,
    months=tally("Months over which it is paid.", 1, 24, unit="month"),
    monthly=quantity(
        "What is paid in a month.", 0.05, 90, unit="EUR", aliases=("rate", "per_month")
    ),
)
_TOGETHER_RESULT = record(
    first=tally("Copies of the first.", 0, 100_000),
    second=tally("Copies of the second.", 0, 100_000),
    together=tally("Copies of both.", 0, 120, aliases=("sum", "total")),
    more=one_of(
        "Which of both is more.", ("first", "second", "equal"), {"1st": "first", "2nd": "second"}
    ),
)
_HOLD_RESULT = record(
    hold=code("Number of the hold.", "HD-[0-9]{5}", ("reservation", "hold_id")),
    title_id=_TITLE_ID,
    branch={**_WORDS, "description": "Where it is picked up."},
    card=_CARD,
    place=tally("Place in the queue.", 1, 60, aliases=("position", "rank")),
    pick_up_by=day("Last day to pick it up.", ("pickup_until", "expires_on")),
)
_PAYMENT_RESULT = record(
    receipt=code("Number of the receipt.", "RC-[0-9]{5}", ("receipt_no",)),
    card=_CARD,
    amount=quantity("What was paid.", 0.05, 90, unit="EUR", aliases=("paid",)),
    paid_on=day("Day of the payment.", ("payment_date",)),
)
_RENEWAL_RESULT = record(
    renewal=code("Number of the renewal.", "RN-[0-9]{5}", ("renewal_no",)),
    loan=code("Number of the loan.", "L[0-9]{5}", ("loan_no",)),
    due_on=day("Day on which it is due now.", ("due_date", "return_by")),
    renewals=tally("How often it was renewed.", 1, 12),
)

_CARD_ARGUMENT = text("Number of the card, as K-12345.")
_TITLE_ID_ARGUMENT = text("Number of the title, as T123456.")
_PAID_ARGUMENT = {**amount("What is paid."), "unit": "EUR"}
_COPIES_ARGUMENT = {"type": "integer", "minimum": 0, "description": "Copies."}


def _holdings(name: str, description: str, run: Any, resource: str) -> Tool:
    title, branch = _HOLDINGS.askable[name]
    remedies = Remedies(
        returns=_HOLDING_RESULT,
        fallbacks=_HOLDINGS.others(name),
        sources=_HOLDINGS.others(name),
        compared=("/total", "/lent", "/free", "/title_id"),
        dated="/counted_on",
        verifier=None if name == "shelf_count" else _HOLDINGS.instead_of(name, "shelf_count"),
        invariants=(
            difference("free", "total", "lent"),
            adds_up("total", "shelves", "copies"),
            not_above("lent", "total"),
            echoes(title, "title"),
            echoes(branch, "branch"),
        ),
    )
    asked = {title: text("Full title."), branch: text("Name of the branch.")}
    return replace(reader(name, description, run, (resource,), **asked), remedies=remedies)


def _debts(name: str, description: str, run: Any, resource: str) -> Tool:
    (card,) = _DEBTS.askable[name]
    remedies = Remedies(
        returns=_DEBT_RESULT,
        fallbacks=_DEBTS.others(name),
        sources=_DEBTS.others(name),
        compared=("/owed", "/standing"),
        verifier=None if name == "overdue_debt" else _DEBTS.instead_of(name, "overdue_debt"),
        invariants=(adds_up("owed", "items", "fee"), echoes(card, "card")),
    )
    return replace(
        reader(name, description, run, (resource,), **{card: _CARD_ARGUMENT}), remedies=remedies
    )


_CALCULATING = (
    replace(
        reader(
            "instalment",
            "Works out what is paid in a month if a debt is paid in equal parts.",
            service.instalment,
            (),
            owed={**amount("What is owed."), "unit": "EUR"},
            months={**whole("Months over which it is paid."), "unit": "month"},
        ),
        remedies=Remedies(
            returns=_INSTALMENT_RESULT,
            invariants=(_is_enough, echoes("owed", "owed"), echoes("months", "months")),
        ),
    ),
    replace(
        reader(
            "copies_together",
            "Adds two numbers of copies up and tells which is more.",
            service.copies_together,
            (),
            first=_COPIES_ARGUMENT,
            second=_COPIES_ARGUMENT,
        ),
        remedies=Remedies(
            returns=_TOGETHER_RESULT,
            invariants=(_is_the_sum, echoes("first", "first"), echoes("second", "second")),
        ),
    ),
)
_ACTING = (
    replace(
        writer(
            "place_hold",
            "Queues a card for a title; queues it once more when called again.",
            service.place_hold,
            (_QUEUES, _EFFECTS),
            (_EFFECTS,),
            title_id=_TITLE_ID_ARGUMENT,
            branch=text("Where it is picked up."),
            card=_CARD_ARGUMENT,
        ),
        remedies=Remedies(
            returns=_HOLD_RESULT,
            probe="find_hold",
            invariants=(
                echoes("title_id", "title_id"),
                echoes("card", "card"),
                echoes("branch", "branch"),
            ),
        ),
    ),
    replace(
        reader(
            "find_hold",
            "Tells whether a card was queued for a title.",
            service.find_hold,
            (_EFFECTS,),
            title_id=_TITLE_ID_ARGUMENT,
            card=_CARD_ARGUMENT,
        ),
        remedies=Remedies(returns=probed(_HOLD_RESULT)),
    ),
    replace(
        writer(
            "take_payment",
            "Books a payment of a card's holder; books another one when called again.",
            service.take_payment,
            (_ACCOUNTS, _EFFECTS),
            (_EFFECTS,),
            card=_CARD_ARGUMENT,
            amount=_PAID_ARGUMENT,
        ),
        remedies=Remedies(
            returns=_PAYMENT_RESULT,
            probe="find_payment_receipt",
            invariants=(echoes("card", "card"), echoes("amount", "amount")),
        ),
    ),
    replace(
        reader(
            "find_payment_receipt",
            "Tells whether a payment of this amount was booked for a card.",
            service.find_payment_receipt,
            (_EFFECTS,),
            card=_CARD_ARGUMENT,
            amount=_PAID_ARGUMENT,
        ),
        remedies=Remedies(returns=probed(_PAYMENT_RESULT)),
    ),
    replace(
        writer(
            "renew_loan",
            "Lends a book for four more weeks; for another four when called again.",
            service.renew_loan,
            (_TERMS, _EFFECTS),
            (_TERMS, _EFFECTS),
            loan=text("Number of the loan, as L12345."),
        ),
        remedies=Remedies(returns=_RENEWAL_RESULT, invariants=(echoes("loan", "loan"),)),
    ),
)

TOOLSET = toolset(
    Domain.LENDING,
    service.STATE_SCHEMA,
    (
        _holdings(
            "catalogue_holding",
            "Tells a branch's copies by the catalogue.",
            service.catalogue_holding,
            _CATALOGUE,
        ),
        _holdings(
            "union_holding",
            "Tells a branch's copies by the union catalogue.",
            service.union_holding,
            _UNION,
        ),
        _holdings(
            "shelf_count", "Counts a branch's copies one by one.", service.shelf_count, _COPIES
        ),
        _debts(
            "account_debt",
            "Tells what is owed on a card by its account.",
            service.account_debt,
            _ACCOUNTS,
        ),
        _debts("till_debt", "Tells what is owed on a card by the till.", service.till_debt, _TILLS),
        _debts(
            "overdue_debt",
            "Works out what is owed on a card from days and rates.",
            service.overdue_debt,
            _OVERDUE,
        ),
        *_CALCULATING,
        *_ACTING,
    ),
)
