"""Rules of the travel desk: money on cards and budget, identity, seats, refunds, premiums."""

import json
from typing import Any

import pytest

from asyncguard_benchmark.harness.loading import category_sub_tasks
from asyncguard_benchmark.harness.scenario import Category, Split, SubTask
from asyncguard_benchmark.services.service import Executor
from asyncguard_benchmark.services.travel import TOOLSET
from tests.benchmark.builders import SUB_TASKS

TASKS = [
    *category_sub_tasks(Category.TRAVEL_PLANNING),
    *category_sub_tasks(Category.TRAVEL_PLANNING, Split.WILD),
]


def desk_of(task_id: str) -> Executor:
    """A travel desk with all tools, in the state of a shipped task."""
    return Executor(TOOLSET.tools, SUB_TASKS[task_id].initial_state)


def ask(desk: Executor, name: str, /, **values: Any) -> Any:
    """A call's result, read."""
    return json.loads(desk.call(name, values))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_bookings_in_a_state_are_of_things_in_it(task: SubTask) -> None:
    """Price, day and card fit, and the budget has seen at least what is booked."""
    state = task.initial_state
    for trip in state["trips"].values():
        item = state[f"{trip['kind']}s"][trip["item"]]
        assert trip["paid"] == (
            item["nightly"] * trip["nights"] if trip["kind"] == "hotel" else item[trip["cabin"]]
        )
        assert trip["card"] in state["cards"]
        assert trip["seat"] is None or trip["seat"] in item["seats"]
        assert trip["date"] == item.get("date", trip["date"])
    booked = sum(trip["paid"] for trip in state["trips"].values() if trip["status"] == "booked")
    assert booked <= state["budget"]["spent"] <= state["budget"]["limit"]


def test_a_flight_needs_a_verified_traveller() -> None:
    """Surname and passport must both fit."""
    desk = desk_of("tp_star-01")
    ticket = {"flight": "KV 218", "cabin": "economy", "card": "CC-17"}
    assert "verified" in ask(desk, "book_flight", **ticket)["error"]
    assert "error" in ask(desk, "verify_traveller", surname="Nwosu", passport="A0442981")
    assert "verified" in ask(desk, "book_flight", **ticket)["error"]
    assert (
        ask(desk, "verify_traveller", surname="Nwosu", passport="A0442918")["home_airport"] == "LOS"
    )
    assert ask(desk, "book_flight", **ticket)["card_left"] == 421


def test_card_and_budget_must_both_bear_a_booking() -> None:
    """A booking that card or budget cannot bear changes neither."""
    desk = desk_of("tp_star-05")
    stay = {"hotel_id": "HT-31", "check_in": "2026-08-02", "nights": 7, "card": "CC-9"}
    assert "budget" in ask(desk, "book_hotel", **stay)["error"]
    assert ask(desk, "list_cards")["cards"][1]["available"] == 1600
    assert ask(desk, "plan_budget", limit=1450) == {"limit": 1450, "spent": 205, "left": 1245}
    assert ask(desk, "book_hotel", **stay)["card_left"] == 403
    assert ask(desk, "budget_left") == {"limit": 1450, "spent": 1402, "left": 48}
    assert "spent already" in ask(desk, "plan_budget", limit=1401)["error"]
    ask(desk, "plan_budget", limit=9000)
    assert "403" in ask(desk, "book_hotel", **stay)["error"]
    assert "no card" in ask(desk, "book_hotel", **{**stay, "card": "CC-90"})["error"]


def test_cancelling_gives_back_what_the_terms_allow() -> None:
    """A flight its percentage, a hotel everything, to card and budget alike, and only once."""
    desk = desk_of("tp_star-02")
    assert ask(desk, "call_off", reference="F-31005")["refund"] == 104
    assert ask(desk, "call_off", reference="R-70533")["refund"] == 945
    assert ask(desk, "list_cards")["cards"][0]["available"] == 90 + 104 + 945
    assert ask(desk, "budget_left")["spent"] == 156
    for reference in ("R-70533", "R-20480"):
        assert "cancelled" in ask(desk, "call_off", reference=reference)["error"]
    assert "no booking" in ask(desk, "call_off", reference="R-1")["error"]


