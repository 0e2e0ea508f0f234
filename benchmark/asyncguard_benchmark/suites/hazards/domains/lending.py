"""LE: the desk of a library with several branches: holdings, holds, loans and fees.

A holding is told by the catalogue, by the union catalogue, and by a count of the copies on the shelves; a debt by the
account, by the till, which books in cents, and by the overdue days and their rates.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.arguments import Amount, Count, Text
from asyncguard_benchmark.services.declarations import Remedies, State, tool
from asyncguard_benchmark.services.exact_numbers import exact, exact_sum, rounded
from asyncguard_benchmark.services.records import entry, fields_of, require, row_with
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.state_shapes import COUNT, NUMBER, WORD, record, rows, table
from asyncguard_benchmark.suites.hazards.domains.dates import days_after
from asyncguard_benchmark.suites.hazards.domains.effect_log import (
    EFFECTS_SCHEMA,
    perform,
    probe,
    probed,
)
from asyncguard_benchmark.suites.hazards.domains.questions import Question
from asyncguard_benchmark.suites.hazards.domains.result_rules import (
    adds_up,
    difference,
    echoes,
    not_above,
    relation,
)
from asyncguard_benchmark.suites.hazards.domains.result_schemas import result_schemas

_CATALOGUE = "lending:{task_id}:catalogue"
_UNION = "lending:{task_id}:union"
_COPIES = "lending:{task_id}:copies"
_ACCOUNTS = "lending:{task_id}:accounts"
_TILLS = "lending:{task_id}:tills"
_OVERDUE = "lending:{task_id}:overdue"
_QUEUES = "lending:{task_id}:queues"
_TERMS = "lending:{task_id}:terms"
_EFFECTS = "lending:{task_id}:effects"

_SHELF = rows(record(shelf=WORD, copies=COUNT))
_RESULTS = result_schemas(Domain.LENDING)
STATE_SCHEMA = record(
    today=WORD,
    catalogue=rows(
        record(
            title=WORD,
            branch=WORD,
            title_id=WORD,
            use=WORD,
            counted_on=WORD,
            total=COUNT,
            lent=COUNT,
            shelves=_SHELF,
        )
    ),
    union=table(
        table(record(id=WORD, use=WORD, as_of=WORD, held=COUNT, out=COUNT, by_shelf=table(COUNT))),
    ),
    copies=rows(
        record(
            copy=WORD,
            title=WORD,
            title_id=WORD,
            branch=WORD,
            shelf=WORD,
            state=WORD,
            use=WORD,
            scanned_on=WORD,
        )
    ),
    accounts=table(
        record(
            owed=NUMBER, standing=WORD, billed_on=WORD, items=rows(record(loan=WORD, fee=NUMBER))
        )
    ),
    tills=rows(record(patron=WORD, standing=WORD, billed_on=WORD, cents=COUNT, slips=table(COUNT))),
    overdue=table(
        record(billed_on=WORD, loans=rows(record(loan=WORD, days=COUNT, per_day=NUMBER)))
    ),
    queues=table(COUNT),
    pickup_days=COUNT,
    terms=table(record(due_on=WORD, renewals=COUNT)),
    effects=EFFECTS_SCHEMA,
)

Title = Annotated[Text, "Full title."]
Branch = Annotated[Text, "Name of the branch."]
Card = Annotated[Text, "Number of the card, as K-12345."]
Copies = Annotated[int, {"minimum": 0}, "Copies."]
TitleId = Annotated[Text, "Number of the title, as T123456."]
Paid = Annotated[Amount, "What is paid.", {"unit": "EUR"}]


_is_enough = relation(
    "owed months monthly",
    lambda owed, months, monthly: not months or 0 <= monthly - owed / months < exact(0.01),
    "monthly is not the share of owed that falls on a month",
)
_is_the_sum = relation(
    "first second together",
    lambda first, second, together: rounded(first + second, 2) == together,
    "together is not the sum of first and second",
)
_HOLDINGS = Question(
    askable={
        "catalogue_holding": ("title", "branch"),
        "union_holding": ("work", "library"),
        "shelf_count": ("book", "site"),
    },
    trusted="shelf_count",
    returns=_RESULTS["holding"],
    echoed=("title", "branch"),
    compared=("/total", "/lent", "/free", "/title_id"),
    dated="/counted_on",
    derived_by="shelf_count",
    rules=(
        difference("free", "total", "lent"),
        adds_up("total", "shelves", "copies"),
        not_above("lent", "total"),
    ),
)
_DEBTS = Question(
    askable={"account_debt": ("card",), "till_debt": ("patron",), "overdue_debt": ("member",)},
    trusted="account_debt",
    returns=_RESULTS["debt"],
    echoed=("card",),
    compared=("/owed", "/standing"),
    derived_by="overdue_debt",
    rules=(adds_up("owed", "items", "fee"),),
)


def _holding(
    known: Mapping[str, Any], title: str, branch: str, counts: tuple[int, int], shelves: list[Any]
) -> Any:
    total, lent = counts
    what = {"title": title, "branch": branch, "title_id": known["id"], "use": known["use"]}
    return {
        **what,
        "counted_on": known["on"],
        "total": total,
        "lent": lent,
        "free": total - lent,
        "shelves": shelves,
    }


def _not_held(title: str, branch: str) -> str:
    return f"{title!r} is not held at {branch!r}."


@tool(reads=(_CATALOGUE,), remedies=_HOLDINGS.remedies)
def catalogue_holding(state: State, title: Title, branch: Branch) -> Any:
    """Tells a branch's copies by the catalogue."""
    row = require(
        row_with(state["catalogue"], title=title, branch=branch), _not_held(title, branch)
    )
    known = {"id": row["title_id"], "use": row["use"], "on": row["counted_on"]}
    return _holding(known, title, branch, (row["total"], row["lent"]), row["shelves"])


