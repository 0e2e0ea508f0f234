"""State of the travel desk, and its ways to take money."""

from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.declarations import State
from asyncguard_benchmark.services.records import entry
from asyncguard_benchmark.services.state_shapes import (
    COUNT,
    FLAG,
    NUMBER,
    WORD,
    optional,
    record,
    table,
)

TRAVELLER = "travel:{task_id}:traveller"
CARDS = "travel:{task_id}:cards"
BUDGET = "travel:{task_id}:budget"
TRIPS = "travel:{task_id}:trips"
POLICIES = "travel:{task_id}:policies"
CATALOGUE = "travel:{task_id}:catalogue"

STATE_SCHEMA = record(
    traveller=record(surname=WORD, passport=WORD, home_airport=WORD, status=WORD, verified=FLAG),
    cards=table(record(label=WORD, available=NUMBER)),
    budget=record(limit=NUMBER, spent=NUMBER),
    airports=table(record(city=WORD, name=WORD, km_to_centre=NUMBER)),
    flights=table(
        record(
            origin=WORD,
            destination=WORD,
            date=WORD,
            departs=WORD,
            arrives=WORD,
            economy=NUMBER,
            business=NUMBER,
            bag_kg=COUNT,
            refund_percent=NUMBER,
            seats=table({"enum": ["window", "middle", "aisle"]}),
        )
    ),
    hotels=table(
        record(
            name=WORD,
            city=WORD,
            area=WORD,
            stars=COUNT,
            nightly=NUMBER,
            breakfast=NUMBER,
            pets=FLAG,
        )
    ),
    plans=table(record(covers=WORD, percent=NUMBER)),
    per_euro=table(NUMBER),
    trips=table(
        record(
            kind={"enum": ["flight", "hotel"]},
            item=WORD,
            date=WORD,
            nights=COUNT,
            cabin=WORD,
            seat=optional(WORD),
            card=WORD,
            paid=NUMBER,
            status={"enum": ["booked", "cancelled"]},
        )
    ),
    policies=table(record(reference=WORD, plan=WORD, premium=NUMBER)),
)


def active_trip(state: State, reference: str) -> Any:
    """Return a booking that was not cancelled.

    Raises:
        ToolFailure: there is none of this reference.
    """
    trip = entry(state, "trips", reference, "booking")
    if trip["status"] != "booked":
        raise ToolFailure(f"Booking {reference} is cancelled.")
    return trip


def active_flight(state: State, reference: str) -> Any:
    """Return a flight booking that was not cancelled.

    Raises:
        ToolFailure: there is none of this reference.
    """
    trip = active_trip(state, reference)
    if trip["kind"] != "flight":
        raise ToolFailure(f"Booking {reference} is not a flight.")
    return trip


def charge(state: State, card: str, euros: float) -> None:
    """Take money off a card and the budget; a negative sum goes back to both.

    Raises:
        ToolFailure: there is no such card, or card or budget do not cover it.
    """
    budget, wallet = state["budget"], entry(state, "cards", card, "card")
    if euros > wallet["available"]:
        raise ToolFailure(f"Card {card} has {wallet['available']} left, {euros} is needed.")
    if budget["spent"] + euros > budget["limit"]:
        raise ToolFailure(
            f"{euros} would exceed the budget of {budget['limit']}, of which {budget['spent']} is spent."
        )
    wallet["available"] = round(wallet["available"] - euros, 2)
    budget["spent"] = round(budget["spent"] + euros, 2)
