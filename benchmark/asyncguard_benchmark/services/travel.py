"""TP*: a travel desk with flights, hotels, cards, a budget, bookings and insurance.

All money is in euros unless a tool says otherwise, rounded to cents. Fares never move. References come from what was
booked: an extra booking does not shift the reference of another.
"""

from typing import Annotated, Any, Literal

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.arguments import Amount, Count, Text
from asyncguard_benchmark.services.content_ids import content_id
from asyncguard_benchmark.services.declarations import Effect, State, tool
from asyncguard_benchmark.services.records import entry, fields_of
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.travel_state import (
    BUDGET,
    CARDS,
    CATALOGUE,
    POLICIES,
    STATE_SCHEMA,
    TRAVELLER,
    TRIPS,
    active_flight,
    active_trip,
    charge,
)

City = Annotated[Text, "Name of the city."]
Flight = Annotated[Text, "Flight number, as KV 218."]
Card = Annotated[Text, "Id of a card, as CC-17."]
Reference = Annotated[Text, "Reference of a booking, as F-20417 or R-88102."]
Hotel = Annotated[Text, "Id of a hotel, as HT-31."]


@tool(effect=Effect.IDEMPOTENT, writes=(TRAVELLER,))
def verify_traveller(
    state: State,
    surname: Annotated[Text, "Family name as in the passport."],
    passport: Annotated[Text, "Number of the passport."],
) -> Any:
    """Proves who travels, which buying a flight requires; tells home airport and member status."""
    person = state["traveller"]
    if (surname, passport) != (person["surname"], person["passport"]):
        raise ToolFailure("Surname and passport do not belong together.")
    person["verified"] = True
    return {"verified": True, **fields_of(person, "home_airport status")}


@tool(reads=(CATALOGUE,))
def airports_of(state: State, city: City) -> Any:
    """Lists what airports serve a place."""
    found = [
        {"code": code, **fields_of(port, "name km_to_centre")}
        for code, port in sorted(state["airports"].items())
        if port["city"].lower() == city.lower()
    ]
    return {"airports": found}


@tool(reads=(CATALOGUE,))
def search_flights(
    state: State,
    origin: Annotated[Text, "Three-letter code of the airport of departure."],
    destination: Annotated[Text, "Three-letter code of the airport of arrival."],
    date: Annotated[Text, "Day of departure, YYYY-MM-DD."],
) -> Any:
    """Lists connections of a day by departure, with fares of both cabins."""
    found = [
        {"flight": number, **fields_of(flight, "departs arrives economy business")}
        for number, flight in state["flights"].items()
        if (flight["origin"], flight["destination"], flight["date"]) == (origin, destination, date)
    ]
    return {"flights": sorted(found, key=lambda flight: (flight["departs"], flight["flight"]))}


@tool(reads=(CATALOGUE,))
def flight_terms(state: State, flight: Flight) -> Any:
    """Shows route, day, baggage allowance and percentage refunded on cancelling."""
    terms = entry(state, "flights", flight, "flight")
    return {"flight": flight, **fields_of(terms, "origin destination date bag_kg refund_percent")}


def _unassigned(state: State, flight: str) -> dict[str, str]:
    """Return the seats of a flight that no booking has, with their kind."""
    trips = state["trips"].values()
    taken = {
        trip["seat"] for trip in trips if trip["item"] == flight and trip["status"] == "booked"
    }
    return {
        seat: kind for seat, kind in state["flights"][flight]["seats"].items() if seat not in taken
    }


@tool(reads=(CATALOGUE, TRIPS))
def seat_chart(state: State, flight: Flight) -> Any:
    """Shows unassigned seats by kind, each kind in order of name."""
    entry(state, "flights", flight, "flight")
    seats = _unassigned(state, flight)
    kinds = ("window", "middle", "aisle")
    return {
        "flight": flight,
        **{kind: sorted(seat for seat in seats if seats[seat] == kind) for kind in kinds},
    }


def _record_trip(state: State, card: str, price: float, **trip: Any) -> str:
    """Pay for a trip and write it down; give its reference."""
    charge(state, card, price)
    letter = "F" if trip["kind"] == "flight" else "R"
    reference = content_id(
        letter, ("trip", trip["item"], trip["date"], trip["nights"], trip["cabin"]), state["trips"]
    )
    state["trips"][reference] = {
        **trip,
        "seat": None,
        "card": card,
        "paid": price,
        "status": "booked",
    }
    return reference


