"""State of the box office, and the parts of it that each person may see."""

from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.declarations import State
from asyncguard_benchmark.services.records import entry, require
from asyncguard_benchmark.services.state_shapes import (
    COUNT,
    FLAG,
    NUMBER,
    WORD,
    optional,
    record,
    rows,
    table,
)

SESSION = "box_office:{task_id}:session"
WALLETS = "box_office:{task_id}:wallets"
VOUCHERS = "box_office:{task_id}:vouchers"
PROGRAMME = "box_office:{task_id}:programme"
SEATS = "box_office:{task_id}:seats"
HOLDS = "box_office:{task_id}:holds"
BOOKINGS = "box_office:{task_id}:bookings"
CASES = "box_office:{task_id}:cases"
QUEUES = "box_office:{task_id}:queues"

STATE_SCHEMA = record(
    session=optional(WORD),
    customers=table(record(name=WORD, password=WORD, wallet=NUMBER, member_since=COUNT)),
    events=table(
        record(
            title=WORD,
            genre=WORD,
            city=WORD,
            venue=WORD,
            date=WORD,
            doors=WORD,
            starts=WORD,
            refundable=FLAG,
            prices=table(NUMBER),
        )
    ),
    seats=table(
        table(
            record(section=WORD, aisle=FLAG, view=WORD, status={"enum": ["free", "held", "sold"]})
        )
    ),
    vouchers=table(record(customer=WORD, genre=WORD, percent=NUMBER)),
    holds=table(
        record(customer=WORD, event_id=WORD, seats=rows(WORD), total=NUMBER, voucher=optional(WORD))
    ),
    bookings=table(
        record(
            customer=WORD, event_id=WORD, seats=rows(WORD), paid=NUMBER, status=WORD, case_id=WORD
        )
    ),
    cases=table(
        record(customer=WORD, booking_id=WORD, subject=WORD, messages=rows(WORD), status=WORD)
    ),
    queues=table(rows(WORD)),
)


def customer_of(state: State) -> Any:
    """Return the e-mail address of the customer in session.

    Raises:
        ToolFailure: No session is open.
    """
    return require(state["session"], "Nobody has opened a session.")


def event_of(state: State, event_id: str) -> Any:
    """Return an event.

    Raises:
        ToolFailure: there is none of this id.
    """
    return entry(state, "events", event_id, "event")


def own(state: State, kind: str, key: str) -> dict[str, Any]:
    """Return a hold, booking or case of the customer in session; those of others do not exist for them.

    Raises:
        ToolFailure: No session is open, or nothing of theirs has this key.
    """
    customer = customer_of(state)
    found: dict[str, Any] | None = state[kind].get(key)
    if found is None or found["customer"] != customer:
        raise ToolFailure(f"You have nothing under the number {key!r}.")
    return found


def valid_booking(state: State, booking_id: str) -> dict[str, Any]:
    """Return a booking of the customer in session that can still be used.

    Raises:
        ToolFailure: there is none of this number, or it was refunded.
    """
    booking = own(state, "bookings", booking_id)
    if booking["status"] != "valid":
        raise ToolFailure(f"Booking {booking_id} is {booking['status']} already.")
    return booking


def mark_seats(state: State, event_id: str, seats: list[str], status: str) -> None:
    """Give seats of an event another status."""
    for seat in seats:
        state["seats"][event_id][seat]["status"] = status
