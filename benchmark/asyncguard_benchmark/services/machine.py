"""MO: the computer of a vehicle: doors, engine, brake, fuel, tyres, climate, faults, navigation and logbook.

The machine stands where it is and time does not pass: whatever changes, a call has changed it.
"""

from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.content_ids import content_id
from asyncguard_benchmark.services.declarations import State, amount, choice, text, whole
from asyncguard_benchmark.services.machine_state import (
    BLOWERS,
    BRAKE,
    CLIMATE,
    DOORS,
    ENGINE,
    FAULTS,
    FUEL,
    GEARS,
    LOGBOOK,
    MANUAL,
    MAP,
    PARTS,
    ROUTE,
    STATE_SCHEMA,
    TYRES,
    entry,
    litres_for,
    range_km,
    require_parked,
    require_running,
    require_stopped,
)
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.service_tools import reader, setter, writer


def _read_dashboard(state: State) -> Any:
    fuel, engine = state["fuel"], state["engine"]
    return {
        "fuel_l": fuel["litres"],
        "room_l": round(fuel["tank"] - fuel["litres"], 1),
        "range_km": range_km(state),
        "odometer_km": state["odometer"],
        "volts": engine["volts"],
        "gear": engine["gear"],
        "hand_brake": state["brake"],
    }


def _door_report(state: State) -> Any:
    doors = sorted(state["doors"].items())
    return {
        "ajar": [name for name, door in doors if not door["shut"]],
        "unlocked": [name for name, door in doors if door["shut"] and not door["locked"]],
        "locked": [name for name, door in doors if door["locked"]],
    }


def _shut_doors(state: State, doors: list[str]) -> Any:
    for door in doors:
        entry(state, "doors", door, "door")["shut"] = True
    return {"shut": doors}


def _lock_doors(state: State, doors: list[str]) -> Any:
    for door in doors:
        if not entry(state, "doors", door, "door")["shut"]:
            raise ToolFailure(f"The door {door} is ajar.")
        state["doors"][door]["locked"] = True
    return {"locked": doors}


def _unlock_doors(state: State, doors: list[str]) -> Any:
    require_parked(state)
    for door in doors:
        entry(state, "doors", door, "door")["locked"] = False
    return {"unlocked": doors}


def _start_engine(state: State) -> Any:
    require_stopped(state)
    require_parked(state)
    ajar = _door_report(state)["ajar"]
    if ajar:
        raise ToolFailure(f"Ajar: {', '.join(ajar)}.")
    state["engine"]["running"] = True
    return {"running": True, "oil_c": state["engine"]["oil_c"], "codes": sorted(state["faults"])}


def _stop_engine(state: State) -> Any:
    require_running(state)
    require_parked(state)
    state["engine"].update(running=False, cruise=None)
    return {"running": False, "range_km": range_km(state)}


def _select_gear(state: State, gear: str) -> Any:
    require_running(state)
    state["engine"]["gear"] = gear
    if gear != "drive":
        state["engine"]["cruise"] = None
    return {"gear": gear}


def _hand_brake(state: State, action: str) -> Any:
    if action == "release":
        require_running(state)
    state["brake"] = "applied" if action == "apply" else "released"
    return {"hand_brake": state["brake"]}


def _set_cruise(state: State, km_h: int) -> Any:
    if state["engine"]["gear"] != "drive":
        raise ToolFailure(f"The gear must be drive, not {state['engine']['gear']}.")
    state["engine"]["cruise"] = km_h
    return {"km_h": km_h}


def _refuel(state: State, litres: float) -> Any:
    require_stopped(state)
    fuel = state["fuel"]
    if litres > round(fuel["tank"] - fuel["litres"], 1):
        raise ToolFailure(
            f"The tank has room for {round(fuel['tank'] - fuel['litres'], 1)} litres only."
        )
    fuel["litres"] = round(fuel["litres"] + litres, 1)
    return {"fuel_l": fuel["litres"], "range_km": range_km(state)}


def _tyre_report(state: State) -> Any:
    tyres = sorted(state["tyres"].items())
    return {
        "wheels": [
            {"wheel": name, "kpa": tyre["kpa"], "wanted_kpa": tyre["wanted"]}
            for name, tyre in tyres
        ]
    }


