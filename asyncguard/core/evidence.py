"""Evidence of a task: the texts in which an argument's value has to occur to be grounded.

A value is grounded if it occurs in what the developer or the user said, in a result delivered for
this task, or in arguments that were issued for it before; its parts may come from different texts.
The check is deliberately generous, because a value that is only *derived* must pass: a path is
grounded if its parts are, numbers compare by value, and of running text only what it states is
checked: names, parts with digits, and that not all of it is invented. Dates, times of day and
amounts are the exception: they count as a whole, in any of their usual forms.

A text is read when a value is checked, which most runs never do, and for dates and telephone
numbers only when a value holds one.
"""

import json
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from asyncguard.core import dates, wording
from asyncguard.core.dates import Calendar, Clock, Day
from asyncguard.core.quantities import (
    NUMBER_WORDS,
    NUMERALS,
    SCALES,
    SYNONYMS,
    Amount,
    amounts,
    money_apart,
    numerals_as_digits,
    without_numbers,
    without_scaled,
)

# Scripts without spaces, and those of India, whose vowel signs do not count as letters in `re`.
_UNSPACED = (
    "\u0900-\u0dff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_WORD = re.compile(
    # A number with points and commas is one word: "3.50" holds no 50.
    rf"(?<![^\W_])\d+(?:[.,'\u2019]\d+)+(?![^\W_])|[{_UNSPACED}]+|[^\W_{_UNSPACED}]+"
)
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|[nrtbf\"/\\])")
"""Escapes of JSON, which many tools answer in; the text is folded to lower case by then."""
_EDGE = r"[\s\"'`(){}\[\],;:\u2018-\u201f\u00ab\u00bb]"
"""Neighbours of a mark that stands by itself: space, brackets, quotes; not as in ``wait...``."""
_PROSE_WORDS = 4
"""Words from which on a text counts as running text, which the model words itself."""
_LONG = 12
"""Words from which on a capital letter no longer makes a word a name that needs a source."""
_TOLD_SHARE = 1 / 3
"""Share of the words of a running text that has to be told; function words are left out."""
_DAY_BOUNDS = frozenset({Clock(0, 0, 0), Clock(23, 59, 0), Clock(23, 59, 59)})
"""Times that a date without a time is given where a format wants one."""
_PHONE = re.compile(
    r"(?<!\w)(?:\+\s?|\(\s?)?\d(?>(?:[\s().\u2010-\u2013/-]{0,3}\d){8,15})"
    r"(?!\w|,\d{1,2}(?!\w))"  # nor the whole part of a sum
)
_KANA_MARKS = "\u3099\u309a"
"""They make another sound, not the same with an accent."""


def folded_text(text: str) -> str:
    """Return a text in lower case, without diacritics, and with single spaces."""
    text = " ".join(text.casefold().split())
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFD", text.replace("\u2212", "-"))
    bare = (char for char in apart if not unicodedata.combining(char) or char in _KANA_MARKS)
    return unicodedata.normalize("NFC", "".join(bare)).casefold()


def words_of(folded: str) -> list[str]:
    """Return the words of a folded text, a number with points and commas as one."""
    return _WORD.findall(money_apart(folded))


def _quotes(text: str, part: str, *, whole: bool) -> bool:
    """Return True if a text holds another one as it stands, without cutting a number.

    Args:
        text: Folded.
        part: Folded, too.
        whole: True if it must not cut a word either.
    """
    place = text.find(part)
    while place >= 0:
        if not _cuts(text, part, place) and not (whole and _cuts_word(text, part, place)):
            return True
        place = text.find(part, place + 1)
    return False


def _cuts(text: str, part: str, place: int) -> bool:
    """Return True if a part at a place of a text begins or ends within a number or its unit."""
    end = place + len(part)
    before, after = text[max(0, place - 2) : place], text[end : end + 2]
    if part[0].isdigit() and (before[-1:].isdigit() or re.search(r"\d[.,'\u2019]$|-$", before)):
        return True
    if part[0] in "+-" and part[1:2].isdigit() and before[-1:].isalnum():
        return True
    if part[-1].isdigit() and (after[:1].isdigit() or re.match(r"[.,'\u2019]\d", after)):
        return True
    # "5 m" does not stand in "5 miles".
    return bool(re.search(r"\d\W*\w*$", part)) and part[-1].isalnum() and after[:1].isalnum()


def _cuts_word(text: str, part: str, place: int) -> bool:
    """Return True if a part at a place of a text begins or ends within a word."""
    end = place + len(part)
    edges = ((text[max(0, place - 1) : place], part[0]), (part[-1], text[end : end + 1]))
    return any(
        before.isalnum() and after.isalnum() and not _IS_UNSPACED.match(before + after)
        for before, after in edges
    )


def _phone(written: str) -> str:
    """Return the digits of a telephone number, without the sign of an international one."""
    digits = "".join(char for char in written if char.isdigit())
    return digits.removeprefix("00")


