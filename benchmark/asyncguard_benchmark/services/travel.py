"""TP*: a travel desk with flights, hotels, cards, a budget, bookings and insurance.

All money is in euros unless a tool says otherwise, rounded to cents. Fares never move. References come from what was
booked: an extra booking does not shift the reference of another.
"""

from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.content_ids import content_id
from asyncguard_benchmark.services.declarations import State, amount, choice, text, whole
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.service_tools import reader, setter, writer
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
    entry,
)


def _verify_traveller(state: State, surname: str, passport: str) -> Any:
    person = state["traveller"]
    if (surname, passport) != (person["surname"], person["passport"]):
        raise ToolFailure("Surname and passport do not belong together.")
    person["verified"] = True
    return {"verified": True, "home_airport": person["home_airport"], "status": person["status"]}


def _airports_of(state: State, city: str) -> Any:
    found = [
        {"code": code, "name": port["name"], "km_to_centre": port["km_to_centre"]}
        for code, port in sorted(state["airports"].items())
        if port["city"].lower() == city.lower()
    ]
    return {"airports": found}


def _search_flights(state: State, origin: str, destination: str, date: str) -> Any:
    shown = ("departs", "arrives", "economy", "business")
    found = [
        {"flight": number, **{key: flight[key] for key in shown}}
        for number, flight in state["flights"].items()
        if (flight["origin"], flight["destination"], flight["date"]) == (origin, destination, date)
    ]
    return {"flights": sorted(found, key=lambda flight: (flight["departs"], flight["flight"]))}


def _flight_terms(state: State, flight: str) -> Any:
    terms = entry(state, "flights", flight, "flight")
    shown = ("origin", "destination", "date", "bag_kg", "refund_percent")
    return {"flight": flight, **{key: terms[key] for key in shown}}


def _unassigned(state: State, flight: str) -> dict[str, str]:
    """Return the seats of a flight that no booking has, with their kind."""
    trips = state["trips"].values()
    taken = {
        trip["seat"] for trip in trips if trip["item"] == flight and trip["status"] == "booked"
    }
    return {
        seat: kind for seat, kind in state["flights"][flight]["seats"].items() if seat not in taken
    }


def _seat_chart(state: State, flight: str) -> Any:
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


def _book_flight(state: State, flight: str, cabin: str, card: str) -> Any:
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


def _move_booking(state: State, reference: str, flight: str) -> Any:
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


def _assign_seat(state: State, reference: str, seat: str) -> Any:
    trip = active_flight(state, reference)
    free = _unassigned(state, trip["item"])
    if seat not in free:
        raise ToolFailure(f"Seat {seat!r} is not free on {trip['item']}.")
    if trip["seat"] is not None:
        raise ToolFailure(f"Booking {reference} has seat {trip['seat']} already.")
    trip["seat"] = seat
    return {"reference": reference, "flight": trip["item"], "seat": seat, "kind": free[seat]}


def _hotel_offers(state: State, city: str) -> Any:
    shown = ("name", "area", "stars", "nightly")
    found = [
        {"hotel_id": key, **{name: hotel[name] for name in shown}}
        for key, hotel in state["hotels"].items()
        if hotel["city"].lower() == city.lower()
    ]
    return {"hotels": sorted(found, key=lambda hotel: (hotel["name"], hotel["hotel_id"]))}


def _hotel_terms(state: State, hotel_id: str) -> Any:
    hotel = entry(state, "hotels", hotel_id, "hotel")
    return {"hotel_id": hotel_id, "breakfast": hotel["breakfast"], "pets": hotel["pets"]}


def _book_hotel(state: State, hotel_id: str, check_in: str, nights: int, card: str) -> Any:
    hotel = entry(state, "hotels", hotel_id, "hotel")
    price = round(hotel["nightly"] * nights, 2)
    reference = _record_trip(
        state, card, price, kind="hotel", item=hotel_id, date=check_in, nights=nights, cabin="none"
    )
    return {"reference": reference, "paid": price, "card_left": state["cards"][card]["available"]}


def _list_cards(state: State) -> Any:
    return {"cards": [{"card": key, **card} for key, card in sorted(state["cards"].items())]}