def _inflate(state: State, wheel: str, kpa: int) -> Any:
    tyre = entry(state, "tyres", wheel, "wheel")
    if state["brake"] != "applied":
        raise ToolFailure("The hand brake must be applied.")
    tyre["kpa"] = kpa
    return {"wheel": wheel, "kpa": kpa}


def _cabin_reading(state: State) -> Any:
    cabin = state["cabin"]
    return {
        "inside_c": cabin["inside"],
        "outside_c": cabin["outside"],
        "comfort_c": cabin["comfort"],
        "fogged": cabin["fogged"],
    }


def _set_climate(state: State, celsius: float, fan: int, blower: str) -> Any:
    require_running(state)
    state["climate"] = {"celsius": celsius, "fan": fan, "blower": blower}
    return {"celsius": celsius, "fan": fan, "blower": blower}


def _fault_memory(state: State) -> Any:
    return {"faults": [{"code": code, **fault} for code, fault in sorted(state["faults"].items())]}


def _manual_entry(state: State, code: str) -> Any:
    return {"code": code, **entry(state, "manual", code, "page on code")}


def _clear_fault(state: State, code: str) -> Any:
    require_stopped(state)
    fault = entry(state, "faults", code, "stored fault")
    del state["faults"][code]
    return {"cleared": code, "component": fault["component"], "remaining": sorted(state["faults"])}


def _order_part(state: State, part: str, place: str) -> Any:
    where = entry(state, "places", place, "place")
    if where["kind"] != "workshop":
        raise ToolFailure(f"{where['name']} is no workshop.")
    number = content_id("W", ("part", part, place), state["parts_ordered"])
    state["parts_ordered"][number] = {"part": part, "place": place}
    return {"order": number, "collect_at": where["name"]}


def _places_near(state: State, kind: str) -> Any:
    places = [
        {"place": key, "name": place["name"], "km": place["km"]}
        for key, place in state["places"].items()
        if place["kind"] == kind
    ]
    return {"places": sorted(places, key=lambda place: (place["name"], place["place"]))}


def _place_sheet(state: State, place: str) -> Any:
    sheet = entry(state, "places", place, "place")
    return {
        "place": place,
        **{key: sheet[key] for key in ("opens", "closes", "litre_price", "phone")},
    }


def _trip_forecast(state: State, place: str) -> Any:
    where = entry(state, "places", place, "place")
    return {
        "place": place,
        "minutes": where["minutes"],
        "litres_out": litres_for(state, where["km"]),
        "litres_there_and_back": litres_for(state, 2 * where["km"]),
    }


def _guide_to(state: State, place: str) -> Any:
    where = entry(state, "places", place, "place")
    state["route"] = place
    return {"destination": where["name"], "km": where["km"], "minutes": where["minutes"]}


def _end_guidance(state: State) -> Any:
    if state["route"] is None:
        raise ToolFailure("No destination is set.")
    place, state["route"] = state["route"], None
    return {"was": place, "name": state["places"][place]["name"]}


def _write_log(state: State, remark: str) -> Any:
    state["logbook"].append(remark)
    return {"entries": len(state["logbook"])}


def _read_log(state: State) -> Any:
    return {"entries": list(state["logbook"])}


_DOOR_LIST = {
    "type": "array",
    "items": text("Name of a door."),
    "minItems": 1,
    "uniqueItems": True,
    "description": "The doors, in order of their names.",
}
_PLACE = text("Id of a place on the map, as PL-44.")
_CODE = text("A fault code, as F-207.")
_KINDS = ("fuel", "workshop", "tyres", "depot", "parking")

