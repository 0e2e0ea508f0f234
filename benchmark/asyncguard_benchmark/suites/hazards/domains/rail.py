"""RA: a travel desk that looks up trains and fares, follows delays, books seats and claims compensation.

An offer is told by the ticket shop, by a partner that sells in cents, and by the tariff, which
computes the price of every leg from its kilometres; a delay by the live feed, by the control room,
and by the passages clocked at each stop.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.declarations import Remedies, Tool, amount, choice, text
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.service_tools import reader, writer
from asyncguard_benchmark.services.state_shapes import record
from asyncguard_benchmark.suites.hazards.domains import rail_service as service
from asyncguard_benchmark.suites.hazards.domains.effect_log import probed
from asyncguard_benchmark.suites.hazards.domains.questions import Question
from asyncguard_benchmark.suites.hazards.domains.result_fields import (
    code,
    day,
    one_of,
    quantity,
    several,
    tally,
)
from asyncguard_benchmark.suites.hazards.domains.result_rules import adds_up, as_number, echoes

_SHOP = "rail:{task_id}:shop"
_PARTNER = "rail:{task_id}:partner"
_TARIFF = "rail:{task_id}:tariff"
_FEED = "rail:{task_id}:feed"
_CONTROL = "rail:{task_id}:control"
_PASSAGES = "rail:{task_id}:passages"
_DESK = "rail:{task_id}:desk"
_EFFECTS = "rail:{task_id}:effects"

_CLASSES = ("first", "second")
_CLASS_NAMES = {"1st": "first", "2nd": "second", "standard": "second"}
_STATUSES = ("on_time", "late", "very_late")
_STATUS_NAMES = {"punctual": "on_time", "delayed": "late", "heavily delayed": "very_late"}
_BANDS = ("none", "quarter", "half")
_BAND_NAMES = {"no": "none", "25 %": "quarter", "50 %": "half"}
_CHANNELS = ("sms", "email", "app", "post")
_CHANNEL_NAMES = {"text message": "sms", "e-mail": "email", "push": "app", "letter": "post"}

_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]"

_OFFERS = Question(
    askable={
        "ticket_offer": ("origin", "destination", "travel_date", "travel_class"),
        "partner_offer": ("start", "goal", "day", "cabin"),
        "tariff_offer": ("from_station", "to_station", "date_of_travel", "comfort"),
    },
    trusted="tariff_offer",
)
_DELAYS = Question(
    askable={
        "live_delay": ("train",),
        "control_room_delay": ("run",),
        "clocked_delay": ("service",),
    },
    trusted="control_room_delay",
)


def _leaves_before_it_arrives(_arguments: Mapping[str, Any], result: Any) -> str | None:
    departs, arrives = _clock(result, "departs"), _clock(result, "arrives")
    return "arrives is not after departs" if departs and arrives and departs >= arrives else None


def _clock(result: Any, name: str) -> str | None:
    value = result.get(name) if isinstance(result, Mapping) else None
    return value if isinstance(value, str) and re.fullmatch(_CLOCK, value) else None


def _is_the_share(_arguments: Mapping[str, Any], result: Any) -> str | None:
    if not isinstance(result, Mapping) or result.get("band") not in service.PERCENT:
        return None
    fare, due = as_number(result.get("fare")), as_number(result.get("compensation"))
    if (
        fare is None
        or due is None
        or exact(rounded(fare * service.PERCENT[result["band"]] / 100, 2)) == due
    ):
        return None
    return "compensation is not the share of the fare that its band stands for"


_TRAIN = code("Number of the train.", "[A-Z]{2}-[0-9]{3}", ("service", "train_no"))
_PASSENGER = code("Number of the passenger.", "P-[0-9]{4}", ("traveller", "passenger_id"))
_FARE = quantity("What the ticket costs.", 5, 400, unit="EUR", aliases=("price", "total_fare"))
_MINUTES_LATE = tally("How late it is.", 0, 600, unit="min", aliases=("minutes_late", "lateness"))
_CLASS = one_of("Class of the seat.", _CLASSES, _CLASS_NAMES)
_OFFER_RESULT = record(
    train=_TRAIN,
    origin={
        "type": "string",
        "minLength": 2,
        "description": "Where the journey begins.",
        "aliases": ["from"],
    },
    destination={
        "type": "string",
        "minLength": 2,
        "description": "Where the journey ends.",
        "aliases": ["to"],
    },
    travel_class=_CLASS,
    travel_date=day("Day of the journey.", ("date",)),
    departs=code("Time of departure.", _CLOCK, ("departure",)),
    arrives=code("Time of arrival.", _CLOCK, ("arrival",)),
    on_sale_until=day("Last day on which the ticket is sold.", ("sale_ends",)),
    legs=several(
        "Price of every leg.",
        record(
            leg={"type": "string", "minLength": 2, "description": "Its two ends."},
            price=quantity("Price of the leg.", 0.5, 100_000, unit="EUR"),
        ),
    ),
    fare=_FARE,
)
_DELAY_RESULT = record(
    train=_TRAIN,
    delay=_MINUTES_LATE,
    status=one_of("How punctual it is.", _STATUSES, _STATUS_NAMES),
    reported_on=day("Day of the report.", ("report_date", "as_of")),
    losses={
        "type": "array",
        "maxItems": 40,
        "description": "Where the time was lost.",
        "items": record(
            stop={"type": "string", "minLength": 2, "description": "The stop."},
            minutes=tally("Minutes lost there.", 0, 100_000, unit="min"),
        ),
    },
)
_COMPENSATION_RESULT = record(
    fare=_FARE,
    delay=_MINUTES_LATE,
    band=one_of("Share of the fare that is paid back.", _BANDS, _BAND_NAMES),
    compensation=quantity(
        "What is paid back.", 0, 200, unit="EUR", aliases=("refund", "amount_due")
    ),
)
_TOTAL_RESULT = record(
    fares=several("What was added.", quantity("A fare.", 0, 100_000, unit="EUR")),
    total=quantity("Their sum.", 5, 1_200, unit="EUR", aliases=("sum", "grand_total")),
)
_BOOKING_RESULT = record(
    booking=code("Number of the booking.", "RB-[0-9]{5}", ("booking_ref", "reservation")),
    train=_TRAIN,
    travel_class=_CLASS,
    passenger=_PASSENGER,
    fare=_FARE,
    coach=tally("Coach.", 1, 20),
    seat=code("Seat in the coach.", "[0-9]{1,2}[A-F]", ("place",)),
    pay_by=day("Last day to pay.", ("due_date", "payable_until")),
)
_CLAIM_RESULT = record(
    claim=code("Number of the claim.", "CC-[0-9]{5}", ("claim_id", "case")),
    train=_TRAIN,
    passenger=_PASSENGER,
    compensation=quantity("What is claimed.", 0, 200, unit="EUR", aliases=("amount", "claimed")),
    decided_by=day("Last day for the decision.", ("decision_date",)),
)
_NOTICE_RESULT = record(
    notice=code("Number of the notice.", "NT-[0-9]{5}", ("message_id",)),
    passenger=_PASSENGER,
    train=_TRAIN,
    delay=_MINUTES_LATE,
    channel=one_of("How it was sent.", _CHANNELS, _CHANNEL_NAMES),
)

_DAY_ARGUMENT = text("Day, as 2026-01-31.", pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$")
_TRAIN_ARGUMENT = text("Number of the train, as AB-123.")
_PASSENGER_ARGUMENT = text("Number of the passenger, as P-1234.")
_FARE_ARGUMENT = {**amount("Fare of the ticket."), "unit": "EUR"}
_DELAY_ARGUMENT = {
    "type": "integer",
    "minimum": 0,
    "description": "How late the train is.",
    "unit": "min",
}


def _offers(name: str, description: str, run: Any, resource: str) -> Tool:
    origin, destination, travel_date, travel_class = _OFFERS.askable[name]
    remedies = Remedies(
        returns=_OFFER_RESULT,
        fallbacks=_OFFERS.others(name),
        sources=_OFFERS.others(name),
        compared=("/train", "/fare", "/on_sale_until"),
        verifier=None if name == "tariff_offer" else _OFFERS.instead_of(name, "tariff_offer"),
        invariants=(
            adds_up("fare", "legs", "price"),
            _leaves_before_it_arrives,
            echoes(origin, "origin"),
            echoes(destination, "destination"),
            echoes(travel_date, "travel_date"),
            echoes(travel_class, "travel_class"),
        ),
    )
    asked = {
        origin: text("Station where the journey begins."),
        destination: text("Station where the journey ends."),
        travel_date: _DAY_ARGUMENT,
        travel_class: choice("Class of the seat.", _CLASSES),
    }
    return replace(reader(name, description, run, (resource,), **asked), remedies=remedies)


def _delays(name: str, description: str, run: Any, resource: str) -> Tool:
    (train,) = _DELAYS.askable[name]
    remedies = Remedies(
        returns=_DELAY_RESULT,
        fallbacks=_DELAYS.others(name),
        sources=_DELAYS.others(name),
        compared=("/delay", "/status"),
        dated="/reported_on",
        verifier=None if name == "clocked_delay" else _DELAYS.instead_of(name, "clocked_delay"),
        invariants=(adds_up("delay", "losses", "minutes"), echoes(train, "train")),
    )
    return replace(
        reader(name, description, run, (resource,), **{train: _TRAIN_ARGUMENT}), remedies=remedies
    )


_CALCULATING = (
    replace(
        reader(
            "compensation_due",
            "Works out what is paid back for a late train.",
            service.compensation_due,
            (),
            fare=_FARE_ARGUMENT,
            delay=_DELAY_ARGUMENT,
        ),
        remedies=Remedies(
            returns=_COMPENSATION_RESULT,
            invariants=(_is_the_share, echoes("fare", "fare"), echoes("delay", "delay")),
        ),
    ),
    replace(
        reader(
            "add_fares",
            "Adds up fares.",
            service.add_fares,
            (),
            fares={
                "type": "array",
                "items": {"type": "number", "unit": "EUR"},
                "minItems": 1,
                "maxItems": 20,
                "description": "What to add.",
            },
        ),
        remedies=Remedies(
            returns=_TOTAL_RESULT, invariants=(adds_up("total", "fares"), echoes("fares", "fares"))
        ),
    ),
)
_ACTING = (
    replace(
        writer(
            "book_seat",
            "Books a seat for a passenger; books another one when called again.",
            service.book_seat,
            (_DESK, _EFFECTS),
            (_EFFECTS,),
            train=_TRAIN_ARGUMENT,
            travel_class=choice("Class of the seat.", _CLASSES),
            passenger=_PASSENGER_ARGUMENT,
            fare=_FARE_ARGUMENT,
        ),
        remedies=Remedies(
            returns=_BOOKING_RESULT,
            probe="find_booking",
            invariants=(
                echoes("train", "train"),
                echoes("passenger", "passenger"),
                echoes("fare", "fare"),
            ),
        ),
    ),
    replace(
        reader(
            "find_booking",
            "Tells whether a passenger was booked on a train.",
            service.find_booking,
            (_EFFECTS,),
            train=_TRAIN_ARGUMENT,
            passenger=_PASSENGER_ARGUMENT,
        ),
        remedies=Remedies(returns=probed(_BOOKING_RESULT)),
    ),
    replace(
        writer(
            "claim_compensation",
            "Files a passenger's claim for a late train; files another one when called again.",
            service.claim_compensation,
            (_DESK, _EFFECTS),
            (_EFFECTS,),
            train=_TRAIN_ARGUMENT,
            passenger=_PASSENGER_ARGUMENT,
            compensation={**amount("What is claimed."), "unit": "EUR"},
        ),
        remedies=Remedies(
            returns=_CLAIM_RESULT,
            probe="find_claim",
            invariants=(
                echoes("train", "train"),
                echoes("passenger", "passenger"),
                echoes("compensation", "compensation"),
            ),
        ),
    ),
    replace(
        reader(
            "find_claim",
            "Tells whether a passenger's claim for a train was filed.",
            service.find_claim,
            (_EFFECTS,),
            train=_TRAIN_ARGUMENT,
            passenger=_PASSENGER_ARGUMENT,
        ),
        remedies=Remedies(returns=probed(_CLAIM_RESULT)),
    ),
    replace(
        writer(
            "warn_passenger",
            "Sends a passenger word of a late train, the way the passenger likes best.",
            service.warn_passenger,
            (_DESK, _EFFECTS),
            (_EFFECTS,),
            passenger=_PASSENGER_ARGUMENT,
            train=_TRAIN_ARGUMENT,
            delay=_DELAY_ARGUMENT,
        ),
        remedies=Remedies(returns=_NOTICE_RESULT, invariants=(echoes("passenger", "passenger"),)),
    ),
)

TOOLSET = toolset(
    Domain.RAIL,
    service.STATE_SCHEMA,
    (
        _offers(
            "ticket_offer",
            "Shows the train of a day and its fare in the ticket shop.",
            service.ticket_offer,
            _SHOP,
        ),
        _offers(
            "partner_offer",
            "Shows the train of a day and its fare at a partner's.",
            service.partner_offer,
            _PARTNER,
        ),
        _offers(
            "tariff_offer",
            "Prices the train of a day leg by leg from the tariff.",
            service.tariff_offer,
            _TARIFF,
        ),
        _delays("live_delay", "Tells a train's delay by the live feed.", service.live_delay, _FEED),
        _delays(
            "control_room_delay",
            "Tells a train's delay by the control room.",
            service.control_room_delay,
            _CONTROL,
        ),
        _delays(
            "clocked_delay",
            "Works a train's delay out from its clocked passages.",
            service.clocked_delay,
            _PASSAGES,
        ),
        *_CALCULATING,
        *_ACTING,
    ),
)
