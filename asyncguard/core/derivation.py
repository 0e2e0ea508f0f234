"""Values that follow from what was told: worked out, converted, inflected or put together.

Evidence asks whether a value occurs. This module asks, of one that does not, whether a reader of
the conversation could have come to it without a guess:

- a number, by one operation on two quantities that were told together, as a share of a told one,
  by another unit of a told amount, as a part of a told date, or as the place that an ordinal names;
- a day, from the present one or a told one by a told distance ("two weeks later", "the weekend"),
  and a named month of about this year;
- a time, from a told one by a told duration;
- a text, if its words are told in another inflection, or are joined from told words, or if it adds
  only the ending of a file or the scheme of an address.

One operation and no more: with each further step almost any number follows from any others. The
digits of a date, a time or a code are not combined: from ``M-20188`` no number follows. Quantities
were told together if they stand in one text, if answers of the model tell both ("pay what is still
missing"), or if one of them belongs to the present request ("with 12 kilos for the pallet"). Any
two of a long conversation would make most small numbers follow. What is left may still be dense: a
number counts only if few of those around it follow as well, as an invented one would by chance.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import combinations, islice, permutations, product, takewhile

from asyncguard.core import dates
from asyncguard.core.dates import Calendar, Clock, Day
from asyncguard.core.evidence import Sources, folded_text, words_of
from asyncguard.core.quantities import NUMERALS, amounts, money_apart, numerals_as_digits

_CODE = re.compile(r"[^\W\d_]+[-_.#/]?\d[\w-]*|\d+[^\W\d_][\w-]*\d[\w-]*|#\d+")
"""Letters with digits, whose digits count nothing: ``M-20188``, ``p310452``, ``#12``."""
_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?|[-+]?\.\d+")
_PLACE_NAMES = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    *("tenth", "eleventh", "twelfth"),
)
_OTHER_NUMBERS = {"half": 0.5, "quarter": 0.25, "pair": 2, "double": 2, "triple": 3} | {
    "square": 2,
    "squared": 2,
    "cube": 3,
    "cubed": 3,
    "hundred": 100,
    "percent": 100,
    "percentage": 100,
    "thousand": 1000,
    "million": 1e6,
}
_ORDINALS = {word: number for number, word in enumerate(_PLACE_NAMES, 1)} | _OTHER_NUMBERS
_MULTIPLES = {"half": 0.5, "halve": 0.5, "halved": 0.5, "twice": 2.0, "double": 2.0, "triple": 3.0}
_PARTS = {word: number for word, number in _ORDINALS.items() if word in _PLACE_NAMES[2:]} | {
    "quarter": 4
}
_SHARE = re.compile(
    rf"\b(?:(?P<multiple>{'|'.join(_MULTIPLES)})\b"
    rf"|(?P<count>an?|one|two|three)[\s-](?P<part>{'|'.join(_PARTS)})s?"
    # Not "a third bank".
    r"(?=\s(?:of|off|less|more)\b|\s*(?:[.,;:?!)]|$)))"
)
_COUNTED_PLACE = re.compile(r"\b(\d{1,4})(?:st|nd|rd|th)\b")
_DURATION = re.compile(
    r"\b(\d{1,4}|[a-z]+)[\s-]?(minute|min|hour|hr|h|day|night|week|fortnight|month|year)s?\b"
)
_DAYS_OF = {"day": 1, "night": 1, "week": 7, "fortnight": 14}
_MINUTES_OF = {"minute": 1, "min": 1, "hour": 60, "hr": 60, "h": 60}
_MONTHS_OF = {"month": 1, "year": 12}
_BESIDE = re.compile(
    r"\b(?:day|night|morning|evening) (?:before|after)\b|\b(?:next|previous) day\b"
)
_WEEKEND = re.compile(r"\bweekend\b")
_EDGE_OF_MONTH = re.compile(
    r"\b(?:end|start|beginning|first|last day) of (?:the |this |next )?month\b"
)
_NEXT = re.compile(r"\bnext (?P<unit>week|month|year)\b")
_WEEKDAYS = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day")
_CONVERSIONS = (
    ("h", 60.0),
    ("h", 3600.0),
    ("min", 60.0),
    ("min", 1 / 60),
    ("s", 1 / 60),
    ("s", 1 / 3600),
    ("s", 1000.0),
    ("ms", 0.001),
    ("d", 24.0),
    ("d", 1440.0),
    ("week", 7.0),
    ("year", 12.0),
    ("month", 1 / 12),
    ("km", 1000.0),
    ("m", 100.0),
    ("m", 0.001),
    ("cm", 0.01),
    ("cm", 10.0),
    ("mm", 0.1),
    ("mi", 1.609344),
    ("km", 1 / 1.609344),
    ("ft", 0.3048),
    ("m", 1 / 0.3048),
    ("in", 2.54),
    ("cm", 1 / 2.54),
    ("kg", 1000.0),
    ("g", 0.001),
    ("g", 1000.0),
    ("mg", 0.001),
    ("t", 1000.0),
    ("kg", 2.20462),
    ("lb", 1 / 2.20462),
    ("l", 1000.0),
    ("ml", 0.001),
    ("kb", 1024.0),
    ("mb", 1024.0),
    ("gb", 1024.0),
    ("kb", 1000.0),
    ("mb", 1000.0),
    ("gb", 1000.0),
    *((currency, 100.0) for currency in ("usd", "eur", "gbp", "chf")),
    ("bar", 100.0),
    ("kpa", 0.01),
    ("bar", 14.5038),
    ("psi", 1 / 14.5038),
    ("psi", 6.89476),
    ("kpa", 1 / 6.89476),
    ("gallon", 3.78541),
    ("l", 1 / 3.78541),
    ("mph", 1.609344),
    ("km/h", 1 / 1.609344),
    ("kph", 1 / 1.609344),
)
"""Unit and factor into another one: which does not matter, the schema may not say it."""
_FURTHER_UNIT = re.compile(
    r"(?<![\w.])(\d{1,6}(?:\.\d{1,4})?)\s?(bar|kpa|psi|gallon|mph|km/h|kph)s?\b"
)
"""Units that amounts of evidence do not know."""
_CLOSE = 0.006
"""Relative distance of rounded conversions: 5 miles are 8 km."""
_EXACT = 1e-9
"""Relative distance of equal numbers."""
_ROUNDED = 0.0051
"""Distance of results that were rounded to two decimals."""
_AROUND = 10
_CHANCE = 0.1
"""Share of the numbers on either side of one that may follow as well."""
_MOST = 60
"""Quantities that are combined, the latest; a long table would make any number follow."""
_ENDING = re.compile(r"\.[a-z][a-z0-9]{0,4}$")
_SCHEME = re.compile(r"^(?:https?://)?(?:www\.)?")
_SHORTEST = 3
"""Letters of a word that may be joined with others."""
_INFLECTIONS = ("ies", "ing", "es", "ed", "ly", "'s", "s", "y", "e", "d")
_LONGEST_JOINED = 40
_ANY_YEAR = 2023
_FEW = 4
"""Readings of days in one text whose distances count."""
_FAR = 370
"""Days that a told distance may reach."""


