"""Numbers, units and currencies in text, in the forms in which people and tools write them.

A number may have several readings: ``1,250`` is one number in prose and two in a compact list, and
``1.250`` is more than a thousand in some countries. All of them count.
"""

import re
from collections.abc import Callable, Collection, Iterator
from functools import partial

# Not within a word (``v2``), and not the end of a version (``1.2.3``): those are names.
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:,\d+)*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
_GROUPED = re.compile(
    r"(?<![^\s$\u20ac\u00a3(])"
    r"(?P<whole>\d{1,3}(?:(?P<mark>[.'\u2019 ])\d{3})(?:(?P=mark)\d{3}){0,4})"
    r"(?:[.,](?P<part>\d+))?(?![\w.,]\d|\w)"
)
"""Thousands apart by a point, an apostrophe or a space: ``1.250,50``."""
_COMMA = re.compile(
    r"(?<![^\s$\u20ac\u00a3(])(\d+),(\d{1,2})(?=$|[\s$\u20ac\u00a3%);:!?]|[.,](?!\d))"
)
"""Decimal comma: ``12,5``, and not two numbers of a list."""
_FACTORS = {
    "%": 0.01,
    "percent": 0.01,
    "k": 1e3,
    "thousand": 1e3,
    "mio": 1e6,
    "million": 1e6,
    "bn": 1e9,
    "billion": 1e9,
}
_UNITS = "|".join(
    [
        "kg",
        "g",
        "mg",
        "lb",
        "lbs",
        "oz",
        "km",
        "m",
        "cm",
        "mm",
        "mi",
        "ft",
        "in",
        "h",
        "hr",
        "hrs",
        "min",
        "mins",
        "s",
        "sec",
        "ms",
        "d",
        "l",
        "ml",
        "kb",
        "mb",
        "gb",
        "tb",
        "kw",
        "kwh",
        "w",
        "v",
        "hz",
        "mhz",
        "ghz",
        "px",
        "pt",
        "x",
        "c",
        "f",
    ]
)
_MEASURE = re.compile(
    r"(\d(?<![\w.,]\d)\d*(?:[.,]\d+)?)\s?"
    rf"(?:({'|'.join(map(re.escape, _FACTORS))})|(?:{_UNITS}))(?!\w)"
)
"""Number with a unit, or with a word for its size."""
_SYMBOLS = {
    ord("$"): " usd ",
    ord("\u20ac"): " eur ",
    ord("\u00a3"): " gbp ",
    ord("\u00a5"): " jpy ",
}
_MONEY = re.compile("[$\u20ac\u00a3\u00a5]|usd|eur|gbp|jpy|chf")
_CODE = re.compile(r"(?:usd|eur|gbp|jpy|chf)(?![^\W\d_])(?<![^\W\d_].{3})")
_SAME = (
    "usd dollar dollars",
    "eur euro euros",
    "gbp pound pounds",
    "jpy yen",
    "chf franc francs",
    "kg kilo kilos kilogram kilograms",
    "g gram grams",
    "km kilometer kilometers kilometre kilometres",
    "m meter meters metre metres",
    "mi mile miles",
    "h hr hrs hour hours",
    "min mins minute minutes",
    "s sec secs second seconds",
)
SYNONYMS = {word: frozenset(line.split()) for line in _SAME for word in line.split()}
"""Words that mean the same unit."""
NUMERALS = {
    "no": 0,
    "none": 0,
    "zero": 0,
    "one": 1,
    "single": 1,
    "once": 1,
    "two": 2,
    "both": 2,
    "twice": 2,
    "couple": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "dozen": 12,
}
"""Small numbers in words."""


def money_apart(text: str) -> str:
    """Return a folded text with the symbols of currencies as codes, apart from their amounts."""
    if not _MONEY.search(text):  # the common case
        return text
    return _CODE.sub(r" \g<0> ", text.translate(_SYMBOLS))


def numbers(text: str) -> Iterator[float]:
    """Yield all readings of the numbers in a folded text, those in words left out."""
    for pattern, read in _FORMS:
        for found in pattern.finditer(text):
            yield from read(found)


def without_numbers(text: str, judge: Callable[[Collection[float]], bool]) -> str:
    """Return a folded text without the numbers that ``judge`` accepts by their readings."""
    for pattern, read in _FORMS:
        text = pattern.sub(partial(_judged, read=read, judge=judge), text)
    return text


def _judged(
    found: re.Match[str],
    *,
    read: Callable[[re.Match[str]], list[float]],
    judge: Callable[[Collection[float]], bool],
) -> str:
    if read is not _plain:
        return " " if judge(read(found)) else found[0]
    # A list is told if all of its numbers are; by one of them "249,000.00" would rest on any 0.
    parts = [float(part) for part in found[0].split(",")]
    told = judge([float(found[0].replace(",", ""))]) or all(judge([part]) for part in parts)
    return " " if told else found[0]


def _grouped(found: re.Match[str]) -> list[float]:
    whole = found["whole"].replace(found["mark"], "")
    return [float(f"{whole}.{found['part'] or 0}")]


def _measure(found: re.Match[str]) -> list[float]:
    number = float(found[1].replace(",", "."))
    return [number, number * _FACTORS[found[2]]] if found[2] else [number]


def _comma(found: re.Match[str]) -> list[float]:
    return [float(f"{found[1]}.{found[2]}")]


def _plain(found: re.Match[str]) -> list[float]:
    # "1,250" is one number in prose and two in a compact list; both readings count.
    return [float(part) for part in {found[0].replace(",", ""), *found[0].split(",")} - {""}]


_FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], list[float]]], ...] = (
    (_GROUPED, _grouped),
    (_MEASURE, _measure),
    (_COMMA, _comma),
    (_NUMBER, _plain),
)
