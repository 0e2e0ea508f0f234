"""Operations of the motor pool's tools on its state."""

from collections.abc import Mapping
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.declarations import State
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.state_shapes import COUNT, NUMBER, WORD, record, rows, table
from asyncguard_benchmark.suites.hazards.domains.dates import days_after
from asyncguard_benchmark.suites.hazards.domains.effect_log import EFFECTS_SCHEMA, perform, probe

_TRIP = {"vehicle": WORD, "driver": WORD, "due_back": WORD}
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


def _total(parts: list[Any], name: str) -> Any:
    return rounded(sum((exact(part[name]) for part in parts), exact(0)), 2)


def _charge(vehicle: str, known: tuple[str, str, Any], packs: list[Any], charge: Any) -> Any:
    status, read_on, consumption = known
    said = {"vehicle": vehicle, "charge": charge, "status": status, "consumption": consumption}
    return {**said, "read_on": read_on, "packs": packs}


def _unknown_vehicle(vehicle: str) -> ToolFailure:
    return ToolFailure(f"Nothing is known of vehicle {vehicle!r}.")


def telematics_charge(state: State, vehicle: str) -> Any:
    """Return the charge as the vehicle sends it."""
    row = state["telematics"].get(vehicle)
    if row is None:
        raise _unknown_vehicle(vehicle)
    return _charge(
        vehicle, (row["status"], row["read_on"], row["consumption"]), row["packs"], row["kwh"]
    )


def charger_charge(state: State, unit: str) -> Any:
    """Return the charge as the charger saw it, in kilowatt-hours."""
    for row in state["chargers"]:
        if row["unit"] == unit:
            packs = [
                {"pack": pack, "energy": _thousandth(wh)} for pack, wh in row["packs_wh"].items()
            ]
            known = (row["lamp"], row["seen_on"], rounded(exact(row["wh_per_km"]) / 10, 2))
            return _charge(unit, known, packs, _thousandth(row["wh"]))
    raise _unknown_vehicle(unit)


def _thousandth(count: int) -> Any:
    return rounded(exact(count) / 1000, 2)


def metered_charge(state: State, car: str) -> Any:
    """Return the charge, worked out pack by pack from what was loaded and used."""
    row = state["meters"].get(car)
    if row is None:
        raise _unknown_vehicle(car)
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
    return {
        "trip": trip,
        **{name: known[name] for name in _TRIP},
        "distance": distance,
        "legs": legs,
    }


def _unknown_trip(trip: str) -> ToolFailure:
    return ToolFailure(f"There is no trip {trip!r}.")


def trip_sheet(state: State, trip: str) -> Any:
    """Return the trip by its sheet."""
    row = state["sheets"].get(trip)
    if row is None:
        raise _unknown_trip(trip)
    return _trip(trip, row, row["legs"], row["total"])


def route_plan(state: State, journey: str) -> Any:
    """Return the trip by the route planner, in kilometres."""
    for row in state["plans"]:
        if row["journey"] == journey:
            legs = [
                {"to": stage["to"], "km": _thousandth(stage["metres"])} for stage in row["stages"]
            ]
            return _trip(journey, row, legs, _thousandth(row["metres"]))
    raise _unknown_trip(journey)


def odometer_trip(state: State, run: str) -> Any:
    """Return the trip, worked out from the odometer's readings at its stops."""
    row = state["odometers"].get(run)
    if row is None:
        raise _unknown_trip(run)
    readings = [row["start"], *(stop["reading"] for stop in row["stops"])]
    legs = [
        {"to": stop["at"], "km": rounded(exact(stop["reading"]) - exact(before), 2)}
        for stop, before in zip(row["stops"], readings, strict=False)
    ]
    return _trip(run, row, legs, _total(legs, "km"))


def energy_needed(_state: State, distance: float, consumption: float) -> Any:
    """Return the energy that a distance takes."""
    needed = rounded(exact(distance) * exact(consumption) / 100, 2)
    return {"distance": distance, "consumption": consumption, "needed": needed}


def charge_gap(_state: State, charge: float, needed: float) -> Any:
    """Return the difference between charge and need, and whether the charge is enough."""
    gap = rounded(abs(exact(needed) - exact(charge)), 2)
    verdict = "enough" if charge >= needed else "short"
    return {"charge": charge, "needed": needed, "gap": gap, "verdict": verdict}


def reserve_charger(state: State, vehicle: str, energy: float) -> Any:
    """Reserve the vehicle's bay."""
    if vehicle not in state["bays"]:
        raise _unknown_vehicle(vehicle)
    content = {"vehicle": vehicle, "energy": energy, **state["bays"][vehicle]}
    return perform(state, "reserve_charger", "slot", "SL", content)


def find_charging_slot(state: State, vehicle: str) -> Any:
    """Return whether a charger was reserved for the vehicle."""
    return probe(state, "reserve_charger", vehicle=vehicle)


def assign_vehicle(state: State, trip: str, vehicle: str) -> Any:
    """Give the vehicle to the trip."""
    if vehicle not in state["keys"]:
        raise _unknown_vehicle(vehicle)
    if trip not in state["sheets"]:
        raise _unknown_trip(trip)
    content = {"trip": trip, "vehicle": vehicle, "key": state["keys"][vehicle]}
    content["return_by"] = days_after(state["sheets"][trip]["due_back"], 1)
    return perform(state, "assign_vehicle", "assignment", "AS", content)


def find_assignment(state: State, trip: str, vehicle: str) -> Any:
    """Return whether the vehicle was assigned to the trip."""
    return probe(state, "assign_vehicle", trip=trip, vehicle=vehicle)


def report_defect(state: State, vehicle: str, urgency: str) -> Any:
    """Make an appointment with the vehicle's workshop."""
    if vehicle not in state["workshops"]:
        raise _unknown_vehicle(vehicle)
    place = state["workshops"][vehicle]
    days = 1 if urgency == "urgent" else place["days"]
    content = {"vehicle": vehicle, "urgency": urgency, "workshop": place["workshop"]}
    content["appointment"] = days_after(state["today"], days)
    return perform(state, "report_defect", "ticket", "DF", content)
