"""FL: the motor pool of a company that drives on electricity: charge, chargers, trips and defects.

A charge is told by the vehicle, by the charger that it last stood at, which counts watt-hours, and by the meters of its
packs; a trip by its sheet, by the route planner, which counts metres, and by the odometer.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.arguments import Amount, Text
from asyncguard_benchmark.services.declarations import Remedies, State, tool
from asyncguard_benchmark.services.exact_numbers import exact, exact_sum, rounded
from asyncguard_benchmark.services.records import fields_of, require, row_with
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
from asyncguard_benchmark.suites.hazards.domains.result_rules import (
    adds_up,
    echoes,
    number,
    relation,
)
from asyncguard_benchmark.suites.hazards.domains.result_schemas import result_schemas

_TELEMATICS = "fleet:{task_id}:telematics"
_CHARGERS = "fleet:{task_id}:chargers"
_METERS = "fleet:{task_id}:meters"
_SHEETS = "fleet:{task_id}:sheets"
_PLANS = "fleet:{task_id}:plans"
_ODOMETERS = "fleet:{task_id}:odometers"
_YARD = "fleet:{task_id}:yard"
_EFFECTS = "fleet:{task_id}:effects"

_TRIP = {"vehicle": WORD, "driver": WORD, "due_back": WORD}
_RESULTS = result_schemas(Domain.FLEET)
STATE_SCHEMA = record(
    today=WORD,
    telematics=table(
        record(
            kwh=NUMBER,
            status=WORD,
            read_on=WORD,
            consumption=NUMBER,
            packs=rows(record(pack=WORD, energy=NUMBER)),
        )
    ),
    chargers=rows(
        record(
            unit=WORD, wh=COUNT, lamp=WORD, seen_on=WORD, wh_per_km=COUNT, packs_wh=table(COUNT)
        ),
    ),
    meters=table(
        record(
            read_on=WORD,
            plugged=WORD,
            consumption=NUMBER,
            packs=rows(record(pack=WORD, before=NUMBER, loaded=NUMBER, used=NUMBER)),
        )
    ),
    sheets=table(record(**_TRIP, total=NUMBER, legs=rows(record(to=WORD, km=NUMBER)))),
    plans=rows(
        record(journey=WORD, **_TRIP, metres=COUNT, stages=rows(record(to=WORD, metres=COUNT)))
    ),
    odometers=table(record(**_TRIP, start=NUMBER, stops=rows(record(at=WORD, reading=NUMBER)))),
    bays=table(record(charger=WORD, ready_on=WORD)),
    keys=table(WORD),
    workshops=table(record(workshop=WORD, days=COUNT)),
    effects=EFFECTS_SCHEMA,
)

Vehicle = Annotated[Text, "Number of the vehicle, as V123."]
Trip = Annotated[Text, "Number of the trip, as TR-1234."]
Kwh = Annotated[Amount, "Energy.", {"unit": "kWh"}]


_is_distance_times_rate = relation(
    "distance consumption needed",
    lambda distance, rate, needed: exact(rounded(distance * rate / 100, 2)) == needed,
    "needed is not the consumption over the distance",
)


def _is_the_difference(_arguments: Mapping[str, Any], result: Any) -> str | None:
    charge, needed, gap = (number(result, name) for name in ("charge", "needed", "gap"))
    if charge is None or needed is None or gap is None:
        return None
    if exact(rounded(abs(charge - needed), 2)) != gap:
        return "gap is not the difference of charge and needed"
    fits = (result.get("verdict") == "enough") == (charge >= needed)
    return None if fits else "verdict does not fit the numbers"


_CHARGES = Question(
    askable={
        "telematics_charge": ("vehicle",),
        "charger_charge": ("unit",),
        "metered_charge": ("car",),
    },
    trusted="metered_charge",
    returns=_RESULTS["charge"],
    echoed=("vehicle",),
    compared=("/charge", "/status", "/consumption"),
    dated="/read_on",
    derived_by="metered_charge",
    rules=(adds_up("charge", "packs", "energy"),),
)
_TRIPS = Question(
    askable={"trip_sheet": ("trip",), "route_plan": ("journey",), "odometer_trip": ("run",)},
    trusted="odometer_trip",
    returns=_RESULTS["trip"],
    echoed=("trip",),
    compared=("/distance", "/vehicle", "/due_back"),
    derived_by="odometer_trip",
    rules=(adds_up("distance", "legs", "km"),),
)


def _total(parts: list[Any], name: str) -> Any:
    return rounded(exact_sum(part[name] for part in parts), 2)


def _charge(vehicle: str, known: tuple[str, str, Any], packs: list[Any], charge: Any) -> Any:
    status, read_on, consumption = known
    said = {"vehicle": vehicle, "charge": charge, "status": status, "consumption": consumption}
    return {**said, "read_on": read_on, "packs": packs}


def _unknown_vehicle(vehicle: str) -> str:
    return f"Nothing is known of vehicle {vehicle!r}."


@tool(reads=(_TELEMATICS,), remedies=_CHARGES.remedies)
def telematics_charge(state: State, vehicle: Vehicle) -> Any:
    """Tells a charge as the vehicle sends it."""
    row = require(state["telematics"].get(vehicle), _unknown_vehicle(vehicle))
    return _charge(
        vehicle, (row["status"], row["read_on"], row["consumption"]), row["packs"], row["kwh"]
    )


@tool(reads=(_CHARGERS,), remedies=_CHARGES.remedies)
def charger_charge(state: State, unit: Vehicle) -> Any:
    """Tells a charge as the last charger saw it."""
    row = require(row_with(state["chargers"], unit=unit), _unknown_vehicle(unit))
    packs = [{"pack": pack, "energy": _thousandth(wh)} for pack, wh in row["packs_wh"].items()]
    known = (row["lamp"], row["seen_on"], rounded(exact(row["wh_per_km"]) / 10, 2))
    return _charge(unit, known, packs, _thousandth(row["wh"]))


def _thousandth(count: int) -> Any:
    return rounded(exact(count) / 1000, 2)


@tool(reads=(_METERS,), remedies=_CHARGES.remedies)
def metered_charge(state: State, car: Vehicle) -> Any:
    """Works a vehicle's charge out from the meters."""
    row = require(state["meters"].get(car), _unknown_vehicle(car))
    packs = [
        {
            "pack": each["pack"],
            "energy": rounded(
                exact(each["before"]) + exact(each["loaded"]) - exact(each["used"]), 2
            ),
        }
        for each in row["packs"]
    ]
    charge = _total(packs, "energy")
    status = "charging" if row["plugged"] == "yes" else "low" if charge < 15 else "ready"
    return _charge(car, (status, row["read_on"], row["consumption"]), packs, charge)


