"""Rules of the box office: owners of seats, flows of money, sessions, queues and cases."""

import json
from typing import Any

import pytest

from asyncguard_benchmark.harness.loading import category_sub_tasks
from asyncguard_benchmark.harness.scenario import Category, Split, SubTask
from asyncguard_benchmark.services.box_office import TOOLSET
from asyncguard_benchmark.services.service import Executor
from tests.benchmark.builders import SUB_TASKS

TASKS = [
    *category_sub_tasks(Category.TICKET_PURCHASE),
    *category_sub_tasks(Category.TICKET_PURCHASE, Split.WILD),
]


def office(task_id: str) -> Executor:
    """A box office with all tools, in the state of a shipped task."""
    return Executor(TOOLSET.tools, SUB_TASKS[task_id].initial_state)


def ask(desk: Executor, name: str, /, **values: Any) -> Any:
    """A call's result, read."""
    return json.loads(desk.call(name, values))


@pytest.fixture
def choir() -> Executor:
    """The box office of tp-20 with the choir in session: 140 euros, vouchers GROUP25 (choral) and GROUP52 (any)."""
    desk = office("tp-20")
    ask(desk, "open_session", email="choir@stmary.example", password="Tallis1585")
    return desk


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_seats_holds_bookings_and_cases_of_a_state_fit(task: SubTask) -> None:
    """A seat is held or sold if a hold or a booking has it, prices add up, and cases and bookings know each other."""
    state = task.initial_state
    taken = [(one, "held", one["total"]) for one in state["holds"].values()]
    taken += [
        (one, "sold", one["paid"]) for one in state["bookings"].values() if one["status"] == "valid"
    ]
    for owned, status, price in taken:
        seats = [state["seats"][owned["event_id"]][seat] for seat in owned["seats"]]
        assert [seat["status"] for seat in seats] == [status] * len(seats)
        assert (
            sum(state["events"][owned["event_id"]]["prices"][seat["section"]] for seat in seats)
            == price
        )
        assert owned["customer"] in state["customers"]
    assert sum(len(hold["seats"]) for hold in state["holds"].values()) == sum(
        seat["status"] == "held" for plan in state["seats"].values() for seat in plan.values()
    )
    for key, case in state["cases"].items():
        assert state["bookings"][case["booking_id"]]["case_id"] == key


def test_nothing_of_a_customer_moves_without_a_session() -> None:
    """The right password opens one, a wrong one leaves the session as it was, and the end of it is the end."""
    desk = office("tp-20")
    assert "session" in ask(desk, "account_overview")["error"]
    assert "session" in ask(desk, "hold_seats", event_id="E-866", seats=["M1"])["error"]
    assert "error" in ask(desk, "open_session", email="choir@stmary.example", password="tallis1585")
    assert "session" in ask(desk, "list_bookings")["error"]
    ask(desk, "open_session", email="choir@stmary.example", password="Tallis1585")
    assert "error" in ask(desk, "open_session", email="chair@stmary.example", password="wrong")
    assert ask(desk, "account_overview")["email"] == "choir@stmary.example"
    assert ask(desk, "end_session") == {"goodbye": "St Mary Choir"}
    assert "session" in ask(desk, "account_overview")["error"]


def test_a_seat_has_one_owner(choir: Executor) -> None:
    """Held seats cannot be held again, not even together with free ones, and a dropped hold frees them."""
    held = ask(choir, "hold_seats", event_id="E-866", seats=["M1", "Q1"])
    assert held["total"] == 95
    assert ask(choir, "hold_seats", event_id="E-866", seats=["M2", "M1"]) == {
        "error": "Not free: M1."
    }
    free = ask(choir, "free_seats", event_id="E-866", section="Nave")["seats"]
    assert [seat["seat"] for seat in free] == ["M2", "M3", "M4"]
    assert ask(choir, "drop_hold", hold_id=held["hold_id"])["released"] == ["M1", "Q1"]
    assert "nothing" in ask(choir, "pay_hold", hold_id=held["hold_id"], method="card")["error"]
    assert ask(choir, "hold_seats", event_id="E-866", seats=["M2", "M1"])["total"] == 80


def test_an_unknown_seat_or_section_is_no_free_one(choir: Executor) -> None:
    """An unknown seat or section is an error, not a free one."""
    assert "Not free: Z9" in ask(choir, "hold_seats", event_id="E-866", seats=["Z9"])["error"]
    assert "section" in ask(choir, "free_seats", event_id="E-866", section="nave")["error"]
    assert "no event" in ask(choir, "price_bands", event_id="E-1")["error"]


def test_vouchers_fit_a_genre_and_are_used_once(choir: Executor) -> None:
    """One voucher a hold; only the wallet pays from the wallet, and never more than it has."""
    hold = ask(choir, "hold_seats", event_id="E-866", seats=["M1", "M2", "M3", "M4"])["hold_id"]
    assert "160" in ask(choir, "pay_hold", hold_id=hold, method="wallet")["error"]
    assert ask(choir, "redeem_code", hold_id=hold, code="GROUP25") == {
        "hold_id": hold,
        "saved": 40,
        "total": 120,
    }
    assert "already" in ask(choir, "redeem_code", hold_id=hold, code="GROUP52")["error"]
    assert ask(choir, "pay_hold", hold_id=hold, method="wallet")["wallet"] == 20
    other = ask(choir, "hold_seats", event_id="E-886", seats=["M1"])["hold_id"]
    assert "no voucher" in ask(choir, "redeem_code", hold_id=other, code="GROUP25")["error"]
    assert ask(choir, "pay_hold", hold_id=other, method="card") | {"booking_id": ""} == {
        "booking_id": "",
        "paid": 40,
        "wallet": 20,
    }


