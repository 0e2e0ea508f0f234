"""Dates and times of day in text, in the forms in which people and tools write them.

Patterns find the places where a date may stand, dateutil reads them. A date counts as a whole: its
parts elsewhere in a text say nothing. What is ambiguous has several readings (``5/6`` is a day of
May and one of June), and a part that was not written is ``None``, so that "May 26" is the same day
as 2024-05-26 and another one than 2024-06-26.

Nothing here reads the clock: the present day is one that a text names as such.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import lru_cache, partial
from typing import NamedTuple

from dateutil.parser import parse, parserinfo


class Day(NamedTuple):
    """A day as it was written: only the day of the month has to be there."""

    year: int | None
    month: int | None
    day: int


class Clock(NamedTuple):
    """A time of day."""

    hour: int
    minute: int
    second: int
    zone: str | None = None
    """Offset from UTC; "" if none was written; ``None`` if it does not matter."""


_MONTHS = [
    (*names, *further.split())
    for names, further in zip(
        parserinfo.MONTHS,
        (
            "januar janvier enero gennaio januari janeiro stycznia января",
            "februar fevrier febrero febbraio februari fevereiro lutego февраля",
            "marz mars marzo maart marco marca marcius марта",
            "avril abril aprile kwietnia aprilis апреля",
            "mai mayo maggio mei maio maja majus мая",
            "juni juin junio giugno junho czerwca junius июня",
            "juli juillet julio luglio julho lipca julius июля",
            "aout agosto augustus sierpnia augusztus августа",
            "septembre septiembre settembre setembro wrzesnia szeptember сентября",
            "okt oktober octobre octubre ottobre outubro pazdziernika октября",
            "novembre noviembre novembro listopada ноября",
            "dez dezember decembre diciembre dicembre dezembro grudnia декабря",
        ),
        strict=True,
    )
]
"""Names of the months as dates use them, without diacritics; the further ones are Unicode CLDR's.

