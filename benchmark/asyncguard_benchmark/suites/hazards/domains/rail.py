"""RA: a travel desk that looks up trains and fares, follows delays, books seats and claims compensation.

An offer is told by the ticket shop, by a partner that sells in cents, and by the tariff, which
computes the price of every leg from its kilometres; a delay by the live feed, by the control room,
and by the passages clocked at each stop.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.arguments import ISO_DAY, Amount, Text
from asyncguard_benchmark.services.declarations import Remedies, State, tool
from asyncguard_benchmark.services.exact_numbers import exact, exact_sum, rounded
from asyncguard_benchmark.services.records import entry, fields_of, require, row_with
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.state_shapes import COUNT, NUMBER, WORD, record, rows, table
from asyncguard_benchmark.suites.hazards.domains.dates import days_after
from asyncguard_benchmark.suites.hazards.domains.effect_log import (
    EFFECTS_SCHEMA,
    perform,
    probe,
    probed,
)
from asyncguard_benchmark.suites.hazards.domains.questions import Question
from asyncguard_benchmark.suites.hazards.domains.result_rules import adds_up, echoes, number
from asyncguard_benchmark.suites.hazards.domains.result_schemas import result_schemas

_SHOP = "rail:{task_id}:shop"
_PARTNER = "rail:{task_id}:partner"
_TARIFF = "rail:{task_id}:tariff"
_FEED = "rail:{task_id}:feed"
_CONTROL = "rail:{task_id}:control"
_PASSAGES = "rail:{task_id}:passages"
_DESK = "rail:{task_id}:desk"
_EFFECTS = "rail:{task_id}:effects"

_PERCENT = {"none": 0, "quarter": 25, "half": 50}
"""Share of the fare that each band stands for."""
_CONNECTION = {"travel_date": WORD, "departs": WORD, "arrives": WORD, "on_sale_until": WORD}
_LOSSES = rows(record(stop=WORD, minutes=COUNT))
_RESULTS = result_schemas(Domain.RAIL)
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
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]"

Origin = Annotated[Text, "Station where the journey begins."]
Destination = Annotated[Text, "Station where the journey ends."]
Day = Annotated[Text, "Day, as 2026-01-31.", ISO_DAY]
Class = Annotated[Literal["first", "second"], "Class of the seat."]
Train = Annotated[Text, "Number of the train, as AB-123."]
Fare = Annotated[Amount, "Fare of the ticket.", {"unit": "EUR"}]
Delay = Annotated[int, {"minimum": 0}, "How late the train is.", {"unit": "min"}]
Passenger = Annotated[Text, "Number of the passenger, as P-1234."]


def _leaves_before_it_arrives(_arguments: Mapping[str, Any], result: Any) -> str | None:
    departs, arrives = _clock(result, "departs"), _clock(result, "arrives")
    return "arrives is not after departs" if departs and arrives and departs >= arrives else None


def _clock(result: Any, name: str) -> str | None:
    value = result.get(name) if isinstance(result, Mapping) else None
    return value if isinstance(value, str) and re.fullmatch(_CLOCK, value) else None


def _is_the_share(_arguments: Mapping[str, Any], result: Any) -> str | None:
    fare, due = number(result, "fare"), number(result, "compensation")
    # Not in the mapping itself: a band of the wrong type may have no hash.
    if fare is None or due is None or result.get("band") not in list(_PERCENT):
        return None
    if exact(rounded(fare * _PERCENT[result["band"]] / 100, 2)) == due:
        return None
    return "compensation is not the share of the fare that its band stands for"


_OFFERS = Question(
    askable={
        "ticket_offer": ("origin", "destination", "travel_date", "travel_class"),
        "partner_offer": ("start", "goal", "day", "cabin"),
        "tariff_offer": ("from_station", "to_station", "date_of_travel", "comfort"),
    },
    trusted="tariff_offer",
    returns=_RESULTS["offer"],
    echoed=("origin", "destination", "travel_date", "travel_class"),
    compared=("/train", "/fare", "/on_sale_until"),
    derived_by="tariff_offer",
    rules=(adds_up("fare", "legs", "price"), _leaves_before_it_arrives),
)
_DELAYS = Question(
    askable={
        "live_delay": ("train",),
        "control_room_delay": ("run",),
        "clocked_delay": ("service",),
    },
    trusted="control_room_delay",
    returns=_RESULTS["delay"],
    echoed=("train",),
    compared=("/delay", "/status"),
    dated="/reported_on",
    derived_by="clocked_delay",
    rules=(adds_up("delay", "losses", "minutes"),),
)


def _offer(
    known: Mapping[str, Any], asked: tuple[str, str, str], train: str, legs: list[Any], fare: Any
) -> Any:
    origin, destination, travel_class = asked
    connection = fields_of(known, _CONNECTION)
    ends = {"origin": origin, "destination": destination, "travel_class": travel_class}
    return {"train": train, **ends, **connection, "legs": legs, "fare": fare}


def _no_train(origin: str, destination: str, travel_date: str) -> str:
    return f"No train runs from {origin!r} to {destination!r} on {travel_date}."


@tool(reads=(_SHOP,), remedies=_OFFERS.remedies)
def ticket_offer(
    state: State, origin: Origin, destination: Destination, travel_date: Day, travel_class: Class
) -> Any:
    """Shows the train of a day and its fare in the ticket shop."""
    row = require(
        row_with(state["shop"], origin=origin, destination=destination, travel_date=travel_date),
        _no_train(origin, destination, travel_date),
    )
    fare = row["fares"][travel_class]
    legs = [fields_of(each, "leg price") for each in fare["legs"]]
    return _offer(row, (origin, destination, travel_class), row["train"], legs, fare["total"])


def _euros(cents: int) -> Any:
    return rounded(exact(cents) / 100, 2)


@tool(reads=(_PARTNER,), remedies=_OFFERS.remedies)
def partner_offer(state: State, start: Origin, goal: Destination, day: Day, cabin: Class) -> Any:
    """Shows the train of a day and its fare at a partner's."""
    row = require(
        row_with(state["partner"], start=start, goal=goal, travel_date=day, cabin=cabin),
        _no_train(start, goal, day),
    )
    legs = [{"leg": each["leg"], "price": _euros(each["cents"])} for each in row["pieces"]]
    return _offer(row, (start, goal, cabin), row["service"], legs, _euros(row["cents"]))


