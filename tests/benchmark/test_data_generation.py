import calendar
import itertools
import json
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard_benchmark.services.data_generation import TOOLSET
from asyncguard_benchmark.services.service import Executor

MAKER = Executor(TOOLSET.tools, {})
SEEDS = st.integers(0, 10**12)


def ask(name: str, /, **values: Any) -> Any:
    """A call's result, read."""
    return json.loads(MAKER.call(name, values))


def test_series_do_not_drift() -> None:
    """Tenths stay tenths, and the rounding of one figure does not feed the next."""
    assert ask("number_series", start=0.1, step=0.1, count=8)["last"] == 0.8
    assert ask("number_series", start=5, step=-2.5, count=4) == {
        "values": [5, 2.5, 0, -2.5],
        "last": -2.5,
        "total": 5,
    }
    assert ask("growth_series", start=0.03, percent=10, count=4)["values"] == [
        0.03,
        0.03,
        0.04,
        0.04,
    ]
    assert ask("growth_series", start=80, percent=-50, count=3) == {
        "values": [80, 40, 20],
        "last": 20,
    }


@given(st.integers(-500, 500), st.integers(-500, 500), st.integers(2, 60))
def test_points_are_spread_from_end_to_end(first: int, last: int, count: int) -> None:
    """Both ends are points, and between them lie the others."""
    found = ask("spread_points", first=first, last=last, count=count)
    assert (found["points"][0], found["points"][-1], len(found["points"])) == (first, last, count)
    assert found["inner"] == found["points"][1:-1]


def test_months_keep_the_day_where_they_can() -> None:
    """A short month gives its last day, and the next long one the day itself again."""
    found = ask("date_series", first="2027-12-31", every=1, unit="months", count=4)
    assert found["dates"] == ["2027-12-31", "2028-01-31", "2028-02-29", "2028-03-31"]
    assert found["last"] == "2028-03-31"
    weeks = ask("date_series", first="2026-12-28", every=2, unit="weeks", count=2)
    assert weeks["dates"] == ["2026-12-28", "2027-01-11"]
    assert weeks["weekdays"] == ["Monday", "Monday"]


@given(st.dates(date(1900, 1, 1), date(2200, 1, 1)), st.integers(1, 90))
def test_days_are_counted_over_every_border(start: date, every: int) -> None:
    """Months, years and leap days make no difference to a distance in days."""
    found = ask("date_series", first=start.isoformat(), every=every, unit="days", count=5)
    assert found["dates"] == [(start + timedelta(days=every * n)).isoformat() for n in range(5)]
    assert found["weekdays"][0] == calendar.day_name[start.weekday()]


@given(st.integers(1900, 2200), st.integers(1, 12))
def test_a_month_sheet_holds_each_day_once(year: int, month: int) -> None:
    """Each day stands once in the sheet, under its own weekday."""
    found = ask("month_sheet", month=f"{year}-{month:02d}")
    sheet = found["dates_by_weekday"]
    assert sorted(day for days in sheet.values() for day in days) == [
        f"{year}-{month:02d}-{day:02d}" for day in range(1, found["days"] + 1)
    ]
    assert all(
        calendar.day_name[date.fromisoformat(day).weekday()] == name
        for name in sheet
        for day in sheet[name]
    )
    assert f"{year}-{month:02d}-01" in sheet[found["first_weekday"]]


def test_people_take_turns_and_the_next_is_named() -> None:
    """The next person is the one after the last date, not after the last person."""
    found = ask(
        "duty_rota",
        people=["A", "B", "C"],
        dates=["2026-01-01", "2026-01-02", "2026-01-05", "2026-01-07"],
    )
    assert [duty["person"] for duty in found["duties"]] == ["A", "B", "C", "A"]
    assert found["load"] == {"A": 2, "B": 1, "C": 1}
    assert found["next_person"] == "B"


@pytest.mark.parametrize("size", range(2, 10))
def test_everybody_meets_everybody_once(size: int) -> None:
    """Each team plays once a round, and with an odd number each rests once."""
    teams = [f"T{n}" for n in range(size)]
    found = ask("fixture_rounds", teams=teams)
    pairs = [frozenset(match.values()) for matches in found["rounds"] for match in matches]
    assert sorted(map(sorted, pairs)) == [list(pair) for pair in itertools.combinations(teams, 2)]
    for matches in found["rounds"]:
        busy = [team for match in matches for team in match.values()]
        assert len(busy) == len(set(busy)) == size - size % 2
    assert sorted(found["resting"]) == (teams if size % 2 else [])
    assert (found["round_count"], found["match_count"]) == (
        size - 1 + size % 2,
        size * (size - 1) // 2,
    )


