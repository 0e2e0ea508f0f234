"""MO: the computer of a vehicle: doors, engine, brake, fuel, tyres, climate, faults, navigation and logbook.

The machine stands where it is and time does not pass: whatever changes, a call has changed it.
"""

from typing import Annotated, Any, Literal

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.arguments import Amount, Count, Distinct, Text, one_of, within
from asyncguard_benchmark.services.content_ids import content_id
from asyncguard_benchmark.services.declarations import Effect, State, tool
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
    litres_for,
    range_km,
    require_parked,
    require_running,
    require_stopped,
)
from asyncguard_benchmark.services.records import entry, fields_of
from asyncguard_benchmark.services.service import toolset

Doors = Annotated[
    Distinct[Annotated[Text, "Name of a door."]], "The doors, in order of their names."
]
Code = Annotated[Text, "A fault code, as F-207."]
Place = Annotated[Text, "Id of a place on the map, as PL-44."]


@tool(reads=(FUEL, ENGINE, BRAKE))
def read_dashboard(state: State) -> Any:
    """Shows litres, distance that they last, mileage, voltage, gear and brake."""
    fuel, engine = state["fuel"], state["engine"]
    return {
        "fuel_l": fuel["litres"],
        "room_l": round(fuel["tank"] - fuel["litres"], 1),
        "range_km": range_km(state),
        "odometer_km": state["odometer"],
        **fields_of(engine, "volts gear"),
        "hand_brake": state["brake"],
    }


@tool(reads=(DOORS,))
def door_report(state: State) -> Any:
    """Sorts the doors into ajar, unlocked and locked, by name."""
    doors = sorted(state["doors"].items())
    return {
        "ajar": [name for name, door in doors if not door["shut"]],
        "unlocked": [name for name, door in doors if door["shut"] and not door["locked"]],
        "locked": [name for name, door in doors if door["locked"]],
    }


@tool(effect=Effect.IDEMPOTENT, reads=(DOORS,), writes=(DOORS,))
def shut_doors(state: State, doors: Doors) -> Any:
    """Pulls doors to."""
    for door in doors:
        entry(state, "doors", door, "door")["shut"] = True
    return {"shut": doors}


@tool(effect=Effect.IDEMPOTENT, reads=(DOORS,), writes=(DOORS,))
def lock_doors(state: State, doors: Doors) -> Any:
    """Bolts doors that are not ajar."""
    for door in doors:
        if not entry(state, "doors", door, "door")["shut"]:
            raise ToolFailure(f"The door {door} is ajar.")
        state["doors"][door]["locked"] = True
    return {"locked": doors}


@tool(effect=Effect.IDEMPOTENT, reads=(DOORS, ENGINE), writes=(DOORS,))
def unlock_doors(state: State, doors: Doors) -> Any:
    """Unbolts doors; the gear must be park."""
    require_parked(state)
    for door in doors:
        entry(state, "doors", door, "door")["locked"] = False
    return {"unlocked": doors}


@tool(reads=(DOORS, ENGINE, FAULTS), writes=(ENGINE,))
def start_engine(state: State) -> Any:
    """Ignition on, in park and with no door ajar; shows oil temperature and fault codes."""
    require_stopped(state)
    require_parked(state)
    ajar = door_report.run(state)["ajar"]
    if ajar:
        raise ToolFailure(f"Ajar: {', '.join(ajar)}.")
    state["engine"]["running"] = True
    return {"running": True, "oil_c": state["engine"]["oil_c"], "codes": sorted(state["faults"])}


@tool(reads=(ENGINE, FUEL), writes=(ENGINE,))
def stop_engine(state: State) -> Any:
    """Ignition off; the gear must be park."""
    require_running(state)
    require_parked(state)
    state["engine"].update(running=False, cruise=None)
    return {"running": False, "range_km": range_km(state)}


