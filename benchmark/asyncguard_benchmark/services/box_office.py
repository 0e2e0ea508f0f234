"""TP: a box office with a programme, seats, holds, payment, refunds and a help desk.

The person who opened the session is the customer of every call that touches seats, money, tickets
or cases. Nothing expires and no price moves, so a run depends on nothing but its calls. Ids come
from content: an extra hold, booking or case does not shift the id of another.
"""

from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.box_office_help_desk import (
    add_reply,
    case_thread,
    close_case,
    file_case,
)
from asyncguard_benchmark.services.box_office_state import (
    BOOKINGS,
    CASES,
    HOLDS,
    PROGRAMME,
    QUEUES,
    SEATS,
    SESSION,
    STATE_SCHEMA,
    VOUCHERS,
    WALLETS,
    customer_of,
    event_of,
    mark_seats,
    own,
    valid_booking,
)
from asyncguard_benchmark.services.content_ids import content_id
from asyncguard_benchmark.services.declarations import State, amount, choice, text
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.service_tools import reader, setter, writer


def _open_session(state: State, email: str, password: str) -> Any:
    customer = state["customers"].get(email)
    if customer is None or customer["password"] != password:
        raise ToolFailure("E-mail address and password do not belong together.")
    state["session"] = email
    return {"customer": customer["name"], "member_since": customer["member_since"]}


def _end_session(state: State) -> Any:
    customer = customer_of(state)
    state["session"] = None
    return {"goodbye": state["customers"][customer]["name"]}


def _account_overview(state: State) -> Any:
    email = customer_of(state)
    customer = state["customers"][email]
    mine = {
        code: one for code, one in sorted(state["vouchers"].items()) if one["customer"] == email
    }
    held = {key: hold for key, hold in sorted(state["holds"].items()) if hold["customer"] == email}
    return {
        "email": email,
        "wallet": customer["wallet"],
        "vouchers": [
            {"code": code, "genre": one["genre"], "percent": one["percent"]}
            for code, one in mine.items()
        ],
        "holds": [
            {
                "hold_id": key,
                "title": event_of(state, hold["event_id"])["title"],
                "total": hold["total"],
            }
            for key, hold in held.items()
        ],
    }


def _add_credit(state: State, amount: float) -> Any:
    customer = state["customers"][customer_of(state)]
    customer["wallet"] = round(customer["wallet"] + amount, 2)
    return {"wallet": customer["wallet"]}


def _browse_programme(state: State, city: str, genre: str) -> Any:
    found = [
        {"event_id": key, "title": event["title"], "date": event["date"], "starts": event["starts"]}
        for key, event in state["events"].items()
        if event["city"].lower() == city.lower() and event["genre"].lower() == genre.lower()
    ]
    return {
        "events": sorted(
            found, key=lambda event: (event["date"], event["starts"], event["event_id"])
        )
    }


def _find_performances(state: State, title: str) -> Any:
    found = [
        {"event_id": key, "city": event["city"], "venue": event["venue"], "date": event["date"]}
        for key, event in state["events"].items()
        if event["title"].lower() == title.lower()
    ]
    return {"performances": sorted(found, key=lambda event: (event["date"], event["event_id"]))}


def _event_sheet(state: State, event_id: str) -> Any:
    event = event_of(state, event_id)
    shown = ("title", "genre", "city", "venue", "date", "doors", "starts", "refundable")
    return {"event_id": event_id, **{key: event[key] for key in shown}}


def _seats_of(state: State, event_id: str, section: str) -> dict[str, Any]:
    """Return the free seats of a section."""
    if section not in event_of(state, event_id)["prices"]:
        raise ToolFailure(f"Event {event_id} has no section {section!r}.")
    seats = state["seats"].get(event_id, {})
    return {
        name: s
        for name, s in sorted(seats.items())
        if s["section"] == section and s["status"] == "free"
    }


def _price_bands(state: State, event_id: str) -> Any:
    prices = event_of(state, event_id)["prices"]
    bands = [
        {"section": section, "price": price, "left": len(_seats_of(state, event_id, section))}
        for section, price in prices.items()
    ]
    return {
        "event_id": event_id,
        "bands": sorted(bands, key=lambda band: (-band["price"], band["section"])),
    }


def _free_seats(state: State, event_id: str, section: str) -> Any:
    free = _seats_of(state, event_id, section)
    return {
        "seats": [
            {"seat": name, "aisle": seat["aisle"], "view": seat["view"]}
            for name, seat in free.items()
        ]
    }


def _hold_seats(state: State, event_id: str, seats: list[str]) -> Any:
    customer, event = customer_of(state), event_of(state, event_id)
    plan = state["seats"].get(event_id, {})
    gone = [seat for seat in seats if plan.get(seat, {"status": "unknown"})["status"] != "free"]
    if gone:
        raise ToolFailure(f"Not free: {', '.join(gone)}.")
    total = round(sum(event["prices"][plan[seat]["section"]] for seat in seats), 2)
    hold_id = content_id("H", ("hold", customer, event_id, seats), state["holds"])
    hold = {"event_id": event_id, "seats": seats, "total": total, "voucher": None}
    state["holds"][hold_id] = {"customer": customer, **hold}
    mark_seats(state, event_id, seats, "held")
    return {"hold_id": hold_id, **hold}


