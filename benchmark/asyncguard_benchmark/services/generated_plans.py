"""Functions of data generation on dates, times and people: series, rotas, fixtures, slots, payments."""

import calendar
from datetime import date, timedelta
from fractions import Fraction
from typing import Annotated, Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.arguments import Several, Text, one_of, within
from asyncguard_benchmark.services.declarations import State, tool
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.generated_values import MOST_ITEMS

UNITS = {"days": 1, "weeks": 7, "months": 0}
"""Units of a distance between dates, with their days where that is fixed."""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DAY = 24 * 60


def _clock(minute: int) -> str:
    return f"{minute // 60:02d}:{minute % 60:02d}"


def _date(text: str) -> date:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = None
    # Python reads other ISO spellings as well; one date must have one spelling.
    if found is None or found.isoformat() != text:
        raise ToolFailure(f"{text!r} is not a date like 2026-01-31.")
    return found


def _months_later(start: date, months: int) -> date:
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    return date(year, month + 1, min(start.day, calendar.monthrange(year, month + 1)[1]))


@tool()
def date_series(
    _: State,
    first: Annotated[Text, "the first date, YYYY-MM-DD"],
    every: Annotated[int, within(1, 1000), "distance between two dates"],
    unit: Annotated[str, one_of(UNITS), "unit of the distance"],
    count: Annotated[int, within(1, MOST_ITEMS), "how many dates, the first included"],
) -> Any:
    """Makes dates at an equal distance.

    Gives `dates`, their `weekdays` and `last`; a month too short gives its last day.
    """
    start = _date(first)
    try:
        dates = [
            start + timedelta(days=UNITS[unit] * every * n)
            if UNITS[unit]
            else _months_later(start, every * n)
            for n in range(count)
        ]
    except (ValueError, OverflowError):
        raise ToolFailure("The series would run past the year 9999.") from None
    return {
        "dates": [day.isoformat() for day in dates],
        "weekdays": [WEEKDAYS[day.weekday()] for day in dates],
        "last": dates[-1].isoformat(),
    }


@tool()
def month_sheet(_: State, month: Annotated[Text, "the month, YYYY-MM"]) -> Any:
    """Lists the dates of a month by weekday. Gives `dates_by_weekday`, `days` and `first_weekday`."""
    first = _date(f"{month}-01")
    days = calendar.monthrange(first.year, first.month)[1]
    dates = [first.replace(day=day) for day in range(1, days + 1)]
    sheet = {
        name: [day.isoformat() for day in dates if day.weekday() == n]
        for n, name in enumerate(WEEKDAYS)
    }
    return {"dates_by_weekday": sheet, "days": days, "first_weekday": WEEKDAYS[first.weekday()]}


@tool()
def duty_rota(
    _: State,
    people: Annotated[Several[Text], "who takes turns, in this order"],
    dates: Annotated[Several[Text], "dates, each as YYYY-MM-DD"],
) -> Any:
    """Lets people take turns over dates.

    Gives `duties` (`date`, `person`), the `load` of each person and `next_person`, who would
    come after the last date.
    """
    for text in dates:
        _date(text)
    duties = [{"date": text, "person": people[n % len(people)]} for n, text in enumerate(dates)]
    load = {person: sum(duty["person"] == person for duty in duties) for person in people}
    return {"duties": duties, "load": load, "next_person": people[len(dates) % len(people)]}


@tool()
def fixture_rounds(
    _: State, teams: Annotated[list[Text], {"minItems": 2, "maxItems": 20}, "who takes part"]
) -> Any:
    """Makes rounds in which everybody meets everybody once.

    Gives `rounds` of `home` and `away`, `round_count`, `match_count` and, with an odd number of
    teams, who is `resting` in each round.
    """
    if len(set(teams)) != len(teams):
        raise ToolFailure("A team stands in the list more than once.")
    circle: list[str | None] = [*teams, *([None] if len(teams) % 2 else [])]
    half, rounds, rests = len(circle) // 2, [], []
    for _turn in range(len(circle) - 1):
        pairs = list(zip(circle[:half], reversed(circle[half:]), strict=True))
        rounds.append(
            [
                {"home": home, "away": away}
                for home, away in pairs
                if home is not None and away is not None
            ]
        )
        rests += [team for pair in pairs if None in pair for team in pair if team is not None]
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return {
        "rounds": rounds,
        "round_count": len(rounds),
        "match_count": sum(map(len, rounds)),
        "resting": rests,
    }


@tool()
def time_slots(
    _: State,
    opens: Annotated[Text, "when the first slot may begin, HH:MM"],
    closes: Annotated[Text, "when the last slot must be over, HH:MM"],
    minutes: Annotated[int, within(1, 1440), "length of a slot in minutes"],
    pause: Annotated[int, within(0, 1440), "minutes between two slots"] = 0,
) -> Any:
    """Divides a part of a day into slots.

    Gives `slots` as HH:MM-HH:MM, their `starts`, the `count` and the `minutes_left` after the
    last one.
    """
    start, end = _minute(opens), _minute(closes)
    starts = list(range(start, end - minutes + 1, minutes + pause))
    if not starts:
        raise ToolFailure("Not one slot fits between opening and closing.")
    if len(starts) > MOST_ITEMS:
        raise ToolFailure(
            f"This would make {len(starts)} slots; at most {MOST_ITEMS} are possible."
        )
    return {
        "slots": [f"{_clock(begin)}-{_clock(begin + minutes)}" for begin in starts],
        "starts": [_clock(begin) for begin in starts],
        "count": len(starts),
        "minutes_left": end - starts[-1] - minutes,
    }


def _minute(text: str) -> int:
    hours, colon, minutes = text.partition(":")
    if not (len(text) == 5 and text.isascii() and colon and hours.isdigit() and minutes.isdigit()):
        raise ToolFailure(f"{text!r} is not a time like 08:30.")
    found = int(hours) * 60 + int(minutes)
    if int(minutes) > 59 or found > _DAY:
        raise ToolFailure(f"{text!r} is not a time of the day.")
    return found


@tool()
def instalment_plan(
    _: State,
    amount: Annotated[float, within(0.01), "the amount, at most two decimals"],
    due_dates: Annotated[Several[Text], "dates, each as YYYY-MM-DD"],
) -> Any:
    """Splits an amount over due dates into parts of whole cents; the last part takes the rest.

    Gives `instalments` (`due`, `amount`), `regular_amount` and `last_amount`.
    """
    for text in due_dates:
        _date(text)
    whole, parts = exact(amount), len(due_dates)
    regular = Fraction(int(whole * 100) // parts, 100)
    last = whole - regular * (parts - 1)
    amounts = [regular] * (parts - 1) + [last]
    return {
        "instalments": [
            {"due": due, "amount": rounded(part, 2)}
            for due, part in zip(due_dates, amounts, strict=True)
        ],
        "regular_amount": rounded(regular, 2),
        "last_amount": rounded(last, 2),
    }
