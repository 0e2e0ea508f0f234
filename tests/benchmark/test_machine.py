"""Rules of a vehicle's computer: the conditions of its actions, and the values that it shows."""

import json
from typing import Any

from asyncguard_benchmark.services.machine import TOOLSET
from asyncguard_benchmark.services.service import Executor
from tests.benchmark.builders import SUB_TASKS


def vehicle(task_id: str) -> Executor:
    """A vehicle with all tools, in the state of a shipped task."""
    return Executor(TOOLSET.tools, SUB_TASKS[task_id].initial_state)


def ask(machine: Executor, name: str, /, **values: Any) -> Any:
    """A call's result, read."""
    return json.loads(machine.call(name, values))


def test_an_open_door_keeps_the_engine_off() -> None:
    """All doors shut is enough, locked they need not be."""
    van = vehicle("mo-16")
    assert ask(van, "start_engine") == {"error": "Ajar: rear."}
    ask(van, "shut_doors", doors=["rear"])
    assert ask(van, "start_engine")["running"] is True
    assert "off" in ask(van, "start_engine")["error"]


def test_only_a_shut_door_can_be_locked() -> None:
    """One that is ajar keeps all named ones unlocked; unknown doors are errors."""
    library = vehicle("mo-09")
    assert "ramp" in ask(library, "lock_doors", doors=["back", "ramp"])["error"]
    assert ask(library, "door_report")["locked"] == ["cab"]
    ask(library, "shut_doors", doors=["ramp"])
    ask(library, "lock_doors", doors=["back", "ramp"])
    assert ask(library, "door_report") == {
        "ajar": ["awning"],
        "unlocked": ["side"],
        "locked": ["back", "cab", "ramp"],
    }
    assert "no door" in ask(library, "shut_doors", doors=["awning", "attic"])["error"]
    assert ask(library, "door_report")["ajar"] == ["awning"]


def test_doors_are_unlocked_in_park_only() -> None:
    """The taxi of mo-14 is in drive."""
    taxi = vehicle("mo-14")
    assert "park" in ask(taxi, "unlock_doors", doors=["boot"])["error"]
    ask(taxi, "select_gear", gear="park")
    assert ask(taxi, "unlock_doors", doors=["boot"]) == {"unlocked": ["boot"]}


def test_gear_engine_and_cruise_depend_on_each_other() -> None:
    """Gears need the engine, cruise needs drive, off needs park, and leaving drive ends cruise."""
    car = vehicle("mo-08")
    assert "running" in ask(car, "select_gear", gear="drive")["error"]
    ask(car, "start_engine")
    assert "drive" in ask(car, "set_cruise", km_h=45)["error"]
    ask(car, "select_gear", gear="drive")
    assert ask(car, "set_cruise", km_h=45) == {"km_h": 45}
    assert "park" in ask(car, "stop_engine")["error"]
    ask(car, "select_gear", gear="park")
    assert car.public_state()["engine"]["cruise"] is None
    assert ask(car, "stop_engine")["running"] is False


def test_fuel_goes_in_with_the_engine_off_and_never_over_the_brim() -> None:
    """The room that the dashboard shows is exactly what fits."""
    engine = vehicle("mo-13")
    assert ask(engine, "read_dashboard")["room_l"] == 52.7
    assert "52.7" in ask(engine, "refuel", litres=52.8)["error"]
    assert ask(engine, "refuel", litres=52.7) == {"fuel_l": 140, "range_km": 341}
    assert "room" in ask(engine, "refuel", litres=0.1)["error"]
    assert "off" in ask(vehicle("mo-14"), "refuel", litres=30)["error"]


def test_forecasts_are_in_tenths_of_a_litre() -> None:
    """41.5 km at 32 litres per 100 km, there and there and back."""
    forecast = ask(vehicle("mo-06"), "trip_forecast", place="PL-44")
    assert forecast == {
        "place": "PL-44",
        "minutes": 50,
        "litres_out": 13.3,
        "litres_there_and_back": 26.6,
    }


def test_tyres_are_filled_with_the_brake_on_which_needs_the_engine_to_come_off() -> None:
    """Applying it is possible at any time."""
    tractor = vehicle("mo-12")
    assert "brake" in ask(tractor, "inflate", wheel="front left", kpa=160)["error"]
    ask(tractor, "hand_brake", action="apply")
    assert "no wheel" in ask(tractor, "inflate", wheel="front", kpa=160)["error"]
    assert ask(tractor, "inflate", wheel="front left", kpa=160)["kpa"] == 160
    assert ask(tractor, "tyre_report")["wheels"][0] == {
        "wheel": "front left",
        "kpa": 160,
        "wanted_kpa": 180,
    }
    assert "running" in ask(vehicle("mo-18"), "hand_brake", action="release")["error"]


def test_fault_codes_are_cleared_with_the_engine_off_and_only_once() -> None:
    """The engine shows those that are left; the handbook keeps its pages."""
    lorry = vehicle("mo-17")
    assert ask(lorry, "clear_fault", code="F-505")["remaining"] == ["F-500", "F-550"]
    assert "stored" in ask(lorry, "clear_fault", code="F-505")["error"]
    assert ask(lorry, "manual_entry", code="F-505")["remedy"] == "adjust"
    assert "F-500" in ask(lorry, "start_engine")["codes"]
    assert "off" in ask(lorry, "clear_fault", code="F-500")["error"]


def test_parts_go_to_workshops_and_an_extra_order_shifts_no_number() -> None:
    """Numbers come from part and place; the same part twice has two."""
    sweeper = vehicle("mo-11")
    assert "no workshop" in ask(sweeper, "order_part", part="GB-771", place="PL-12")["error"]
    number = ask(sweeper, "order_part", part="GB-771", place="PL-21")["order"]
    other = vehicle("mo-11")
    ask(other, "order_part", part="BR-20", place="PL-21")
    assert ask(other, "order_part", part="GB-771", place="PL-21")["order"] == number
    assert ask(other, "order_part", part="GB-771", place="PL-21")["order"] != number


def test_a_destination_is_forgotten_once() -> None:
    """A destination can be set again, and places of a kind are listed by name."""
    van = vehicle("mo-10")
    assert ask(van, "end_guidance") == {"was": "PL-7", "name": "Lido South"}
    assert "No destination" in ask(van, "end_guidance")["error"]
    assert [place["place"] for place in ask(van, "places_near", kind="parking")["places"]] == [
        "PL-6",
        "PL-7",
    ]
    assert ask(van, "guide_to", place="PL-6")["km"] == 17.2
    assert ask(van, "end_guidance")["was"] == "PL-6"


def test_heating_needs_the_engine_and_the_logbook_grows() -> None:
    """Climate is refused in a cold van; remarks keep their order."""
    van = vehicle("mo-16")
    assert "running" in ask(van, "set_climate", celsius=19.5, fan=4, blower="heat")["error"]
    assert "error" in ask(van, "set_climate", celsius=19.5, fan=8, blower="heat")
    assert ask(van, "write_log", remark="Rear flap bent.") == {"entries": 1}
    ask(van, "write_log", remark="Rear flap mended.")
    assert ask(van, "read_log") == {"entries": ["Rear flap bent.", "Rear flap mended."]}
