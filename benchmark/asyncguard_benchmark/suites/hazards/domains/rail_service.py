"""Operations of the travel desk's tools on its state."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.declarations import State
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.state_shapes import COUNT, NUMBER, WORD, record, rows, table
from asyncguard_benchmark.suites.hazards.domains.effect_log import EFFECTS_SCHEMA, perform, probe

PERCENT = {"none": 0, "quarter": 25, "half": 50}
"""Share of the fare that each band stands for."""

_CONNECTION = {"travel_date": WORD, "departs": WORD, "arrives": WORD, "on_sale_until": WORD}
_LOSSES = rows(record(stop=WORD, minutes=COUNT))
STATE_SCHEMA = record(
    today=WORD,
    shop=rows(
        record(
            origin=WORD,
            destination=WORD,
            train=WORD,
            **_CONNECTION,
            fares=table(record(total=NUMBER, legs=rows(record(leg=WORD, price=NUMBER)))),
        )
    ),
    partner=rows(
        record(
            start=WORD,
            goal=WORD,
            cabin=WORD,
            service=WORD,
            **_CONNECTION,
            cents=COUNT,
            pieces=rows(record(leg=WORD, cents=COUNT)),
        )
    ),
    tariff=record(
        trains=rows(
            record(
                train=WORD, ends=rows(WORD), **_CONNECTION, legs=rows(record(leg=WORD, km=COUNT))
            ),
        ),
        per_km=table(NUMBER),
    ),
    feed=table(record(minutes=COUNT, status=WORD, reported_on=WORD, losses=_LOSSES)),
    control=rows(record(run=WORD, delay=COUNT, state=WORD, logged_on=WORD, by_stop=table(COUNT))),
    passages=table(
        record(clocked_on=WORD, stops=rows(record(stop=WORD, planned=WORD, actual=WORD)))
    ),
    passengers=table(record(channel=WORD, coach=COUNT, seat=WORD)),
    payment_days=COUNT,
    handling_days=COUNT,
    effects=EFFECTS_SCHEMA,
)


def _offer(
    known: Mapping[str, Any], asked: tuple[str, str, str], train: str, legs: list[Any], fare: Any
) -> Any:
    origin, destination, travel_class = asked
    connection = {name: known[name] for name in _CONNECTION}
    ends = {"origin": origin, "destination": destination, "travel_class": travel_class}
    return {"train": train, **ends, **connection, "legs": legs, "fare": fare}


def _no_train(origin: str, destination: str, travel_date: str) -> ToolFailure:
    return ToolFailure(f"No train runs from {origin!r} to {destination!r} on {travel_date}.")


def ticket_offer(
    state: State, origin: str, destination: str, travel_date: str, travel_class: str
) -> Any:
    """Return the shop's offer."""
    for row in state["shop"]:
        if (row["origin"], row["destination"], row["travel_date"]) == (
            origin,
            destination,
            travel_date,
        ):
            fare = row["fares"][travel_class]
            legs = [{"leg": each["leg"], "price": each["price"]} for each in fare["legs"]]
            return _offer(
                row, (origin, destination, travel_class), row["train"], legs, fare["total"]
            )
    raise _no_train(origin, destination, travel_date)


def _euros(cents: int) -> Any:
    return rounded(exact(cents) / 100, 2)


def partner_offer(state: State, start: str, goal: str, day: str, cabin: str) -> Any:
    """Return the partner's offer, in euros."""
    for row in state["partner"]:
        if (row["start"], row["goal"], row["travel_date"], row["cabin"]) == (
            start,
            goal,
            day,
            cabin,
        ):
            legs = [{"leg": each["leg"], "price": _euros(each["cents"])} for each in row["pieces"]]
            return _offer(row, (start, goal, cabin), row["service"], legs, _euros(row["cents"]))
    raise _no_train(start, goal, day)


def tariff_offer(
    state: State, from_station: str, to_station: str, date_of_travel: str, comfort: str
) -> Any:
    """Return the offer, priced leg by leg."""
    per_km = exact(state["tariff"]["per_km"][comfort])
    for row in state["tariff"]["trains"]:
        if (row["ends"], row["travel_date"]) == ([from_station, to_station], date_of_travel):
            legs = [
                {"leg": each["leg"], "price": rounded(each["km"] * per_km, 2)}
                for each in row["legs"]
            ]
            fare = rounded(sum((exact(each["price"]) for each in legs), exact(0)), 2)
            return _offer(row, (from_station, to_station, comfort), row["train"], legs, fare)
    raise _no_train(from_station, to_station, date_of_travel)