def _trip(trip: str, known: Mapping[str, Any], legs: list[Any], distance: Any) -> Any:
    return {"trip": trip, **fields_of(known, _TRIP), "distance": distance, "legs": legs}


def _unknown_trip(trip: str) -> str:
    return f"There is no trip {trip!r}."


@tool(reads=(_SHEETS,), remedies=_TRIPS.remedies)
def trip_sheet(state: State, trip: Trip) -> Any:
    """Tells vehicle, driver and length of a trip by its sheet."""
    row = require(state["sheets"].get(trip), _unknown_trip(trip))
    return _trip(trip, row, row["legs"], row["total"])


@tool(reads=(_PLANS,), remedies=_TRIPS.remedies)
def route_plan(state: State, journey: Trip) -> Any:
    """Tells vehicle, driver and length of a trip by the planner."""
    row = require(row_with(state["plans"], journey=journey), _unknown_trip(journey))
    legs = [{"to": stage["to"], "km": _thousandth(stage["metres"])} for stage in row["stages"]]
    return _trip(journey, row, legs, _thousandth(row["metres"]))


@tool(reads=(_ODOMETERS,), remedies=_TRIPS.remedies)
def odometer_trip(state: State, run: Trip) -> Any:
    """Works a trip's length out from the odometer."""
    row = require(state["odometers"].get(run), _unknown_trip(run))
    readings = [row["start"], *(stop["reading"] for stop in row["stops"])]
    legs = [
        {"to": stop["at"], "km": rounded(exact(stop["reading"]) - exact(before), 2)}
        for stop, before in zip(row["stops"], readings, strict=False)
    ]
    return _trip(run, row, legs, _total(legs, "km"))


