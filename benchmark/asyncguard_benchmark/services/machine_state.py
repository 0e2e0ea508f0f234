"""State of a machine's computer, and the conditions under which it acts."""

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.declarations import State
from asyncguard_benchmark.services.state_shapes import (
    COUNT,
    FLAG,
    NUMBER,
    WORD,
    optional,
    record,
    rows,
    table,
)

DOORS = "machine:{task_id}:doors"
ENGINE = "machine:{task_id}:engine"
BRAKE = "machine:{task_id}:brake"
FUEL = "machine:{task_id}:fuel"
TYRES = "machine:{task_id}:tyres"
CLIMATE = "machine:{task_id}:climate"
ROUTE = "machine:{task_id}:route"
FAULTS = "machine:{task_id}:faults"
PARTS = "machine:{task_id}:parts"
LOGBOOK = "machine:{task_id}:logbook"
MAP = "machine:{task_id}:map"
MANUAL = "machine:{task_id}:manual"

GEARS = ("park", "reverse", "neutral", "drive", "low")
BLOWERS = ("cool", "heat", "defrost", "vent", "off")

STATE_SCHEMA = record(
    doors=table(record(shut=FLAG, locked=FLAG)),
    engine=record(
        running=FLAG,
        gear={"enum": list(GEARS)},
        cruise=optional(NUMBER),
        volts=NUMBER,
        oil_c=NUMBER,
    ),
    brake={"enum": ["applied", "released"]},
    fuel=record(litres=NUMBER, tank=NUMBER, per_100_km=NUMBER),
    odometer=COUNT,
    tyres=table(record(kpa=COUNT, wanted=COUNT)),
    climate=record(celsius=NUMBER, fan=COUNT, blower={"enum": list(BLOWERS)}),
    cabin=record(inside=NUMBER, outside=NUMBER, comfort=NUMBER, fogged=FLAG),
    route=optional(WORD),
    places=table(
        record(
            name=WORD,
            kind=WORD,
            km=NUMBER,
            minutes=COUNT,
            opens=WORD,
            closes=WORD,
            litre_price=NUMBER,
            phone=WORD,
        )
    ),
    faults=table(record(component=WORD, severity={"enum": ["notice", "warning", "stop"]})),
    manual=table(record(remedy=WORD, spare_part=WORD, wheel_kpa=COUNT, limit_km_h=COUNT)),
    parts_ordered=table(record(part=WORD, place=WORD)),
    logbook=rows(WORD),
)


def require_running(state: State) -> None:
    """Refuse unless the engine runs."""
    if not state["engine"]["running"]:
        raise ToolFailure("The engine must be running.")


def require_stopped(state: State) -> None:
    """Refuse while the engine runs."""
    if state["engine"]["running"]:
        raise ToolFailure("The engine must be off.")


def require_parked(state: State) -> None:
    """Refuse unless the gear is park."""
    if state["engine"]["gear"] != "park":
        raise ToolFailure(f"The gear must be park, not {state['engine']['gear']}.")


def litres_for(state: State, km: float) -> float:
    """Return the fuel for a distance, to a tenth of a litre."""
    return float(round(km * state["fuel"]["per_100_km"] / 100, 1))


def range_km(state: State) -> int:
    """Return whole kilometres that the fuel is good for."""
    return int(state["fuel"]["litres"] * 100 / state["fuel"]["per_100_km"])