def _load_card(state: State, card: str, euros: float) -> Any:
    wallet = entry(state, "cards", card, "card")
    wallet["available"] = round(wallet["available"] + euros, 2)
    return {"card": card, "available": wallet["available"]}


def _budget_left(state: State) -> Any:
    budget = state["budget"]
    return {
        "limit": budget["limit"],
        "spent": budget["spent"],
        "left": round(budget["limit"] - budget["spent"], 2),
    }


def _plan_budget(state: State, limit: float) -> Any:
    if limit < state["budget"]["spent"]:
        raise ToolFailure(f"{state['budget']['spent']} is spent already.")
    state["budget"]["limit"] = limit
    return _budget_left(state)


def _exchange(state: State, sum_of_money: float, source: str, target: str) -> Any:
    rates = state["per_euro"]
    unknown = [currency for currency in (source, target) if currency not in rates]
    if unknown:
        raise ToolFailure(f"There is no rate for {unknown[0]!r}.")
    return {
        "currency": target,
        "exact": round(sum_of_money / rates[source] * rates[target], 2),
        "per_unit": round(rates[target] / rates[source], 4),
    }


def _list_trips(state: State) -> Any:
    shown = ("kind", "date", "status")
    trips = sorted(state["trips"].items())
    return {
        "trips": [{"reference": key, **{name: trip[name] for name in shown}} for key, trip in trips]
    }


def _trip_details(state: State, reference: str) -> Any:
    trip = entry(state, "trips", reference, "booking")
    return {
        "reference": reference,
        **{name: trip[name] for name in ("item", "nights", "cabin", "seat", "card", "paid")},
    }


def _call_off(state: State, reference: str) -> Any:
    trip = active_trip(state, reference)
    percent = state["flights"][trip["item"]]["refund_percent"] if trip["kind"] == "flight" else 100
    refund = round(trip["paid"] * percent / 100, 2)
    charge(state, trip["card"], -refund)
    trip["status"] = "cancelled"
    return {"reference": reference, "refund": refund, "card": trip["card"]}


def _cover_offers(state: State, reference: str) -> Any:
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


def _take_cover(state: State, reference: str, plan: str, card: str) -> Any:
    trip, terms = active_trip(state, reference), entry(state, "plans", plan, "plan")
    if any(policy["reference"] == reference for policy in state["policies"].values()):
        raise ToolFailure(f"Booking {reference} is insured already.")
    premium = round(trip["paid"] * terms["percent"] / 100, 2)
    charge(state, card, premium)
    policy = content_id("P", ("policy", reference, plan), state["policies"])
    state["policies"][policy] = {"reference": reference, "plan": plan, "premium": premium}
    return {"policy": policy, "premium": premium, "card_left": state["cards"][card]["available"]}


_AIRPORT = "Three-letter code of the airport"
_FLIGHT = text("Flight number, as KV 218.")
_REFERENCE = text("Reference of a booking, as F-20417 or R-88102.")
_CARD = text("Id of a card, as CC-17.")
_HOTEL = text("Id of a hotel, as HT-31.")
_CITY = text("Name of the city.")
_MONEY = (CARDS, BUDGET)

