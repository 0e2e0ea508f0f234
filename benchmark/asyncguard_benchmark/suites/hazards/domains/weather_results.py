"""JSON schemas of the results of the weather service's tools."""

from asyncguard_benchmark.services.state_shapes import record
from asyncguard_benchmark.suites.hazards.domains.result_fields import (
    code,
    day,
    one_of,
    quantity,
    several,
)

OUTLOOKS = ("sunny", "cloudy", "showers", "storm", "snow", "fog")
"""Kinds of weather."""
_OUTLOOK_NAMES = {
    "clear": "sunny",
    "overcast": "cloudy",
    "scattered showers": "showers",
    "gale": "storm",
}
_CROPS = ("maize", "potato", "barley", "beet", "hops")
_CROP_NAMES = {"corn": "maize", "potatoes": "potato", "sugar beet": "beet"}
_PLACE = code("Code of the place.", "PL-[0-9]{3}", ("station", "location_code"))
_FIELD = code("Code of the field.", "F-[0-9]{2}", ("parcel", "plot"))
_DAY = day("Day that is spoken of.", ("date",))
_OUTLOOK = one_of("Weather of the day.", OUTLOOKS, _OUTLOOK_NAMES)
RAIN_RESULT = record(
    place=_PLACE,
    day=_DAY,
    readings=several(
        "Rain in each quarter of the day.", quantity("Rain of a quarter.", 0, 120, unit="mm")
    ),
    rain_mm=quantity(
        "Rain of the whole day.", 0.2, 120, unit="mm", aliases=("precipitation", "rainfall_mm")
    ),
)
"""The rain of a day."""
FORECAST_RESULT = record(
    place=_PLACE,
    day=_DAY,
    low_c=quantity("Lowest temperature.", -40, 45, unit="°C", aliases=("min_temperature", "tmin")),
    high_c=quantity(
        "Highest temperature.", -30, 50, unit="°C", aliases=("max_temperature", "tmax")
    ),
    wind_kmh=quantity("Strongest wind.", 1, 220, unit="km/h", aliases=("gusts", "wind_speed")),
    sunshine_h=quantity("Hours of sunshine.", 0, 16, unit="h", aliases=("sun_hours",)),
    outlook=_OUTLOOK,
    issued_on=day("Day on which the forecast was made.", ("run_date", "published")),
)
"""The forecast for a day."""
FIELD_RESULT = record(
    field=_FIELD,
    place=_PLACE,
    crop=one_of("What grows there.", _CROPS, _CROP_NAMES),
    demand_mm=quantity(
        "Water that the crop needs now.", 4, 150, unit="mm", aliases=("water_demand", "need_mm")
    ),
    sown_on=day("Day of sowing.", ("planted_on",)),
)
"""A field and its crop."""
DEFICIT_RESULT = record(
    demand_mm=quantity("Water that is needed.", 4, 150, unit="mm"),
    rains_mm=several("Rain that fell.", quantity("One amount of rain.", 0, 120, unit="mm")),
    rain_mm=quantity("All the rain together.", 0, 400, unit="mm", aliases=("rain_total",)),
    deficit_mm=quantity(
        "Water that is missing, below zero if there is too much.", -400, 150, unit="mm"
    ),
    advice=one_of("What to do.", ("irrigate", "wait"), {"water": "irrigate", "hold": "wait"}),
)
"""Water needed against rain that fell."""
RUN_RESULT = record(
    run_id=code("Number of the run.", "RUN-[0-9]{5}", ("run_ref",)),
    field=_FIELD,
    water_mm=quantity("Water that is given.", 0.2, 150, unit="mm", aliases=("applied_mm",)),
    starts_on=day("Day on which it starts.", ("start_date",)),
)
"""Water that was given to a field."""
WARNING_RESULT = record(
    warning_id=code("Number of the warning.", "WRN-[0-9]{5}", ("warning_ref", "alert_id")),
    place=_PLACE,
    outlook=_OUTLOOK,
    day=_DAY,
)
"""A warning that was sent."""
LOGGED = record(
    entry_id=code("Number of the entry.", "OBS-[0-9]{5}", ("entry_ref",)),
    place=_PLACE,
    rain_mm=quantity("Rain that was entered.", 0.2, 400, unit="mm", aliases=("precipitation",)),
)
"""An entry in a logbook."""
