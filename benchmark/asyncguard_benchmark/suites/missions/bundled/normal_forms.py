"""Normal forms of values: whether a text tells one, however it is written."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

_WORDS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
)
_NUMBER_WORDS = {word: float(n) for n, word in enumerate(_WORDS)} | {
    "once": 1.0,
    "twice": 2.0,
    "dozen": 12.0,
    "thirty": 30.0,
    "forty": 40.0,
    "fifty": 50.0,
    "sixty": 60.0,
    "hundred": 100.0,
}
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_NOT_A_NUMBER = re.compile(
    r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}:\d\d\b|\b[A-Z]{1,5}[- ]\d+\b|\b[A-Za-z]+\d\w*"
)
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?!\w)")
_UNITS = (100.0, 1000.0)
"""Factors between units of one quantity, as euros and cents, or bar and kilopascals."""


def leaves(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the JSON pointer and the value of everything in a value that is neither an object nor a list."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from leaves(each, f"{at}/{name}")
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from leaves(each, f"{at}/{place}")
    else:
        yield at, value


def as_text(value: Any) -> str:
    """Return the leaves of a result as a text, without the names of its fields."""
    return " ; ".join(str(each) for _, each in leaves(value) if each is not None)


def stands(value: Any, text: str, today: date, *, units: bool = False) -> bool:
    """Return True if a text tells a value.

    Args:
        value: A leaf, or a list, which stands in a text if one of its leaves does.
        text: The text.
        today: The day from which words such as tomorrow count.
        units: Also look for a number in other units.
    """
    if isinstance(value, list | dict):
        return any(stands(each, text, today, units=units) for _, each in leaves(value))
    if value is None or isinstance(value, bool):
        return False
    folded = " ".join(text.casefold().split())
    if isinstance(value, int | float):
        factors = (1.0, *_UNITS, *(1 / each for each in _UNITS)) if units else (1.0,)
        told = set(_numbers(text))
        return any(abs(each - value * factor) < 1e-6 for each in told for factor in factors)
    if found := _ISO.fullmatch(value.strip()):
        return date(*map(int, found.groups())) in set(_dates(folded, today))
    wanted = re.escape(" ".join(value.casefold().split()))
    return re.search(rf"(?<!\w){wanted}(?!\w)", folded) is not None


def _numbers(text: str) -> Iterator[float]:
    # The case is kept: capitals before digits are an id, and its digits are not a quantity.
    words = re.findall(r"[a-z]+", text.casefold())
    yield from (_NUMBER_WORDS[word] for word in words if word in _NUMBER_WORDS)
    for each in _NUMBER.findall(_NOT_A_NUMBER.sub(" ", text)):
        yield float(each.replace(",", ""))


def _dates(text: str, today: date) -> Iterator[date]:
    for year, month, day in _ISO.findall(text):
        yield date(int(year), int(month), int(day))
    month = rf"(?P<month>{'|'.join(_MONTHS)})"
    day = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
    for pattern in (rf"\b{day}(?: of)? {month}\b", rf"\b{month}(?: the)? {day}\b"):
        for found in re.finditer(pattern, text):
            number = _MONTHS.index(found["month"]) + 1
            for year in (today.year, today.year + 1):
                try:
                    yield date(year, number, int(found["day"]))
                except ValueError:
                    continue
    for word, days in (("today", 0), ("tonight", 0), ("day after tomorrow", 2), ("tomorrow", 1)):
        if word in text:
            yield today + timedelta(days=days)
    for weekday, word in enumerate(_DAYS):
        if word in text:
            ahead = (weekday - today.weekday()) % 7
            yield from (today + timedelta(days=ahead + week) for week in (0, 7))
