"""Texts that spell one value: numbers, dates, truth values and choices with one reading.

A text with two readings is not read at all: 03/04/2026 and 1,234 mean different things in different
places.
"""

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any

from asyncguard.recovery.repair.identifiers import folded

NUMBER = (
    r"[-+\u2212]?(?:\d{1,3}(?:[,'\u00a0\u202f]\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+|\d+(?:[.,]\d+)?)"
    r"(?:[eE][-+]?\d{1,2})?"
)
"""Pattern of a text that may be a number."""
_PLAIN = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d{1,2})?")
_GROUPED: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+\.\d+|[-+]?[1-9]\d{0,2}(?:,\d{3}){2,}"), ",", "."),
    (re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+,\d+|[-+]?[1-9]\d{0,2}(?:\.\d{3}){2,}"), ".", ","),
    (re.compile(r"[-+]?[1-9]\d{0,2}(?:'\d{3})+(?:\.\d+)?"), "'", "."),
    (re.compile(r"[-+]?[1-9]\d{0,2}(?:[\u00a0\u202f]\d{3})+(?:[.,]\d+)?"), "\u00a0", ","),
    # A comma that no group of three follows can only be a decimal one.
    (re.compile(r"[-+]?(?:0|[1-9]\d*),(?:\d{1,2}|\d{4,})"), ".", ","),
)
"""Pattern, separator of groups, separator of the fraction."""
_MAX_DIGITS = 30

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FULL_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTH = r"(?P<month>[A-Za-z]{3,9})\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_NAMED_DATES = (
    re.compile(
        rf"(?:(?P<weekday>[A-Za-z]{{3,9}}),? )?{_DAY}[ -]{_MONTH}[ ,-]{{1,2}}(?P<year>\d{{4}})"
    ),
    re.compile(rf"(?:(?P<weekday>[A-Za-z]{{3,9}}),? )?{_MONTH} {_DAY},? (?P<year>\d{{4}})"),
)
_YEAR_FIRST = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})|(\d{4})(\d{2})(\d{2})")
_YEAR_LAST = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_MIDNIGHT = re.compile(r"[T ]00:00(?::00(?:\.0+)?)?(?:Z|[+-]00:?00)?$")
_TIMED = re.compile(
    r"(?P<date>.+?)(?:[T ]|, | at )(?P<time>\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)"
    r" ?(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?"
)

_TRUTH: Mapping[str, bool] = MappingProxyType(
    {"true": True, "yes": True, "false": False, "no": False}
)


def number_in(text: str) -> Decimal | None:
    """Return the number that a whole text spells, ``None`` without exactly one reading."""
    text = text.strip().replace("\u2212", "-")
    if not _PLAIN.fullmatch(text):
        for pattern, group, point in _GROUPED:
            if pattern.fullmatch(text):
                text = text.replace("\u202f", "\u00a0").replace(group, "").replace(point, ".")
                break
        else:
            return None
    try:
        found = Decimal(text)
    except InvalidOperation:
        return None
    # ``1e99`` is a short text, and a number of a hundred digits.
    return found if abs(found.adjusted()) <= _MAX_DIGITS and len(text) <= 2 * _MAX_DIGITS else None


def as_json_number(found: Decimal) -> int | float:
    """Return a decimal as a JSON number: an integer if it has no fraction digits."""
    exponent = found.as_tuple().exponent
    return int(found) if isinstance(exponent, int) and exponent >= 0 else float(found)


def number_text(value: int | float) -> str | None:
    """Return the text of a number, where there is only one.

    A fraction has several: it may have had further zeros at its end.
    """
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def date_in(text: str) -> str | None:
    """Return the day that a text spells, in ISO 8601; ``None`` if day and month may be exchanged.

    A time of midnight at the end is dropped, since it says no more than the day. Any other time is
    not cut off.
    """
    text = _MIDNIGHT.sub("", " ".join(text.split()))
    if found := _YEAR_FIRST.fullmatch(text):
        year, month, day = (
            (found[1], found[3], found[4]) if found[1] else (found[5], found[6], found[7])
        )
        return _iso(int(year), int(month), int(day))
    if found := _YEAR_LAST.fullmatch(text):
        one, other = int(found[1]), int(found[3])
        # Above 12 a number can only be the day; of two equal ones either is.
        if one > 12 or one == other:
            return _iso(int(found[4]), other, one)
        return _iso(int(found[4]), one, other) if other > 12 else None
    for pattern in _NAMED_DATES:
        if found := pattern.fullmatch(text):
            return _named_date(found)
    return None


def date_time_in(text: str) -> str | None:
    """Return the moment that a whole text spells, in ISO 8601, with its offset or without any."""
    found = _TIMED.fullmatch(" ".join(text.split()))
    if found is None or (day := date_in(found["date"])) is None:
        return None
    zone = "Z" if found["zone"] == "UTC" else found["zone"] or ""
    return f"{day}T{found['time']}{zone}"


def _named_date(found: re.Match[str]) -> str | None:
    name = found["month"].lower()
    if name in _FULL_MONTHS:
        month = _FULL_MONTHS.index(name) + 1
    elif name in (*_MONTHS, "sept"):
        month = _MONTHS.index(name[:3]) + 1
    else:
        return None
    text = _iso(int(found["year"]), month, int(found["day"]))
    if text is None or found["weekday"] is None:
        return text
    # If the weekday does not belong to the date, one of the two is wrong.
    weekday = _WEEKDAYS[date.fromisoformat(text).weekday()]
    return text if found["weekday"].lower().startswith(weekday) else None


def _iso(year: int, month: int, day: int) -> str | None:
    try:
        # Eight digits may be any number; only a plausible year makes them a date.
        return date(year, month, day).isoformat() if 1900 <= year < 2200 else None
    except ValueError:
        return None


def truth_in(value: Any) -> bool | None:
    """Return the truth value of a word, or of 0 and 1."""
    if isinstance(value, str):
        return _TRUTH.get(value.strip().lower())
    if type(value) is int and value in (0, 1):
        return bool(value)
    return None


def choice_in(text: str, choices: list[Any], aliases: Mapping[str, Any]) -> list[Any]:
    """Return the choices that a text stands for: by declared alias, else regardless of writing."""
    if text in aliases:
        return [aliases[text]]
    wanted = folded(text.strip())
    named = [choice for choice in choices if isinstance(choice, str) and folded(choice) == wanted]
    named += [
        choice
        for alias, choice in aliases.items()
        if folded(alias) == wanted and choice not in named
    ]
    return named


def recased(text: str) -> set[str]:
    """Return the text in upper and in lower case."""
    return {text.upper(), text.lower()}