@tool(reads=(_TARIFF,), remedies=_OFFERS.remedies)
def tariff_offer(
    state: State, from_station: Origin, to_station: Destination, date_of_travel: Day, comfort: Class
) -> Any:
    """Prices the train of a day leg by leg from the tariff."""
    per_km = exact(state["tariff"]["per_km"][comfort])
    row = require(
        row_with(
            state["tariff"]["trains"], ends=[from_station, to_station], travel_date=date_of_travel
        ),
        _no_train(from_station, to_station, date_of_travel),
    )
    legs = [{"leg": each["leg"], "price": rounded(each["km"] * per_km, 2)} for each in row["legs"]]
    fare = rounded(exact_sum(each["price"] for each in legs), 2)
    return _offer(row, (from_station, to_station, comfort), row["train"], legs, fare)


def _delay(train: str, minutes: int, status: str, reported_on: str, losses: list[Any]) -> Any:
    return {
        "train": train,
        "delay": minutes,
        "status": status,
        "reported_on": reported_on,
        "losses": losses,
    }


@tool(reads=(_FEED,), remedies=_DELAYS.remedies)
def live_delay(state: State, train: Train) -> Any:
    """Tells a train's delay by the live feed."""
    row = require(state["feed"].get(train), f"The feed knows no train {train!r}.")
    return _delay(train, row["minutes"], row["status"], row["reported_on"], row["losses"])


@tool(reads=(_CONTROL,), remedies=_DELAYS.remedies)
def control_room_delay(state: State, run: Train) -> Any:
    """Tells a train's delay by the control room."""
    row = require(row_with(state["control"], run=run), f"The control room has no run {run!r}.")
    losses = [{"stop": stop, "minutes": minutes} for stop, minutes in row["by_stop"].items()]
    return _delay(run, row["delay"], row["state"], row["logged_on"], losses)


def _minutes(clock: str) -> int:
    hours, minutes = clock.split(":")
    return 60 * int(hours) + int(minutes)