@tool(effect=Effect.IDEMPOTENT, reads=(ENGINE,), writes=(ENGINE,))
def select_gear(state: State, gear: Annotated[str, one_of(GEARS), "Lever position."]) -> Any:
    """Changes gear; needs a running engine."""
    require_running(state)
    state["engine"]["gear"] = gear
    if gear != "drive":
        state["engine"]["cruise"] = None
    return {"gear": gear}


@tool(effect=Effect.IDEMPOTENT, reads=(ENGINE,), writes=(BRAKE,))
def hand_brake(
    state: State, action: Annotated[Literal["apply", "release"], "What to do with it."]
) -> Any:
    """Moves the brake lever; releasing it needs a running engine."""
    if action == "release":
        require_running(state)
    state["brake"] = "applied" if action == "apply" else "released"
    return {"hand_brake": state["brake"]}


@tool(effect=Effect.IDEMPOTENT, reads=(ENGINE,), writes=(ENGINE,))
def set_cruise(state: State, km_h: Annotated[Count, "Kilometres per hour."]) -> Any:
    """Keeps a steady speed; the gear must be drive."""
    if state["engine"]["gear"] != "drive":
        raise ToolFailure(f"The gear must be drive, not {state['engine']['gear']}.")
    state["engine"]["cruise"] = km_h
    return {"km_h": km_h}


@tool(reads=(ENGINE, FUEL), writes=(FUEL,))
def refuel(state: State, litres: Annotated[Amount, "Litres, to a tenth."]) -> Any:
    """Pours fuel into the tank; the engine must be off."""
    require_stopped(state)
    fuel = state["fuel"]
    if litres > round(fuel["tank"] - fuel["litres"], 1):
        raise ToolFailure(
            f"The tank has room for {round(fuel['tank'] - fuel['litres'], 1)} litres only."
        )
    fuel["litres"] = round(fuel["litres"] + litres, 1)
    return {"fuel_l": fuel["litres"], "range_km": range_km(state)}


@tool(reads=(TYRES,))
def tyre_report(state: State) -> Any:
    """Lists actual and prescribed pressures by name of wheel."""
    tyres = sorted(state["tyres"].items())
    return {
        "wheels": [
            {"wheel": name, "kpa": tyre["kpa"], "wanted_kpa": tyre["wanted"]}
            for name, tyre in tyres
        ]
    }


@tool(effect=Effect.IDEMPOTENT, reads=(BRAKE,), writes=(TYRES,))
def inflate(
    state: State,
    wheel: Annotated[Text, "Name of the wheel."],
    kpa: Annotated[Count, "Kilopascals."],
) -> Any:
    """Brings a tyre to a pressure; the brake must be applied."""
    tyre = entry(state, "tyres", wheel, "wheel")
    if state["brake"] != "applied":
        raise ToolFailure("The hand brake must be applied.")
    tyre["kpa"] = kpa
    return {"wheel": wheel, "kpa": kpa}


@tool(reads=(CLIMATE,))
def cabin_reading(state: State) -> Any:
    """Shows thermometers, the driver's preference and fogging."""
    cabin = state["cabin"]
    return {
        "inside_c": cabin["inside"],
        "outside_c": cabin["outside"],
        "comfort_c": cabin["comfort"],
        "fogged": cabin["fogged"],
    }


@tool(effect=Effect.IDEMPOTENT, reads=(ENGINE,), writes=(CLIMATE,))
def set_climate(
    state: State,
    celsius: Annotated[float, "Degrees Celsius."],
    fan: Annotated[int, within(0, 7), "Strength, 0 to 7."],
    blower: Annotated[str, one_of(BLOWERS), "What the air is for."],
) -> Any:
    """Sets heating and ventilation; needs a running engine."""
    require_running(state)
    state["climate"] = {"celsius": celsius, "fan": fan, "blower": blower}
    return {"celsius": celsius, "fan": fan, "blower": blower}


@tool(reads=(FAULTS,))
def fault_memory(state: State) -> Any:
    """Lists fault codes with component and severity."""
    return {"faults": [{"code": code, **fault} for code, fault in sorted(state["faults"].items())]}


