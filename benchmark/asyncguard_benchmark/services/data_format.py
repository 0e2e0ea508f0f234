"""DF: functions between notations: tables, JSON, XML, pairs, URLs, dates, clocks, numbers, phone numbers, encodings.

No state. Objects are written with their names in alphabetical order, so that a text does not depend on the order in
which an agent wrote them. Times are UTC.
"""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.arguments import ISO_DAY, Number, Several, Text, one_of, within
from asyncguard_benchmark.services.declarations import State, tool
from asyncguard_benchmark.services.exact_numbers import exact, rounded
from asyncguard_benchmark.services.markup import (
    element_of,
    read_json,
    table_text,
    url_parts,
    xml_text,
)
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.spellings import (
    COUNTRIES,
    SCHEMES,
    decoded,
    encoded,
    phone_parts,
    plain_digits,
)
from asyncguard_benchmark.services.state_shapes import NO_STATE

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Content = Annotated[Text, "The text.", {"maxLength": 4000}]
Scheme = Annotated[str, one_of(SCHEMES), "The encoding, of UTF-8."]


@tool()
def parse_table(
    _: State,
    text: Content,
    row_mark: Annotated[Text, "What stands between two rows.", {"maxLength": 5}],
    cell_mark: Annotated[Text, "What stands between two cells.", {"maxLength": 5}],
) -> Any:
    """Reads a delimited text as a table, its first row as column names; blanks around cells are dropped."""
    lines = [
        [cell.strip() for cell in line.split(cell_mark)] for line in text.strip().split(row_mark)
    ]
    columns, rows = lines[0], lines[1:]
    if any(len(row) != len(columns) for row in rows):
        raise ToolFailure(f"Not every row has {len(columns)} cells as the first has.")
    return {"columns": columns, "rows": rows, "row_count": len(rows)}


@tool()
def write_table(
    _: State,
    columns: Annotated[Several[str], "Column names, in their order."],
    rows: Annotated[
        Several[Annotated[Several[str], "Cells."]], "Rows; each a list of cells, all of them texts."
    ],
    notation: Annotated[Literal["csv", "tsv", "markdown", "html"], "The notation."],
) -> Any:
    """Writes columns and rows as a table in a notation."""
    if any(len(row) != len(columns) for row in rows):
        raise ToolFailure(f"Not every row has {len(columns)} cells, one for each column.")
    written = table_text(columns, rows, notation)
    return {"text": written, "characters": len(written)}


@tool()
def parse_pairs(
    _: State,
    text: Content,
    pair_mark: Annotated[Text, "What stands between two pairs.", {"maxLength": 5}],
    value_mark: Annotated[Text, "What stands between name and value.", {"maxLength": 5}],
) -> Any:
    """Reads a text of names and values; gives them as an object and as lists in their order. Values stay texts."""
    pairs: dict[str, str] = {}
    for piece in text.strip().split(pair_mark):
        name, mark, value = (part.strip() for part in piece.partition(value_mark))
        if not mark or name in pairs:
            raise ToolFailure(f"{piece.strip()!r} is no pair, or its name occurs twice.")
        pairs[name] = value
    return {"pairs": pairs, "names": list(pairs), "values": list(pairs.values())}


@tool()
def write_pairs(
    _: State,
    pairs: Annotated[
        dict[str, Any], {"additionalProperties": {"type": ["string", "number"]}}, "Name -> value."
    ],
    pair_mark: Annotated[Text, "What goes between two pairs.", {"maxLength": 5}],
    value_mark: Annotated[Text, "What goes between name and value.", {"maxLength": 5}],
) -> Any:
    """Writes an object of names and values as one text, names in alphabetical order."""
    written = pair_mark.join(f"{name}{value_mark}{value}" for name, value in sorted(pairs.items()))
    return {"text": written, "pair_count": len(pairs)}


@tool()
def parse_json(_: State, text: Content) -> Any:
    """Reads a JSON text; gives its value, and the names in it if it is an object."""
    value = read_json(text)
    return {"value": value, "names": sorted(value) if isinstance(value, dict) else []}


@tool()
def write_json(
    _: State,
    content: Annotated[dict[str, Any], "The object."],
    layout: Annotated[
        Literal["compact", "indented"], "On one line without blanks, or on lines of their own."
    ],
) -> Any:
    """Writes an object as a JSON text, names in alphabetical order."""
    indent = 2 if layout == "indented" else None
    marks = (",", ": ") if indent else (",", ":")
    written = json.dumps(
        content, ensure_ascii=False, sort_keys=True, indent=indent, separators=marks
    )
    return {"text": written, "characters": len(written)}


@tool()
def parse_xml(_: State, text: Content) -> Any:
    """Reads one XML element: tag, attributes, text, and the same of its children."""
    return element_of(text)


@tool()
def write_xml(
    _: State,
    tag: Annotated[Text, "Its tag.", {"maxLength": 60}],
    attributes: Annotated[
        dict[str, Any],
        {"additionalProperties": {"type": ["string", "number"]}},
        "Name -> value.",
        {"default": {}},
    ],
    content: Annotated[str, "Text inside; none unless given."] = "",
) -> Any:
    """Writes one XML element, attributes in alphabetical order."""
    written = xml_text(tag, attributes, content)
    return {"text": written, "characters": len(written)}


@tool()
def read_url(_: State, text: Content) -> Any:
    """Takes a URL apart: scheme, host, port, path, last name of the path, parameters, fragment."""
    return url_parts(text)