TOOLSET = toolset(
    Category.TRAVEL_PLANNING,
    STATE_SCHEMA,
    (
        setter(
            "verify_traveller",
            "Proves who travels, which buying a flight requires; tells home airport and member status.",
            _verify_traveller,
            (),
            (TRAVELLER,),
            surname=text("Family name as in the passport."),
            passport=text("Number of the passport."),
        ),
        reader(
            "airports_of",
            "Lists what airports serve a place.",
            _airports_of,
            (CATALOGUE,),
            city=_CITY,
        ),
        reader(
            "search_flights",
            "Lists connections of a day by departure, with fares of both cabins.",
            _search_flights,
            (CATALOGUE,),
            origin=text(f"{_AIRPORT} of departure."),
            destination=text(f"{_AIRPORT} of arrival."),
            date=text("Day of departure, YYYY-MM-DD."),
        ),
        reader(
            "flight_terms",
            "Shows route, day, baggage allowance and percentage refunded on cancelling.",
            _flight_terms,
            (CATALOGUE,),
            flight=_FLIGHT,
        ),
        reader(
            "seat_chart",
            "Shows unassigned seats by kind, each kind in order of name.",
            _seat_chart,
            (CATALOGUE, TRIPS),
            flight=_FLIGHT,
        ),
        writer(
            "book_flight",
            "Buys a ticket for the verified traveller.",
            _book_flight,
            (TRAVELLER, CATALOGUE, *_MONEY, TRIPS),
            (*_MONEY, TRIPS),
            flight=_FLIGHT,
            cabin=choice("Class of travel.", ("economy", "business")),
            card=_CARD,
        ),
        writer(
            "move_booking",
            "Rebooks a ticket to another flight, same cabin, without a seat; card and budget bear the difference.",
            _move_booking,
            (CATALOGUE, *_MONEY, TRIPS),
            (*_MONEY, TRIPS),
            reference=_REFERENCE,
            flight=_FLIGHT,
        ),
        writer(
            "assign_seat",
            "Gives a ticket that has none a seat.",
            _assign_seat,
            (CATALOGUE, TRIPS),
            (TRIPS,),
            reference=_REFERENCE,
            seat=text("A seat, as 14C."),
        ),
        reader(
            "hotel_offers",
            "Lists hotels by name, with price per night.",
            _hotel_offers,
            (CATALOGUE,),
            city=_CITY,
        ),
        reader(
            "hotel_terms",
            "Shows the daily breakfast surcharge and whether animals may stay.",
            _hotel_terms,
            (CATALOGUE,),
            hotel_id=_HOTEL,
        ),
        writer(
            "book_hotel",
            "Books and pays a room.",
            _book_hotel,
            (CATALOGUE, *_MONEY, TRIPS),
            (*_MONEY, TRIPS),
            hotel_id=_HOTEL,
            check_in=text("Day of arrival, YYYY-MM-DD."),
            nights=whole("Number of nights."),
            card=_CARD,
        ),
        reader("list_cards", "Lists cards with label and available euros.", _list_cards, (CARDS,)),
        writer(
            "load_card",
            "Puts money on a card.",
            _load_card,
            (CARDS,),
            (CARDS,),
            card=_CARD,
            euros=amount("Euros."),
        ),
        reader(
            "budget_left",
            "Shows limit, expenses and remainder of the budget.",
            _budget_left,
            (BUDGET,),
        ),
        setter(
            "plan_budget",
            "Sets the limit that all bookings and premiums together must keep to.",
            _plan_budget,
            (BUDGET,),
            (BUDGET,),
            limit=amount("Euros."),
        ),
        reader(
            "exchange",
            "Converts money between currencies, to two decimals.",
            _exchange,
            (CATALOGUE,),
            sum_of_money=amount("In units of the source."),
            source=text("Three-letter code of its currency."),
            target=text("Three-letter code of the currency wanted."),
        ),
        reader(
            "list_trips",
            "Lists booking references with kind, day and status.",
            _list_trips,
            (TRIPS,),
        ),
        reader(
            "trip_details",
            "Shows flight or hotel, seat, card and price of a booking.",
            _trip_details,
            (TRIPS,),
            reference=_REFERENCE,
        ),
        writer(
            "call_off",
            "Cancels a booking; card and budget get back what its terms allow, for hotels all of it.",
            _call_off,
            (CATALOGUE, *_MONEY, TRIPS),
            (*_MONEY, TRIPS),
            reference=_REFERENCE,
        ),
        reader(
            "cover_offers",
            "Lists insurance plans for a booking, with premiums.",
            _cover_offers,
            (CATALOGUE, TRIPS),
            reference=_REFERENCE,
        ),
        writer(
            "take_cover",
            "Insures a booking.",
            _take_cover,
            (CATALOGUE, *_MONEY, TRIPS, POLICIES),
            (*_MONEY, POLICIES),
            reference=_REFERENCE,
            plan=text("Key of the plan."),
            card=_CARD,
        ),
    ),
)
