"""Replacement of the words and numbers of a task by others, the same wherever they stand.

A text is cut into dates, clock times, numbers and runs of letters. A `Substitution` says what takes the place of a
piece; letters keep their case, so that `Jonas`, `jonas@post.example` and `JONAS` stay one name. It is applied to every
text of a task alike (query, state, arguments), so that what was equal stays equal.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property, partial
from random import Random
from typing import Any

PIECE = re.compile(
    r"(?P<date>(?<!\d)\d{4}-\d{2}-\d{2}(?!\d))|(?P<time>(?<!\d)\d{1,2}:\d{2}(?!\d))"
    r"|(?P<number>\d+(?:\.\d+)?)|(?P<word>[^\W\d_]+)"
)
_ONSETS = (
    *("b", "br", "c", "ch", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "kl", "l", "m", "n"),
    *("p", "pr", "qu", "r", "s", "sh", "sl", "st", "t", "th", "tr", "v", "w", "y", "z"),
)
_NUCLEI = ("a", "e", "i", "o", "u", "ai", "ea", "ee", "ie", "oa", "ou")
_CODAS = (
    *("", "", "", "", "b", "ck", "d", "ft", "g", "l", "ll", "m", "n", "nd", "ng", "nt", "p"),
    *("r", "rd", "rn", "s", "sk", "st", "t", "th", "x"),
)
_KNOWN = 0.65
"""Share of words that are drawn from a lexicon, if there is one."""
_LONGEST_SHIFT = 52
"""Weeks by which a date is moved at most; whole weeks keep the day of the week."""


@dataclass(frozen=True, kw_only=True)
class Substitution:
    """Pieces of text and what takes their place."""

    pieces: Mapping[str, str]
    """Words in lower case, and numbers as they are written -> the same of their replacements."""
    weeks: int = 0
    """Weeks by which every date is moved."""

    def text(self, text: str) -> str:
        """Return a text with its pieces replaced."""
        return PIECE.sub(self._replaced, text)

    def value(self, value: Any) -> Any:
        """Return a JSON value with the pieces of its texts, names and numbers replaced."""
        match value:
            case bool() | None:
                return value
            case str():
                return self.text(value)
            case int() | float():
                return self._number(value)
            case list():
                return [self.value(item) for item in value]
            case dict():
                return {self.text(name): self.value(item) for name, item in value.items()}
            case _:
                raise TypeError(f"{type(value).__name__} is not JSON")

    def _number(self, value: float) -> float:
        written = written_number(value)
        sign, digits = ("-", written[1:]) if written.startswith("-") else ("", written)
        found = self.pieces.get(digits)
        return value if found is None else type(value)(float(sign + found))

    def _replaced(self, found: re.Match[str]) -> str:
        piece = found[0]
        if found["date"]:
            return self._date(piece)
        if found["word"]:
            replacement = self.pieces.get(piece.lower())
            return piece if replacement is None else _in_case_of(piece, replacement)
        return self.pieces.get(piece, piece)

    def _date(self, piece: str) -> str:
        try:
            return str(date.fromisoformat(piece) + timedelta(weeks=self.weeks))
        except ValueError:
            return piece


def written_number(value: float) -> str:
    """Return a JSON number as texts write it."""
    return str(int(value)) if value == int(value) else str(value)


def _in_case_of(piece: str, replacement: str) -> str:
    if piece.isupper():
        return replacement.upper()
    return replacement.capitalize() if piece[0].isupper() else replacement


@dataclass(frozen=True, kw_only=True)
class Pool:
    """The pieces of a task that may be replaced."""

    words: tuple[str, ...]
    numbers: tuple[str, ...]
    dates: bool
    """True if dates may be moved."""
    taken: frozenset[str]
    """All pieces of the task: none of them is drawn for another."""

    @cached_property
    def alone(self) -> tuple["Pool", ...]:
        """Return one pool for each piece, to try it by itself."""
        return (
            *(self._with(words=(word,)) for word in self.words),
            *(self._with(numbers=(number,)) for number in self.numbers),
            *((self._with(dates=True),) if self.dates else ()),
        )

    def _with(
        self, *, words: Iterable[str] = (), numbers: Iterable[str] = (), dates: bool = False
    ) -> "Pool":
        return Pool(words=tuple(words), numbers=tuple(numbers), dates=dates, taken=self.taken)

    def joined(self, others: Iterable["Pool"]) -> "Pool":
        """Return the pieces of several pools of the same task as one pool."""
        parts = list(others)
        return self._with(
            words=[word for each in parts for word in each.words],
            numbers=[number for each in parts for number in each.numbers],
            dates=any(each.dates for each in parts),
        )

    def thinned(self, random: Random, share: float) -> "Pool":
        """Return a pool with about a share of the pieces."""
        return self._with(
            words=[word for word in self.words if random.random() < share],
            numbers=[number for number in self.numbers if random.random() < share],
            dates=self.dates and random.random() < share,
        )

    def draw(self, random: Random, lexicon: Sequence[str] = ()) -> Substitution:
        """Return replacements for all pieces; numbers with equally many digits keep their order.

        Args:
            random: Source of the draws.
            lexicon: Words of the language that can be drawn beside invented ones.
        """
        pieces: dict[str, str] = {}
        used = set(self.taken)
        for word in self.words:
            if lexicon and random.random() < _KNOWN:
                pieces[word] = _until(partial(random.choice, lexicon), used)
            else:
                pieces[word] = _until(partial(invented_word, random), used)
        pieces |= _drawn_numbers(self.numbers, random, used)
        shift = random.choice((-1, 1)) * random.randint(1, _LONGEST_SHIFT)
        return Substitution(pieces=pieces, weeks=shift if self.dates else 0)


def invented_word(random: Random) -> str:
    """Return a word of one to three syllables that can be spoken and means nothing."""
    syllables = random.choices((1, 2, 3), weights=(4, 5, 1))[0]
    parts = (
        random.choice(_ONSETS) + random.choice(_NUCLEI) + random.choice(_CODAS)
        for _ in range(syllables)
    )
    return "".join(parts)


def _drawn_numbers(numbers: Iterable[str], random: Random, used: set[str]) -> dict[str, str]:
    groups: dict[int, list[str]] = {}
    for number in numbers:
        groups.setdefault(len(number.partition(".")[0]), []).append(number)
    drawn: dict[str, str] = {}
    for group in groups.values():
        ordered = sorted(group, key=float)
        fresh = [_until(partial(_like, each, random), used) for each in ordered]
        whole = sorted(fresh, key=float)
        drawn |= {
            old: _with_decimals_of(old, new, random)
            for old, new in zip(ordered, whole, strict=True)
        }
    return drawn


def _like(number: str, random: Random) -> str:
    """Return a number with as many digits, that begins with zero if this one does."""
    whole = number.partition(".")[0]
    if len(whole) == 1:
        return str(random.randint(2, 9)) if whole not in "01" else whole
    first = "0" if whole[0] == "0" else str(random.randint(1, 9))
    return first + "".join(str(random.randint(0, 9)) for _ in whole[1:])


def _with_decimals_of(old: str, new: str, random: Random) -> str:
    decimals = old.partition(".")[2]
    if not decimals:
        return new
    drawn = "".join(str(random.randint(1, 9)) for _ in decimals)
    return f"{new}.{drawn}"


def _until(draw: Callable[[], str], used: set[str]) -> str:
    """Return something drawn that was not used; after many tries whatever comes, which a check then refuses."""
    found = draw()
    for _ in range(50):
        if found not in used:
            break
        found = draw()
    used.add(found)
    return found