TOOLSET = toolset(
    Category.MACHINE_OPERATION,
    STATE_SCHEMA,
    (
        reader(
            "read_dashboard",
            "Shows litres, distance that they last, mileage, voltage, gear and brake.",
            _read_dashboard,
            (FUEL, ENGINE, BRAKE),
        ),
        reader(
            "door_report",
            "Sorts the doors into ajar, unlocked and locked, by name.",
            _door_report,
            (DOORS,),
        ),
        setter("shut_doors", "Pulls doors to.", _shut_doors, (DOORS,), (DOORS,), doors=_DOOR_LIST),
        setter(
            "lock_doors",
            "Bolts doors that are not ajar.",
            _lock_doors,
            (DOORS,),
            (DOORS,),
            doors=_DOOR_LIST,
        ),
        setter(
            "unlock_doors",
            "Unbolts doors; the gear must be park.",
            _unlock_doors,
            (DOORS, ENGINE),
            (DOORS,),
            doors=_DOOR_LIST,
        ),
        writer(
            "start_engine",
            "Ignition on, in park and with no door ajar; shows oil temperature and fault codes.",
            _start_engine,
            (DOORS, ENGINE, FAULTS),
            (ENGINE,),
        ),
        writer(
            "stop_engine",
            "Ignition off; the gear must be park.",
            _stop_engine,
            (ENGINE, FUEL),
            (ENGINE,),
        ),
        setter(
            "select_gear",
            "Changes gear; needs a running engine.",
            _select_gear,
            (ENGINE,),
            (ENGINE,),
            gear=choice("Lever position.", GEARS),
        ),
        setter(
            "hand_brake",
            "Moves the brake lever; releasing it needs a running engine.",
            _hand_brake,
            (ENGINE,),
            (BRAKE,),
            action=choice("What to do with it.", ("apply", "release")),
        ),
        setter(
            "set_cruise",
            "Keeps a steady speed; the gear must be drive.",
            _set_cruise,
            (ENGINE,),
            (ENGINE,),
            km_h=whole("Kilometres per hour."),
        ),
        writer(
            "refuel",
            "Pours fuel into the tank; the engine must be off.",
            _refuel,
            (ENGINE, FUEL),
            (FUEL,),
            litres=amount("Litres, to a tenth."),
        ),
        reader(
            "tyre_report",
            "Lists actual and prescribed pressures by name of wheel.",
            _tyre_report,
            (TYRES,),
        ),
        setter(
            "inflate",
            "Brings a tyre to a pressure; the brake must be applied.",
            _inflate,
            (BRAKE,),
            (TYRES,),
            wheel=text("Name of the wheel."),
            kpa=whole("Kilopascals."),
        ),
        reader(
            "cabin_reading",
            "Shows thermometers, the driver's preference and fogging.",
            _cabin_reading,
            (CLIMATE,),
        ),
        setter(
            "set_climate",
            "Sets heating and ventilation; needs a running engine.",
            _set_climate,
            (ENGINE,),
            (CLIMATE,),
            celsius={"type": "number", "description": "Degrees Celsius."},
            fan={"type": "integer", "minimum": 0, "maximum": 7, "description": "Strength, 0 to 7."},
            blower=choice("What the air is for.", BLOWERS),
        ),
        reader(
            "fault_memory",
            "Lists fault codes with component and severity.",
            _fault_memory,
            (FAULTS,),
        ),
        reader(
            "manual_entry",
            "Shows what the handbook says about a fault code.",
            _manual_entry,
            (MANUAL,),
            code=_CODE,
        ),
        writer(
            "clear_fault",
            "Deletes a fault code; the engine must be off.",
            _clear_fault,
            (ENGINE, FAULTS),
            (FAULTS,),
            code=_CODE,
        ),
        writer(
            "order_part",
            "Orders a spare part to a workshop for collection.",
            _order_part,
            (MAP, PARTS),
            (PARTS,),
            part=text("Number of the part."),
            place=_PLACE,
        ),
        reader(
            "places_near",
            "Lists places of a kind by name, with kilometres.",
            _places_near,
            (MAP,),
            kind=choice("Which kind.", _KINDS),
        ),
        reader(
            "place_sheet",
            "Shows opening hours, euros per litre (0 if none is sold) and phone number of a place.",
            _place_sheet,
            (MAP,),
            place=_PLACE,
        ),
        reader(
            "trip_forecast",
            "Tells minutes and consumption of a drive.",
            _trip_forecast,
            (MAP,),
            place=_PLACE,
        ),
        setter(
            "guide_to", "Makes a place the destination.", _guide_to, (MAP,), (ROUTE,), place=_PLACE
        ),
        writer(
            "end_guidance",
            "Forgets the destination and tells which it was.",
            _end_guidance,
            (ROUTE,),
            (ROUTE,),
        ),
        writer(
            "write_log",
            "Adds a remark to the logbook.",
            _write_log,
            (LOGBOOK,),
            (LOGBOOK,),
            remark=text("The remark, word for word."),
        ),
        reader(
            "read_log", "Shows the remarks in the logbook, oldest first.", _read_log, (LOGBOOK,)
        ),
    ),
)