@tool(reads=(_PASSAGES,), remedies=_DELAYS.remedies)
def clocked_delay(state: State, service: Train) -> Any:
    """Works a train's delay out from its clocked passages."""
    found = require(state["passages"].get(service), f"No passages of {service!r} were clocked.")
    late = [_minutes(stop["actual"]) - _minutes(stop["planned"]) for stop in found["stops"]]
    gained = [now - before for before, now in zip([0, *late[:-1]], late, strict=True)]
    losses = [
        {"stop": stop["stop"], "minutes": lost}
        for stop, lost in zip(found["stops"], gained, strict=True)
        if lost
    ]
    status = "on_time" if late[-1] < 5 else "late" if late[-1] < 60 else "very_late"
    return _delay(service, late[-1], status, found["clocked_on"], losses)


@tool(
    remedies=Remedies(
        returns=_RESULTS["compensation"],
        invariants=(_is_the_share, echoes("fare"), echoes("delay")),
    )
)
def compensation_due(_state: State, fare: Fare, delay: Delay) -> Any:
    """Works out what is paid back for a late train."""
    band = "none" if delay < 60 else "quarter" if delay < 120 else "half"
    due = rounded(exact(fare) * _PERCENT[band] / 100, 2)
    return {"fare": fare, "delay": delay, "band": band, "compensation": due}


@tool(
    remedies=Remedies(
        returns=_RESULTS["total"], invariants=(adds_up("total", "fares"), echoes("fares"))
    )
)
def add_fares(
    _state: State,
    fares: Annotated[
        list[Annotated[float, {"unit": "EUR"}]], {"minItems": 1, "maxItems": 20}, "What to add."
    ],
) -> Any:
    """Adds up fares."""
    return {"fares": fares, "total": rounded(exact_sum(fares), 2)}


@tool(
    reads=(_DESK, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["booking"],
        probe="find_booking",
        invariants=(echoes("train"), echoes("passenger"), echoes("fare")),
    ),
)
def book_seat(
    state: State, train: Train, travel_class: Class, passenger: Passenger, fare: Fare
) -> Any:
    """Books a seat for a passenger; books another one when called again."""
    known = entry(state, "passengers", passenger, "passenger")
    where = fields_of(known, "coach seat")
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
        {**content, "pay_by": days_after(state["today"], state["payment_days"])},
    )


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["booking"])))
def find_booking(state: State, train: Train, passenger: Passenger) -> Any:
    """Tells whether a passenger was booked on a train."""
    return probe(state, "book_seat", train=train, passenger=passenger)


@tool(
    reads=(_DESK, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["claim"],
        probe="find_claim",
        invariants=(echoes("train"), echoes("passenger"), echoes("compensation")),
    ),
)
def claim_compensation(
    state: State,
    train: Train,
    passenger: Passenger,
    compensation: Annotated[Amount, "What is claimed.", {"unit": "EUR"}],
) -> Any:
    """Files a passenger's claim for a late train; files another one when called again."""
    entry(state, "passengers", passenger, "passenger")
    content = {"train": train, "passenger": passenger, "compensation": compensation}
    decided_by = days_after(state["today"], state["handling_days"])
    return perform(
        state, "claim_compensation", "claim", "CC", {**content, "decided_by": decided_by}
    )


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["claim"])))
def find_claim(state: State, train: Train, passenger: Passenger) -> Any:
    """Tells whether a passenger's claim for a train was filed."""
    return probe(state, "claim_compensation", train=train, passenger=passenger)


@tool(
    reads=(_DESK, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(returns=_RESULTS["notice"], invariants=(echoes("passenger"),)),
)
def warn_passenger(state: State, passenger: Passenger, train: Train, delay: Delay) -> Any:
    """Sends a passenger word of a late train, the way the passenger likes best."""
    channel = entry(state, "passengers", passenger, "passenger")["channel"]
    content = {"passenger": passenger, "train": train, "delay": delay, "channel": channel}
    return perform(state, "warn_passenger", "notice", "NT", content)


TOOLSET = toolset(
    Domain.RAIL,
    STATE_SCHEMA,
    (
        ticket_offer,
        partner_offer,
        tariff_offer,
        live_delay,
        control_room_delay,
        clocked_delay,
        compensation_due,
        add_fares,
        book_seat,
        find_booking,
        claim_compensation,
        find_claim,
        warn_passenger,
    ),
)