def _drop_hold(state: State, hold_id: str) -> Any:
    hold = own(state, "holds", hold_id)
    mark_seats(state, hold["event_id"], hold["seats"], "free")
    del state["holds"][hold_id]
    return {"event_id": hold["event_id"], "released": hold["seats"]}


def _redeem_code(state: State, hold_id: str, code: str) -> Any:
    hold = own(state, "holds", hold_id)
    voucher = state["vouchers"].get(code)
    if voucher is None or voucher["customer"] != hold["customer"]:
        raise ToolFailure(f"You have no voucher {code!r}.")
    if hold["voucher"] is not None:
        raise ToolFailure(f"Hold {hold_id} has a voucher already.")
    if voucher["genre"] not in ("any", event_of(state, hold["event_id"])["genre"]):
        raise ToolFailure(f"Voucher {code} is for {voucher['genre']} only.")
    saved = round(hold["total"] * voucher["percent"] / 100, 2)
    hold["total"], hold["voucher"] = round(hold["total"] - saved, 2), code
    del state["vouchers"][code]
    return {"hold_id": hold_id, "saved": saved, "total": hold["total"]}


def _pay_hold(state: State, hold_id: str, method: str) -> Any:
    hold = own(state, "holds", hold_id)
    email, customer = hold["customer"], state["customers"][hold["customer"]]
    if method == "wallet":
        if customer["wallet"] < hold["total"]:
            raise ToolFailure(
                f"The wallet holds {customer['wallet']}, the seats cost {hold['total']}."
            )
        customer["wallet"] = round(customer["wallet"] - hold["total"], 2)
    booking_id = content_id(
        "B", ("booking", email, hold["event_id"], hold["seats"]), state["bookings"]
    )
    booking = {
        "event_id": hold["event_id"],
        "seats": hold["seats"],
        "paid": hold["total"],
        "status": "valid",
    }
    state["bookings"][booking_id] = {"customer": email, **booking, "case_id": ""}
    mark_seats(state, hold["event_id"], hold["seats"], "sold")
    del state["holds"][hold_id]
    return {"booking_id": booking_id, "paid": hold["total"], "wallet": customer["wallet"]}


def _list_bookings(state: State) -> Any:
    email = customer_of(state)
    mine = [
        (key, booking)
        for key, booking in sorted(state["bookings"].items())
        if booking["customer"] == email
    ]
    return {
        "bookings": [
            {
                "booking_id": key,
                "title": event_of(state, one["event_id"])["title"],
                "status": one["status"],
            }
            for key, one in mine
        ]
    }


def _booking_sheet(state: State, booking_id: str) -> Any:
    booking = own(state, "bookings", booking_id)
    return {
        "booking_id": booking_id,
        **{key: booking[key] for key in ("event_id", "seats", "paid", "case_id")},
    }


def _give_back_booking(state: State, booking_id: str) -> Any:
    booking = valid_booking(state, booking_id)
    if not event_of(state, booking["event_id"])["refundable"]:
        raise ToolFailure(f"Booking {booking_id} is not refundable.")
    customer = state["customers"][booking["customer"]]
    customer["wallet"] = round(customer["wallet"] + booking["paid"], 2)
    booking["status"] = "refunded"
    mark_seats(state, booking["event_id"], booking["seats"], "free")
    return {"booking_id": booking_id, "refunded": booking["paid"], "wallet": customer["wallet"]}


def _hand_over_booking(state: State, booking_id: str, email: str) -> Any:
    booking = valid_booking(state, booking_id)
    if email not in state["customers"] or email == booking["customer"]:
        raise ToolFailure(f"{email!r} is no other customer's e-mail address.")
    booking["customer"] = email
    return {
        "booking_id": booking_id,
        "new_owner": state["customers"][email]["name"],
        "seats": booking["seats"],
    }


def _join_queue(state: State, event_id: str, section: str) -> Any:
    customer = customer_of(state)
    if _seats_of(state, event_id, section):
        raise ToolFailure(f"{section} of event {event_id} is not sold out.")
    queue = state["queues"].setdefault(f"{event_id}/{section}", [])
    if customer not in queue:
        queue.append(customer)
    return {"event_id": event_id, "section": section, "place": queue.index(customer) + 1}


_EVENT = text("Id of an event, as E-418.")
_SECTION = text("Name of a section of the house, spelt as the event has it.")
_HOLD = text("Number of a hold, as H-20318.")
_BOOKING = text("Number of a booking, as B-53120.")
_CASE = text("Number of a case, as K-90214.")
_SEAT_LIST = {
    "type": "array",
    "items": text("A seat, as C14."),
    "minItems": 1,
    "uniqueItems": True,
    "description": "All seats wanted, in the order in which the house lists them.",
}


