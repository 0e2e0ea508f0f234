"""TP: a box office with a programme, seats, holds, payment, refunds and a help desk.

The person who opened the session is the customer of every call that touches seats, money, tickets
or cases. Nothing expires and no price moves, so a run depends on nothing but its calls. Ids come
from content: an extra hold, booking or case does not shift the id of another.
"""

from typing import Annotated, Any, Literal

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.arguments import Amount, Distinct, Text
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
from asyncguard_benchmark.services.declarations import Effect, State, tool
from asyncguard_benchmark.services.records import fields_of
from asyncguard_benchmark.services.service import toolset

Booking = Annotated[Text, "Number of a booking, as B-53120."]
Case = Annotated[Text, "Number of a case, as K-90214."]
Event = Annotated[Text, "Id of an event, as E-418."]
Section = Annotated[Text, "Name of a section of the house, spelt as the event has it."]
Hold = Annotated[Text, "Number of a hold, as H-20318."]


@tool(reads=(SESSION, BOOKINGS, CASES), writes=(BOOKINGS, CASES))
def file_case(
    state: State, booking_id: Booking, subject: Annotated[Text, "What it is about, a few words."]
) -> Any:
    """Opens a help-desk case about a booking that has none."""
    booking = own(state, "bookings", booking_id)
    if booking["case_id"]:
        raise ToolFailure(f"Booking {booking_id} has case {booking['case_id']} already.")
    customer = customer_of(state)
    case_id = content_id("K", ("case", customer, booking_id, subject), state["cases"])
    case = {"booking_id": booking_id, "subject": subject, "messages": [], "status": "open"}
    state["cases"][case_id] = {"customer": customer, **case}
    booking["case_id"] = case_id
    return {"case_id": case_id, "status": "open"}


@tool(reads=(SESSION, CASES))
def case_thread(state: State, case_id: Case) -> Any:
    """Shows what was written in a case."""
    case = own(state, "cases", case_id)
    return {"case_id": case_id, **fields_of(case, "subject messages status")}


def _open_case(state: State, case_id: str) -> dict[str, Any]:
    case = own(state, "cases", case_id)
    if case["status"] != "open":
        raise ToolFailure(f"Case {case_id} is closed.")
    return case


@tool(reads=(SESSION, CASES), writes=(CASES,))
def add_reply(
    state: State, case_id: Case, message: Annotated[Text, "The message, word for word."]
) -> Any:
    """Writes a message into an open case."""
    case = _open_case(state, case_id)
    case["messages"].append(message)
    return {"case_id": case_id, "messages": len(case["messages"])}


@tool(reads=(SESSION, CASES), writes=(CASES,))
def close_case(state: State, case_id: Case) -> Any:
    """Closes an open case."""
    case = _open_case(state, case_id)
    case["status"] = "closed"
    return {"case_id": case_id, "status": "closed"}


@tool(effect=Effect.IDEMPOTENT, writes=(SESSION,))
def open_session(
    state: State,
    email: Annotated[Text, "E-mail address of the customer."],
    password: Annotated[Text, "Their password."],
) -> Any:
    """Logs a customer in, in place of whoever was; tells name and year of joining."""
    customer = state["customers"].get(email)
    if customer is None or customer["password"] != password:
        raise ToolFailure("E-mail address and password do not belong together.")
    state["session"] = email
    return {"customer": customer["name"], "member_since": customer["member_since"]}


@tool(reads=(SESSION,), writes=(SESSION,))
def end_session(state: State) -> Any:
    """Logs the customer out."""
    customer = customer_of(state)
    state["session"] = None
    return {"goodbye": state["customers"][customer]["name"]}


@tool(reads=(SESSION, WALLETS, VOUCHERS, HOLDS, PROGRAMME))
def account_overview(state: State) -> Any:
    """Shows the customer's e-mail, wallet, vouchers and holds."""
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
            {"code": code, **fields_of(one, "genre percent")} for code, one in mine.items()
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


