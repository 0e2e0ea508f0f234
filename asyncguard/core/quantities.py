"""Numbers, units and currencies in text, in the forms in which people and tools write them.

A number counts as a whole: ``1,250`` says neither 1 nor 250. Where the notation leaves open what is
meant it has several readings: ``1.250`` is more than a thousand in some countries, and ``12,5`` is
one number or two. Between brackets, as in compact JSON, a comma always divides.

An amount is a number with its unit. The same number with another unit is another amount; one that
was written without a unit may be of any.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple


class Amount(NamedTuple):
    """A number and its unit."""

    number: float
    unit: str | None
    """Short name of the unit; "" for a number without one; ``None`` if it does not matter."""


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
_CURRENCIES = (
    "usd dollar dollars",
    "eur euro euros",
    "gbp pound pounds",
    "jpy yen",
    "chf franc francs",
)
_MEASURES = (
    "kg kilo kilos kilogram kilograms",
    "g gram grams",
    "mg milligram milligrams",
    "t ton tons tonne tonnes",
    "lb lbs pound pounds",
    "oz ounce ounces",
    "km kilometer kilometers kilometre kilometres",
    "m meter meters metre metres",
    "cm centimeter centimeters centimetre centimetres",
    "mm millimeter millimeters millimetre millimetres",
    "mi mile miles",
    "ft foot feet",
    "in inch inches",
    "h hr hrs hour hours",
    "min mins minute minutes",
    "s sec secs second seconds",
    "ms millisecond milliseconds",
    "d day days",
    "week weeks",
    "month months",
    "year years",
    "l liter liters litre litres",
    "ml milliliter milliliters millilitre millilitres",
    *("kb", "mb", "gb", "tb", "kw", "kwh", "w", "v", "hz", "mhz", "ghz", "pt", "x"),
    "px pixel pixels",
    "c celsius",
    "f fahrenheit",
)
_UNITS: dict[str, frozenset[str]] = {}
_NO_UNIT: frozenset[str] = frozenset()
_SHARE = frozenset({"share"})
"""Unit of a percentage that is read as a fraction."""
SYNONYMS: dict[str, frozenset[str]] = {}
"""Words that mean the same unit."""
for _line in (*_CURRENCIES, *_MEASURES):
    for _word in _line.split():
        _UNITS[_word] = _UNITS.get(_word, frozenset()) | {_line.split()[0]}
        SYNONYMS[_word] = SYNONYMS.get(_word, frozenset()) | set(_line.split())
_MONEY_WORDS = frozenset(word for line in _CURRENCIES for word in line.split())
_CODES = "|".join(line.split()[0] for line in _CURRENCIES)
# "5 in" is a length, "5 in total" is not.
_UNIT = rf"(?:in(?!\s+[^\W\d_])|{'|'.join(sorted(_UNITS.keys() - {'in'}, key=len, reverse=True))})"
_FACTOR = "|".join(_FACTORS)
# Not "k": "2 K" may be the beginning of a name.
SCALES = frozenset(word for word, factor in _FACTORS.items() if factor > 1) - {"k"}
"""Words that make another number of the one before them."""
_SCALED = re.compile(rf"(?<![\w.,'\u2019])\d[\d.,'\u2019]*+(?= (?:{'|'.join(SCALES)})(?!\w))")
_PIECE = rf"(?:e[-+]?\d++)?(?=(?:{_FACTOR}|{_UNIT})?(?!\w))"
_AMOUNT = re.compile(
    # Not within a word (``v2``), nor the end of a version. Atomic: a text that is one long list is
    # read once. ``(...)*+`` is the same but for Python 3.11.2, where it keeps what a last, failed
    # repeat had matched: "12," of "12, 13".
    r"\d(?<!\w\d)(?<!\w\.\d)"
    r"(?P<body>\d{0,2}(?P<mark>['\u2019 ])\d{3}(?:(?P=mark)\d{3}){0,4}(?:[.,]\d+)?(?![\d.,]\d)"
    rf"|\d*+(?:e[-+]?\d++)?(?>(?:[.,]\d++{_PIECE})*))"
    rf"(?:\s?(?P<factor>{_FACTOR})(?!\w))?(?:\s?\u00b0?\s?(?P<unit>{_UNIT})(?!\w))?(?!\w|\.\d)"
)
_BEFORE = re.compile(
    rf"(?P<minus>(?<![\w)])-)?\s?(?<![^\W_])(?P<money>{_CODES})\s{{0,2}}(?P<sign>[-+])?$"
    r"|(?<![\w)])(?P<alone>[-+])$"
)
"""Sign and currency before a number."""
_NEAR = 10
"""Characters that they take at most."""
_OPERATOR = re.compile(r"[\d)]\s+-$")
_SEPARATOR = re.compile("[.,]")
_SYMBOLS = {
    ord("$"): " usd ",
    ord("\u20ac"): " eur ",
    ord("\u00a3"): " gbp ",
    ord("\u00a5"): " jpy ",
}
_MONEY = re.compile(f"[$\u20ac\u00a3\u00a5]|{_CODES}")
_CODE = re.compile(rf"(?:{_CODES})(?![^\W\d_])(?<![^\W\d_].{{3}})")
_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
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
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_LETTERS = re.compile("[a-z]+")
NUMERALS = {
    "no": 0,
    "none": 0,
    "zero": 0,
    "single": 1,
    "once": 1,
    "both": 2,
    "twice": 2,
    "couple": 2,
    "dozen": 12,
    **{word: number for number, word in enumerate([*_ONES, *_TEENS], 1)},
    **{word: 10 * number for number, word in enumerate(_TENS, 2)},
}
"""Numbers in words."""
_LARGE = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
NUMBER_WORDS = NUMERALS.keys() | _LARGE.keys()
"""Words of which a text with a number in words has one."""
_LARGER = "|".join(word for word in _LARGE if word != "hundred")
_COMPOUND = rf"(?:{'|'.join(_TENS)})[- ](?:{'|'.join(_ONES)})"
_SMALL = rf"(?>{_COMPOUND}|{'|'.join([*_TENS, *_TEENS, *_ONES])})"
_SOME = rf"(?:{_SMALL}|an?)"
# "One hundred and two hundred" are two numbers, and so are "between one hundred and two thousand".
_END = rf"(?!\w|[- ](?:{'|'.join(_LARGE)}))"
_HUNDREDS = rf"{_SOME}[- ]hundred(?:(?:[- ]and)?[- ]{_SMALL}{_END})?"
_OF_LARGER = rf"(?:(?<!between ){_SOME}[- ]hundred(?:[- ]and)?[- ]{_SMALL}|{_HUNDREDS}|{_SOME})"
_NUMERAL = re.compile(
    rf"\b(?:(?P<number>{_OF_LARGER}[- ](?:{_LARGER})"
    rf"(?:[- ]{_HUNDREDS}{_END}|(?:[- ]and)?[- ]{_SMALL}{_END})?|{_HUNDREDS}|{_COMPOUND})"
    rf"|(?P<word>{'|'.join(sorted(NUMERALS, key=len, reverse=True))}))\b"
)


def money_apart(text: str) -> str:
    """Return a folded text with the symbols of currencies as codes, apart from their amounts."""
    if not _MONEY.search(text):  # the common case
        return text
    return _CODE.sub(r" \g<0> ", text).translate(_SYMBOLS)


def numerals_as_digits(text: str) -> str:
    """Return a folded text with the numbers that are written as words in digits."""

    def digits(found: re.Match[str]) -> str:
        if word := found["word"]:
            return str(NUMERALS[word])
        whole = below = 0
        for word in _LETTERS.findall(found["number"]):
            if word == "hundred":
                below *= 100
            elif scale := _LARGE.get(word):
                whole, below = whole + below * scale, 0
            else:
                below += NUMERALS.get(word, word in ("a", "an"))
        return str(whole + below)

    return _NUMERAL.sub(digits, text)


def without_scaled(text: str) -> str:
    """Return a folded text without the digits before a word such as "million".

    ``2 million`` does not say 2.
    """
    return _SCALED.sub(" ", text)


def amounts(text: str) -> Iterator[Amount]:
    """Yield all readings of the numbers in a folded text, in digits and with money apart."""
    for found in _AMOUNT.finditer(text):
        written = _Written(found)
        parts = (each for part in written.parts for each in part)
        for reading in (*written.wholes, *parts):
            # A number is told without its unit, too; only another unit is another amount.
            for unit in (None, *(reading.units or {""})):
                yield Amount(reading.number, unit)
            # The sign may be left out; a bare number stands among the words without it.
            if reading.number < 0:
                yield from (Amount(-reading.number, unit) for unit in reading.units)


def without_numbers(text: str, judge: Callable[[Amount], bool]) -> str | None:
    """Return a folded text without the numbers that ``judge`` accepts.

    ``None`` if it does not accept one whose digits alone would say too little: one with a sign, a
    unit or separators. What else it does not accept stays, and so do currencies.
    """
    untold = False

    def blanked(found: re.Match[str]) -> str:
        nonlocal untold
        written = _Written(found)
        if not written.wholes and not written.parts:
            return found[0]
        if not written.is_told(judge):
            untold = untold or written.more_than_digits
            return found[0]
        unit = found["unit"]
        return f" {unit} " if unit and unit in _MONEY_WORDS else " "

    rest = _AMOUNT.sub(blanked, text)
    return None if untold else rest


class _Reading(NamedTuple):
    number: float
    units: frozenset[str]

    def is_told(self, judge: Callable[[Amount], bool]) -> bool:
        if not self.units:
            return judge(Amount(self.number, None))
        return any(judge(Amount(self.number, unit)) for unit in ("", *self.units))


class _Written:
    """One number in a text: its readings as a whole, or as the numbers of a list."""

    def __init__(self, found: re.Match[str]) -> None:
        start, text = found.start(), found.string
        near = text[max(0, start - _NEAR) : start]
        sign, units = "", _UNITS[found["unit"]] if found["unit"] else _NO_UNIT
        factor = found["factor"] or ""
        # Most numbers have neither; this is several times faster than the pattern.
        signed = near[-1:] in ("-", "+")
        if (signed or near.rstrip()[-3:] in _UNITS) and (before := _BEFORE.search(near)):
            sign = before["minus"] or before["sign"] or before["alone"] or ""
            if before["money"] and found["unit"] == "m" and text[found.end() - 2].isdigit():
                factor, units = "million", frozenset({before["money"]})  # "$2M", but "$20 5 m"
            elif before["money"]:
                units |= {before["money"]}
        digits = text[start] + found["body"]
        if near[-1:] == "." and "." not in digits:
            digits = f"0.{digits}"
        # Commas divide in ``[1,250]`` and ``["a",1,250]``.
        listed = near[: -1 if signed else None][-1:] in ("[", ",") and bool(near)
        wholes, parts = _values(digits, mark=found["mark"], has_unit=bool(units), listed=listed)
        signs = [-1.0] if sign == "-" else [1.0]
        # "158 -100" is a difference: the sign may be the operator.
        if sign == "-" and _OPERATOR.search(near):
            signs.append(1.0)
        scale = _FACTORS.get(factor)
        self.wholes = [_Reading(each * number, units) for number in wholes for each in signs]
        if scale:
            bare = [_Reading(one.number, frozenset({"%"})) for one in self.wholes]
            # 10% is 0.1, but neither 0.1 s nor 0.1%.
            units = _SHARE if scale < 1 else units
            self.wholes = [_Reading(round(one.number * scale, 12), units) for one in self.wholes]
            if scale < 1:  # "5%" tells a bare 5, and may be told as one; "5k" does neither
                self.wholes += bare
        self.parts = [[_Reading(number, _NO_UNIT) for number in part] for part in parts]
        if parts:
            self.parts[0] = [one._replace(number=signs[0] * one.number) for one in self.parts[0]]
        self.more_than_digits = bool(sign == "-" or units or scale or not digits.isdigit())

    def is_told(self, judge: Callable[[Amount], bool]) -> bool:
        """Return True if a reading is told; a list is told if all of its numbers are."""
        return any(whole.is_told(judge) for whole in self.wholes) or (
            bool(self.parts)
            and all(any(each.is_told(judge) for each in part) for part in self.parts)
        )


def _values(
    digits: str, *, mark: str | None = None, has_unit: bool = True, listed: bool = False
) -> tuple[set[float], list[set[float]]]:
    """Return the readings of a number as one, and those of its parts if it may be a list."""
    parts: Sequence[str]
    if mark:
        whole = {float(digits.replace(mark, "").replace(",", "."))}
        # "1 250 EUR" is one amount, "2 500" may be two.
        parts = digits.split(" ") if mark == " " and not has_unit else []
    elif not _SEPARATOR.search(digits):
        return {float(digits)}, []
    elif listed and "," in digits:
        whole, parts = set(), digits.split(",")
    elif "e" in digits:
        whole = set() if "," in digits or digits.count(".") > 1 else {float(digits)}
        parts = digits.split(",") if "," in digits else []
    else:
        whole, parts = _separated(digits, has_unit)
    return whole, [_values(part)[0] for part in parts]


def _separated(digits: str, has_unit: bool) -> tuple[set[float], Sequence[str]]:
    """Read digits with points and commas: thousands, decimals, or a list."""
    groups, marks = _SEPARATOR.split(digits), _SEPARATOR.findall(digits)
    joined = float("".join(groups))
    if len(marks) == 1:
        decimal = float(".".join(groups))
        if marks == ["."]:
            return ({decimal, joined} if _is_grouped(groups) else {decimal}), ()
        if _is_grouped(groups):
            return {joined}, ()
        if len(groups[1]) <= 2 or groups[0] == "0":
            return {decimal}, () if has_unit else groups
        return set(), groups
    if len(set(marks)) == 1:
        if _is_grouped(groups):
            return {joined}, ()
        if marks[0] == ".":
            # The parts of a date may be given one by one; those of a version or an address may not.
            day = len(groups) == 3 and float(groups[0]) <= 31 and float(groups[1]) <= 12
            return set(), groups if day else ()
        return ({joined} if _is_grouped(groups, between=2) else set()), groups
    if len(set(marks[:-1])) == 1 and marks[-1] != marks[0]:
        whole = groups[:-1]
        if _is_grouped(whole) or _is_grouped(whole, between=2):
            return {float(f"{''.join(whole)}.{groups[-1]}")}, ()
    return set(), digits.split(",")


def _is_grouped(groups: Sequence[str], between: int = 3) -> bool:
    """Return True if digits are grouped by thousands, or as in India by hundreds above them."""
    head, *middle, last = groups
    return (
        1 <= len(head) <= between
        and not head.startswith("0")
        and len(last) == 3
        and all(len(group) == between for group in middle)
    )
