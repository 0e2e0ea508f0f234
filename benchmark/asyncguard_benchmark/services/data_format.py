"""DF: functions between notations: tables, JSON, XML, pairs, URLs, dates, clocks, numbers, phone numbers, encodings.

No state. Objects are written with their names in alphabetical order, so that a text does not depend on the order in
which an agent wrote them. Times are UTC.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.declarations import State, choice, text
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
from asyncguard_benchmark.services.stateless import NO_STATE, array, function, integer, number

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _parse_table(_: State, text: str, row_mark: str, cell_mark: str) -> Any:
    lines = [
        [cell.strip() for cell in line.split(cell_mark)] for line in text.strip().split(row_mark)
    ]
    columns, rows = lines[0], lines[1:]
    if any(len(row) != len(columns) for row in rows):
        raise ToolFailure(f"Not every row has {len(columns)} cells as the first has.")
    return {"columns": columns, "rows": rows, "row_count": len(rows)}


def _write_table(
    _: State, columns: Sequence[str], rows: Sequence[Sequence[str]], notation: str
) -> Any:
    if any(len(row) != len(columns) for row in rows):
        raise ToolFailure(f"Not every row has {len(columns)} cells, one for each column.")
    written = table_text(columns, rows, notation)
    return {"text": written, "characters": len(written)}


def _parse_pairs(_: State, text: str, pair_mark: str, value_mark: str) -> Any:
    pairs: dict[str, str] = {}
    for piece in text.strip().split(pair_mark):
        name, mark, value = (part.strip() for part in piece.partition(value_mark))
        if not mark or name in pairs:
            raise ToolFailure(f"{piece.strip()!r} is no pair, or its name occurs twice.")
        pairs[name] = value
    return {"pairs": pairs, "names": list(pairs), "values": list(pairs.values())}


def _write_pairs(_: State, pairs: Mapping[str, Any], pair_mark: str, value_mark: str) -> Any:
    written = pair_mark.join(f"{name}{value_mark}{value}" for name, value in sorted(pairs.items()))
    return {"text": written, "pair_count": len(pairs)}


def _parse_json(_: State, text: str) -> Any:
    value = read_json(text)
    return {"value": value, "names": sorted(value) if isinstance(value, dict) else []}


def _write_json(_: State, content: Mapping[str, Any], layout: str) -> Any:
    indent = 2 if layout == "indented" else None
    marks = (",", ": ") if indent else (",", ":")
    written = json.dumps(
        content, ensure_ascii=False, sort_keys=True, indent=indent, separators=marks
    )
    return {"text": written, "characters": len(written)}


def _parse_xml(_: State, text: str) -> Any:
    return element_of(text)


def _write_xml(_: State, tag: str, attributes: Mapping[str, Any], content: str) -> Any:
    written = xml_text(tag, attributes, content)
    return {"text": written, "characters": len(written)}


def _read_url(_: State, text: str) -> Any:
    return url_parts(text)


def _date(year: int, month: int, day: int) -> date:
    try:
        return date(year, month, day)
    except ValueError as problem:
        raise ToolFailure(f"There is no such day: {problem}.") from problem


def _read_date(_: State, text: str, order: str) -> Any:
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


def _write_date(_: State, date: str, style: str) -> Any:
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


def _read_epoch(_: State, seconds: int) -> Any:
    moment = datetime.fromtimestamp(seconds, UTC)
    return {
        "date": f"{moment:%Y-%m-%d}",
        "time": f"{moment:%H:%M:%S}",
        "weekday": _WEEKDAYS[moment.weekday()],
        "second_of_day": seconds % 86_400,
    }


def _write_duration(_: State, seconds: int, style: str) -> Any:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    styled = {
        "clock": f"{hours:02}:{minutes:02}:{rest:02}",
        "ISO": f"PT{hours}H{minutes}M{rest}S",
        "words": f"{hours} h {minutes} min {rest} s",
    }[style]
    return {"text": styled, "hours": hours, "minutes": minutes, "seconds": rest}


def _read_number(_: State, text: str, decimal_mark: str) -> Any:
    mark, other = (",", ".") if decimal_mark == "comma" else (".", ",")
    before, found, after = text.strip().removeprefix("-").partition(mark)
    for filler in (other, " ", "'", "\u00a0"):
        before = before.replace(filler, "")
    # `isdecimal` alone would let digits of other scripts through.
    if not (before + after).isascii() or not before.isdecimal() or bool(found) != after.isdecimal():
        raise ToolFailure(f"{text!r} is no number with a decimal {decimal_mark}.")
    value = Fraction(f"{before}.{after or 0}") * (-1 if text.strip().startswith("-") else 1)
    return {"value": rounded(value, 9), "decimals": len(after), "integer_part": int(before)}


def _write_number(_: State, value: float, decimals: int, grouping: str) -> Any:
    result = rounded(exact(value), decimals)
    written = f"{Decimal(str(result)):,.{decimals}f}"
    marks = {"comma": ",.", "point": ".,", "space": " .", "apostrophe": "'."}[grouping]
    return {"text": written.translate(str.maketrans(",.", marks)), "rounded": result}


def _read_phone(_: State, text: str, country: str) -> Any:
    return phone_parts(text, country)


def _encode_text(_: State, text: str, scheme: str) -> Any:
    written = encoded(text, scheme)
    return {"text": written, "characters": len(written)}


def _decode_text(_: State, text: str, scheme: str) -> Any:
    read = decoded(text, scheme)
    return {"text": read, "characters": len(read)}


_TEXT = text("The text.", maxLength=4000)
_STRINGS = {"type": "object", "additionalProperties": {"type": ["string", "number"]}}
_SCHEME = choice("The encoding, of UTF-8.", SCHEMES)

TOOLSET = toolset(
    Category.DATA_FORMAT,
    NO_STATE,
    (
        function(
            "parse_table",
            "Reads a delimited text as a table, its first row as column names; blanks around cells are dropped.",
            _parse_table,
            text=_TEXT,
            row_mark=text("What stands between two rows.", maxLength=5),
            cell_mark=text("What stands between two cells.", maxLength=5),
        ),
        function(
            "write_table",
            "Writes columns and rows as a table in a notation.",
            _write_table,
            columns=array("Column names, in their order.", {"type": "string"}),
            rows=array(
                "Rows; each a list of cells, all of them texts.",
                array("Cells.", {"type": "string"}),
            ),
            notation=choice("The notation.", ("csv", "tsv", "markdown", "html")),
        ),
        function(
            "parse_pairs",
            "Reads a text of names and values; gives them as an object and as lists in their order. Values stay texts.",
            _parse_pairs,
            text=_TEXT,
            pair_mark=text("What stands between two pairs.", maxLength=5),
            value_mark=text("What stands between name and value.", maxLength=5),
        ),
        function(
            "write_pairs",
            "Writes an object of names and values as one text, names in alphabetical order.",
            _write_pairs,
            pairs={**_STRINGS, "description": "Name -> value."},
            pair_mark=text("What goes between two pairs.", maxLength=5),
            value_mark=text("What goes between name and value.", maxLength=5),
        ),
        function(
            "parse_json",
            "Reads a JSON text; gives its value, and the names in it if it is an object.",
            _parse_json,
            text=_TEXT,
        ),
        function(
            "write_json",
            "Writes an object as a JSON text, names in alphabetical order.",
            _write_json,
            content={"type": "object", "description": "The object."},
            layout=choice(
                "On one line without blanks, or on lines of their own.", ("compact", "indented")
            ),
        ),
        function(
            "parse_xml",
            "Reads one XML element: tag, attributes, text, and the same of its children.",
            _parse_xml,
            text=_TEXT,
        ),
        function(
            "write_xml",
            "Writes one XML element, attributes in alphabetical order.",
            _write_xml,
            tag=text("Its tag.", maxLength=60),
            attributes={**_STRINGS, "description": "Name -> value.", "default": {}},
            content={
                "type": "string",
                "description": "Text inside; none unless given.",
                "default": "",
            },
        ),
        function(
            "read_url",
            "Takes a URL apart: scheme, host, port, path, last name of the path, parameters, fragment.",
            _read_url,
            text=_TEXT,
        ),
        function(
            "read_date",
            "Reads a date in digits; years of two digits are 2000 to 2099.",
            _read_date,
            text=text("The date, with any marks between day, month and year.", maxLength=40),
            order=choice("Order of day, month and year.", ("DMY", "MDY", "YMD")),
        ),
        function(
            "write_date",
            "Writes a date in a style: 5 March 2026, March 5, 2026, 05.03.2026, 20260305 or 2026-W10-4.",
            _write_date,
            date=text("The date as YYYY-MM-DD.", pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
            style=choice("The style.", ("long", "American", "German", "compact", "week")),
        ),
        function(
            "read_epoch",
            "Tells date, time and weekday in UTC of a Unix time.",
            _read_epoch,
            seconds=integer("Seconds since the start of 1970.", 0, 4_102_444_800),
        ),
        function(
            "write_duration",
            "Writes a number of seconds as 01:02:03, PT1H2M3S, or 1 h 2 min 3 s.",
            _write_duration,
            seconds=integer("The seconds.", 0, 1_000_000_000),
            style=choice("The style.", ("clock", "ISO", "words")),
        ),
        function(
            "read_number",
            "Reads a number as people write it, with marks between thousands.",
            _read_number,
            text=text("The number alone, without unit or currency.", maxLength=30),
            decimal_mark=choice("What stands before the decimals.", ("comma", "point")),
        ),
        function(
            "write_number",
            "Writes a number with decimals and marks between thousands; halves are rounded away from zero.",
            _write_number,
            value=number("The number."),
            decimals=integer("Decimals, 0 to 6.", 0, 6),
            grouping=choice(
                "Mark between thousands; with point the decimals follow a comma, otherwise a point.",
                ("comma", "point", "space", "apostrophe"),
            ),
        ),
        function(
            "read_phone",
            "Reads a phone number: the form for dialling from abroad, the form for dialling at home, the dial code.",
            _read_phone,
            text=text("The number, with any marks.", maxLength=40),
            country=choice("Where it belongs.", tuple(COUNTRIES)),
        ),
        function("encode_text", "Encodes a text.", _encode_text, text=_TEXT, scheme=_SCHEME),
        function(
            "decode_text", "Turns an encoded text back.", _decode_text, text=_TEXT, scheme=_SCHEME
        ),
    ),
)