English, German, French, Spanish, Italian, Dutch, Portuguese, Polish, Hungarian and Russian.
"""


class _Names(parserinfo):
    """More names of months; two-digit years without a look at the clock."""

    MONTHS = _MONTHS

    def convertyear(self, year: int, century_specified: bool = False) -> int:
        """Return the full year, by the rule of POSIX: 69 to 99 are of the last century."""
        if year >= 100 or century_specified:
            return year
        return year + (1900 if year >= 69 else 2000)


_READER = _Names()
_MONTH = "|".join(
    sorted({name.casefold() for names in _MONTHS for name in names}, key=len, reverse=True)
)
_DAYS = r"\d{1,2}(?!\d)(?:st|nd|rd|th|\.)?"
# "May 24-26" and "the 24th or 25th of May" are two days each. Bounded, as a text of many numbers
# would be read from each of them to its end.
_LIST = rf"{_DAYS}(?:\s*(?:-|\u2013|/|to|and|or|bis|und|oder)\s*{_DAYS}){{0,3}}"
_YEAR = r"(?:[\s,./-]*(?:of |de )?(?P<year>\d{4})(?![\d:]))?"
# A pattern that begins with what it looks for, and looks back after that, is several times faster.
_DAY_MONTH = re.compile(
    rf"(?P<days>{_LIST})[\s./-]*(?:of |de )?(?P<month>{_MONTH})(?![^\W\d]){_YEAR}"
)
_MONTH_DAY = re.compile(
    rf"(?P<month>{_MONTH})[\s./-]*(?:the )?(?P<days>{_LIST})(?![\d:]|\s*[ap]\.?m\b){_YEAR}"
)
_YEAR_FIRST = re.compile(r"(\d(?<!\d\d)\d{3})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)(?:t(?=\d))?")
_EAST_ASIAN = re.compile(
    "(?:(?<!\\d)(\\d{4})\\s?[\u5e74\ub144]\\s?)?(?<!\\d)(\\d{1,2})\\s?[\u6708\uc6d4]\\s?(\\d{1,2})\\s?[\u65e5\u53f7\u865f\uc77c]"
)
"""Chinese, Japanese and Korean: year, month and day, each before its sign."""
_NUMERIC = re.compile(
    r"\d(?<![\w.,/-]\d)\d?(?:([./-])\d{1,2}\1(?:\d{4}|\d{2})(?![\w]|[./,-]\d)"
    r"|/\d{1,2}(?![\w%]|[./,-]\d)|\.\d{1,2}\.(?!\w))"
)
_ORDINAL = re.compile(r"(?<!\w)(\d{1,2})(?:st|nd|rd|th)(?!\w)")
_TIME = re.compile(
    r"(?<![\w:.,])(?P<hour>\d{1,2})(?:[:h](?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:\.\d+)?)?)?"
    r"(?:\s*(?P<half>[ap])\.?m\b\.?|\s*(?P<mark>uhr|o'clock)\b)?"
    r"(?P<zone>z\b|\s?[+-]\d{2}:?\d{2}\b|\s?(?:utc|gmt)\b(?:\s?[+-]\d{1,2}(?::?\d{2})?\b)?)?(?![\w:])"
)
_COMPACT = re.compile(
    r"(?<!\w)(\d{4})(\d\d)(\d\d)t([01]\d|2[0-4])([0-5]\d)([0-5]\d)?(?=z?(?!\w)|[+-]\d{2}:?\d{2}(?!\d))"
)
"""ISO 8601 without separators: ``20240526T150000Z``."""
_SPAN = re.compile(
    r"(?<![\w:.,])(?P<from>\d{1,2}:[0-5]\d)-(?P<to>(?:[01]?\d|2[0-4]):[0-5]\d)(?![\w:]|\.\d)"
)
"""Two times, or a time and its offset from UTC, as in ``15:00-16:00`` and ``15:00-05:00``."""
_MONTH_OF_YEAR = re.compile(
    rf"(?<![^\W_])(?P<month>{_MONTH})(?![^\W\d])[\s.,/-]*(?:of |de )?(?P<year>\d{{4}})(?![\d:])"
    r"|(\d(?<!\w\d)(?<![-./]\d)\d{3})[-/](0[1-9]|1[0-2])(?![\w]|[-./]\d)"
)
_DIGITS = re.compile(r"\d+")
# A text that states the present day, as in "The current time is ..." or {"today": ...}.
_PRESENT = re.compile(
    r"(?<![^\W_])(?:today|now|heute|the date|current[\s_]?(?:date|time|day|datetime))(?![^\W_])"
    r"[^\d\n]{0,30}$"
)
_RELATIVE = re.compile(
    r"\b(?:(?P<word>day before yesterday|yesterday|today|tonight|day after tomorrow|tomorrow"
    r"|vorgestern|gestern|heute|morgen|ubermorgen)"
    r"|in (?P<ahead>\d{1,3}|an?|one|two|three) (?P<unit>day|week)s?"
    r"|(?P<back>\d{1,3}|an?|one|two|three) (?P<unit2>day|week)s?"
    r" (?P<where>ago|from (?:now|today)))\b"
)
_OFFSETS = {
    "day before yesterday": -2,
    "yesterday": -1,
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
    "day after tomorrow": 2,
    "vorgestern": -2,
    "gestern": -1,
    "heute": 0,
    "morgen": 1,
    "ubermorgen": 2,
}
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3}
_NEAR = 60
"""Characters before a date in which it may be called the present one."""
_WEEKDAYS = {long.casefold(): number for number, (_, long, *_) in enumerate(parserinfo.WEEKDAYS)}
_WEEKDAY = re.compile(rf"\b({'|'.join(_WEEKDAYS)})\b")
_NAMED_TIMES = {
    "noon": Clock(12, 0, 0, ""),
    "midday": Clock(12, 0, 0, ""),
    "midnight": Clock(0, 0, 0, ""),
}
_NAMED_TIME = re.compile(rf"\b({'|'.join(_NAMED_TIMES)})\b")
# Both leap years; every part differs, which shows the parts that were not written.
_DEFAULTS = (datetime(2000, 1, 1), datetime(2004, 12, 31))  # noqa: DTZ001 - a day has no zone


@dataclass
class Calendar:
    """Days and times that texts have told."""

    days: set[Day] = field(default_factory=set)
    """As written."""
    times: set[Clock] = field(default_factory=set)
    """All readings."""
    present: set[date] = field(default_factory=set)
    """Days that a text called the present one."""
    offsets: set[int] = field(default_factory=set)
    """Days from the present one, as in "tomorrow"."""
    months: set[tuple[int, int]] = field(default_factory=set)
    """Years and months that were named without a day."""
    weekdays: set[int] = field(default_factory=set)
    """Weekdays that were named; Monday is 0."""

    def add(self, text: str) -> None:
        """Add the dates and times of a text that is folded to lower case."""
        rest = without_times(without_dates(text, self._add_day), self._add_time)
        self._add_time([_NAMED_TIMES[name] for name in _NAMED_TIME.findall(rest)])
        self.months.update(map(_month_of_year, _MONTH_OF_YEAR.finditer(rest)))
        self.weekdays.update(_WEEKDAYS[name] for name in _WEEKDAY.findall(rest))
        self.offsets.update(map(_offset, _RELATIVE.finditer(rest)))

    def _add_day(self, readings: Collection[Day], before: str) -> bool:
        self.days.update(readings)
        if _PRESENT.search(before):
            self.present.update(
                date(*day)  # type: ignore[arg-type]
                for day in readings
                if day.year is not None and day.month is not None
            )
        return True

    def _add_time(self, readings: Collection[Clock]) -> bool:
        # A time is told without its zone, too; only another zone is another time.
        self.times.update(readings, [each._replace(zone=None) for each in readings])
        return True

    def has_time(self, readings: Collection[Clock]) -> bool:
        """Return True if one of the readings was told, in its zone or without one."""
        return any(
            each in self.times or (each.zone and each._replace(zone="") in self.times)
            for each in (each if each.zone else each._replace(zone=None) for each in readings)
        )


def _offset(found: re.Match[str]) -> int:
    if word := found["word"]:
        return _OFFSETS[word]
    count, unit = found["ahead"] or found["back"], found["unit"] or found["unit2"]
    days = _COUNTS.get(count) or int(count)
    return days * (7 if unit == "week" else 1) * (-1 if found["where"] == "ago" else 1)


def is_told(day: Day, calendars: Collection[Calendar], has_year: Callable[[int], bool]) -> bool:
    """Return True if a day was told, in whatever form and with its parts in any of the calendars.

    Args:
        day: The day in question.
        calendars: Calendars that count as one.
        has_year: True for a year that stands in a text.
    """
    if any(day in calendar.days for calendar in calendars):
        return True
    days = set[Day]().union(*(calendar.days for calendar in calendars))
    if day.month is None:
        return any(day.day == told.day for told in days)
    present = set[date]().union(*(calendar.present for calendar in calendars))
    if day.year is None:
        same = any((told.month, told.day) == day[1:] for told in days)
        years = {told.year for told in present}
        return same or any(
            is_told(Day(year, *day[1:]), calendars, has_year) for year in years if _valid(year, day)
        )
    wanted = date(day.year, day.month, day.day)
    if _from_present(wanted, present, calendars):
        return True
    if Day(None, day.month, day.day) in days:
        # A day without a year is one of a year that was told, or the next one after the present.
        return has_year(day.year) or any(
            timedelta(0) <= wanted - today <= timedelta(366) for today in present
        )
    # "The 24th" is one of a month that was told.
    return Day(None, None, day.day) in days and any(told[:2] == day[:2] for told in days)


def _valid(year: int, day: Day) -> bool:
    return (day.month, day.day) != (2, 29) or year % 4 == 0


def _from_present(wanted: date, present: Collection[date], calendars: Collection[Calendar]) -> bool:
    """Return True if a day was told by its distance from the present one or by its weekday."""
    for today in present:
        distance = (wanted - today).days
        for calendar in calendars:
            if distance in calendar.offsets:
                return True
            # Last, this or next Friday.
            if -7 <= distance <= 14 and wanted.weekday() in calendar.weekdays:
                return True
    return False


Judge = Callable[[Collection[Day], str], bool]
"""Function of a date's readings and the text before it; returns True if it accepts the date."""
Reader = Callable[[re.Match[str]], list[frozenset[Day]]]
"""Function of a match to the readings of each of its dates; empty if it holds none."""