@tool(reads=(SESSION, WALLETS), writes=(WALLETS,))
def add_credit(state: State, amount: Annotated[Amount, "Euros."]) -> Any:
    """Loads money into the wallet."""
    customer = state["customers"][customer_of(state)]
    customer["wallet"] = round(customer["wallet"] + amount, 2)
    return {"wallet": customer["wallet"]}


@tool(reads=(PROGRAMME,))
def browse_programme(
    state: State,
    city: Annotated[Text, "Name of the city."],
    genre: Annotated[Text, "Genre in lower case, as opera or jazz."],
) -> Any:
    """Lists the events of one genre in one city, earliest first."""
    found = [
        {"event_id": key, **fields_of(event, "title date starts")}
        for key, event in state["events"].items()
        if event["city"].lower() == city.lower() and event["genre"].lower() == genre.lower()
    ]
    return {
        "events": sorted(
            found, key=lambda event: (event["date"], event["starts"], event["event_id"])
        )
    }


@tool(reads=(PROGRAMME,))
def find_performances(state: State, title: Annotated[Text, "Its full title."]) -> Any:
    """Lists all places and dates of a production, earliest first."""
    found = [
        {"event_id": key, **fields_of(event, "city venue date")}
        for key, event in state["events"].items()
        if event["title"].lower() == title.lower()
    ]
    return {"performances": sorted(found, key=lambda event: (event["date"], event["event_id"]))}


@tool(reads=(PROGRAMME,))
def event_sheet(state: State, event_id: Event) -> Any:
    """Shows venue, times and terms of an event."""
    event = event_of(state, event_id)
    return {
        "event_id": event_id,
        **fields_of(event, "title genre city venue date doors starts refundable"),
    }


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


@tool(reads=(PROGRAMME, SEATS))
def price_bands(state: State, event_id: Event) -> Any:
    """Shows sections of an event with euros per seat and number of seats left, dearest first."""
    prices = event_of(state, event_id)["prices"]
    bands = [
        {"section": section, "price": price, "left": len(_seats_of(state, event_id, section))}
        for section, price in prices.items()
    ]
    return {
        "event_id": event_id,
        "bands": sorted(bands, key=lambda band: (-band["price"], band["section"])),
    }


@tool(reads=(PROGRAMME, SEATS))
def free_seats(state: State, event_id: Event, section: Section) -> Any:
    """Lists the seats of a section that can be had, with aisle and view."""
    free = _seats_of(state, event_id, section)
    return {
        "seats": [{"seat": name, **fields_of(seat, "aisle view")} for name, seat in free.items()]
    }


@tool(reads=(SESSION, PROGRAMME, SEATS, HOLDS), writes=(SEATS, HOLDS))
def hold_seats(
    state: State,
    event_id: Event,
    seats: Annotated[
        Distinct[Annotated[Text, "A seat, as C14."]],
        "All seats wanted, in the order in which the house lists them.",
    ],
) -> Any:
    """Sets seats aside for the customer, unpaid."""
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


@tool(reads=(SESSION, HOLDS), writes=(SEATS, HOLDS))
def drop_hold(state: State, hold_id: Hold) -> Any:
    """Gives up a hold; its seats are for everyone again."""
    hold = own(state, "holds", hold_id)
    mark_seats(state, hold["event_id"], hold["seats"], "free")
    del state["holds"][hold_id]
    return {"event_id": hold["event_id"], "released": hold["seats"]}


@tool(reads=(SESSION, PROGRAMME, HOLDS, VOUCHERS), writes=(HOLDS, VOUCHERS))
def redeem_code(
    state: State, hold_id: Hold, code: Annotated[Text, "Code of one of the customer's vouchers."]
) -> Any:
    """Takes a voucher's percentage off a hold, rounded to cents, and uses it up."""
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