def test_slots_end_in_time() -> None:
    """No slot runs over the closing time, and no pause is needed after the last one."""
    found = ask("time_slots", opens="08:15", closes="10:00", minutes=25, pause=5)
    assert found["slots"] == ["08:15-08:40", "08:45-09:10", "09:15-09:40"]
    assert (found["count"], found["minutes_left"]) == (3, 20)
    exact = ask("time_slots", opens="23:00", closes="24:00", minutes=20, pause=20)
    assert (exact["slots"], exact["minutes_left"]) == (["23:00-23:20", "23:40-24:00"], 0)


@given(st.integers(1, 10**9), st.integers(1, 24))
def test_instalments_add_up_to_the_amount(cents: int, parts: int) -> None:
    """All instalments but the last are equal, and the sum is exact to the cent."""
    dates = [f"2026-01-{day:02d}" for day in range(1, parts + 1)]
    found = ask("instalment_plan", amount=cents / 100, due_dates=dates)
    amounts = [round(each["amount"] * 100) for each in found["instalments"]]
    assert sum(amounts) == cents
    assert len(set(amounts[:-1])) <= 1
    assert 0 <= amounts[-1] - amounts[0] < parts
    assert amounts[-1] == round(found["last_amount"] * 100)


def test_labels_are_padded_and_counted_on() -> None:
    """A number that is longer than the padding is not cut."""
    found = ask("serial_labels", prefix="B-", first=98, count=4, digits=2)
    assert found == {
        "labels": ["B-98", "B-99", "B-100", "B-101"],
        "last": "B-101",
        "next_number": 102,
    }
    assert ask("serial_labels", prefix="B", first=7, count=1)["labels"] == ["B0007"]


def test_grids_and_crossings_run_row_by_row() -> None:
    """The second part varies fastest; a grid of one row has two corners."""
    assert ask("grid_labels", rows=2, columns=3)["labels"] == ["A1", "A2", "A3", "B1", "B2", "B3"]
    assert ask("grid_labels", rows=2, columns=3)["corners"] == ["A1", "A3", "B1", "B3"]
    assert ask("grid_labels", rows=1, columns=3)["corners"] == ["A1", "A3"]
    assert ask("crossed_labels", first=["x", "y"], second=["1", "2"], separator="-")["labels"] == [
        "x-1",
        "x-2",
        "y-1",
        "y-2",
    ]


def test_a_slug_is_cut_between_words() -> None:
    """Letters that are not plain separate words, and a first word that does not fit is an error."""
    assert (
        ask("title_slug", title="  Night Trains & Café, No. 7!")["slug"] == "night-trains-caf-no-7"
    )
    found = ask("title_slug", title="Night Trains Again", longest=12)
    assert found == {"slug": "night-trains", "words": ["night", "trains"], "length": 12}
    assert ask("title_slug", title="Night Trains", longest=11)["slug"] == "night"
    assert "whole word" in ask("title_slug", title="Nightfall", longest=5)["error"]
    assert "whole word" in ask("title_slug", title="—!—")["error"]


@pytest.mark.parametrize(
    ("digits", "scheme", "code"),
    [
        ("7992739871", "Luhn", "79927398713"),
        ("400638133393", "EAN-13", "4006381333931"),
        ("030640615", "ISBN-10", "0306406152"),
        ("080442957", "ISBN-10", "080442957X"),
    ],
)
def test_check_digits_of_known_codes(digits: str, scheme: str, code: str) -> None:
    """Published examples of each scheme, with the letter X where the check digit is ten."""
    assert ask("check_code", digits=digits, scheme=scheme) == {
        "check_digit": code[-1],
        "code": code,
        "length": len(code),
    }


@given(st.text("0123456789", min_size=1, max_size=20), st.data())
def test_one_wrong_digit_changes_the_luhn_digit(digits: str, data: st.DataObject) -> None:
    """Each wrong digit changes the check digit."""
    place = data.draw(st.integers(0, len(digits) - 1))
    other = data.draw(st.sampled_from(sorted(set("0123456789") - {digits[place]})))
    wrong = digits[:place] + other + digits[place + 1 :]
    codes = [
        ask("check_code", digits=each, scheme="Luhn")["check_digit"] for each in (digits, wrong)
    ]
    assert codes[0] != codes[1]


@given(st.lists(st.text("abc", max_size=3), min_size=1, max_size=12), SEEDS)
def test_draws_keep_what_they_are_given(items: list[str], seed: int) -> None:
    """A shuffle loses nothing; drawn and remaining items make up the whole."""
    mixed = ask("seeded_shuffle", items=items, seed=seed)
    assert sorted(mixed["items"]) == sorted(items)
    assert (mixed["first"], mixed["last"]) == (mixed["items"][0], mixed["items"][-1])
    count = (len(items) + 1) // 2
    found = ask("seeded_draw", items=items, count=count, seed=seed)
    assert len(found["drawn"]) == count
    assert sorted(found["drawn"] + found["remaining"]) == sorted(items)