@tool(reads=(TRAVELLER, CATALOGUE, CARDS, BUDGET, TRIPS), writes=(CARDS, BUDGET, TRIPS))
def book_flight(
    state: State,
    flight: Flight,
    cabin: Annotated[Literal["economy", "business"], "Class of travel."],
    card: Card,
) -> Any:
    """Buys a ticket for the verified traveller."""
    if not state["traveller"]["verified"]:
        raise ToolFailure("The traveller must be verified before a flight is booked.")
    fares = entry(state, "flights", flight, "flight")
    price = fares[cabin]
    reference = _record_trip(
        state, card, price, kind="flight", item=flight, date=fares["date"], nights=0, cabin=cabin
    )
    return {
        "reference": reference,
        "flight": flight,
        "paid": price,
        "card_left": state["cards"][card]["available"],
    }


@tool(reads=(CATALOGUE, CARDS, BUDGET, TRIPS), writes=(CARDS, BUDGET, TRIPS))
def move_booking(state: State, reference: Reference, flight: Flight) -> Any:
    """Rebooks a ticket to another flight, same cabin, without a seat; card and budget bear the difference."""
    trip, fares = active_flight(state, reference), entry(state, "flights", flight, "flight")
    difference = round(fares[trip["cabin"]] - trip["paid"], 2)
    charge(state, trip["card"], difference)
    trip.update(item=flight, date=fares["date"], seat=None, paid=fares[trip["cabin"]])
    return {
        "reference": reference,
        "flight": flight,
        "date": fares["date"],
        "difference": difference,
    }


@tool(reads=(CATALOGUE, TRIPS), writes=(TRIPS,))
def assign_seat(
    state: State, reference: Reference, seat: Annotated[Text, "A seat, as 14C."]
) -> Any:
    """Gives a ticket that has none a seat."""
    trip = active_flight(state, reference)
    free = _unassigned(state, trip["item"])
    if seat not in free:
        raise ToolFailure(f"Seat {seat!r} is not free on {trip['item']}.")
    if trip["seat"] is not None:
        raise ToolFailure(f"Booking {reference} has seat {trip['seat']} already.")
    trip["seat"] = seat
    return {"reference": reference, "flight": trip["item"], "seat": seat, "kind": free[seat]}


@tool(reads=(CATALOGUE,))
def hotel_offers(state: State, city: City) -> Any:
    """Lists hotels by name, with price per night."""
    found = [
        {"hotel_id": key, **fields_of(hotel, "name area stars nightly")}
        for key, hotel in state["hotels"].items()
        if hotel["city"].lower() == city.lower()
    ]
    return {"hotels": sorted(found, key=lambda hotel: (hotel["name"], hotel["hotel_id"]))}


@tool(reads=(CATALOGUE,))
def hotel_terms(state: State, hotel_id: Hotel) -> Any:
    """Shows the daily breakfast surcharge and whether animals may stay."""
    hotel = entry(state, "hotels", hotel_id, "hotel")
    return {"hotel_id": hotel_id, **fields_of(hotel, "breakfast pets")}


@tool(reads=(CATALOGUE, CARDS, BUDGET, TRIPS), writes=(CARDS, BUDGET, TRIPS))
def book_hotel(
    state: State,
    hotel_id: Hotel,
    check_in: Annotated[Text, "Day of arrival, YYYY-MM-DD."],
    nights: Annotated[Count, "Number of nights."],
    card: Card,
) -> Any:
    """Books and pays a room."""
    hotel = entry(state, "hotels", hotel_id, "hotel")
    price = round(hotel["nightly"] * nights, 2)
    reference = _record_trip(
        state, card, price, kind="hotel", item=hotel_id, date=check_in, nights=nights, cabin="none"
    )
    return {"reference": reference, "paid": price, "card_left": state["cards"][card]["available"]}


@tool(reads=(CARDS,))
def list_cards(state: State) -> Any:
    """Lists cards with label and available euros."""
    return {"cards": [{"card": key, **card} for key, card in sorted(state["cards"].items())]}


@tool(reads=(CARDS,), writes=(CARDS,))
def load_card(state: State, card: Card, euros: Annotated[Amount, "Euros."]) -> Any:
    """Puts money on a card."""
    wallet = entry(state, "cards", card, "card")
    wallet["available"] = round(wallet["available"] + euros, 2)
    return {"card": card, "available": wallet["available"]}