@tool(reads=(SESSION, WALLETS, HOLDS, BOOKINGS), writes=(WALLETS, SEATS, HOLDS, BOOKINGS))
def pay_hold(
    state: State,
    hold_id: Hold,
    method: Annotated[Literal["wallet", "card"], "What the money comes from."],
) -> Any:
    """Pays what a hold costs and turns it into a booking."""
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
    booking = {**fields_of(hold, "event_id seats"), "paid": hold["total"], "status": "valid"}
    state["bookings"][booking_id] = {"customer": email, **booking, "case_id": ""}
    mark_seats(state, hold["event_id"], hold["seats"], "sold")
    del state["holds"][hold_id]
    return {"booking_id": booking_id, "paid": hold["total"], "wallet": customer["wallet"]}


@tool(reads=(SESSION, PROGRAMME, BOOKINGS))
def list_bookings(state: State) -> Any:
    """Lists the customer's bookings with title and status."""
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


@tool(reads=(SESSION, BOOKINGS))
def booking_sheet(state: State, booking_id: Booking) -> Any:
    """Shows event, seats, price and case (empty if none) of a booking."""
    booking = own(state, "bookings", booking_id)
    return {"booking_id": booking_id, **fields_of(booking, "event_id seats paid case_id")}


@tool(reads=(SESSION, WALLETS, PROGRAMME, BOOKINGS), writes=(WALLETS, SEATS, BOOKINGS))
def give_back_booking(state: State, booking_id: Booking) -> Any:
    """Returns a refundable booking; the money goes to the wallet."""
    booking = valid_booking(state, booking_id)
    if not event_of(state, booking["event_id"])["refundable"]:
        raise ToolFailure(f"Booking {booking_id} is not refundable.")
    customer = state["customers"][booking["customer"]]
    customer["wallet"] = round(customer["wallet"] + booking["paid"], 2)
    booking["status"] = "refunded"
    mark_seats(state, booking["event_id"], booking["seats"], "free")
    return {"booking_id": booking_id, "refunded": booking["paid"], "wallet": customer["wallet"]}


@tool(reads=(SESSION, BOOKINGS), writes=(BOOKINGS,))
def hand_over_booking(
    state: State, booking_id: Booking, email: Annotated[Text, "E-mail address of the new owner."]
) -> Any:
    """Makes another customer the owner of a booking."""
    booking = valid_booking(state, booking_id)
    if email not in state["customers"] or email == booking["customer"]:
        raise ToolFailure(f"{email!r} is no other customer's e-mail address.")
    booking["customer"] = email
    return {
        "booking_id": booking_id,
        "new_owner": state["customers"][email]["name"],
        "seats": booking["seats"],
    }


@tool(effect=Effect.IDEMPOTENT, reads=(SESSION, PROGRAMME, SEATS, QUEUES), writes=(QUEUES,))
def join_queue(state: State, event_id: Event, section: Section) -> Any:
    """Puts the customer on the waiting list of a section that is sold out; tells their place."""
    customer = customer_of(state)
    if _seats_of(state, event_id, section):
        raise ToolFailure(f"{section} of event {event_id} is not sold out.")
    queue = state["queues"].setdefault(f"{event_id}/{section}", [])
    if customer not in queue:
        queue.append(customer)
    return {"event_id": event_id, "section": section, "place": queue.index(customer) + 1}


TOOLSET = toolset(
    Category.TICKET_PURCHASE,
    STATE_SCHEMA,
    (
        open_session,
        end_session,
        account_overview,
        add_credit,
        browse_programme,
        find_performances,
        event_sheet,
        price_bands,
        free_seats,
        hold_seats,
        drop_hold,
        redeem_code,
        pay_hold,
        list_bookings,
        booking_sheet,
        give_back_booking,
        hand_over_booking,
        join_queue,
        file_case,
        case_thread,
        add_reply,
        close_case,
    ),
)
