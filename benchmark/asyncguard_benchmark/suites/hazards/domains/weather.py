"""WE: a weather and irrigation service for farms: rain, forecasts, fields, valves and warnings.

Rain is told by the station, by the radar, and by the gauge, from whose bucket tips it is computed;
a forecast by the local office, by the computer model and by the regional office. The weather of a
day never changes afterwards.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.services.declarations import Remedies, State, Tool, amount, choice, text
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.service_tools import reader, writer
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
from asyncguard_benchmark.suites.hazards.domains.weather_results import (
    DEFICIT_RESULT,
    FIELD_RESULT,
    FORECAST_RESULT,
    LOGGED,
    OUTLOOKS,
    RAIN_RESULT,
    RUN_RESULT,
    WARNING_RESULT,
)

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

_DAY_PATTERN = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


def _rain(place: str, on: str, readings: Any, total: Any) -> Any:
    return {"place": place, "day": on, "readings": readings, "rain_mm": total}


def _sum(values: list[Any]) -> Any:
    return rounded(sum(map(exact, values), Fraction()), 2)


def _station_rain(state: State, place: str, day: str) -> Any:
    found = state["stations"].get(place, {}).get(day)
    if found is None:
        raise ToolFailure(f"No station at {place!r} measured on {day!r}.")
    return _rain(place, day, found["readings"], found["sum"])


def _radar_rain(state: State, cell: str, on: str) -> Any:
    for seen in state["radar"]:
        if (seen["cell"], seen["on"]) == (cell, on):
            return _rain(cell, on, seen["scans"], _sum(seen["scans"]))
    raise ToolFailure(f"The radar has no picture of {cell!r} on {on!r}.")


def _gauge_rain(state: State, site: str, date: str) -> Any:
    tips = state["gauges"].get(site, {}).get(date)
    if tips is None:
        raise ToolFailure(f"No gauge at {site!r} was read on {date!r}.")
    return _rain(
        site, date, [rounded(count * _TIP, 2) for count in tips], rounded(sum(tips) * _TIP, 2)
    )


def _forecast(place: str, on: str, found: Any) -> Any:
    if found is None:
        raise ToolFailure(f"There is no forecast for {place!r} on {on!r}.")
    return {"place": place, "day": on, **{name: found[name] for name in _SKY}}


def _local_forecast(state: State, place: str, day: str) -> Any:
    return _forecast(place, day, state["local"].get(place, {}).get(day))


def _model_forecast(state: State, location: str, on: str) -> Any:
    made = (row for row in state["model"] if (row["location"], row["on"]) == (location, on))
    return _forecast(location, on, next(made, None))


def _regional_forecast(state: State, area: str, date: str) -> Any:
    return _forecast(area, date, state["regional"].get(date, {}).get(area))


def _field(state: State, field: str) -> dict[str, Any]:
    found: dict[str, Any] | None = state["fields"].get(field)
    if found is None:
        raise ToolFailure(f"There is no field {field!r}.")
    return found


def _field_record(state: State, field: str) -> Any:
    return {"field": field, **_field(state, field)}


def _water_deficit(_state: State, demand_mm: float, rains_mm: list[float]) -> Any:
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


def _open_valve(state: State, field: str, water_mm: float) -> Any:
    _field(state, field)
    content = {"field": field, "water_mm": water_mm, "starts_on": state["next_slot"]}
    return perform(state, "open_valve", "run_id", "RUN", content)


def _find_valve_run(state: State, field: str, water_mm: float) -> Any:
    return probe(state, "open_valve", field=field, water_mm=water_mm)


def _known_place(state: State, place: str) -> None:
    if place not in state["stations"]:
        raise ToolFailure(f"There is no place {place!r}.")


def _issue_warning(state: State, place: str, outlook: str, day: str) -> Any:
    _known_place(state, place)
    content = {"place": place, "outlook": outlook, "day": day}
    return perform(state, "issue_warning", "warning_id", "WRN", content)


def _find_warning(state: State, place: str, day: str) -> Any:
    return probe(state, "issue_warning", place=place, day=day)


def _log_rain(state: State, place: str, rain_mm: float) -> Any:
    _known_place(state, place)
    return perform(state, "log_rain", "entry_id", "OBS", {"place": place, "rain_mm": rain_mm})


_RAINS = Question(
    askable={
        "station_rain": ("place", "day"),
        "radar_rain": ("cell", "on"),
        "gauge_rain": ("site", "date"),
    },
    trusted="gauge_rain",
)
_FORECASTS = Question(
    askable={
        "local_forecast": ("place", "day"),
        "model_forecast": ("location", "on"),
        "regional_forecast": ("area", "date"),
    },
    trusted="local_forecast",
)

_PLACE_ARGUMENT = text("Code of the place, as PL-000.")
_DAY_ARGUMENT = text("Day, as 2026-01-31.", pattern=_DAY_PATTERN)
_FIELD_ARGUMENT = text("Code of the field, as F-00.")
_MILLIMETRES = {**amount("Millimetres of water."), "unit": "mm"}
_RAIN_ARGUMENT = {
    "type": "number",
    "minimum": 0,
    "description": "Millimetres of rain.",
    "unit": "mm",
}


def _tells_rain(name: str, description: str, run: Any, resource: str) -> Tool:
    place, on = _RAINS.askable[name]
    remedies = Remedies(
        returns=RAIN_RESULT,
        fallbacks=_RAINS.others(name),
        sources=_RAINS.others(name),
        compared=("/rain_mm",),
        verifier=None if name == "gauge_rain" else _RAINS.instead_of(name, "gauge_rain"),
        invariants=(adds_up("rain_mm", "readings"), echoes(place, "place"), echoes(on, "day")),
    )
    asked = {place: _PLACE_ARGUMENT, on: _DAY_ARGUMENT}
    return replace(reader(name, description, run, (resource,), **asked), remedies=remedies)


def _tells_forecast(name: str, description: str, run: Any, resource: str) -> Tool:
    place, on = _FORECASTS.askable[name]
    remedies = Remedies(
        returns=FORECAST_RESULT,
        fallbacks=_FORECASTS.others(name),
        sources=_FORECASTS.others(name),
        compared=("/low_c", "/high_c", "/wind_kmh", "/sunshine_h", "/outlook"),
        dated="/issued_on",
        invariants=(not_above("low_c", "high_c"), echoes(place, "place"), echoes(on, "day")),
    )
    asked = {place: _PLACE_ARGUMENT, on: _DAY_ARGUMENT}
    return replace(reader(name, description, run, (resource,), **asked), remedies=remedies)


_FARMING = (
    replace(
        reader(
            "field_record",
            "Shows where a field lies, what grows there and how much water it needs.",
            _field_record,
            (_FIELDS,),
            field=_FIELD_ARGUMENT,
        ),
        remedies=Remedies(returns=FIELD_RESULT, invariants=(echoes("field", "field"),)),
    ),
    replace(
        reader(
            "water_deficit",
            "Tells how much water is missing after some rain, and whether to irrigate.",
            _water_deficit,
            (),
            demand_mm=_MILLIMETRES,
            rains_mm={
                "type": "array",
                "items": _RAIN_ARGUMENT,
                "minItems": 1,
                "maxItems": 50,
                "description": "Rain.",
            },
        ),
        remedies=Remedies(
            returns=DEFICIT_RESULT,
            invariants=(
                adds_up("rain_mm", "rains_mm"),
                difference("deficit_mm", "demand_mm", "rain_mm"),
            ),
        ),
    ),
    replace(
        writer(
            "open_valve",
            "Waters a field in the next free slot; waters it once more when called again.",
            _open_valve,
            (_FIELDS, _CALENDAR, _EFFECTS),
            (_EFFECTS,),
            field=_FIELD_ARGUMENT,
            water_mm=_MILLIMETRES,
        ),
        remedies=Remedies(
            returns=RUN_RESULT, probe="find_valve_run", invariants=(echoes("field", "field"),)
        ),
    ),
    replace(
        reader(
            "find_valve_run",
            "Tells whether a field was given this much water.",
            _find_valve_run,
            (_EFFECTS,),
            field=_FIELD_ARGUMENT,
            water_mm=_MILLIMETRES,
        ),
        remedies=Remedies(returns=probed(RUN_RESULT)),
    ),
)
_TELLING = (
    replace(
        writer(
            "issue_warning",
            "Sends a warning of the weather of a day to all farms at a place, each time it is called.",
            _issue_warning,
            (_STATIONS, _EFFECTS),
            (_EFFECTS,),
            place=_PLACE_ARGUMENT,
            outlook=choice("What to warn of.", OUTLOOKS),
            day=_DAY_ARGUMENT,
        ),
        remedies=Remedies(
            returns=WARNING_RESULT,
            probe="find_warning",
            invariants=(echoes("place", "place"), echoes("day", "day")),
        ),
    ),
    replace(
        reader(
            "find_warning",
            "Tells whether a warning was sent to a place for a day.",
            _find_warning,
            (_EFFECTS,),
            place=_PLACE_ARGUMENT,
            day=_DAY_ARGUMENT,
        ),
        remedies=Remedies(returns=probed(WARNING_RESULT)),
    ),
    replace(
        writer(
            "log_rain",
            "Enters an amount of rain into the logbook of a place.",
            _log_rain,
            (_STATIONS, _EFFECTS),
            (_EFFECTS,),
            place=_PLACE_ARGUMENT,
            rain_mm=_MILLIMETRES,
        ),
        remedies=Remedies(returns=LOGGED, invariants=(echoes("place", "place"),)),
    ),
)

TOOLSET = toolset(
    Domain.WEATHER,
    STATE_SCHEMA,
    (
        _tells_rain(
            "station_rain",
            "Tells the rain of a day as the weather station has it.",
            _station_rain,
            _STATIONS,
        ),
        _tells_rain(
            "radar_rain", "Tells the rain of a day as the radar saw it.", _radar_rain, _RADAR
        ),
        _tells_rain(
            "gauge_rain",
            "Works the rain of a day out anew from the tips of a rain gauge.",
            _gauge_rain,
            _GAUGES,
        ),
        _tells_forecast(
            "local_forecast", "Tells the forecast of the local office.", _local_forecast, _LOCAL
        ),
        _tells_forecast(
            "model_forecast", "Tells the forecast of the computer model.", _model_forecast, _MODEL
        ),
        _tells_forecast(
            "regional_forecast",
            "Tells the forecast of the regional office.",
            _regional_forecast,
            _REGIONAL,
        ),
        *_FARMING,
        *_TELLING,
    ),
)