def test_a_moved_booking_costs_the_difference_and_loses_its_seat() -> None:
    """The old seat is free again, the new flight's are its own, and a cheaper flight gives money back."""
    desk = desk_of("tp_star-12")
    assert "6B" not in ask(desk, "seat_chart", flight="EI 31")["middle"]
    assert ask(desk, "move_booking", reference="F-73556", flight="EI 35")["difference"] == -8
    assert ask(desk, "list_cards")["cards"][0]["available"] == 268
    assert "6B" in ask(desk, "seat_chart", flight="EI 31")["middle"]
    assert "not free" in ask(desk, "assign_seat", reference="F-73556", seat="6A")["error"]
    assert ask(desk, "assign_seat", reference="F-73556", seat="6B")["flight"] == "EI 35"
    assert "6B" not in ask(desk, "seat_chart", flight="EI 35")["middle"]
    assert ask(desk, "trip_details", reference="F-73556")["paid"] == 88


def test_a_seat_has_one_booking_and_a_booking_one_seat() -> None:
    """A cancelled booking frees its seat; a room has none."""
    desk = desk_of("tp_star-06")
    assert ask(desk, "seat_chart", flight="WF 68")["aisle"] == []
    assert "already" in ask(desk, "assign_seat", reference="F-60817", seat="2A")["error"]
    ask(desk, "call_off", reference="F-60817")
    assert ask(desk, "seat_chart", flight="WF 68")["aisle"] == ["2D"]
    assert (
        "not a flight"
        in ask(desk_of("tp_star-11"), "assign_seat", reference="R-19340", seat="1A")["error"]
    )


def test_premiums_are_a_share_of_the_price() -> None:
    """Rounded to cents, charged to card and budget, one policy a booking."""
    desk = desk_of("tp_star-03")
    premiums = {
        offer["plan"]: offer["premium"]
        for offer in ask(desk, "cover_offers", reference="F-52210")["offers"]
    }
    assert premiums == {"BASIC": 12.48, "CARGO": 20.28, "DELAY": 6.24, "TOTAL": 34.32}
    assert (
        "no plan" in ask(desk, "take_cover", reference="F-52210", plan="LUX", card="CC-30")["error"]
    )
    assert (
        ask(desk, "take_cover", reference="F-52210", plan="CARGO", card="CC-30")["card_left"]
        == 319.72
    )
    assert ask(desk, "budget_left")["spent"] == 332.28
    assert (
        "already"
        in ask(desk, "take_cover", reference="F-52210", plan="DELAY", card="CC-3")["error"]
    )


def test_money_is_converted_by_way_of_the_euro() -> None:
    """Two decimals for the sum, four for the rate, between any two known currencies."""
    desk = desk_of("tp_star-14")
    assert ask(desk, "exchange", sum_of_money=180, source="USD", target="EUR")["exact"] == 160.71
    assert ask(desk, "exchange", sum_of_money=100, source="USD", target="CAD") == {
        "currency": "CAD",
        "exact": 135.71,
        "per_unit": 1.3571,
    }
    assert "GBP" in ask(desk, "exchange", sum_of_money=1, source="GBP", target="EUR")["error"]


def test_searches_are_exact_and_in_order() -> None:
    """Route and day must fit, the earliest departure comes first, places go by name."""
    desk = desk_of("tp_star-07")
    route = {"origin": "VIE", "destination": "LIN"}
    flights = ask(desk, "search_flights", **route, date="2026-04-14")["flights"]
    assert [flight["flight"] for flight in flights] == ["OS 509", "OS 511"]
    assert ask(desk, "search_flights", **route, date="2026-04-16") == {"flights": []}
    assert [port["code"] for port in ask(desk, "airports_of", city="milan")["airports"]] == [
        "BGY",
        "LIN",
        "MXP",
    ]
    hotels = ask(desk_of("tp_star-16"), "hotel_offers", city="Plovdiv")["hotels"]
    assert [hotel["name"] for hotel in hotels] == ["Archaeus", "Maritsa View", "Thracian Inn"]


def test_an_extra_booking_shifts_no_reference() -> None:
    """References come from what was booked; the same again has another."""
    stay = {"hotel_id": "HT-56", "check_in": "2026-05-16", "nights": 2, "card": "CC-25"}
    references = []
    for extra in (False, True):
        desk = desk_of("tp_star-13")
        if extra:
            ask(desk, "book_hotel", **{**stay, "nights": 1})
        references.append(ask(desk, "book_hotel", **stay)["reference"])
    assert references[0] == references[1]
    ask(desk, "load_card", card="CC-25", euros=1000)
    assert ask(desk, "book_hotel", **stay)["reference"] != references[0]
