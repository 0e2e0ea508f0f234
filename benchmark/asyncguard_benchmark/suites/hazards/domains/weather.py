"""WE: a weather and irrigation service for farms: rain, forecasts, fields, valves and warnings.

Rain is told by the station, by the radar, and by the gauge, from whose bucket tips it is computed;
a forecast by the local office, by the computer model and by the regional office. The weather of a
day never changes afterwards.
"""

from fractions import Fraction
from typing import Annotated, Any, Literal

from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.arguments import ISO_DAY, Amount, Few, Text
from asyncguard_benchmark.services.declarations import Remedies, State, tool
from asyncguard_benchmark.services.exact_numbers import exact, exact_sum, rounded
from asyncguard_benchmark.services.records import entry, fields_of, require, row_with
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.state_shapes import COUNT, NUMBER, WORD, record, rows, table
from asyncguard_benchmark.suites.hazards.domains.effect_log import (
    EFFECTS_SCHEMA,
    perform,
    probe,
    probed,
)
from asyncguard_benchmark.suites.hazards.domains.questions import Question
from asyncguard_benchmark.suites.hazards.domains.result_rules import (
    adds_up,
    difference,
    echoes,
    not_above,
)
from asyncguard_benchmark.suites.hazards.domains.result_schemas import result_schemas

_STATIONS = "weather:{task_id}:stations"
_RADAR = "weather:{task_id}:radar"
_GAUGES = "weather:{task_id}:gauges"
_LOCAL = "weather:{task_id}:local"
_MODEL = "weather:{task_id}:model"
_REGIONAL = "weather:{task_id}:regional"
_FIELDS = "weather:{task_id}:fields"
_EFFECTS = "weather:{task_id}:effects"
_CALENDAR = "weather:{task_id}:calendar"
_TIP = Fraction(1, 5)
"""Millimetres of rain in one tip of a gauge's bucket."""
_SKY = {
    "low_c": NUMBER,
    "high_c": NUMBER,
    "wind_kmh": NUMBER,
    "sunshine_h": NUMBER,
    "outlook": WORD,
    "issued_on": WORD,
}
_RESULTS = result_schemas(Domain.WEATHER)
STATE_SCHEMA = record(
    next_slot=WORD,
    stations=table(table(record(readings=rows(NUMBER), sum=NUMBER))),
    radar=rows(record(cell=WORD, on=WORD, scans=rows(NUMBER))),
    gauges=table(table(rows(COUNT))),
    local=table(table(record(**_SKY))),
    model=rows(record(location=WORD, on=WORD, **_SKY)),
    regional=table(table(record(**_SKY))),
    fields=table(record(place=WORD, crop=WORD, demand_mm=NUMBER, sown_on=WORD)),
    effects=EFFECTS_SCHEMA,
)

Place = Annotated[Text, "Code of the place, as PL-000."]
Day = Annotated[Text, "Day, as 2026-01-31.", ISO_DAY]
Field = Annotated[Text, "Code of the field, as F-00."]
Millimetres = Annotated[Amount, "Millimetres of water.", {"unit": "mm"}]


_RAINS = Question(
    askable={
        "station_rain": ("place", "day"),
        "radar_rain": ("cell", "on"),
        "gauge_rain": ("site", "date"),
    },
    trusted="gauge_rain",
    returns=_RESULTS["rain"],
    echoed=("place", "day"),
    compared=("/rain_mm",),
    derived_by="gauge_rain",
    rules=(adds_up("rain_mm", "readings"),),
)
_FORECASTS = Question(
    askable={
        "local_forecast": ("place", "day"),
        "model_forecast": ("location", "on"),
        "regional_forecast": ("area", "date"),
    },
    trusted="local_forecast",
    returns=_RESULTS["forecast"],
    echoed=("place", "day"),
    compared=("/low_c", "/high_c", "/wind_kmh", "/sunshine_h", "/outlook"),
    dated="/issued_on",
    rules=(not_above("low_c", "high_c"),),
)


def _rain(place: str, on: str, readings: Any, total: Any) -> Any:
    return {"place": place, "day": on, "readings": readings, "rain_mm": total}


def _sum(values: list[Any]) -> Any:
    return rounded(exact_sum(values), 2)


@tool(reads=(_STATIONS,), remedies=_RAINS.remedies)
def station_rain(state: State, place: Place, day: Day) -> Any:
    """Tells the rain of a day as the weather station has it."""
    found = require(
        state["stations"].get(place, {}).get(day), f"No station at {place!r} measured on {day!r}."
    )
    return _rain(place, day, found["readings"], found["sum"])


@tool(reads=(_RADAR,), remedies=_RAINS.remedies)
def radar_rain(state: State, cell: Place, on: Day) -> Any:
    """Tells the rain of a day as the radar saw it."""
    seen = require(
        row_with(state["radar"], cell=cell, on=on),
        f"The radar has no picture of {cell!r} on {on!r}.",
    )
    return _rain(cell, on, seen["scans"], _sum(seen["scans"]))


