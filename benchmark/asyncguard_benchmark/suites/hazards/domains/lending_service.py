"""Operations of the library desk's tools on its state."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.declarations import State
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.state_shapes import COUNT, NUMBER, WORD, record, rows, table
from asyncguard_benchmark.suites.hazards.domains.effect_log import EFFECTS_SCHEMA, perform, probe

_SHELF = rows(record(shelf=WORD, copies=COUNT))
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


def _not_held(title: str, branch: str) -> ToolFailure:
    return ToolFailure(f"{title!r} is not held at {branch!r}.")


def catalogue_holding(state: State, title: str, branch: str) -> Any:
    """Return the holding by the catalogue."""
    for row in state["catalogue"]:
        if (row["title"], row["branch"]) == (title, branch):
            known = {"id": row["title_id"], "use": row["use"], "on": row["counted_on"]}
            return _holding(known, title, branch, (row["total"], row["lent"]), row["shelves"])
    raise _not_held(title, branch)


def union_holding(state: State, work: str, library: str) -> Any:
    """Return the holding by the union catalogue of all libraries."""
    row = state["union"].get(library, {}).get(work)
    if row is None:
        raise _not_held(work, library)
    shelves = [{"shelf": shelf, "copies": copies} for shelf, copies in row["by_shelf"].items()]
    known = {"id": row["id"], "use": row["use"], "on": row["as_of"]}
    return _holding(known, work, library, (row["held"], row["out"]), shelves)


def shelf_count(state: State, book: str, site: str) -> Any:
    """Return the holding, counted copy by copy."""
    copies = [copy for copy in state["copies"] if (copy["title"], copy["branch"]) == (book, site)]
    if not copies:
        raise _not_held(book, site)
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


def _no_account(card: str) -> ToolFailure:
    return ToolFailure(f"Nothing is known of card {card!r}.")


def account_debt(state: State, card: str) -> Any:
    """Return the debt according to the account."""
    row = state["accounts"].get(card)
    if row is None:
        raise _no_account(card)
    return _debt(card, row["owed"], row["standing"], row["billed_on"], row["items"])


def till_debt(state: State, patron: str) -> Any:
    """Return the debt according to the till, in euros."""
    for row in state["tills"]:
        if row["patron"] == patron:
            items = [{"loan": loan, "fee": _euros(cents)} for loan, cents in row["slips"].items()]
            return _debt(patron, _euros(row["cents"]), row["standing"], row["billed_on"], items)
    raise _no_account(patron)


def _euros(cents: int) -> Any:
    return rounded(exact(cents) / 100, 2)


def overdue_debt(state: State, member: str) -> Any:
    """Return the debt, computed from days and daily rates."""
    row = state["overdue"].get(member)
    if row is None:
        raise _no_account(member)
    items = [
        {"loan": each["loan"], "fee": rounded(each["days"] * exact(each["per_day"]), 2)}
        for each in row["loans"]
    ]
    owed = rounded(sum((exact(item["fee"]) for item in items), exact(0)), 2)
    standing = "blocked" if owed >= 20 else "reminded" if owed >= 5 else "good"
    return _debt(member, owed, standing, row["billed_on"], items)


def instalment(_state: State, owed: float, months: int) -> Any:
    """Return the first of equal monthly payments, rounded up to whole cents, so that nothing stays open."""
    rate = -(-(exact(owed) * 100) // months)
    return {"owed": owed, "months": months, "monthly": rounded(exact(int(rate)) / 100, 2)}


def copies_together(_state: State, first: int, second: int) -> Any:
    """Return the number of copies that two branches have together, and which of them has more."""
    more = "first" if first > second else "second" if second > first else "equal"
    return {"first": first, "second": second, "together": first + second, "more": more}


def place_hold(state: State, title_id: str, branch: str, card: str) -> Any:
    """Queue a card for a title."""
    if title_id not in state["queues"]:
        raise ToolFailure(f"No title has the number {title_id!r}.")
    waiting = sum(
        entry["tool"] == "place_hold" and entry["result"]["title_id"] == title_id
        for entry in state["effects"]
    )
    place = state["queues"][title_id] + waiting + 1
    until = (date.fromisoformat(state["today"]) + timedelta(days=state["pickup_days"])).isoformat()
    content = {
        "title_id": title_id,
        "branch": branch,
        "card": card,
        "place": place,
        "pick_up_by": until,
    }
    return perform(state, "place_hold", "hold", "HD", content)


def find_hold(state: State, title_id: str, card: str) -> Any:
    """Return whether the card was queued for the title."""
    return probe(state, "place_hold", title_id=title_id, card=card)


def take_payment(state: State, card: str, amount: float) -> Any:
    """Book a payment."""
    if card not in state["accounts"]:
        raise _no_account(card)
    content = {"card": card, "amount": amount, "paid_on": state["today"]}
    return perform(state, "take_payment", "receipt", "RC", content)


def find_payment_receipt(state: State, card: str, amount: float) -> Any:
    """Return whether this payment of the card was booked."""
    return probe(state, "take_payment", card=card, amount=amount)


def renew_loan(state: State, loan: str) -> Any:
    """Lend for four more weeks, counted from the day on which the loan is due."""
    if loan not in state["terms"]:
        raise ToolFailure(f"There is no loan {loan!r}.")
    term = state["terms"][loan]
    term["due_on"] = (date.fromisoformat(term["due_on"]) + timedelta(days=28)).isoformat()
    term["renewals"] += 1
    content = {"loan": loan, "due_on": term["due_on"], "renewals": term["renewals"]}
    return perform(state, "renew_loan", "renewal", "RN", content)
