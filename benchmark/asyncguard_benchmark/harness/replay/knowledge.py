"""Classes of an early call: could its values be known, before the result that it did not wait for?

The judgement is by values alone, and independent of the guards that it judges: a value may be known
and the decision to call may still rest on the pending result. Text matches word by word, numbers by
value, dates also where the year or the form differs. Long text is the agent's own wording and counts
as known.
"""

import calendar
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any

from asyncguard_benchmark.harness.replay.conversations import Conversation

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?!\w)")
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")
_MONTHS = {
    name.casefold(): number
    for names in (calendar.month_name, calendar.month_abbr)
    for number, name in enumerate(names)
    if name
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY_AFTER = re.compile(rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b")
_DAY_BEFORE = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b")
_PROSE = 12
"""Words from which on a text is the agent's own wording."""


class Need(StrEnum):
    """Class of a call by the places where its values stand."""

    KNOWN = "known"
    """Each value stands in what was known before."""
    NEEDS = "needs"
    """A value stands only in the pending result."""
    NOWHERE = "nowhere"
    """A value stands in neither: derived, or the model's knowledge."""


class Text:
    """Words, numbers and dates of a text."""

    def __init__(self, text: str) -> None:
        """Read the text."""
        folded = " ".join(text.casefold().split())
        self._words = set(_WORD.findall(folded))
        self._numbers = {float(each.replace(",", "")) for each in _NUMBER.findall(folded)}
        self._dates: set[tuple[int, ...]] = {
            (int(y), int(m), int(d)) for y, m, d in _ISO.findall(folded)
        }
        self._dates |= {(_MONTHS[m], int(d)) for m, d in _DAY_AFTER.findall(folded)}
        self._dates |= {(_MONTHS[m], int(d)) for d, m in _DAY_BEFORE.findall(folded)}

    def has(self, part: str | float) -> bool:
        """Return True if a word, a number or a date stands in the text."""
        if not isinstance(part, str):
            return part in self._numbers
        if date := _ISO.fullmatch(part):
            year, month, day = map(int, date.groups())
            return not self._dates.isdisjoint({(year, month, day), (month, day)})
        if part in self._words:
            return True
        return part.replace(".", "", 1).isdecimal() and float(part) in self._numbers


@lru_cache(maxsize=4096)
def _read(text: str) -> Text:
    return Text(text)


def need_of(arguments: Any, known: Iterable[str], pending: Iterable[str]) -> Need:
    """Return the class of a call.

    Args:
        arguments: Its arguments.
        known: All that was said and answered before, and the schema's own literals.
        pending: The results that were not known yet.
    """
    before, coming = [_read(text) for text in known], [_read(text) for text in pending]
    missing = [part for part in _parts(arguments) if not any(text.has(part) for text in before)]
    if any(text.has(part) for part in missing for text in coming):
        return Need.NEEDS
    return Need.NOWHERE if missing else Need.KNOWN


def _parts(value: Any) -> Iterator[str | float]:
    """Yield the words, numbers and dates of all scalars; truth values need no source."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _parts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _parts(item)
    elif isinstance(value, str):
        if len(_WORD.findall(value)) < _PROSE:
            folded = value.casefold()
            yield from (found[0] for found in _ISO.finditer(folded))
            rest = _ISO.sub(" ", folded)
            yield from (float(each.replace(",", "")) for each in _NUMBER.findall(rest))
            yield from _WORD.findall(_NUMBER.sub(" ", rest))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def needs_of(
    conversation: Conversation, system: str, literals: Mapping[str, str]
) -> list[tuple[Need, ...]]:
    """Return the class of each call of each step, as if it were made while the step before runs.

    Args:
        conversation: The conversation; all that its user said counts as known from the beginning.
        system: The system prompt.
        literals: Literals of each tool's schema, by tool.
    """
    known = [system, conversation.system, conversation.user]
    pending: list[str] = []
    found: list[tuple[Need, ...]] = []
    for step in conversation.steps:
        found.append(
            tuple(
                need_of(call.arguments, [*known, literals.get(call.tool, "")], pending)
                for call in step.calls
            )
        )
        known += pending + [str(dict(call.arguments)) for call in step.calls]
        pending = [call.answer for call in step.calls]
    return found


def literals_of(schema: Any) -> str:
    """Return the values that a schema itself offers: its enums, constants and defaults."""
    if isinstance(schema, list):
        return " ".join(map(literals_of, schema))
    if not isinstance(schema, Mapping):
        return ""
    own = [str(schema[name]) for name in ("enum", "const", "default") if name in schema]
    return " ".join([*own, *map(literals_of, schema.values())])
