"""FL: the motor pool of a company that drives on electricity: charge, chargers, trips and defects.

A charge is told by the vehicle, by the charger that it last stood at, which counts watt-hours, and by the meters of its
packs; a trip by its sheet, by the route planner, which counts metres, and by the odometer.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.declarations import Remedies, Tool, amount, choice, text
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.service_tools import reader, writer
from asyncguard_benchmark.services.state_shapes import record
from asyncguard_benchmark.suites.hazards.domains import fleet_service as service
from asyncguard_benchmark.suites.hazards.domains.effect_log import probed
from asyncguard_benchmark.suites.hazards.domains.questions import Question
from asyncguard_benchmark.suites.hazards.domains.result_fields import (
    code,
    day,
    one_of,
    quantity,
    several,
)
from asyncguard_benchmark.suites.hazards.domains.result_rules import adds_up, as_number, echoes

_TELEMATICS = "fleet:{task_id}:telematics"
_CHARGERS = "fleet:{task_id}:chargers"
_METERS = "fleet:{task_id}:meters"
_SHEETS = "fleet:{task_id}:sheets"
_PLANS = "fleet:{task_id}:plans"
_ODOMETERS = "fleet:{task_id}:odometers"
_YARD = "fleet:{task_id}:yard"
_EFFECTS = "fleet:{task_id}:effects"

_CHARGES = Question(
    askable={
        "telematics_charge": ("vehicle",),
        "charger_charge": ("unit",),
        "metered_charge": ("car",),
    },
    trusted="metered_charge",
)
_TRIPS = Question(
    askable={"trip_sheet": ("trip",), "route_plan": ("journey",), "odometer_trip": ("run",)},
    trusted="odometer_trip",
)


def _numbers(result: Any, *names: str) -> list[Any]:
    return [as_number(result.get(name)) if isinstance(result, Mapping) else None for name in names]


def _is_distance_times_rate(_arguments: Mapping[str, Any], result: Any) -> str | None:
    distance, consumption, needed = _numbers(result, "distance", "consumption", "needed")
    if distance is None or consumption is None or needed is None:
        return None
    fits = exact(rounded(distance * consumption / 100, 2)) == needed
    return None if fits else "needed is not the consumption over the distance"


def _is_the_difference(_arguments: Mapping[str, Any], result: Any) -> str | None:
    charge, needed, gap = _numbers(result, "charge", "needed", "gap")
    if charge is None or needed is None or gap is None:
        return None
    if exact(rounded(abs(charge - needed), 2)) != gap:
        return "gap is not the difference of charge and needed"
    return (
        None
        if (result.get("verdict") == "enough") == (charge >= needed)
        else "verdict does not fit the numbers"
    )


_STATUSES = ("ready", "charging", "low")
_STATUS_NAMES = {"available": "ready", "plugged in": "charging", "nearly empty": "low"}
_VERDICTS = ("enough", "short")
_VERDICT_NAMES = {"sufficient": "enough", "insufficient": "short"}
_WORKSHOPS = ("north", "harbour", "mobile")
_WORKSHOP_NAMES = {"north yard": "north", "harbor": "harbour", "on the road": "mobile"}
_URGENCIES = ("routine", "urgent")
_URGENCY_NAMES = {"normal": "routine", "at once": "urgent"}

_WORDS = {"type": "string", "minLength": 2}
_VEHICLE = code("Number of the vehicle.", "V[0-9]{3}", ("unit", "car"))
_TRIP = code("Number of the trip.", "TR-[0-9]{4}", ("journey", "trip_no"))
_DISTANCE = quantity("How far it is.", 1, 900, unit="km", aliases=("km", "length"))
_CONSUMPTION = quantity("What it takes for 100 km.", 6, 60, unit="kWh/100km", aliases=("usage",))
_CHARGE = quantity("Energy in the battery.", 0.5, 150, unit="kWh", aliases=("energy", "kwh"))
_NEEDED = quantity("Energy that is needed.", 0.1, 300, unit="kWh", aliases=("required", "demand"))
_CHARGE_RESULT = record(
    vehicle=_VEHICLE,
    charge=_CHARGE,
    status=one_of("What the vehicle is up to.", _STATUSES, _STATUS_NAMES),
    consumption=_CONSUMPTION,
    read_on=day("Day of the reading.", ("as_of", "reading_date")),
    packs=several(
        "Energy of every pack.",
        record(
            pack={**_WORDS, "description": "The pack."},
            energy=quantity("Energy in the pack.", 0, 1_000_000, unit="kWh"),
        ),
    ),
)
_TRIP_RESULT = record(
    trip=_TRIP,
    vehicle=_VEHICLE,
    driver=code("Number of the driver.", "D-[0-9]{3}", ("driver_id",)),
    due_back=day("Day on which it ends.", ("ends_on", "return_date")),
    distance=_DISTANCE,
    legs=several(
        "Its legs.",
        record(
            to={**_WORDS, "description": "Where the leg ends."},
            km=quantity("Length of the leg.", 0.1, 1_000_000, unit="km"),
        ),
    ),
)
_NEEDED_RESULT = record(distance=_DISTANCE, consumption=_CONSUMPTION, needed=_NEEDED)
_GAP_RESULT = record(
    charge=_CHARGE,
    needed=_NEEDED,
    gap=quantity("How far they are apart.", 0, 300, unit="kWh", aliases=("difference",)),
    verdict=one_of("Whether the charge is enough.", _VERDICTS, _VERDICT_NAMES),
)
_SLOT_RESULT = record(
    slot=code("Number of the reservation.", "SL-[0-9]{5}", ("reservation",)),
    vehicle=_VEHICLE,
    energy=quantity("Energy to be charged.", 0.1, 300, unit="kWh", aliases=("kwh", "amount")),
    charger=code("The charger.", "CH-[0-9]{2}", ("bay", "station")),
    ready_on=day("Day on which it is done.", ("done_on", "finished")),
)
_ASSIGNMENT_RESULT = record(
    assignment=code("Number of the assignment.", "AS-[0-9]{5}", ("assignment_no",)),
    trip=_TRIP,
    vehicle=_VEHICLE,
    key=code("Hook of its key.", "[A-F][0-9]{2}", ("hook",)),
    return_by=day("Last day to bring it back.", ("back_by",)),
)
_DEFECT_RESULT = record(
    ticket=code("Number of the ticket.", "DF-[0-9]{5}", ("case",)),
    vehicle=_VEHICLE,
    urgency=one_of("How urgent it is.", _URGENCIES, _URGENCY_NAMES),
    workshop=one_of("Who repairs it.", _WORKSHOPS, _WORKSHOP_NAMES),
    appointment=day("Day of the repair.", ("repair_date", "booked_for")),
)

_VEHICLE_ARGUMENT = text("Number of the vehicle, as V123.")
_TRIP_ARGUMENT = text("Number of the trip, as TR-1234.")
_KWH = {**amount("Energy."), "unit": "kWh"}


def _charges(name: str, description: str, run: Any, resource: str) -> Tool:
    (vehicle,) = _CHARGES.askable[name]
    remedies = Remedies(
        returns=_CHARGE_RESULT,
        fallbacks=_CHARGES.others(name),
        sources=_CHARGES.others(name),
        compared=("/charge", "/status", "/consumption"),
        dated="/read_on",
        verifier=None if name == "metered_charge" else _CHARGES.instead_of(name, "metered_charge"),
        invariants=(adds_up("charge", "packs", "energy"), echoes(vehicle, "vehicle")),
    )
    return replace(
        reader(name, description, run, (resource,), **{vehicle: _VEHICLE_ARGUMENT}),
        remedies=remedies,
    )


def _trips(name: str, description: str, run: Any, resource: str) -> Tool:
    (trip,) = _TRIPS.askable[name]
    remedies = Remedies(
        returns=_TRIP_RESULT,
        fallbacks=_TRIPS.others(name),
        sources=_TRIPS.others(name),
        compared=("/distance", "/vehicle", "/due_back"),
        verifier=None if name == "odometer_trip" else _TRIPS.instead_of(name, "odometer_trip"),
        invariants=(adds_up("distance", "legs", "km"), echoes(trip, "trip")),
    )
    return replace(
        reader(name, description, run, (resource,), **{trip: _TRIP_ARGUMENT}), remedies=remedies
    )


_CALCULATING = (
    replace(
        reader(
            "energy_needed",
            "Works out the energy that a distance takes.",
            service.energy_needed,
            (),
            distance={**amount("How far it is."), "unit": "km"},
            consumption={**amount("What the vehicle takes for 100 km."), "unit": "kWh/100km"},
        ),
        remedies=Remedies(
            returns=_NEEDED_RESULT,
            invariants=(
                _is_distance_times_rate,
                echoes("distance", "distance"),
                echoes("consumption", "consumption"),
            ),
        ),
    ),
    replace(
        reader(
            "charge_gap",
            "Compares the energy that is there with the energy that is needed.",
            service.charge_gap,
            (),
            charge=_KWH,
            needed=_KWH,
        ),
        remedies=Remedies(
            returns=_GAP_RESULT,
            invariants=(_is_the_difference, echoes("charge", "charge"), echoes("needed", "needed")),
        ),
    ),
)
_ACTING = (
    replace(
        writer(
            "reserve_charger",
            "Reserves a charger for a vehicle; reserves it once more when called again.",
            service.reserve_charger,
            (_YARD, _EFFECTS),
            (_EFFECTS,),
            vehicle=_VEHICLE_ARGUMENT,
            energy=_KWH,
        ),
        remedies=Remedies(
            returns=_SLOT_RESULT,
            probe="find_charging_slot",
            invariants=(echoes("vehicle", "vehicle"), echoes("energy", "energy")),
        ),
    ),
    replace(
        reader(
            "find_charging_slot",
            "Tells whether a charger was reserved for a vehicle.",
            service.find_charging_slot,
            (_EFFECTS,),
            vehicle=_VEHICLE_ARGUMENT,
        ),
        remedies=Remedies(returns=probed(_SLOT_RESULT)),
    ),
    replace(
        writer(
            "assign_vehicle",
            "Gives a vehicle to a trip; gives it once more when called again.",
            service.assign_vehicle,
            (_YARD, _SHEETS, _EFFECTS),
            (_EFFECTS,),
            trip=_TRIP_ARGUMENT,
            vehicle=_VEHICLE_ARGUMENT,
        ),
        remedies=Remedies(
            returns=_ASSIGNMENT_RESULT,
            probe="find_assignment",
            invariants=(echoes("trip", "trip"), echoes("vehicle", "vehicle")),
        ),
    ),
    replace(
        reader(
            "find_assignment",
            "Tells whether a vehicle was given to a trip.",
            service.find_assignment,
            (_EFFECTS,),
            trip=_TRIP_ARGUMENT,
            vehicle=_VEHICLE_ARGUMENT,
        ),
        remedies=Remedies(returns=probed(_ASSIGNMENT_RESULT)),
    ),
    replace(
        writer(
            "report_defect",
            "Reports a defect to the workshop of a vehicle, which makes an appointment.",
            service.report_defect,
            (_YARD, _EFFECTS),
            (_EFFECTS,),
            vehicle=_VEHICLE_ARGUMENT,
            urgency=choice("How urgent it is.", _URGENCIES),
        ),
        remedies=Remedies(
            returns=_DEFECT_RESULT,
            invariants=(echoes("vehicle", "vehicle"), echoes("urgency", "urgency")),
        ),
    ),
)

TOOLSET = toolset(
    Domain.FLEET,
    service.STATE_SCHEMA,
    (
        _charges(
            "telematics_charge",
            "Tells a charge as the vehicle sends it.",
            service.telematics_charge,
            _TELEMATICS,
        ),
        _charges(
            "charger_charge",
            "Tells a charge as the last charger saw it.",
            service.charger_charge,
            _CHARGERS,
        ),
        _charges(
            "metered_charge",
            "Works a vehicle's charge out from the meters.",
            service.metered_charge,
            _METERS,
        ),
        _trips(
            "trip_sheet",
            "Tells vehicle, driver and length of a trip by its sheet.",
            service.trip_sheet,
            _SHEETS,
        ),
        _trips(
            "route_plan",
            "Tells vehicle, driver and length of a trip by the planner.",
            service.route_plan,
            _PLANS,
        ),
        _trips(
            "odometer_trip",
            "Works a trip's length out from the odometer.",
            service.odometer_trip,
            _ODOMETERS,
        ),
        *_CALCULATING,
        *_ACTING,
    ),
)
