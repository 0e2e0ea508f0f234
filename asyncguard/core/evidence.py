"""Evidence of a task: the texts in which an argument's value has to occur to be grounded.

A value is grounded if it occurs in what the user said, in a result delivered for this task, or in
arguments that were issued for it before. The check is deliberately generous, because a value that
is only *derived* must pass: a path is grounded if its parts are, numbers compare by value, and of
running text only the parts that carry digits are checked.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_WORD = re.compile(r"[^\W_]+", re.UNICODE)
# Not within a word (``v2``), and not the end of a version (``1.2.3``): those are names.
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:,\d+)*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
_SPACE = re.compile(r"\s+")
_EDGE = r"[\s\"'`(){}\[\],;:\u2018-\u201f\u00ab\u00bb]"
"""Neighbours of a mark that stands by itself: space, brackets, quotes; not as in ``wait...``."""
_PROSE_WORDS = 4
"""Words from which on a text counts as running text, of which only parts with digits count."""


class Evidence:
    """Words, numbers and text that one task has seen."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._words: set[str] = set()
        self._numbers: set[float] = set()
        self._texts: list[str] = []
        # Texts are read when a value is checked, which most runs never do.
        self._unread: list[str] = []

    def add(self, text: str) -> None:
        """Add a text."""
        self._unread.append(text)

    def _read(self) -> None:
        for text in self._unread:
            folded = text.casefold()
            self._words.update(_WORD.findall(folded))
            self._numbers.update(_numbers(folded))
            self._texts.append(_SPACE.sub(" ", folded))
        self._unread.clear()

    def has(self, value: str | float) -> bool:
        """Return True if a scalar occurs."""
        self._read()
        if not isinstance(value, str):
            # Numbers compare by value, not as float: a very long integer does not fit one.
            return value in self._numbers or str(value) in self._words
        folded = _SPACE.sub(" ", value.casefold()).strip()
        words = _WORD.findall(folded)
        # A text without words claims nothing. Several words may occur in this order anywhere; a
        # single one has to be a whole word, or "art" would be found in "party".
        if not words or any(folded in text for text in self._texts if len(words) > 1):
            return True
        if _NUMBER.fullmatch(folded) and self._has_number(folded):
            return True
        # Running text is the model's own wording; only what it states exactly needs a source.
        if len(words) >= _PROSE_WORDS and " " in folded:
            words = [word for word in words if any(char.isdigit() for char in word)]
        return all(word in self._words or self._has_number(word) for word in words)

    def shows(self, mark: str) -> bool:
        """Return True if a wordless mark stands by itself, as in ``put "____" there``."""
        self._read()
        alone = re.compile(rf"(?:^|{_EDGE}){re.escape(mark.casefold())}(?:$|{_EDGE})")
        return any(alone.search(text) for text in self._texts)

    def _has_number(self, word: str) -> bool:
        return any(number in self._numbers for number in _numbers(word))


def _numbers(text: str) -> Iterator[float]:
    for found in _NUMBER.findall(text):
        # "1,250" is one number in prose and two in a compact list; both readings count.
        for part in {found.replace(",", ""), *found.split(",")} - {""}:
            yield float(part)


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
        """Return True if a text without words stands by itself in the task's evidence."""
        own = self._own.get(task)
        return self._common.shows(mark) or (own is not None and own.shows(mark))

    def ungrounded(self, task: str, value: Any) -> str | float | None:
        """Return the first scalar in ``value`` that is not in the task's evidence, or ``None``."""
        own = self._own.get(task)
        for leaf in leaves(value):
            if not (self._common.has(leaf) or (own is not None and own.has(leaf))):
                return leaf
        return None