@given(st.integers(-50, 50), st.integers(0, 30), SEEDS)
def test_rolls_stay_between_their_bounds(low: int, width: int, seed: int) -> None:
    """A roll stays within its bounds, and a longer series begins like a shorter one of the seed."""
    found = ask("seeded_integers", low=low, high=low + width, count=12, seed=seed)
    assert all(low <= value <= low + width for value in found["values"])
    assert found["total"] == sum(found["values"])
    assert (
        found["values"][:5]
        == ask("seeded_integers", low=low, high=low + width, count=5, seed=seed)["values"]
    )


def test_seeds_matter() -> None:
    """Other seeds give other orders, each order turns up, and each number of a die is rolled."""
    orders = {
        tuple(ask("seeded_shuffle", items=["a", "b", "c"], seed=seed)["items"])
        for seed in range(60)
    }
    assert len(orders) == 6
    rolls = ask("seeded_integers", low=1, high=6, count=200, seed=3)["values"]
    assert set(rolls) == {1, 2, 3, 4, 5, 6}


def test_what_is_pinned_stays() -> None:
    """Values of shipped tasks come from here, so they must be the same on every machine."""
    assert ask("seeded_draw", items=["a", "b", "c", "d", "e"], count=2, seed=7)["drawn"] == [
        "c",
        "a",
    ]
    assert ask("seeded_integers", low=1, high=6, count=6, seed=89)["values"] == [4, 4, 4, 4, 1, 5]
    assert ask("content_key", content="Ferry aground off Samso", length=8) == {
        "key": "efc9366f",
        "capital": "EFC9366F",
        "number": 941295,
    }


def test_groups_and_patterns() -> None:
    """Selections come in the order of the items, and every placeholder is filled."""
    found = ask("choose_groups", items=["c", "a", "b"], size=2)
    assert found == {"groups": [["c", "a"], ["c", "b"], ["a", "b"]], "count": 3}
    assert ask("fill_pattern", pattern="*, *!", values=["hi", 2.5])["texts"] == [
        "hi, hi!",
        "2.5, 2.5!",
    ]


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        (
            "date_series",
            {"first": "2026-02-30", "every": 1, "unit": "days", "count": 2},
            "not a date",
        ),
        (
            "date_series",
            {"first": "20260201", "every": 1, "unit": "days", "count": 2},
            "not a date",
        ),
        (
            "date_series",
            {"first": "2026-W01-1", "every": 1, "unit": "days", "count": 2},
            "not a date",
        ),
        (
            "date_series",
            {"first": "9999-12-01", "every": 1, "unit": "months", "count": 2},
            "past the year 9999",
        ),
        (
            "date_series",
            {"first": "9999-12-01", "every": 9, "unit": "weeks", "count": 2},
            "past the year 9999",
        ),
        ("month_sheet", {"month": "2026-13"}, "not a date"),
        ("duty_rota", {"people": ["A"], "dates": ["tomorrow"]}, "not a date"),
        ("instalment_plan", {"amount": 9, "due_dates": ["1.2.2026"]}, "not a date"),
        ("time_slots", {"opens": "8:15", "closes": "10:00", "minutes": 5}, "not a time like"),
        (
            "time_slots",
            {"opens": "08:60", "closes": "10:00", "minutes": 5},
            "not a time of the day",
        ),
        (
            "time_slots",
            {"opens": "09:00", "closes": "24:01", "minutes": 5},
            "not a time of the day",
        ),
        ("time_slots", {"opens": "09:00", "closes": "08:00", "minutes": 5}, "Not one slot"),
        ("time_slots", {"opens": "00:00", "closes": "24:00", "minutes": 1}, "at most 200"),
        ("fixture_rounds", {"teams": ["A", "B", "A"]}, "more than once"),
        ("grid_labels", {"rows": 26, "columns": 8}, "at most 200"),
        ("choose_groups", {"items": ["a", "b"], "size": 3}, "cannot be chosen"),
        ("choose_groups", {"items": list("abcdefghijkl"), "size": 6}, "at most 200"),
        ("seeded_draw", {"items": ["a"], "count": 2, "seed": 1}, "cannot be drawn"),
        ("seeded_integers", {"low": 5, "high": 4, "count": 1, "seed": 1}, "above the upper"),
        ("check_code", {"digits": "40063813339", "scheme": "EAN-13"}, "takes 12 digits"),
        ("check_code", {"digits": "12-4", "scheme": "Luhn"}, "digits 0 to 9"),
        ("check_code", {"digits": "١٢", "scheme": "Luhn"}, "digits 0 to 9"),
        ("fill_pattern", {"pattern": "no place", "values": [1]}, "has no '*'"),
        ("spread_points", {"first": 0, "last": 1, "count": 1}, "Invalid arguments"),
    ],
)
def test_what_cannot_be_made_is_said(name: str, values: dict[str, Any], said: str) -> None:
    """An error says which value is wrong and how it should look."""
    assert said in ask(name, **values)["error"]
