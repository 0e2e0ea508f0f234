"""Removal of the thread's nonce and the runtime's mark from text that the runtime did not write.

A reader, person or model, sees through spellings that a comparison of characters does not: wide and
mathematical letters, capitals, invisible characters between the letters, JSON escapes, a word that
begins in one content block and ends in the next. So texts are compared by their *skeleton*:
compatibility forms resolved, case folded, and everything dropped that leaves no ink. Only the part
that spells nonce or mark on the skeleton is replaced; all other text, with its joiners, variation
selectors and controls, stays as it is.

Unicode's general categories, not a list, define what leaves no ink: everything in C (controls,
format characters, surrogates, private use, not assigned), separators of lines, and the combining
marks. Of the default-ignorable code points only the fillers of Hangul are letters, and a few
further characters are blank by design; these are named below. A space of full width separates:
`[async guard:` is two words and stays.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, cast

from asyncguard.adapters.messages.sanitize import changed_texts

MARK = "[asyncguard:"
"""Beginning of the runtime's notes about a result."""
_MARK = re.compile(r"\[ *asyncguard *:")
"""The same on a skeleton, as loosely as a reader reads it."""
REMOVED = "[removed]"
"""Replacement of a forgery; it leaves ink, so the texts around it cannot join to another one."""

_NO_INK = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Mn", "Me"})
_SPACES = frozenset(" \u00a0\u3000")
"""Visible spaces; typographic ones may be as narrow as a hair."""
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0\ufffc\U00013441\U00013442\U0001d159")
"""Blank characters of other categories.

They are the fillers of Hangul, the empty Braille pattern, the object replacement character, the
blanks of Egyptian hieroglyphs and the null notehead.
"""
_TAGS = range(0xE0020, 0xE007F)
"""Invisible copies of the ASCII characters: one reader drops them, another reads the letters."""
_FROM_TAG = {code: chr(code - 0xE0000) for code in _TAGS}
_TAGGED = re.compile(f"[{chr(_TAGS[0])}-{chr(_TAGS[-1])}]")
_ESCAPE = re.compile(
    r"\\+(?:u[dD][89abAB][\da-fA-F]{2}\\+u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}"
    r"|U[\da-fA-F]{8}|x[\da-fA-F]{2}|[nrtbfave0])"
)
"""Escape of a character in JSON and programs, also in JSON within JSON."""
_TERMINAL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""Control sequence of a terminal, which does not show it."""


class _Skeletons(dict[int, str]):
    """Skeletons by code point, computed at the first use."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        blank = unicodedata.category(character) == "Zs" and character not in _SPACES
        # In this order: a combining iota becomes a letter in small case.
        seen = "" if blank else _inked(_inked(character).casefold())
        if len(self) < 10_000:  # hostile text must not fill the memory
            self[code] = seen
        return seen


def _inked(text: str) -> str:
    parts = unicodedata.normalize("NFKD", text)
    return "".join(
        part for part in parts if part not in _BLANK and unicodedata.category(part) not in _NO_INK
    )


_SKELETONS = _Skeletons()


def skeleton(text: str) -> str:
    """Return the part of a text that a reader sees, in one spelling."""
    return text.translate(_SKELETONS)


def without(nonce: str, content: Any) -> Any:
    """Return the content without the nonce, and without all that reads as the runtime's mark.

    Args:
        nonce: Secret part of the thread's delimiters; empty for the mark alone.
        content: Text, content blocks or any JSON value.

    Returns:
        The same object if nothing was removed.
    """
    secret = skeleton(nonce)
    return changed_texts(
        content, lambda text: _taken_out(secret, [text])[0], partial(_without_across, secret)
    )