def test_a_voucher_for_another_genre_or_customer_is_refused() -> None:
    """The codes of tp-11: one for jazz, one of another customer."""
    desk = office("tp-11")
    assert "jazz only" in ask(desk, "redeem_code", hold_id="H-71155", code="JAZZ20")["error"]
    assert "no voucher" in ask(desk, "redeem_code", hold_id="H-71155", code="OP30")["error"]
    assert [one["code"] for one in ask(desk, "account_overview")["vouchers"]] == [
        "ALLE5",
        "JAZZ20",
        "OP15",
    ]


def test_refunds_follow_the_terms_and_happen_once() -> None:
    """The money goes to the wallet, the seats are for everyone again, and a second time is an error."""
    desk = office("tp-01")
    assert ask(desk, "give_back_booking", booking_id="B-44018") == {
        "booking_id": "B-44018",
        "refunded": 72,
        "wallet": 84.5,
    }
    assert "refunded already" in ask(desk, "give_back_booking", booking_id="B-44018")["error"]
    assert len(ask(desk, "free_seats", event_id="E-204", section="Parquet")["seats"]) == 3
    assert (
        "not refundable" in ask(office("tp-05"), "give_back_booking", booking_id="B-77310")["error"]
    )


def test_a_booking_that_was_handed_over_is_the_other_customers() -> None:
    """The giver no longer sees it, the receiver does, and strangers and the giver cannot receive."""
    desk = office("tp-16")
    for email in ("nobody@trena.example", "alba.vidal@trena.example"):
        assert "error" in ask(desk, "hand_over_booking", booking_id="B-35518", email=email)
    given_to = ask(
        desk, "hand_over_booking", booking_id="B-35518", email="hugo.vidal@trena.example"
    )
    assert given_to["new_owner"] == "Hugo Vidal"
    assert "nothing" in ask(desk, "booking_sheet", booking_id="B-35518")["error"]
    ask(desk, "open_session", email="hugo.vidal@trena.example", password="ancla")
    assert ask(desk, "booking_sheet", booking_id="B-35518")["event_id"] == "E-91"
    assert "nothing" in ask(desk, "booking_sheet", booking_id="B-35581")["error"]


def test_only_a_sold_out_section_has_a_queue() -> None:
    """Places are in order of joining; joining again keeps the place."""
    desk = office("tp-03")
    assert (
        "not sold out" in ask(desk, "join_queue", event_id="E-317", section="Lower Ring")["error"]
    )
    for _ in range(2):
        assert ask(desk, "join_queue", event_id="E-317", section="Upper Ring")["place"] == 2


def test_cases_are_open_until_they_are_closed() -> None:
    """One case a booking; a closed one takes no message."""
    desk = office("tp-08")
    case = ask(desk, "file_case", booking_id="B-61044", subject="pillar")["case_id"]
    assert "already" in ask(desk, "file_case", booking_id="B-61044", subject="other")["error"]
    assert ask(desk, "add_reply", case_id=case, message="Half back, please.")["messages"] == 1
    ask(desk, "close_case", case_id=case)
    assert "closed" in ask(desk, "add_reply", case_id=case, message="Hello?")["error"]
    assert "closed" in ask(desk, "close_case", case_id=case)["error"]
    assert ask(desk, "case_thread", case_id=case)["messages"] == ["Half back, please."]


def test_an_extra_hold_shifts_no_number_and_numbers_of_two_kinds_differ() -> None:
    """Numbers come from content; a hold's digits do not give its booking's away."""
    numbers = []
    for extra in (False, True):
        desk = office("tp-10")
        if extra:
            ask(desk, "hold_seats", event_id="E-230", seats=["D6"])
        numbers.append(ask(desk, "hold_seats", event_id="E-230", seats=["D7", "D8"])["hold_id"])
    assert numbers[0] == numbers[1]
    booking = ask(desk, "pay_hold", hold_id=numbers[1], method="card")["booking_id"]
    assert booking[2:] != numbers[1][2:]


def test_lists_come_in_their_order() -> None:
    """Events by date, sections by price from the top, seats by name with what is taken left out."""
    desk = office("tp-19")
    events = ask(desk, "browse_programme", city="turin", genre="Ballet")["events"]
    assert [event["event_id"] for event in events] == ["E-161", "E-160"]
    assert [band["price"] for band in ask(desk, "price_bands", event_id="E-161")["bands"]] == [
        85,
        60,
        24,
    ]
    shows = ask(office("tp-18"), "find_performances", title="the salt road")["performances"]
    assert [show["city"] for show in shows] == ["Malmö", "Ystad", "Lund"]