@tool(reads=(_UNION,), remedies=_HOLDINGS.remedies)
def union_holding(state: State, work: Title, library: Branch) -> Any:
    """Tells a branch's copies by the union catalogue."""
    row = require(state["union"].get(library, {}).get(work), _not_held(work, library))
    shelves = [{"shelf": shelf, "copies": copies} for shelf, copies in row["by_shelf"].items()]
    known = {**fields_of(row, "id use"), "on": row["as_of"]}
    return _holding(known, work, library, (row["held"], row["out"]), shelves)


@tool(reads=(_COPIES,), remedies=_HOLDINGS.remedies)
def shelf_count(state: State, book: Title, site: Branch) -> Any:
    """Counts a branch's copies one by one."""
    found = [copy for copy in state["copies"] if (copy["title"], copy["branch"]) == (book, site)]
    copies = require(found or None, _not_held(book, site))
    by_shelf: dict[str, int] = {}
    for copy in copies:
        by_shelf[copy["shelf"]] = by_shelf.get(copy["shelf"], 0) + 1
    shelves = [{"shelf": shelf, "copies": count} for shelf, count in by_shelf.items()]
    known = {
        "id": copies[0]["title_id"],
        "use": copies[0]["use"],
        "on": max(copy["scanned_on"] for copy in copies),
    }
    return _holding(
        known, book, site, (len(copies), sum(copy["state"] == "lent" for copy in copies)), shelves
    )


def _debt(card: str, owed: Any, standing: str, billed_on: str, items: list[Any]) -> Any:
    return {
        "card": card,
        "owed": owed,
        "standing": standing,
        "billed_on": billed_on,
        "items": items,
    }


def _no_account(card: str) -> str:
    return f"Nothing is known of card {card!r}."


@tool(reads=(_ACCOUNTS,), remedies=_DEBTS.remedies)
def account_debt(state: State, card: Card) -> Any:
    """Tells what is owed on a card by its account."""
    row = require(state["accounts"].get(card), _no_account(card))
    return _debt(card, row["owed"], row["standing"], row["billed_on"], row["items"])


@tool(reads=(_TILLS,), remedies=_DEBTS.remedies)
def till_debt(state: State, patron: Card) -> Any:
    """Tells what is owed on a card by the till."""
    row = require(row_with(state["tills"], patron=patron), _no_account(patron))
    items = [{"loan": loan, "fee": _euros(cents)} for loan, cents in row["slips"].items()]
    return _debt(patron, _euros(row["cents"]), row["standing"], row["billed_on"], items)


def _euros(cents: int) -> Any:
    return rounded(exact(cents) / 100, 2)