TOOLSET = toolset(
    Category.TICKET_PURCHASE,
    STATE_SCHEMA,
    (
        setter(
            "open_session",
            "Logs a customer in, in place of whoever was; tells name and year of joining.",
            _open_session,
            (),
            (SESSION,),
            email=text("E-mail address of the customer."),
            password=text("Their password."),
        ),
        writer("end_session", "Logs the customer out.", _end_session, (SESSION,), (SESSION,)),
        reader(
            "account_overview",
            "Shows the customer's e-mail, wallet, vouchers and holds.",
            _account_overview,
            (SESSION, WALLETS, VOUCHERS, HOLDS, PROGRAMME),
        ),
        writer(
            "add_credit",
            "Loads money into the wallet.",
            _add_credit,
            (SESSION, WALLETS),
            (WALLETS,),
            amount=amount("Euros."),
        ),
        reader(
            "browse_programme",
            "Lists the events of one genre in one city, earliest first.",
            _browse_programme,
            (PROGRAMME,),
            city=text("Name of the city."),
            genre=text("Genre in lower case, as opera or jazz."),
        ),
        reader(
            "find_performances",
            "Lists all places and dates of a production, earliest first.",
            _find_performances,
            (PROGRAMME,),
            title=text("Its full title."),
        ),
        reader(
            "event_sheet",
            "Shows venue, times and terms of an event.",
            _event_sheet,
            (PROGRAMME,),
            event_id=_EVENT,
        ),
        reader(
            "price_bands",
            "Shows sections of an event with euros per seat and number of seats left, dearest first.",
            _price_bands,
            (PROGRAMME, SEATS),
            event_id=_EVENT,
        ),
        reader(
            "free_seats",
            "Lists the seats of a section that can be had, with aisle and view.",
            _free_seats,
            (PROGRAMME, SEATS),
            event_id=_EVENT,
            section=_SECTION,
        ),
        writer(
            "hold_seats",
            "Sets seats aside for the customer, unpaid.",
            _hold_seats,
            (SESSION, PROGRAMME, SEATS, HOLDS),
            (SEATS, HOLDS),
            event_id=_EVENT,
            seats=_SEAT_LIST,
        ),
        writer(
            "drop_hold",
            "Gives up a hold; its seats are for everyone again.",
            _drop_hold,
            (SESSION, HOLDS),
            (SEATS, HOLDS),
            hold_id=_HOLD,
        ),
        writer(
            "redeem_code",
            "Takes a voucher's percentage off a hold, rounded to cents, and uses it up.",
            _redeem_code,
            (SESSION, PROGRAMME, HOLDS, VOUCHERS),
            (HOLDS, VOUCHERS),
            hold_id=_HOLD,
            code=text("Code of one of the customer's vouchers."),
        ),
        writer(
            "pay_hold",
            "Pays what a hold costs and turns it into a booking.",
            _pay_hold,
            (SESSION, WALLETS, HOLDS, BOOKINGS),
            (WALLETS, SEATS, HOLDS, BOOKINGS),
            hold_id=_HOLD,
            method=choice("What the money comes from.", ("wallet", "card")),
        ),
        reader(
            "list_bookings",
            "Lists the customer's bookings with title and status.",
            _list_bookings,
            (SESSION, PROGRAMME, BOOKINGS),
        ),
        reader(
            "booking_sheet",
            "Shows event, seats, price and case (empty if none) of a booking.",
            _booking_sheet,
            (SESSION, BOOKINGS),
            booking_id=_BOOKING,
        ),
        writer(
            "give_back_booking",
            "Returns a refundable booking; the money goes to the wallet.",
            _give_back_booking,
            (SESSION, WALLETS, PROGRAMME, BOOKINGS),
            (WALLETS, SEATS, BOOKINGS),
            booking_id=_BOOKING,
        ),
        writer(
            "hand_over_booking",
            "Makes another customer the owner of a booking.",
            _hand_over_booking,
            (SESSION, BOOKINGS),
            (BOOKINGS,),
            booking_id=_BOOKING,
            email=text("E-mail address of the new owner."),
        ),
        setter(
            "join_queue",
            "Puts the customer on the waiting list of a section that is sold out; tells their place.",
            _join_queue,
            (SESSION, PROGRAMME, SEATS, QUEUES),
            (QUEUES,),
            event_id=_EVENT,
            section=_SECTION,
        ),
        writer(
            "file_case",
            "Opens a help-desk case about a booking that has none.",
            file_case,
            (SESSION, BOOKINGS, CASES),
            (BOOKINGS, CASES),
            booking_id=_BOOKING,
            subject=text("What it is about, a few words."),
        ),
        reader(
            "case_thread",
            "Shows what was written in a case.",
            case_thread,
            (SESSION, CASES),
            case_id=_CASE,
        ),
        writer(
            "add_reply",
            "Writes a message into an open case.",
            add_reply,
            (SESSION, CASES),
            (CASES,),
            case_id=_CASE,
            message=text("The message, word for word."),
        ),
        writer(
            "close_case",
            "Closes an open case.",
            close_case,
            (SESSION, CASES),
            (CASES,),
            case_id=_CASE,
        ),
    ),
)