def _forgeries(secret: str, seen: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of nonce and mark on a skeleton.

    The nonce is looked for as text: a pattern of each thread would be compiled at every step of a
    process with more threads than a cache has places.
    """
    yield from (hit.span() for hit in _MARK.finditer(seen))
    place = seen.find(secret) if secret else -1
    while place >= 0:
        yield place, place + len(secret)
        place = seen.find(secret, place + len(secret))


def _without_across(secret: str, blocks: list[Any]) -> list[Any]:
    """Return the blocks without forgeries that begin in one text and end in another."""
    # Some readers join every text, others leave out that of images and files.
    read_before: list[int] = []
    for read in (_text_in, _text_of_text_block):
        places = [place for place, block in enumerate(blocks) if read(block) is not None]
        if len(places) < 2 or places == read_before:
            continue
        read_before = places
        texts = [cast(str, _text_in(blocks[place])) for place in places]
        for place, old, new in zip(places, texts, _taken_out(secret, texts), strict=True):
            if new is not old:
                blocks[place] = (
                    new if isinstance(blocks[place], str) else {**blocks[place], "text": new}
                )
    return blocks


def _text_in(block: Any) -> str | None:
    text = block.get("text") if isinstance(block, dict) else block
    return text if isinstance(text, str) else None


def _text_of_text_block(block: Any) -> str | None:
    other = isinstance(block, dict) and block.get("type") != "text"
    return None if other else _text_in(block)


def _taken_out(secret: str, texts: Sequence[str]) -> list[str]:
    """Return the texts, read as one, with each forgery replaced in all texts that it touches."""
    whole = texts[0] if len(texts) == 1 else "".join(texts)
    # Models may read escapes as characters, and tag characters as letters, or not.
    escapes = "\\" in whole or "\x1b" in whole
    tags = not whole.isascii() and _TAGGED.search(whole) is not None
    readings = [(escaped, tagged) for escaped in {False, escapes} for tagged in {False, tags}]
    spans = sorted({span for reading in readings for span in _spans(secret, whole, *reading)})
    if not spans:
        return list(texts)
    cleaned: list[str] = []
    begin = 0
    for text in texts:
        kept: list[str] = []
        done = 0
        for start, end in ((max(start - begin, 0), end - begin) for start, end in spans):
            if end <= done or start >= len(text):
                continue
            if start >= done:  # else it overlaps the one before, which is replaced already
                kept += [text[done:start], REMOVED]
            done = end
        cleaned.append("".join([*kept, text[done:]]) if kept else text)
        begin += len(text)
    return cleaned


def _spans(secret: str, text: str, escaped: bool, tagged: bool) -> list[tuple[int, int]]:
    """Return the spans of forgeries in a text, as it is read in one way.

    Args:
        secret: Skeleton of the nonce.
        text: The text.
        escaped: True if escapes are read as characters.
        tagged: True if tag characters are read as letters.
    """
    # Fast check first: the map from skeleton to text, made below, costs an entry per character.
    read = _TERMINAL.sub("", _ESCAPE.sub(_unescaped, text)) if escaped else text
    inked = skeleton(read.translate(_FROM_TAG) if tagged else read)
    if next(_forgeries(secret, inked), None) is None:
        return []
    characters = [(character, place, place + 1) for place, character in enumerate(text)]
    if escaped:
        characters = _joined(characters, text, _ESCAPE, _unescaped)
        plain = "".join(character for character, _, _ in characters)
        characters = _joined(characters, plain, _TERMINAL, lambda hit: "\x00")
    seen: list[str] = []
    places: list[tuple[int, int]] = []
    for said, start, end in characters:
        ink = skeleton(said.translate(_FROM_TAG) if tagged else said)
        seen.append(ink)
        places += [(start, end)] * len(ink)
    return [
        (places[start][0], places[end - 1][1]) for start, end in _forgeries(secret, "".join(seen))
    ]


def _joined(
    characters: list[tuple[str, int, int]], text: str, pattern: re.Pattern[str], stands_for: Any
) -> list[tuple[str, int, int]]:
    """Return the characters of the text, with each match as one character."""
    made: list[tuple[str, int, int]] = []
    done = 0
    for hit in pattern.finditer(text):
        made += characters[done : hit.start()]
        made.append((stands_for(hit), characters[hit.start()][1], characters[hit.end() - 1][2]))
        done = hit.end()
    return made + characters[done:]


def _unescaped(hit: re.Match[str]) -> str:
    """Return the character that an escape stands for."""
    kind, digits = (body := hit[0].lstrip("\\"))[0], body[1:]
    if kind not in "uUx":
        return "\x00"
    if "\\" in digits:  # a surrogate pair
        high, low = int(digits[:4], 16), int(digits[-4:], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    return chr(code) if (code := int(digits, 16)) < 0x110000 else "\x00"