def _delay(train: str, minutes: int, status: str, reported_on: str, losses: list[Any]) -> Any:
    return {
        "train": train,
        "delay": minutes,
        "status": status,
        "reported_on": reported_on,
        "losses": losses,
    }


def live_delay(state: State, train: str) -> Any:
    """Return the delay by the feed."""
    row = state["feed"].get(train)
    if row is None:
        raise ToolFailure(f"The feed knows no train {train!r}.")
    return _delay(train, row["minutes"], row["status"], row["reported_on"], row["losses"])


def control_room_delay(state: State, run: str) -> Any:
    """Return the delay by the control room."""
    for row in state["control"]:
        if row["run"] == run:
            losses = [
                {"stop": stop, "minutes": minutes} for stop, minutes in row["by_stop"].items()
            ]
            return _delay(run, row["delay"], row["state"], row["logged_on"], losses)
    raise ToolFailure(f"The control room has no run {run!r}.")


def _minutes(clock: str) -> int:
    hours, minutes = clock.split(":")
    return 60 * int(hours) + int(minutes)


def clocked_delay(state: State, service: str) -> Any:
    """Return the delay by the clock at each stop."""
    found = state["passages"].get(service)
    if found is None:
        raise ToolFailure(f"No passages of {service!r} were clocked.")
    late = [_minutes(stop["actual"]) - _minutes(stop["planned"]) for stop in found["stops"]]
    gained = [now - before for before, now in zip([0, *late[:-1]], late, strict=True)]
    losses = [
        {"stop": stop["stop"], "minutes": lost}
        for stop, lost in zip(found["stops"], gained, strict=True)
        if lost
    ]
    status = "on_time" if late[-1] < 5 else "late" if late[-1] < 60 else "very_late"
    return _delay(service, late[-1], status, found["clocked_on"], losses)


def compensation_due(_state: State, fare: float, delay: int) -> Any:
    """Return the compensation: nothing, a quarter of the fare from one hour on, half from two hours on."""
    band = "none" if delay < 60 else "quarter" if delay < 120 else "half"
    due = rounded(exact(fare) * PERCENT[band] / 100, 2)
    return {"fare": fare, "delay": delay, "band": band, "compensation": due}


def add_fares(_state: State, fares: list[float]) -> Any:
    """Return the sum of fares."""
    return {"fares": fares, "total": rounded(sum(map(exact, fares), exact(0)), 2)}


def _later(state: State, days: int) -> str:
    return (date.fromisoformat(state["today"]) + timedelta(days=days)).isoformat()


def _passenger(state: State, passenger: str) -> dict[str, Any]:
    found: dict[str, Any] | None = state["passengers"].get(passenger)
    if found is None:
        raise ToolFailure(f"There is no passenger {passenger!r}.")
    return found


def book_seat(state: State, train: str, travel_class: str, passenger: str, fare: float) -> Any:
    """Book the passenger's usual seat."""
    known = _passenger(state, passenger)
    where = {"coach": known["coach"], "seat": known["seat"]}
    content = {
        "train": train,
        "travel_class": travel_class,
        "passenger": passenger,
        "fare": fare,
        **where,
    }
    return perform(
        state,
        "book_seat",
        "booking",
        "RB",
        {**content, "pay_by": _later(state, state["payment_days"])},
    )


def find_booking(state: State, train: str, passenger: str) -> Any:
    """Return whether the passenger was booked on the train."""
    return probe(state, "book_seat", train=train, passenger=passenger)


def claim_compensation(state: State, train: str, passenger: str, compensation: float) -> Any:
    """File a claim."""
    _passenger(state, passenger)
    content = {"train": train, "passenger": passenger, "compensation": compensation}
    decided_by = _later(state, state["handling_days"])
    return perform(
        state, "claim_compensation", "claim", "CC", {**content, "decided_by": decided_by}
    )


def find_claim(state: State, train: str, passenger: str) -> Any:
    """Return whether the passenger's claim for the train was filed."""
    return probe(state, "claim_compensation", train=train, passenger=passenger)


def warn_passenger(state: State, passenger: str, train: str, delay: int) -> Any:
    """Send word the way the passenger likes best."""
    channel = _passenger(state, passenger)["channel"]
    content = {"passenger": passenger, "train": train, "delay": delay, "channel": channel}
    return perform(state, "warn_passenger", "notice", "NT", content)