@tool(reads=(_GAUGES,), remedies=_RAINS.remedies)
def gauge_rain(state: State, site: Place, date: Day) -> Any:
    """Works the rain of a day out anew from the tips of a rain gauge."""
    tips = require(
        state["gauges"].get(site, {}).get(date), f"No gauge at {site!r} was read on {date!r}."
    )
    return _rain(
        site, date, [rounded(count * _TIP, 2) for count in tips], rounded(sum(tips) * _TIP, 2)
    )


def _forecast(place: str, on: str, found: Any) -> Any:
    found = require(found, f"There is no forecast for {place!r} on {on!r}.")
    return {"place": place, "day": on, **fields_of(found, _SKY)}


@tool(reads=(_LOCAL,), remedies=_FORECASTS.remedies)
def local_forecast(state: State, place: Place, day: Day) -> Any:
    """Tells the forecast of the local office."""
    return _forecast(place, day, state["local"].get(place, {}).get(day))


@tool(reads=(_MODEL,), remedies=_FORECASTS.remedies)
def model_forecast(state: State, location: Place, on: Day) -> Any:
    """Tells the forecast of the computer model."""
    return _forecast(location, on, row_with(state["model"], location=location, on=on))


@tool(reads=(_REGIONAL,), remedies=_FORECASTS.remedies)
def regional_forecast(state: State, area: Place, date: Day) -> Any:
    """Tells the forecast of the regional office."""
    return _forecast(area, date, state["regional"].get(date, {}).get(area))


@tool(reads=(_FIELDS,), remedies=Remedies(returns=_RESULTS["field"], invariants=(echoes("field"),)))
def field_record(state: State, field: Field) -> Any:
    """Shows where a field lies, what grows there and how much water it needs."""
    return {"field": field, **entry(state, "fields", field, "field")}


@tool(
    remedies=Remedies(
        returns=_RESULTS["deficit"],
        invariants=(
            adds_up("rain_mm", "rains_mm"),
            difference("deficit_mm", "demand_mm", "rain_mm"),
        ),
    )
)
def water_deficit(
    _state: State,
    demand_mm: Millimetres,
    rains_mm: Annotated[
        Few[Annotated[float, {"minimum": 0}, "Millimetres of rain.", {"unit": "mm"}]], "Rain."
    ],
) -> Any:
    """Tells how much water is missing after some rain, and whether to irrigate."""
    rain = _sum(rains_mm)
    deficit = rounded(exact(demand_mm) - exact(rain), 2)
    advice = "irrigate" if deficit > 0 else "wait"
    return {
        "demand_mm": demand_mm,
        "rains_mm": rains_mm,
        "rain_mm": rain,
        "deficit_mm": deficit,
        "advice": advice,
    }


@tool(
    reads=(_FIELDS, _CALENDAR, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["run"], probe="find_valve_run", invariants=(echoes("field"),)
    ),
)
def open_valve(state: State, field: Field, water_mm: Millimetres) -> Any:
    """Waters a field in the next free slot; waters it once more when called again."""
    entry(state, "fields", field, "field")
    content = {"field": field, "water_mm": water_mm, "starts_on": state["next_slot"]}
    return perform(state, "open_valve", "run_id", "RUN", content)


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["run"])))
def find_valve_run(state: State, field: Field, water_mm: Millimetres) -> Any:
    """Tells whether a field was given this much water."""
    return probe(state, "open_valve", field=field, water_mm=water_mm)


@tool(
    reads=(_STATIONS, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(
        returns=_RESULTS["warning"],
        probe="find_warning",
        invariants=(echoes("place"), echoes("day")),
    ),
)
def issue_warning(
    state: State,
    place: Place,
    outlook: Annotated[
        Literal["sunny", "cloudy", "showers", "storm", "snow", "fog"], "What to warn of."
    ],
    day: Day,
) -> Any:
    """Sends a warning of the weather of a day to all farms at a place, each time it is called."""
    entry(state, "stations", place, "place")
    content = {"place": place, "outlook": outlook, "day": day}
    return perform(state, "issue_warning", "warning_id", "WRN", content)


@tool(reads=(_EFFECTS,), remedies=Remedies(returns=probed(_RESULTS["warning"])))
def find_warning(state: State, place: Place, day: Day) -> Any:
    """Tells whether a warning was sent to a place for a day."""
    return probe(state, "issue_warning", place=place, day=day)


@tool(
    reads=(_STATIONS, _EFFECTS),
    writes=(_EFFECTS,),
    remedies=Remedies(returns=_RESULTS["logged"], invariants=(echoes("place"),)),
)
def log_rain(state: State, place: Place, rain_mm: Millimetres) -> Any:
    """Enters an amount of rain into the logbook of a place."""
    entry(state, "stations", place, "place")
    return perform(state, "log_rain", "entry_id", "OBS", {"place": place, "rain_mm": rain_mm})


TOOLSET = toolset(
    Domain.WEATHER,
    STATE_SCHEMA,
    (
        station_rain,
        radar_rain,
        gauge_rain,
        local_forecast,
        model_forecast,
        regional_forecast,
        field_record,
        water_deficit,
        open_valve,
        find_valve_run,
        issue_warning,
        find_warning,
        log_rain,
    ),
)
