"""The help desk of the box office: cases about bookings."""

from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.box_office_state import customer_of, own
from asyncguard_benchmark.services.content_ids import content_id
from asyncguard_benchmark.services.declarations import State


def file_case(state: State, booking_id: str, subject: str) -> Any:
    """Open a case about a booking that has none."""
    booking = own(state, "bookings", booking_id)
    if booking["case_id"]:
        raise ToolFailure(f"Booking {booking_id} has case {booking['case_id']} already.")
    customer = customer_of(state)
    case_id = content_id("K", ("case", customer, booking_id, subject), state["cases"])
    case = {"booking_id": booking_id, "subject": subject, "messages": [], "status": "open"}
    state["cases"][case_id] = {"customer": customer, **case}
    booking["case_id"] = case_id
    return {"case_id": case_id, "status": "open"}


def case_thread(state: State, case_id: str) -> Any:
    """Return the messages of a case."""
    case = own(state, "cases", case_id)
    return {"case_id": case_id, **{key: case[key] for key in ("subject", "messages", "status")}}


def _open_case(state: State, case_id: str) -> dict[str, Any]:
    case = own(state, "cases", case_id)
    if case["status"] != "open":
        raise ToolFailure(f"Case {case_id} is closed.")
    return case


def add_reply(state: State, case_id: str, message: str) -> Any:
    """Write into an open case."""
    case = _open_case(state, case_id)
    case["messages"].append(message)
    return {"case_id": case_id, "messages": len(case["messages"])}


def close_case(state: State, case_id: str) -> Any:
    """End an open case."""
    case = _open_case(state, case_id)
    case["status"] = "closed"
    return {"case_id": case_id, "status": "closed"}