@tool(
    remedies=Remedies(
        returns=_RESULTS["needed"],
        invariants=(_is_distance_times_rate, echoes("distance"), echoes("consumption")),
    )
)
def energy_needed(
    _state: State,
    distance: Annotated[Amount, "How far it is.", {"unit": "km"}],
    consumption: Annotated[Amount, "What the vehicle takes for 100 km.", {"unit": "kWh/100km"}],
) -> Any:
    """Works out the energy that a distance takes."""
    needed = rounded(exact(distance) * exact(consumption) / 100, 2)
    return {"distance": distance, "consumption": consumption, "needed": needed}


@tool(
    remedies=Remedies(
        returns=_RESULTS["gap"], invariants=(_is_the_difference, echoes("charge"), echoes("needed"))
    )
)
def charge_gap(_state: State, charge: Kwh, needed: Kwh) -> Any:
    """Compares the energy that is there with the energy that is needed."""
    gap = rounded(abs(exact(needed) - exact(charge)), 2)
    verdict = "enough" if charge >= needed else "short"
    return {"charge": charge, "needed": needed, "gap": gap, "verdict": verdict}


@tool(
    reads=(_YARD, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["slot"],
        probe="find_charging_slot",
        invariants=(echoes("vehicle"), echoes("energy")),
    ),
)
def reserve_charger(state: State, vehicle: Vehicle, energy: Kwh) -> Any:
    """Reserves a charger for a vehicle; reserves it once more when called again."""
    require(state["bays"].get(vehicle), _unknown_vehicle(vehicle))
    content = {"vehicle": vehicle, "energy": energy, **state["bays"][vehicle]}
    return perform(state, "reserve_charger", "slot", "SL", content)


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["slot"])))
def find_charging_slot(state: State, vehicle: Vehicle) -> Any:
    """Tells whether a charger was reserved for a vehicle."""
    return probe(state, "reserve_charger", vehicle=vehicle)


@tool(
    reads=(_YARD, _SHEETS, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["assignment"],
        probe="find_assignment",
        invariants=(echoes("trip"), echoes("vehicle")),
    ),
)
def assign_vehicle(state: State, trip: Trip, vehicle: Vehicle) -> Any:
    """Gives a vehicle to a trip; gives it once more when called again."""
    require(state["keys"].get(vehicle), _unknown_vehicle(vehicle))
    require(state["sheets"].get(trip), _unknown_trip(trip))
    content = {"trip": trip, "vehicle": vehicle, "key": state["keys"][vehicle]}
    content["return_by"] = days_after(state["sheets"][trip]["due_back"], 1)
    return perform(state, "assign_vehicle", "assignment", "AS", content)


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["assignment"])))
def find_assignment(state: State, trip: Trip, vehicle: Vehicle) -> Any:
    """Tells whether a vehicle was given to a trip."""
    return probe(state, "assign_vehicle", trip=trip, vehicle=vehicle)


@tool(
    reads=(_YARD, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["defect"], invariants=(echoes("vehicle"), echoes("urgency"))
    ),
)
def report_defect(
    state: State,
    vehicle: Vehicle,
    urgency: Annotated[Literal["routine", "urgent"], "How urgent it is."],
) -> Any:
    """Reports a defect to the workshop of a vehicle, which makes an appointment."""
    place = require(state["workshops"].get(vehicle), _unknown_vehicle(vehicle))
    days = 1 if urgency == "urgent" else place["days"]
    content = {"vehicle": vehicle, "urgency": urgency, "workshop": place["workshop"]}
    content["appointment"] = days_after(state["today"], days)
    return perform(state, "report_defect", "ticket", "DF", content)


TOOLSET = toolset(
    Domain.FLEET,
    STATE_SCHEMA,
    (
        telematics_charge,
        charger_charge,
        metered_charge,
        trip_sheet,
        route_plan,
        odometer_trip,
        energy_needed,
        charge_gap,
        reserve_charger,
        find_charging_slot,
        assign_vehicle,
        find_assignment,
        report_defect,
    ),
)