class Derivation:
    """Values that follow from the texts of a conversation; reads them once."""

    def __init__(self, told: Sources, *, request: Sequence[str], answers: Sequence[str]) -> None:
        """Store the texts.

        Args:
            told: All of them.
            request: The present request.
            answers: Earlier answers of the model, folded.
        """
        self._told = told
        self._request = [folded_text(text) for text in request]
        self._answers = frozenset(answers)

    def follows(self, value: str | float) -> bool:
        """Return True if a value that occurs nowhere follows from what occurs."""
        if not isinstance(value, str):
            return self._number_follows(float(value)) if abs(value) < 1e300 else False
        folded = folded_text(value)
        if _NUMBER.fullmatch(folded):
            return self._number_follows(float(folded))
        if (rest := self._without_moments(folded)) is None:
            return False
        return self._text_follows(rest)

    # -- numbers -----------------------------------------------------------------------------------

    def _number_follows(self, number: float) -> bool:
        if any(_equal(number, part) for part in self._parts_of_dates):
            return True
        if number in self._spans or any(_equal(number, told) for told in self._places):
            return True
        if any(
            abs(number - other) <= _CLOSE * abs(other)
            for told, unit in self._measured
            for other in _converted(told, unit)
        ):
            return True
        if any(_equal(number, share) for share in self._shares):
            return True
        return self._is_result(number) and self._stands_out(number)

    def _is_result(self, number: float) -> bool:
        far = max(_ROUNDED, _EXACT * abs(number))
        first = bisect_left(self._results, number - far)
        near = takewhile(lambda each: each <= number + far, islice(self._results, first, None))
        return any(_equal(number, result) for result in near)

    def _stands_out(self, number: float) -> bool:
        """Return True if few of the numbers around one follow as well; else it tells nothing."""
        exponent = Decimal(repr(number)).normalize().as_tuple().exponent
        step = 10.0 ** min(int(exponent), 0)  # of its last decimal
        around = [number + step * count for count in range(-_AROUND, _AROUND + 1) if count]
        return sum(map(self._is_result, around)) <= _CHANCE * len(around)

    @cached_property
    def _results(self) -> list[float]:
        """Results of one operation on two quantities, in their order."""
        places, asked = self._quantities, self._asked
        return sorted(
            result
            for one, other in permutations(places, 2)
            if one in asked or other in asked or not places[one].isdisjoint(places[other])
            for result in _results(one, other)
        )

    @cached_property
    def _plain(self) -> list[str]:
        return [_without_moments_and_codes(text) for text in self._told.texts]

    @cached_property
    def _quantities(self) -> dict[float, set[int]]:
        """Numbers, with the texts in which they stand; all answers count as one text."""
        found: dict[float, set[int]] = {}
        for place, (text, plain) in enumerate(zip(self._told.texts, self._plain, strict=True)):
            for number in _numbers(plain):
                found.setdefault(number, set()).add(-1 if text in self._answers else place)
        return dict(list(found.items())[-_MOST:])

    @cached_property
    def _asked(self) -> set[float]:
        """Numbers of the present request."""
        return {n for text in self._request for n in _numbers(_without_moments_and_codes(text))}

    @cached_property
    def _shares(self) -> set[float]:
        """Shares and multiples of which the request speaks, of all told amounts, or without them.

        So half a year is 6 months, and a year and a half 18.
        """
        shares = {
            _MULTIPLES[found["multiple"]]
            if found["multiple"]
            else NUMERALS.get(found["count"], 1) / _PARTS[found["part"]]
            for text in self._request
            for found in _SHARE.finditer(text)
        }
        if not shares:
            return set()
        wholes = {*self._quantities}
        wholes.update(each for told, unit in self._measured for each in _converted(told, unit))
        wholes.update(
            float(count * sizes[unit])
            for count, unit in self._durations
            for sizes in (_DAYS_OF, _MINUTES_OF, _MONTHS_OF)
            if unit in sizes
        )
        parts = [share for share in shares if share < 1]
        shares.update(each for part in parts for each in (1 + part, 1 - part))
        return {whole * share for whole in wholes for share in shares}

    @cached_property
    def _measured(self) -> set[tuple[float, str]]:
        return {
            (each.number, each.unit)
            for text in self._plain
            for each in amounts(text)
            if each.unit and abs(each.number) < 1e300
        } | {
            (float(number), unit)
            for text in self._plain
            for number, unit in _FURTHER_UNIT.findall(text)
        }

    @cached_property
    def _places(self) -> set[float]:
        """Numbers that ordinals and fractions name."""
        found = {float(_ORDINALS[word]) for word in self._told.words & _ORDINALS.keys()}
        found.update(float(n) for text in self._told.texts for n in _COUNTED_PLACE.findall(text))
        return found

    @cached_property
    def _parts_of_dates(self) -> set[float]:
        days = self._days
        return {float(part) for day in days for part in (day.year, day.month, day.day)} | {
            float(part)
            for calendar in self._told.calendars
            for day in calendar.days
            for part in day
            if part is not None
        }

    # -- days and times ----------------------------------------------------------------------------

    @cached_property
    def _present(self) -> set[date]:
        return set[date]().union(*(calendar.present for calendar in self._told.calendars))

    @cached_property
    def _days(self) -> set[date]:
        """All days that were told, in full or by their distance from the present one."""
        found = set(self._present)
        for calendar in self._told.calendars:
            found.update(
                shifted
                for today in self._present
                for offset in calendar.offsets
                if (shifted := _shifted(today, offset))
            )
            found |= self._in_full(calendar.days)
        return found

    def _in_full(self, days: Collection[Day]) -> set[date]:
        """Return days with the years and months that they lack, those of the present one."""
        found: set[date] = set()
        for day in days:
            years = (day.year,) if day.year else {each.year for each in self._present}
            months = (day.month,) if day.month else {each.month for each in self._present}
            for year, month in product(years, months):
                if made := _day(year, month, day.day):
                    found.add(made)
        return found

    @cached_property
    def _spans(self) -> set[int]:
        """Nights, and days with both ends, between two days of one text of the present request."""
        found: set[int] = set()
        for text in self._request:
            calendar = Calendar()
            calendar.add(text)
            if not 2 <= len(calendar.days) <= _FEW:  # between many, any small number would follow
                continue
            # Without a year it matters only on 29 February.
            days = self._in_full(calendar.days) or self._in_full(
                [day._replace(year=_ANY_YEAR) for day in calendar.days if day.month]
            )
            for one, other in combinations(sorted(days - calendar.present), 2):
                nights = (other - one).days
                found |= {nights, nights + 1}
        return found

    @cached_property
    def _durations(self) -> list[tuple[int, str]]:
        found = set()
        for text in self._told.texts:
            for count, unit in _DURATION.findall(text):
                if count.isdigit():
                    found.add((int(count), unit))
                elif (number := {"a": 1, "an": 1, **NUMERALS}.get(count)) is not None:
                    found.add((number, unit))
        return sorted(found)

    @cached_property
    def _reachable(self) -> set[date]:
        """Days at a told distance of a told day."""
        said = list(self._told.texts)
        found = set(self._days)
        steps = {count * _DAYS_OF[unit] for count, unit in self._durations if unit in _DAYS_OF}
        if any(_BESIDE.search(text) for text in said):
            steps.add(1)
        for day, step, sign in product(self._days, steps, (1, -1)):
            if step <= _FAR and (moved := _shifted(day, sign * step)):
                found.add(moved)
        months = {count * _MONTHS_OF[unit] for count, unit in self._durations if unit in _MONTHS_OF}
        nexts = {found["unit"] for text in said for found in _NEXT.finditer(text)}
        months |= {_MONTHS_OF[unit] for unit in nexts & _MONTHS_OF.keys()}
        for day, step, sign in product(self._days, months, (1, -1)):
            if moved := _by_months(day, sign * step):
                found.add(moved)
        for today in self._present:
            ahead = [today + timedelta(days=step) for step in range(15)]
            if any(_WEEKEND.search(text) for text in said):
                found.update(day for day in ahead if day.weekday() >= 5)
            if "week" in nexts or any(_WEEKDAYS.search(text) for text in said if "week" in text):
                found.update(ahead)
            if any(_EDGE_OF_MONTH.search(text) for text in said) or "month" in nexts:
                found.update(_edges(today))
        return found

    def _without_moments(self, folded: str) -> str | None:
        """Return a text without its days and times; ``None`` if one of them does not follow."""
        untold = False

        def has_day(readings: Collection[Day], _before: str) -> bool:
            nonlocal untold
            told = any(
                (made := _day(day.year, day.month, day.day)) and made in self._reachable
                for day in readings
                if day.year and day.month
            )
            told = told or any(
                dates.is_told(day, self._told.calendars, lambda year: str(year) in self._told.words)
                for day in readings
            )
            untold = untold or not told
            return True

        def has_time(readings: Collection[Clock]) -> bool:
            nonlocal untold
            bare = {each._replace(zone=None) for each in readings}
            known = any(calendar.has_time(readings) for calendar in self._told.calendars)
            bounds = any(each.minute in (0, 59) and each.hour in (0, 23) for each in bare)
            untold = untold or not (known or bounds or self._time_follows(bare))
            return True

        rest = dates.without_times(dates.without_dates(folded, has_day), has_time)
        return None if untold else dates.without_months(rest, self._month_follows)

    def _month_follows(self, month: tuple[int, int]) -> bool:
        """Return True for the month of a reachable day, or a named one near the present year."""
        year, number = month
        if any((day.year, day.month) == month for day in self._reachable):
            return True
        return number in dates.named_months(self._told.words) and any(
            abs(today.year - year) <= 1 for today in self._present
        )

    def _time_follows(self, readings: Collection[Clock]) -> bool:
        steps = {
            count * _MINUTES_OF[unit] for count, unit in self._durations if unit in _MINUTES_OF
        }
        times = {60 * each.hour + each.minute for cal in self._told.calendars for each in cal.times}
        reached = {
            (time + sign * step) % 1440 for time in times for step in steps for sign in (1, -1)
        }
        return any(60 * each.hour + each.minute in reached for each in readings)

    # -- texts -------------------------------------------------------------------------------------

    def _text_follows(self, rest: str) -> bool:
        words = words_of(_SCHEME.sub("", _ENDING.sub("", rest.strip())))
        return all(map(self._word_follows, words))

    def _word_follows(self, word: str) -> bool:
        if self._told.has(word):
            return True
        if word.isdigit() or len(word) < _SHORTEST:
            return False
        if not self._stems.isdisjoint(_stems(word)):
            return True
        return len(word) <= _LONGEST_JOINED and self._is_joined(word)

    @cached_property
    def _stems(self) -> set[str]:
        return {stem for word in self._told.words if word.isalpha() for stem in _stems(word)}

    def _is_joined(self, word: str) -> bool:
        """Return True if a word consists of told words of three letters and more, and numbers."""
        reached = {0}
        for end in range(1, len(word) + 1):
            if any(self._is_piece(word[start:end]) for start in reached):
                reached.add(end)
        return len(word) in reached

    def _is_piece(self, piece: str) -> bool:
        long = len(piece) >= _SHORTEST or piece.isdigit()
        return long and piece in self._told.words