class Evidence:
    """Words, numbers, dates and text of one source."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.words: set[str] = set()
        self.amounts: set[Amount] = set()
        self.texts: list[str] = []
        # Made when they are asked for: of most sources they never are, and a thread has several.
        self._calendar: Calendar | None = None
        self._dated = 0
        self._phones: set[str] | None = None
        self._dialled = 0
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
            folded = folded_text(text)
            self._keep(folded)
            if "\\" in folded:
                plain = _ESCAPE.sub(lambda code: chr(int(code[1], 16)) if code[1] else " ", folded)
                self._keep(folded_text(plain))
        self._unread.clear()

    def _keep(self, folded: str) -> None:
        apart = money_apart(folded)
        words = _WORD.findall(apart)
        scaled = not SCALES.isdisjoint(words)
        self.words.update(_WORD.findall(without_scaled(apart)) if scaled else words)
        if not NUMBER_WORDS.isdisjoint(words):
            apart = numerals_as_digits(apart)
        self.amounts.update(amounts(apart))
        self.texts.append(folded)

    @property
    def calendar(self) -> Calendar:
        """Dates and times of the texts that were read."""
        if self._calendar is None:
            self._calendar = Calendar()
        for text in self.texts[self._dated :]:
            self._calendar.add(text)
        self._dated = len(self.texts)
        return self._calendar

    @property
    def phones(self) -> set[str]:
        """Digits of the telephone numbers in the texts that were read."""
        if self._phones is None:
            self._phones = set()
        for text in self.texts[self._dialled :]:
            self._phones.update(_phone(found[0]) for found in _PHONE.finditer(text))
        self._dialled = len(self.texts)
        return self._phones


class Sources:
    """Texts of several sources as one."""

    def __init__(self, sources: Sequence[Evidence], *, whole: bool = False) -> None:
        """Read what was added to the sources since the last time.

        Args:
            sources: Where to look.
            whole: True if several words count as a quotation only between the edges of words, and
                the only word of a running text that states something has to be told, too.
        """
        for source in sources:
            source.read()
        self._sources = sources
        self._whole = whole

    @property
    def texts(self) -> Iterator[str]:
        """All texts, folded to lower case."""
        return (text for source in self._sources for text in source.texts)

    @cached_property
    def words(self) -> set[str]:
        """All words of the texts, folded."""
        return set[str]().union(*(source.words for source in self._sources))

    def has(self, value: str | float) -> bool:
        """Return True if a scalar occurs."""
        if not isinstance(value, str):
            # Numbers compare by value, not as float: a very long integer does not fit one.
            return self._has_amount(Amount(value, None)) or self._has_word(str(value))
        folded = folded_text(value)
        words = words_of(folded)
        # A text without words claims nothing. Several words may occur in this order anywhere; a
        # single one has to be a whole word, or "art" would be found in "party".
        if not words:
            return True
        if len(words) == 1:
            # Words hold neither sign nor "%".
            signed = f"-{words[0]}" in folded or re.search(r"\d\s?%", folded)
            if not signed and self._has_word(words[0]):
                return True
        elif any(_quotes(text, folded, whole=self._whole) for text in self.texts):
            return True
        if self._has_phone(folded):
            return True
        if (inner := _structure(value)) is not None:
            return all(map(self.has, leaves(inner)))
        return self._has_parts(value, folded, words)

    def _has_parts(self, value: str, folded: str, words: Sequence[str]) -> bool:
        """Return True if the parts of a text occur, wherever they stand."""
        prose = len(words) >= _PROSE_WORDS and " " in folded
        rest = self._without_exact(folded, prose=prose)
        if rest is None:
            return False
        if not prose:
            return all(map(self._has_word, words_of(rest)))
        return self._has_content(words_of(rest), _names(value, words))

    def has_matter(self, value: str) -> bool:
        """Return True if a text of any length is the model's wording of what was told.

        Its numbers, dates and names were told, and a third of the words that say what it is about.
        """
        folded = folded_text(value)
        words = words_of(folded)
        about = wording.stated_words(words)
        if sum(map(self._has_word, about)) < _TOLD_SHARE * len(about):
            return False
        rest = self._without_exact(folded, prose=True)
        return rest is not None and not self._untold_facts(words_of(rest), _names(value, words))

    def _has_phone(self, folded: str) -> bool:
        if not _PHONE.fullmatch(folded):
            return False
        return any(_phone(folded) in source.phones for source in self._sources)

    def _has_content(self, words: Sequence[str], names: Collection[str]) -> bool:
        """Return True if a running text is not invented: the model words it, from what was told."""
        content = wording.content_words(words)
        told = sum(map(self._has_word, content))
        # A single word says too little of a task, as in "I have taken care of it".
        if (self._whole or len(content) > 1) and told < _TOLD_SHARE * len(content):
            return False
        return not self._untold_facts(content, names)

    def _untold_facts(self, words: Sequence[str], names: Collection[str]) -> bool:
        return any(
            (word in names or any(map(str.isdigit, word))) and not self._has_word(word)
            for word in words
        )

    def _without_exact(self, folded: str, *, prose: bool) -> str | None:
        """Return a value without what counts as a whole, ``None`` if one of that was not told."""
        if not any(map(str.isdigit, folded)) and (
            prose or NUMBER_WORDS.isdisjoint(words_of(folded))
        ):
            return folded
        rest = self._without_dates(folded)
        if rest is None:
            return None
        rest = money_apart(rest)
        # "One of them" in running text is not the number.
        return without_numbers(rest if prose else numerals_as_digits(rest), self._has_amount)

    def _without_dates(self, folded: str) -> str | None:
        """Return a value without its dates and times, ``None`` if one of them was not told."""
        dated, untold = False, False

        def has_day(readings: Collection[Day], _before: str) -> bool:
            nonlocal dated, untold
            dated = True
            told = any(dates.is_told(day, self.calendars, self._has_number) for day in readings)
            # "1/2" may be something else: then its parts are looked for.
            sure = len(readings) == 1 or any(day.year for day in readings)
            untold = untold or (not told and sure and all(day.month for day in readings))
            return told

        def has_time(readings: Collection[Clock]) -> bool:
            nonlocal untold
            bare = (each._replace(zone=None) for each in readings)
            told = dated and not _DAY_BOUNDS.isdisjoint(bare)
            told = told or any(calendar.has_time(readings) for calendar in self.calendars)
            untold = untold or not told
            return told

        rest = dates.without_times(dates.without_dates(folded, has_day), has_time)
        rest = dates.without_months(
            rest, lambda month: any(month in calendar.months for calendar in self.calendars)
        )
        if dated:  # the name of its weekday follows from a date
            rest = dates.without_weekdays(rest)
        return None if untold else rest

    @cached_property
    def calendars(self) -> list[Calendar]:
        """Days and times of the texts, by source."""
        return [source.calendar for source in self._sources]

    def _has_word(self, word: str) -> bool:
        synonyms = SYNONYMS.get(word, (word,))
        if any(not source.words.isdisjoint(synonyms) for source in self._sources):
            return True
        if _IS_UNSPACED.match(word):
            return any(word in text for source in self._sources for text in source.texts)
        if word in NUMERALS:
            return self._has_number(NUMERALS[word])
        return word[0].isdigit() and without_numbers(word, self._has_amount) == " "

    def _has_number(self, number: float) -> bool:
        return self._has_amount(Amount(number, None))

    def _has_amount(self, amount: Amount) -> bool:
        return any(amount in source.amounts for source in self._sources)


def _names(value: str, words: Sequence[str]) -> set[str]:
    """Return the words of a running text that are names and need a source, folded."""
    if len(words) >= _LONG:
        return set()
    return {word for name in wording.names(value) for word in words_of(folded_text(name))}


def _structure(value: str) -> Any:
    """Return the object or array that a text holds as JSON, ``None`` if it holds none."""
    if value.lstrip()[:1] not in ("{", "["):
        return None
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) else None


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
        self._answered = Evidence()
        self._foreign = Evidence()
        self.prompt = ""
        """Text of the system prompt, which is in force in every request."""
        self.request: list[str] = []
        """Words of the user since the last answer of the model that did not ask back."""

    def add_common(self, text: str) -> None:
        """Add a text that concerns all tasks."""
        self._common.add(text)

    def add(self, task: str, text: str) -> None:
        """Add a text that concerns one task."""
        self._own.setdefault(task, Evidence()).add(text)

    def add_answered(self, text: str) -> None:
        """Add a text of the model after which the user has spoken.

        It counts in :meth:`conversation` alone: the user could have objected to it.
        """
        self._answered.add(text)

    def add_foreign(self, text: str) -> None:
        """Add arguments or a result of another agent's call; see :meth:`add_answered`."""
        self._foreign.add(text)

    def end_request(self, answer: str) -> None:
        """Begin another request with the user's next words, unless the model's answer asks back."""
        if not wording.asks(answer):
            self.request.clear()

    def conversation(self) -> Sources:
        """Return all that was said and found in the thread, whatever the task."""
        others = (self._foreign, self._answered)
        return Sources([self._common, *self._own.values(), *others], whole=True)

    def answers(self) -> list[str]:
        """Return the answered texts that :meth:`conversation` has read, folded."""
        return self._answered.texts

    def shows(self, task: str, mark: str) -> bool:
        """Return True if a wordless mark stands by itself, as in ``put "____" there``."""
        alone = re.compile(rf"(?:^|{_EDGE}){re.escape(folded_text(mark))}(?:$|{_EDGE})")
        sources = self._sources(task)
        for source in sources:
            source.read()
        return any(alone.search(text) for source in sources for text in source.texts)

    def ungrounded(self, task: str, value: Any) -> str | float | None:
        """Return the first scalar in ``value`` that is not in the task's evidence, or ``None``."""
        sources = Sources(self._sources(task))
        return next((leaf for leaf in leaves(value) if not sources.has(leaf)), None)

    def _sources(self, task: str) -> list[Evidence]:
        return [self._common, *([self._own[task]] if task in self._own else [])]