def _date(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError as problem:
        raise ToolFailure(f"There is no such day: {problem}.") from problem


@tool()
def read_date(
    _: State,
    text: Annotated[
        Text, "The date, with any marks between day, month and year.", {"maxLength": 40}
    ],
    order: Annotated[Literal["DMY", "MDY", "YMD"], "Order of day, month and year."],
) -> Any:
    """Reads a date in digits; years of two digits are 2000 to 2099."""
    groups = plain_digits(text)
    if len(groups) != 3:
        raise ToolFailure(f"{text!r} does not hold three groups of digits.")
    found = dict(zip(order, groups, strict=True))
    year = int(found["Y"]) + (2000 if len(found["Y"]) <= 2 else 0)
    day = _date(year, int(found["M"]), int(found["D"]))
    return {
        "iso": day.isoformat(),
        "weekday": _WEEKDAYS[day.weekday()],
        "month": _MONTHS[day.month - 1],
        "day_of_year": day.timetuple().tm_yday,
    }


@tool()
def write_date(
    _: State,
    date: Annotated[Text, "The date as YYYY-MM-DD.", ISO_DAY],
    style: Annotated[Literal["long", "American", "German", "compact", "week"], "The style."],
) -> Any:
    """Writes a date in a style: 5 March 2026, March 5, 2026, 05.03.2026, 20260305 or 2026-W10-4."""
    day = _date(*(int(part) for part in date.strip().split("-")))
    month, week = _MONTHS[day.month - 1], day.isocalendar()
    styled = {
        "long": f"{day.day} {month} {day.year}",
        "American": f"{month} {day.day}, {day.year}",
        "German": f"{day:%d.%m.}{day.year:04}",
        "compact": date.strip().replace("-", ""),
        "week": f"{week.year}-W{week.week:02}-{week.weekday}",
    }[style]
    return {"text": styled, "weekday": _WEEKDAYS[day.weekday()], "week": week.week}


@tool()
def read_epoch(
    _: State, seconds: Annotated[int, within(0, 4102444800), "Seconds since the start of 1970."]
) -> Any:
    """Tells date, time and weekday in UTC of a Unix time."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return {
        "date": f"{moment:%Y-%m-%d}",
        "time": f"{moment:%H:%M:%S}",
        "weekday": _WEEKDAYS[moment.weekday()],
        "second_of_day": seconds % 86_400,
    }


@tool()
def write_duration(
    _: State,
    seconds: Annotated[int, within(0, 1000000000), "The seconds."],
    style: Annotated[Literal["clock", "ISO", "words"], "The style."],
) -> Any:
    """Writes a number of seconds as 01:02:03, PT1H2M3S, or 1 h 2 min 3 s."""
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    styled = {
        "clock": f"{hours:02}:{minutes:02}:{rest:02}",
        "ISO": f"PT{hours}H{minutes}M{rest}S",
        "words": f"{hours} h {minutes} min {rest} s",
    }[style]
    return {"text": styled, "hours": hours, "minutes": minutes, "seconds": rest}


@tool()
def read_number(
    _: State,
    text: Annotated[Text, "The number alone, without unit or currency.", {"maxLength": 30}],
    decimal_mark: Annotated[Literal["comma", "point"], "What stands before the decimals."],
) -> Any:
    """Reads a number as people write it, with marks between thousands."""
    mark, other = (",", ".") if decimal_mark == "comma" else (".", ",")
    before, found, after = text.strip().removeprefix("-").partition(mark)
    for filler in (other, " ", "'", "\u00a0"):
        before = before.replace(filler, "")
    # `isdecimal` alone would let digits of other scripts through.
    if not (before + after).isascii() or not before.isdecimal() or bool(found) != after.isdecimal():
        raise ToolFailure(f"{text!r} is no number with a decimal {decimal_mark}.")
    value = Fraction(f"{before}.{after or 0}") * (-1 if text.strip().startswith("-") else 1)
    return {"value": rounded(value, 9), "decimals": len(after), "integer_part": int(before)}


@tool()
def write_number(
    _: State,
    value: Annotated[Number, "The number."],
    decimals: Annotated[int, within(0, 6), "Decimals, 0 to 6."],
    grouping: Annotated[
        Literal["comma", "point", "space", "apostrophe"],
        "Mark between thousands; with point the decimals follow a comma, otherwise a point.",
    ],
) -> Any:
    """Writes a number with decimals and marks between thousands; halves are rounded away from zero."""
    result = rounded(exact(value), decimals)
    written = f"{Decimal(str(result)):,.{decimals}f}"
    marks = {"comma": ",.", "point": ".,", "space": " .", "apostrophe": "'."}[grouping]
    return {"text": written.translate(str.maketrans(",.", marks)), "rounded": result}


@tool()
def read_phone(
    _: State,
    text: Annotated[Text, "The number, with any marks.", {"maxLength": 40}],
    country: Annotated[str, one_of(COUNTRIES), "Where it belongs."],
) -> Any:
    """Reads a phone number: the form for dialling from abroad, the form for dialling at home, the dial code."""
    return phone_parts(text, country)


@tool()
def encode_text(_: State, text: Content, scheme: Scheme) -> Any:
    """Encodes a text."""
    written = encoded(text, scheme)
    return {"text": written, "characters": len(written)}


@tool()
def decode_text(_: State, text: Content, scheme: Scheme) -> Any:
    """Turns an encoded text back."""
    read = decoded(text, scheme)
    return {"text": read, "characters": len(read)}


TOOLSET = toolset(
    Category.DATA_FORMAT,
    NO_STATE,
    (
        parse_table,
        write_table,
        parse_pairs,
        write_pairs,
        parse_json,
        write_json,
        parse_xml,
        write_xml,
        read_url,
        read_date,
        write_date,
        read_epoch,
        write_duration,
        read_number,
        write_number,
        read_phone,
        encode_text,
        decode_text,
    ),
)