@tool(reads=(MANUAL,))
def manual_entry(state: State, code: Code) -> Any:
    """Shows what the handbook says about a fault code."""
    return {"code": code, **entry(state, "manual", code, "page on code")}


@tool(reads=(ENGINE, FAULTS), writes=(FAULTS,))
def clear_fault(state: State, code: Code) -> Any:
    """Deletes a fault code; the engine must be off."""
    require_stopped(state)
    fault = entry(state, "faults", code, "stored fault")
    del state["faults"][code]
    return {"cleared": code, "component": fault["component"], "remaining": sorted(state["faults"])}


@tool(reads=(MAP, PARTS), writes=(PARTS,))
def order_part(state: State, part: Annotated[Text, "Number of the part."], place: Place) -> Any:
    """Orders a spare part to a workshop for collection."""
    where = entry(state, "places", place, "place")
    if where["kind"] != "workshop":
        raise ToolFailure(f"{where['name']} is no workshop.")
    number = content_id("W", ("part", part, place), state["parts_ordered"])
    state["parts_ordered"][number] = {"part": part, "place": place}
    return {"order": number, "collect_at": where["name"]}


@tool(reads=(MAP,))
def places_near(
    state: State,
    kind: Annotated[Literal["fuel", "workshop", "tyres", "depot", "parking"], "Which kind."],
) -> Any:
    """Lists places of a kind by name, with kilometres."""
    places = [
        {"place": key, **fields_of(place, "name km")}
        for key, place in state["places"].items()
        if place["kind"] == kind
    ]
    return {"places": sorted(places, key=lambda place: (place["name"], place["place"]))}


@tool(reads=(MAP,))
def place_sheet(state: State, place: Place) -> Any:
    """Shows opening hours, euros per litre (0 if none is sold) and phone number of a place."""
    sheet = entry(state, "places", place, "place")
    return {"place": place, **fields_of(sheet, "opens closes litre_price phone")}


@tool(reads=(MAP,))
def trip_forecast(state: State, place: Place) -> Any:
    """Tells minutes and consumption of a drive."""
    where = entry(state, "places", place, "place")
    return {
        "place": place,
        "minutes": where["minutes"],
        "litres_out": litres_for(state, where["km"]),
        "litres_there_and_back": litres_for(state, 2 * where["km"]),
    }


@tool(effect=Effect.IDEMPOTENT, reads=(MAP,), writes=(ROUTE,))
def guide_to(state: State, place: Place) -> Any:
    """Makes a place the destination."""
    where = entry(state, "places", place, "place")
    state["route"] = place
    return {"destination": where["name"], **fields_of(where, "km minutes")}


@tool(reads=(ROUTE,), writes=(ROUTE,))
def end_guidance(state: State) -> Any:
    """Forgets the destination and tells which it was."""
    if state["route"] is None:
        raise ToolFailure("No destination is set.")
    place, state["route"] = state["route"], None
    return {"was": place, "name": state["places"][place]["name"]}


@tool(reads=(LOGBOOK,), writes=(LOGBOOK,))
def write_log(state: State, remark: Annotated[Text, "The remark, word for word."]) -> Any:
    """Adds a remark to the logbook."""
    state["logbook"].append(remark)
    return {"entries": len(state["logbook"])}


@tool(reads=(LOGBOOK,))
def read_log(state: State) -> Any:
    """Shows the remarks in the logbook, oldest first."""
    return {"entries": list(state["logbook"])}


TOOLSET = toolset(
    Category.MACHINE_OPERATION,
    STATE_SCHEMA,
    (
        read_dashboard,
        door_report,
        shut_doors,
        lock_doors,
        unlock_doors,
        start_engine,
        stop_engine,
        select_gear,
        hand_brake,
        set_cruise,
        refuel,
        tyre_report,
        inflate,
        cabin_reading,
        set_climate,
        fault_memory,
        manual_entry,
        clear_fault,
        order_part,
        places_near,
        place_sheet,
        trip_forecast,
        guide_to,
        end_guidance,
        write_log,
        read_log,
    ),
)