def without_dates(text: str, judge: Judge) -> str:
    """Return a folded text without the dates that ``judge`` accepts; the others stay."""
    text = _SPAN.sub(_apart, _COMPACT.sub(_separated, text))
    for pattern, read in _FORMS:
        text = pattern.sub(partial(_judged, read=read, judge=judge), text)
    return text


def _separated(found: re.Match[str]) -> str:
    year, month, day, hour, minute, second = found.groups(default="00")
    return f"{year}-{month}-{day}t{hour}:{minute}:{second}"


def _apart(found: re.Match[str]) -> str:
    start, end = f"{found['from']:0>5}", f"{found['to']:0>5}"
    # Zones lag UTC by at most twelve hours; a later time is the end of a span.
    return found[0].replace("-", " ") if end > min(start, "12:00") else found[0]


def without_months(text: str, judge: Callable[[tuple[int, int]], bool]) -> str:
    """Return a folded text without the months of a year, as "May 2024", that ``judge`` accepts."""
    return _MONTH_OF_YEAR.sub(lambda found: " " if judge(_month_of_year(found)) else found[0], text)


def _month_of_year(found: re.Match[str]) -> tuple[int, int]:
    if found["month"]:
        return int(found["year"]), _READER.month(found["month"]) or 0
    return int(found[3]), int(found[4])


