"""DG: functions that make data: series, labels, codes with check digits, draws from a seed, dates, rotas, fixtures.

No state and no chance: what looks drawn depends on the seed that was given, and on nothing else.
"""

from typing import Any

from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services import generated_plans as plans
from asyncguard_benchmark.services import generated_values as values
from asyncguard_benchmark.services.declarations import choice, text
from asyncguard_benchmark.services.generated_values import MOST_ITEMS
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.stateless import NO_STATE, array, function, integer, number

_WORD = {"type": "string", "minLength": 1}
_THING = {"type": ["string", "number"]}
_DATES = "dates, each as YYYY-MM-DD"


def _count(what: str, least: int = 1) -> dict[str, Any]:
    return integer(what, least, MOST_ITEMS)


_SEED = integer("whole number that decides the outcome; the same seed gives the same outcome", 0)

_SERIES = (
    function(
        "number_series",
        "Makes equally spaced numbers. Gives `values`, `last` and `total`, four decimals.",
        values.number_series,
        start=number("the first number"),
        step=number("what is added each time"),
        count=_count("how many numbers"),
    ),
    function(
        "growth_series",
        "Makes numbers that grow (or shrink) by a percentage each time. Gives `values` and `last`, two decimals; the "
        "rounding does not feed back.",
        values.growth_series,
        start=number("the first number"),
        percent={
            "type": "number",
            "minimum": -100,
            "maximum": 1000,
            "description": "growth for each step in percent",
        },
        count=integer("how many numbers, the first included", 1, 50),
    ),
    function(
        "spread_points",
        "Places points evenly over a distance, both ends included. Gives `points`, the `gap` between two and the "
        "`inner` points without the ends, four decimals.",
        values.spread_points,
        first=number("where the distance begins"),
        last=number("where it ends"),
        count=_count("how many points", 2),
    ),
    function(
        "date_series",
        "Makes dates at an equal distance. Gives `dates`, their `weekdays` and `last`; a month too short gives its "
        "last day.",
        plans.date_series,
        first=text("the first date, YYYY-MM-DD"),
        every=integer("distance between two dates", 1, 1000),
        unit=choice("unit of the distance", tuple(plans.UNITS)),
        count=_count("how many dates, the first included"),
    ),
)
_LABELS = (
    function(
        "serial_labels",
        "Makes consecutive numbers behind a prefix, padded with zeros. Gives `labels`, `last` and `next_number`.",
        values.serial_labels,
        prefix=text("what stands before each number"),
        first=integer("the first number", 0),
        count=_count("how many labels"),
        digits=integer("least number of digits", 1, 12, default=4),
    ),
    function(
        "grid_labels",
        "Names the cells of a grid, A1, A2 ... for the first row. Gives them by `rows`, as flat `labels`, the "
        "`corners` and the `count`.",
        values.grid_labels,
        rows=integer("number of rows, named by letters", 1, 26),
        columns=_count("number of columns, numbered from 1"),
    ),
    function(
        "crossed_labels",
        "Joins each item of one list to each item of another. Gives `labels` (the second list runs fastest), `count`.",
        values.crossed_labels,
        first=array("items that stand in front", _WORD),
        second=array("items that stand behind", _WORD),
        separator=text("what stands between the two"),
    ),
    function(
        "fill_pattern",
        "Writes a text for each value, with the value in place of every asterisk. Gives `texts` and the `longest`.",
        values.fill_pattern,
        pattern=text("text with an asterisk where the value goes"),
        values=array("what is put in", _THING),
    ),
    function(
        "title_slug",
        "Turns a title into small letters, digits and hyphens, cut between words. Gives `slug`, `words`, `length`.",
        values.title_slug,
        title=text("the title"),
        longest=integer("most characters that the slug may have", 1, 100, default=60),
    ),
)
_CODES = (
    function(
        "content_key",
        "Derives a key of hexadecimal digits from a text. Gives `key`, it as `capital`, and a six-digit `number`.",
        values.content_key,
        content=text("the text"),
        length=integer("characters of the key", 4, 64, default=12),
    ),
    function(
        "check_code",
        "Works out a check digit. Gives `check_digit` and the full `code`, both as text, and its `length`.",
        values.check_code,
        digits=text("the number without its check digit, digits only"),
        scheme=choice(
            "kind of check digit; EAN-13 takes 12 digits, ISBN-10 9", tuple(values.CODE_LENGTHS)
        ),
    ),
)
_DRAWS = (
    function(
        "seeded_shuffle",
        "Puts items into an order decided by a seed. Gives `items`, `first` and `last`.",
        values.seeded_shuffle,
        items=array("what is mixed", _THING),
        seed=_SEED,
    ),
    function(
        "seeded_draw",
        "Draws some of the items, decided by a seed. Gives `drawn`, in the order drawn, and `remaining`, as given.",
        values.seeded_draw,
        items=array("what is drawn from", _THING),
        count=_count("how many are drawn"),
        seed=_SEED,
    ),
    function(
        "seeded_integers",
        "Rolls whole numbers, decided by a seed. Gives `values`, `smallest`, `largest` and `total`.",
        values.seeded_integers,
        low=integer("least number possible", -1_000_000, 1_000_000),
        high=integer("largest number possible", -1_000_000, 1_000_000),
        count=_count("how many numbers"),
        seed=_SEED,
    ),
    function(
        "choose_groups",
        "Lists all selections of a size out of some items, order irrelevant. Gives `groups` and `count`.",
        values.choose_groups,
        items=array("what is chosen from", _WORD),
        size=integer("items in a selection", 1, 20),
    ),
)
_PLANS = (
    function(
        "month_sheet",
        "Lists the dates of a month by weekday. Gives `dates_by_weekday`, `days` and `first_weekday`.",
        plans.month_sheet,
        month=text("the month, YYYY-MM"),
    ),
    function(
        "duty_rota",
        "Lets people take turns over dates. Gives `duties` (`date`, `person`), the `load` of each person and "
        "`next_person`, who would come after the last date.",
        plans.duty_rota,
        people=array("who takes turns, in this order", _WORD),
        dates=array(_DATES, _WORD),
    ),
    function(
        "fixture_rounds",
        "Makes rounds in which everybody meets everybody once. Gives `rounds` of `home` and `away`, `round_count`, "
        "`match_count` and, with an odd number of teams, who is `resting` in each round.",
        plans.fixture_rounds,
        teams={**array("who takes part", _WORD, 2), "maxItems": 20},
    ),
    function(
        "time_slots",
        "Divides a part of a day into slots. Gives `slots` as HH:MM-HH:MM, their `starts`, the `count` and the "
        "`minutes_left` after the last one.",
        plans.time_slots,
        opens=text("when the first slot may begin, HH:MM"),
        closes=text("when the last slot must be over, HH:MM"),
        minutes=integer("length of a slot in minutes", 1, 1440),
        pause=integer("minutes between two slots", 0, 1440, default=0),
    ),
    function(
        "instalment_plan",
        "Splits an amount over due dates into parts of whole cents; the last part takes the rest. Gives `instalments` "
        "(`due`, `amount`), `regular_amount` and `last_amount`.",
        plans.instalment_plan,
        amount={**number("the amount, at most two decimals"), "minimum": 0.01},
        due_dates=array(_DATES, _WORD),
    ),
)
TOOLSET = toolset(
    Category.DATA_GENERATION, NO_STATE, (*_SERIES, *_LABELS, *_CODES, *_DRAWS, *_PLANS)
)