def _without_moments_and_codes(text: str) -> str:
    """Return a folded text without codes, dates and times, and with numbers in digits."""
    rest = dates.without_dates(_CODE.sub(" ", money_apart(text)), lambda *_: True)
    return numerals_as_digits(dates.without_times(rest, lambda _: True))


def _numbers(text: str) -> Iterator[float]:
    return (each.number for each in amounts(text) if each.unit is None)


def _equal(one: float, other: float) -> bool:
    """Return True for equal numbers, also if the first was rounded to some decimals."""
    if abs(one - other) <= _EXACT * max(1.0, abs(one)):
        return True
    return one != int(one) and abs(one - other) <= _ROUNDED


def _converted(number: float, unit: str) -> Iterator[float]:
    """Yield an amount in other units, and the factors to these."""
    for name, factor in _CONVERSIONS:
        if name == unit:
            yield number * factor
            yield factor
    if unit == "c":
        yield number * 9 / 5 + 32
    if unit == "f":
        yield (number - 32) * 5 / 9


def _results(one: float, other: float) -> Iterator[float]:
    yield one + other
    yield one - other
    yield one * other
    yield one * other / 100
    yield one * (100 + other) / 100
    yield one * (100 - other) / 100
    if other:
        yield one / other


def _stems(word: str) -> set[str]:
    """Return the forms of a word without an ending, and itself."""
    return {word} | {
        word.removesuffix(ending)
        for ending in _INFLECTIONS
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST
    }


def _day(year: int | None, month: int | None, day: int) -> date | None:
    try:
        return date(year or 0, month or 0, day)
    except ValueError:
        return None


def _shifted(day: date, days: int) -> date | None:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None


def _by_months(day: date, months: int) -> date | None:
    place = 12 * day.year + day.month - 1 + months
    return next(
        (made for last in range(4) if (made := _day(place // 12, place % 12 + 1, day.day - last))),
        None,
    )


def _edges(today: date) -> Iterator[date]:
    """Yield the first and the last days of this month and the next one."""
    first = today.replace(day=1)
    for months in (0, 1):
        if (begin := _by_months(first, months)) and (after := _by_months(first, months + 1)):
            yield begin
            yield after - timedelta(days=1)