def named_months(words: Collection[str]) -> set[int]:
    """Return the numbers of the months that some of the folded words name."""
    return {
        number for number, names in enumerate(_MONTHS, 1) if {*map(str.casefold, names)} & {*words}
    }


def without_weekdays(text: str) -> str:
    """Return a folded text without the names of weekdays."""
    return _WEEKDAY.sub(" ", text)


def _judged(found: re.Match[str], *, read: Reader, judge: Judge) -> str:
    before = found.string[max(0, found.start() - _NEAR) : found.start()]
    # All days of a list are judged: one that was not told must not hide the others.
    verdicts = [judge(day, before) for day in read(found)]
    # Blanks of the same length keep the places of what follows.
    return " " * len(found[0]) if verdicts and all(verdicts) else found[0]


def _year_first(found: re.Match[str]) -> list[frozenset[Day]]:
    try:
        day = date(int(found[1]), int(found[3]), int(found[4]))
    except ValueError:
        return []
    return [frozenset({Day(day.year, day.month, day.day)})]


def _named(found: re.Match[str]) -> list[frozenset[Day]]:
    # Neither "2026 may" nor "dismay 26".
    if found.start() and found.string[found.start() - 1].isalnum():
        return []
    month, year = found["month"], found["year"] or ""
    dates = [_readings(f"{day} {month} {year}") for day in _DIGITS.findall(found["days"])]
    return dates if all(dates) else []


def _east_asian(found: re.Match[str]) -> list[frozenset[Day]]:
    year, month, day = (int(part) if part else None for part in found.groups())
    try:
        date(year or 2000, month or 0, day or 0)
    except ValueError:
        return []
    return [frozenset({Day(year, month, day or 0)})]


def _numeric(found: re.Match[str]) -> list[frozenset[Day]]:
    readings = _readings(found[0].rstrip(".").replace(".", "/"))
    return [readings] if readings else []


def _ordinal(found: re.Match[str]) -> list[frozenset[Day]]:
    return [frozenset({Day(None, None, int(found[1]))})]


_FORMS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (_YEAR_FIRST, _year_first),
    (_EAST_ASIAN, _east_asian),
    (_DAY_MONTH, _named),
    (_MONTH_DAY, _named),
    (_NUMERIC, _numeric),
    (_ORDINAL, _ordinal),
)


@lru_cache(maxsize=4096)
def _readings(text: str) -> frozenset[Day]:
    """Return the days that a text can mean: with the day first, and with the month first."""
    found = set()
    for day_first in (False, True):
        try:
            # A part that follows the default was not written.
            one, other = (
                parse(text, _READER, default=default, dayfirst=day_first, ignoretz=True)
                for default in _DEFAULTS
            )
        except (ValueError, OverflowError):  # ParserError among them
            continue
        if (one.month, one.day) == (other.month, other.day):
            found.add(Day(one.year if one.year == other.year else None, one.month, one.day))
    return frozenset(found)


def without_times(text: str, judge: Callable[[Collection[Clock]], bool]) -> str:
    """Return a folded text without the times of day that ``judge`` accepts."""

    def blanked(found: re.Match[str]) -> str:
        readings = _clocks(found)
        return " " * len(found[0]) if readings and judge(readings) else found[0]

    return _TIME.sub(blanked, text)


def _clocks(found: re.Match[str]) -> Collection[Clock]:
    """Return the times that a match can mean; "3:00" is one of two, "03:00" and "3 pm" one."""
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    if hour > 24 or not (found["minute"] or found["half"] or found["mark"]):
        return ()
    if half := found["half"]:
        hours = [hour % 12 + (12 if half == "p" else 0)] if 1 <= hour <= 12 else []
    elif 1 <= hour <= 12 and not found["hour"].startswith("0"):
        hours = [hour, hour % 12 + 12]
    else:
        hours = [hour % 24]
    return [Clock(each % 24, minute, second, _zone(found["zone"] or "")) for each in hours]


def _zone(written: str) -> str:
    """Return an offset from UTC as "+0200", as in "UTC+2" and "+02:00"; "" if none was written."""
    offset = re.sub(r"[\s:]|z|utc|gmt", "", written)
    if not offset or offset == "-0000":
        return "+0000" if written else ""
    sign, digits = offset[0], offset[1:]
    return f"{sign}{digits:0>2}00" if len(digits) <= 2 else f"{sign}{digits:0>4}"