@tool(reads=(BUDGET,))
def budget_left(state: State) -> Any:
    """Shows limit, expenses and remainder of the budget."""
    budget = state["budget"]
    return {**fields_of(budget, "limit spent"), "left": round(budget["limit"] - budget["spent"], 2)}


@tool(effect=Effect.IDEMPOTENT, reads=(BUDGET,), writes=(BUDGET,))
def plan_budget(state: State, limit: Annotated[Amount, "Euros."]) -> Any:
    """Sets the limit that all bookings and premiums together must keep to."""
    if limit < state["budget"]["spent"]:
        raise ToolFailure(f"{state['budget']['spent']} is spent already.")
    state["budget"]["limit"] = limit
    return budget_left.run(state)


@tool(reads=(CATALOGUE,))
def exchange(
    state: State,
    sum_of_money: Annotated[Amount, "In units of the source."],
    source: Annotated[Text, "Three-letter code of its currency."],
    target: Annotated[Text, "Three-letter code of the currency wanted."],
) -> Any:
    """Converts money between currencies, to two decimals."""
    rates = state["per_euro"]
    unknown = [currency for currency in (source, target) if currency not in rates]
    if unknown:
        raise ToolFailure(f"There is no rate for {unknown[0]!r}.")
    return {
        "currency": target,
        "exact": round(sum_of_money / rates[source] * rates[target], 2),
        "per_unit": round(rates[target] / rates[source], 4),
    }


@tool(reads=(TRIPS,))
def list_trips(state: State) -> Any:
    """Lists booking references with kind, day and status."""
    trips = sorted(state["trips"].items())
    return {
        "trips": [{"reference": key, **fields_of(trip, "kind date status")} for key, trip in trips]
    }


@tool(reads=(TRIPS,))
def trip_details(state: State, reference: Reference) -> Any:
    """Shows flight or hotel, seat, card and price of a booking."""
    trip = entry(state, "trips", reference, "booking")
    return {"reference": reference, **fields_of(trip, "item nights cabin seat card paid")}


@tool(reads=(CATALOGUE, CARDS, BUDGET, TRIPS), writes=(CARDS, BUDGET, TRIPS))
def call_off(state: State, reference: Reference) -> Any:
    """Cancels a booking; card and budget get back what its terms allow, for hotels all of it."""
    trip = active_trip(state, reference)
    percent = state["flights"][trip["item"]]["refund_percent"] if trip["kind"] == "flight" else 100
    refund = round(trip["paid"] * percent / 100, 2)
    charge(state, trip["card"], -refund)
    trip["status"] = "cancelled"
    return {"reference": reference, "refund": refund, "card": trip["card"]}


@tool(reads=(CATALOGUE, TRIPS))
def cover_offers(state: State, reference: Reference) -> Any:
    """Lists insurance plans for a booking, with premiums."""
    trip = active_trip(state, reference)
    offers = [
        {
            "plan": key,
            "covers": plan["covers"],
            "premium": round(trip["paid"] * plan["percent"] / 100, 2),
        }
        for key, plan in sorted(state["plans"].items())
    ]
    return {"reference": reference, "offers": offers}


@tool(reads=(CATALOGUE, CARDS, BUDGET, TRIPS, POLICIES), writes=(CARDS, BUDGET, POLICIES))
def take_cover(
    state: State, reference: Reference, plan: Annotated[Text, "Key of the plan."], card: Card
) -> Any:
    """Insures a booking."""
    trip, terms = active_trip(state, reference), entry(state, "plans", plan, "plan")
    if any(policy["reference"] == reference for policy in state["policies"].values()):
        raise ToolFailure(f"Booking {reference} is insured already.")
    premium = round(trip["paid"] * terms["percent"] / 100, 2)
    charge(state, card, premium)
    policy = content_id("P", ("policy", reference, plan), state["policies"])
    state["policies"][policy] = {"reference": reference, "plan": plan, "premium": premium}
    return {"policy": policy, "premium": premium, "card_left": state["cards"][card]["available"]}


TOOLSET = toolset(
    Category.TRAVEL_PLANNING,
    STATE_SCHEMA,
    (
        verify_traveller,
        airports_of,
        search_flights,
        flight_terms,
        seat_chart,
        book_flight,
        move_booking,
        assign_seat,
        hotel_offers,
        hotel_terms,
        book_hotel,
        list_cards,
        load_card,
        budget_left,
        plan_budget,
        exchange,
        list_trips,
        trip_details,
        call_off,
        cover_offers,
        take_cover,
    ),
)
