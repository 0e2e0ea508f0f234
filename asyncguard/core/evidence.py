"""Evidence of a task: the texts in which an argument's value has to occur to be grounded.

A value is grounded if it occurs in what the developer or the user said, in a result delivered for
this task, or in arguments that were issued for it before; its parts may come from different texts.
The check is deliberately generous, because a value that is only *derived* must pass: a path is
grounded if its parts are, numbers compare by value, and of running text only the parts that carry
digits are checked. Dates and times of day are the exception: they count as a whole, in any of their
usual forms.

A text is read when a value is checked, which most runs never do, and for dates only when a value
holds one.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from asyncguard.core.dates import Calendar, Clock, Day, is_told, without_dates, without_times
from asyncguard.core.quantities import NUMERALS, SYNONYMS, money_apart, numbers, without_numbers

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|[nrtbf\"/\\])")
"""Escapes of JSON, which many tools answer in; the text is folded to lower case by then."""
_EDGE = r"[\s\"'`(){}\[\],;:\u2018-\u201f\u00ab\u00bb]"
"""Neighbours of a mark that stands by itself: space, brackets, quotes; not as in ``wait...``."""
_PROSE_WORDS = 4
"""Words from which on a text counts as running text, of which only parts with digits count."""
_DAY_BOUNDS = frozenset({Clock(0, 0, 0), Clock(23, 59, 0), Clock(23, 59, 59)})
"""Times that a date without a time is given where a format wants one."""


def _folded(text: str) -> str:
    """Return a text in lower case, without diacritics, and with single spaces."""
    text = " ".join(text.casefold().split())
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFD", text)
    return "".join(char for char in apart if not unicodedata.combining(char)).casefold()


def _words(folded: str) -> list[str]:
    return _WORD.findall(money_apart(folded))


def _quotes(text: str, part: str) -> bool:
    """Return True if a text holds another one as it stands, without cutting a number."""
    place = text.find(part)
    while place >= 0:
        end = place + len(part)
        cut = text[place - 1 : place + 1].isdigit() if place else False
        if not cut and not (end < len(text) and text[end - 1 : end + 1].isdigit()):
            return True
        place = text.find(part, place + 1)
    return False


class Evidence:
    """Words, numbers, dates and text of one source."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.words: set[str] = set()
        self.numbers: set[float] = set()
        self.texts: list[str] = []
        self._calendar = Calendar()
        self._dated = 0
        self._added: set[str] = set()
        self._unread: list[str] = []

    def add(self, text: str) -> None:
        """Add a text; one that is there already changes nothing."""
        if text not in self._added:
            self._added.add(text)
            self._unread.append(text)

    def read(self) -> None:
        """Read the texts that were added since the last time."""
        for text in self._unread:
            folded = _folded(text)
            self._keep(folded)
            if "\\" in folded:
                plain = _ESCAPE.sub(lambda code: chr(int(code[1], 16)) if code[1] else " ", folded)
                self._keep(_folded(plain))
        self._unread.clear()

    def _keep(self, folded: str) -> None:
        words = _words(folded)
        self.words.update(words)
        self.numbers.update(numbers(money_apart(folded)))
        self.numbers.update(NUMERALS[word] for word in NUMERALS.keys() & words)
        self.texts.append(folded)

    @property
    def calendar(self) -> Calendar:
        """Dates and times of the texts that were read."""
        for text in self.texts[self._dated :]:
            self._calendar.add(text)
        self._dated = len(self.texts)
        return self._calendar


class _Sources:
    """Texts of several sources as one."""

    def __init__(self, sources: Sequence[Evidence]) -> None:
        for source in sources:
            source.read()
        self._sources = sources

    def has(self, value: str | float) -> bool:
        """Return True if a scalar occurs."""
        if not isinstance(value, str):
            # Numbers compare by value, not as float: a very long integer does not fit one.
            return self._has_number(value) or self._has_word(str(value))
        folded = _folded(value)
        words = _words(folded)
        # A text without words claims nothing. Several words may occur in this order anywhere; a
        # single one has to be a whole word, or "art" would be found in "party".
        if not words:
            return True
        if len(words) == 1:
            if self._has_word(words[0]):
                return True
        elif any(_quotes(text, folded) for source in self._sources for text in source.texts):
            return True
        rest = folded
        if any(char.isdigit() for char in folded):
            undated = self._without_dates(folded)
            if undated is None:
                return False
            rest = without_numbers(money_apart(undated), self._has_any_number)
        # Running text is the model's own wording; only what it states exactly needs a source.
        prose = len(words) >= _PROSE_WORDS and " " in folded
        return all(
            self._has_word(word)
            for word in _words(rest)
            if not prose or any(char.isdigit() for char in word)
        )

    def _without_dates(self, folded: str) -> str | None:
        """Return a value without its dates and times, ``None`` if one of them was not told."""
        calendars: list[Calendar] = []
        dated, untold = False, False

        def has_day(readings: Collection[Day], _before: str) -> bool:
            nonlocal dated, untold
            dated = True
            calendars[:] = calendars or [source.calendar for source in self._sources]
            told = any(is_told(day, calendars, self._has_number) for day in readings)
            # "1/2" may be something else: then its parts are looked for.
            sure = len(readings) == 1 or any(day.year for day in readings)
            untold = untold or (not told and sure and all(day.month for day in readings))
            return told

        def has_time(readings: Collection[Clock]) -> bool:
            nonlocal untold
            told = dated and not _DAY_BOUNDS.isdisjoint(readings)
            told = told or any(
                not source.calendar.times.isdisjoint(readings) for source in self._sources
            )
            untold = untold or not told
            return told

        rest = without_times(without_dates(folded, has_day), has_time)
        return None if untold else rest

    def _has_word(self, word: str) -> bool:
        for source in self._sources:
            if not source.words.isdisjoint(SYNONYMS.get(word, (word,))):
                return True
        found = [NUMERALS[word]] if word in NUMERALS else [*numbers(word)]
        return self._has_any_number(found)

    def _has_any_number(self, readings: Collection[float]) -> bool:
        return any(map(self._has_number, readings))

    def _has_number(self, number: float) -> bool:
        return any(number in source.numbers for source in self._sources)


def leaves(value: Any) -> Iterator[str | float]:
    """Yield the scalars of a value that need evidence: strings and numbers, not booleans."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    # A truth value stands in no text, so it could never be grounded; in Python bool is an int.
    elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield value


class EvidenceBook:
    """Evidence of all tasks of a thread: common to all, or of one task alone."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._common = Evidence()
        self._own: dict[str, Evidence] = {}

    def add_common(self, text: str) -> None:
        """Add a text that concerns all tasks."""
        self._common.add(text)

    def add(self, task: str, text: str) -> None:
        """Add a text that concerns one task."""
        self._own.setdefault(task, Evidence()).add(text)

    def shows(self, task: str, mark: str) -> bool:
        """Return True if a wordless mark stands by itself, as in ``put "____" there``."""
        alone = re.compile(rf"(?:^|{_EDGE}){re.escape(_folded(mark))}(?:$|{_EDGE})")
        sources = self._sources(task)
        for source in sources:
            source.read()
        return any(alone.search(text) for source in sources for text in source.texts)

    def ungrounded(self, task: str, value: Any) -> str | float | None:
        """Return the first scalar in ``value`` that is not in the task's evidence, or ``None``."""
        sources = _Sources(self._sources(task))
        return next((leaf for leaf in leaves(value) if not sources.has(leaf)), None)

    def _sources(self, task: str) -> list[Evidence]:
        return [self._common, *([self._own[task]] if task in self._own else [])]