@tool(reads=(_OVERDUE,), remedies=_DEBTS.remedies)
def overdue_debt(state: State, member: Card) -> Any:
    """Works out what is owed on a card from days and rates."""
    row = require(state["overdue"].get(member), _no_account(member))
    items = [
        {"loan": each["loan"], "fee": rounded(each["days"] * exact(each["per_day"]), 2)}
        for each in row["loans"]
    ]
    owed = rounded(exact_sum(item["fee"] for item in items), 2)
    standing = "blocked" if owed >= 20 else "reminded" if owed >= 5 else "good"
    return _debt(member, owed, standing, row["billed_on"], items)


@tool(
    remedies=Remedies(
        returns=_RESULTS["instalment"], invariants=(_is_enough, echoes("owed"), echoes("months"))
    )
)
def instalment(
    _state: State,
    owed: Annotated[Amount, "What is owed.", {"unit": "EUR"}],
    months: Annotated[Count, "Months over which it is paid.", {"unit": "month"}],
) -> Any:
    """Works out what is paid in a month if a debt is paid in equal parts."""
    rate = -(-(exact(owed) * 100) // months)
    return {"owed": owed, "months": months, "monthly": rounded(exact(int(rate)) / 100, 2)}


@tool(
    remedies=Remedies(
        returns=_RESULTS["together"], invariants=(_is_the_sum, echoes("first"), echoes("second"))
    )
)
def copies_together(_state: State, first: Copies, second: Copies) -> Any:
    """Adds two numbers of copies up and tells which is more."""
    more = "first" if first > second else "second" if second > first else "equal"
    return {"first": first, "second": second, "together": first + second, "more": more}


@tool(
    reads=(_QUEUES, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["hold"],
        probe="find_hold",
        invariants=(echoes("title_id"), echoes("card"), echoes("branch")),
    ),
)
def place_hold(
    state: State, title_id: TitleId, branch: Annotated[Text, "Where it is picked up."], card: Card
) -> Any:
    """Queues a card for a title; queues it once more when called again."""
    queue = require(state["queues"].get(title_id), f"No title has the number {title_id!r}.")
    waiting = sum(
        entry["tool"] == "place_hold" and entry["result"]["title_id"] == title_id
        for entry in state["effects"]
    )
    place = queue + waiting + 1
    until = days_after(state["today"], state["pickup_days"])
    content = {
        "title_id": title_id,
        "branch": branch,
        "card": card,
        "place": place,
        "pick_up_by": until,
    }
    return perform(state, "place_hold", "hold", "HD", content)


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["hold"])))
def find_hold(state: State, title_id: TitleId, card: Card) -> Any:
    """Tells whether a card was queued for a title."""
    return probe(state, "place_hold", title_id=title_id, card=card)


@tool(
    reads=(_ACCOUNTS, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["payment"],
        probe="find_payment_receipt",
        invariants=(echoes("card"), echoes("amount")),
    ),
)
def take_payment(state: State, card: Card, amount: Paid) -> Any:
    """Books a payment of a card's holder; books another one when called again."""
    require(state["accounts"].get(card), _no_account(card))
    content = {"card": card, "amount": amount, "paid_on": state["today"]}
    return perform(state, "take_payment", "receipt", "RC", content)


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["payment"])))
def find_payment_receipt(state: State, card: Card, amount: Paid) -> Any:
    """Tells whether a payment of this amount was booked for a card."""
    return probe(state, "take_payment", card=card, amount=amount)


@tool(
    reads=(_TERMS, _EFFECTS),
    writes=(_TERMS, _EFFECTS),
    remedies=Remedies(returns=_RESULTS["renewal"], invariants=(echoes("loan"),)),
)
def renew_loan(state: State, loan: Annotated[Text, "Number of the loan, as L12345."]) -> Any:
    """Lends a book for four more weeks; for another four when called again."""
    term = entry(state, "terms", loan, "loan")
    term["due_on"] = days_after(term["due_on"], 28)
    term["renewals"] += 1
    content = {"loan": loan, **fields_of(term, "due_on renewals")}
    return perform(state, "renew_loan", "renewal", "RN", content)


TOOLSET = toolset(
    Domain.LENDING,
    STATE_SCHEMA,
    (
        catalogue_holding,
        union_holding,
        shelf_count,
        account_debt,
        till_debt,
        overdue_debt,
        instalment,
        copies_together,
        place_hold,
        find_hold,
        take_payment,
        find_payment_receipt,
        renew_loan,
    ),
)
