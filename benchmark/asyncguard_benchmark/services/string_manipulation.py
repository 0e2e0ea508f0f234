"""SM: functions on texts: cutting, joining, casing, padding, searching, ordering, masking, enciphering.

No state. Positions count characters from 1. Searching is plain containment, never a pattern: an agent's regular
expression could run for ever.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.declarations import State, choice, text
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.stateless import NO_STATE, array, function, integer

_LONGEST = 2000
"""Characters that a text may have."""
_COMPARED = 120
"""Characters of a text that is compared letter by letter, which costs the product of two lengths."""
_STYLES = ("upper", "lower", "title", "sentence", "snake", "kebab", "camel")


def _split_text(_: State, text: str, separator: str) -> Any:
    pieces = [piece.strip() for piece in text.split(separator)]
    return {"pieces": pieces, "count": len(pieces), "first": pieces[0], "last": pieces[-1]}


def _join_texts(_: State, texts: Sequence[str], glue: str) -> Any:
    joined = glue.join(texts)
    return {"text": joined, "length": len(joined)}


def _words(text: str) -> list[str]:
    """Return the runs of letters and digits."""
    return re.findall(r"[^\W_]+", text)


def _change_case(_: State, text: str, style: str) -> Any:
    words = [word.lower() for word in _words(text)]
    styled = {
        "upper": text.upper(),
        "lower": text.lower(),
        "title": re.sub(r"[^\W_]+", lambda found: found[0].capitalize(), text),
        "sentence": text[:1].upper() + text[1:].lower(),
        "snake": "_".join(words),
        "kebab": "-".join(words),
        "camel": "".join(words[:1] + [word.capitalize() for word in words[1:]]),
    }[style]
    return {"text": styled, "length": len(styled), "words": len(words)}


def _swap_text(_: State, text: str, old: str, new: str) -> Any:
    return {"text": text.replace(old, new), "replaced": text.count(old)}


def _pad_text(_: State, text: str, width: int, fill: str, side: str) -> Any:
    padded = text.rjust(width, fill) if side == "start" else text.ljust(width, fill)
    return {"text": padded, "added": len(padded) - len(text)}


def _strip_characters(_: State, text: str, characters: str, side: str) -> Any:
    stripped = {"both": text.strip, "start": text.lstrip, "end": text.rstrip}[side](characters)
    return {"text": stripped, "removed": len(text) - len(stripped)}


def _reverse_text(_: State, text: str, unit: str) -> Any:
    backwards = text[::-1] if unit == "letters" else " ".join(reversed(text.split()))
    return {"text": backwards, "same": backwards == text}


def _locate_text(_: State, text: str, wanted: str) -> Any:
    # Finds overlapping ones, too: each position at which the text goes on with what is wanted.
    positions = [at + 1 for at in range(len(text)) if text.startswith(wanted, at)]
    if not positions:
        raise ToolFailure(f"{wanted!r} does not occur.")
    return {
        "positions": positions,
        "count": len(positions),
        "first": positions[0],
        "last": positions[-1],
    }


def _cut_text(_: State, text: str, start: int, length: int) -> Any:
    begin, end = start - 1, start - 1 + length
    if end > len(text):
        raise ToolFailure(f"The text has {len(text)} characters; the cut would end at {end}.")
    return {"cut": text[begin:end], "before": text[:begin], "after": text[end:]}


def _text_between(_: State, text: str, opening: str, closing: str) -> Any:
    inside, outside, rest = [], "", text
    while opening in rest and closing in rest.split(opening, 1)[1]:
        before, rest = rest.split(opening, 1)
        piece, rest = rest.split(closing, 1)
        inside.append(piece)
        outside += before
    if not inside:
        raise ToolFailure(f"Nothing stands between {opening!r} and {closing!r}.")
    return {"inside": inside, "count": len(inside), "outside": outside + rest}


def _shift_letters(_: State, text: str, places: int) -> Any:
    def shifted(letter: str) -> str:
        if not (letter.isascii() and letter.isalpha()):
            return letter
        start = ord("a") if letter.islower() else ord("A")
        return chr(start + (ord(letter) - start + places) % 26)

    moved = "".join(shifted(letter) for letter in text)
    return {
        "text": moved,
        "letters_moved": sum(old != new for old, new in zip(text, moved, strict=True)),
    }


def _word_facts(_: State, text: str) -> Any:
    words = _words(text)
    if not words:
        raise ToolFailure("The text has no words.")
    counted = Counter(word.lower() for word in words)
    top = max(counted.values())
    return {
        "count": len(words),
        "longest": max(words, key=len),
        "shortest": min(words, key=len),
        "most_frequent": next(word for word in counted if counted[word] == top),
        "repeats": top,
        "lengths": [len(word) for word in words],
    }


def _shared_beginning(_: State, texts: Sequence[str]) -> Any:
    columns = takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    length = sum(1 for _ in columns)
    return {
        "beginning": texts[0][:length],
        "length": length,
        "remainders": [each[length:] for each in texts],
    }


def _order_texts(_: State, texts: Sequence[str], rule: str) -> Any:
    # Length alone leaves ties; the original order settles them.
    ordered = (
        sorted(texts, key=len)
        if rule == "length"
        else sorted(texts, key=lambda each: (each.lower(), each))
    )
    return {"texts": ordered, "first": ordered[0], "last": ordered[-1]}


def _wrap_lines(_: State, text: str, width: int) -> Any:
    lines = [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}".strip()
        lines = [*lines[:-1], joined] if len(joined) <= width or not lines[-1] else [*lines, word]
    return {
        "lines": lines,
        "count": len(lines),
        "widest": max(len(line) for line in lines),
        "last": lines[-1],
    }


def _take_initials(_: State, text: str) -> Any:
    words = text.split()
    if not words:
        raise ToolFailure("The text has no words.")
    initials = "".join(word[0].upper() for word in words)
    return {
        "initials": initials,
        "dotted": "".join(f"{letter}." for letter in initials),
        "count": len(words),
    }


def _edits(one: str, other: str) -> int:
    """Return the Levenshtein distance, computed row by row."""
    row = list(range(len(other) + 1))
    for line, letter in enumerate(one, 1):
        above, row = row, [line]
        for column, wanted in enumerate(other, 1):
            row.append(min(above[column] + 1, row[-1] + 1, above[column - 1] + (letter != wanted)))
    return row[-1]


def _closest_text(_: State, text: str, candidates: Sequence[str]) -> Any:
    edits = [_edits(text, each) for each in candidates]
    best = edits.index(min(edits))
    return {"match": candidates[best], "position": best + 1, "edits": edits[best]}


def _mask_text(_: State, text: str, visible: int, mask: str) -> Any:
    hidden = max(0, len(text) - visible)
    return {"text": mask * hidden + text[hidden:], "hidden": hidden, "shown": text[hidden:]}


_TEXT = text("The text.", maxLength=_LONGEST)
_COMPARABLE = text("A text.", maxLength=_COMPARED)
_TEXTS = array("The texts, in their order.", text("A text.", maxLength=_LONGEST))
_PIECE = text("A piece of text; case matters.", maxLength=_LONGEST)
_CHARACTER = text("One character.", maxLength=1)

TOOLSET = toolset(
    Category.STRING_MANIPULATION,
    NO_STATE,
    (
        function(
            "split_text",
            "Splits a text at a separator; blanks around the pieces are dropped.",
            _split_text,
            text=_TEXT,
            separator=text("What stands between two pieces."),
        ),
        function(
            "join_texts",
            "Joins texts to one, with glue between each two.",
            _join_texts,
            texts=_TEXTS,
            glue=text("What is put between two texts."),
        ),
        function(
            "change_case",
            "Writes a text in another case style; snake, kebab and camel keep only letters and digits.",
            _change_case,
            text=_TEXT,
            style=choice("The style.", _STYLES),
        ),
        function(
            "swap_text",
            "Replaces a piece of text wherever it occurs, and counts the replacements.",
            _swap_text,
            text=_TEXT,
            old=_PIECE,
            new=text("What takes its place."),
        ),
        function(
            "pad_text",
            "Fills a text up to a width with a character.",
            _pad_text,
            text=_TEXT,
            width=integer("Characters that the result has at least.", 1, 500),
            fill=_CHARACTER,
            side=choice("Where the filling goes.", ("start", "end"), default="start"),
        ),
        function(
            "strip_characters",
            "Removes certain characters from the ends of a text, none from its middle.",
            _strip_characters,
            text=_TEXT,
            characters=text("The characters, side by side in any order."),
            side=choice("At which end.", ("both", "start", "end"), default="both"),
        ),
        function(
            "reverse_text",
            "Turns a text round, letter by letter or word by word.",
            _reverse_text,
            text=_TEXT,
            unit=choice("What changes places.", ("letters", "words"), default="letters"),
        ),
        function(
            "locate_text",
            "Finds the positions, from 1, at which a piece of text begins.",
            _locate_text,
            text=_TEXT,
            wanted=_PIECE,
        ),
        function(
            "cut_text",
            "Cuts a stretch out of a text; gives it, what stood before and what stood after.",
            _cut_text,
            text=_TEXT,
            start=integer("Position of the first character of the stretch, from 1.", 1, _LONGEST),
            length=integer("Characters in the stretch.", 1, _LONGEST),
        ),
        function(
            "text_between",
            "Gives every piece between an opening and the next closing mark, and what is left without them.",
            _text_between,
            text=_TEXT,
            opening=text("Opening mark."),
            closing=text("Closing mark."),
        ),
        function(
            "shift_letters",
            "Moves every letter from A to Z along the alphabet, round its end; case and other characters stay.",
            _shift_letters,
            text=_TEXT,
            places=integer("How far; negative for backwards.", -1000, 1000),
        ),
        function(
            "word_facts",
            "Tells number, longest, shortest and most frequent word (the earliest of equals) and all lengths.",
            _word_facts,
            text=_TEXT,
        ),
        function(
            "shared_beginning",
            "Finds what all texts begin with, and what each goes on with.",
            _shared_beginning,
            texts=_TEXTS,
        ),
        function(
            "order_texts",
            "Sorts texts by alphabet, ignoring case, or from short to long.",
            _order_texts,
            texts=_TEXTS,
            rule=choice("What decides.", ("alphabet", "length"), default="alphabet"),
        ),
        function(
            "wrap_lines",
            "Breaks a text into lines of at most a width, between words.",
            _wrap_lines,
            text=_TEXT,
            width=integer("Characters in a line.", 1, 500),
        ),
        function(
            "take_initials",
            "Takes the first letter of each word as a capital, plain and with dots.",
            _take_initials,
            text=_TEXT,
        ),
        function(
            "closest_text",
            "Finds the candidate that takes the fewest edits to make from a text, the earliest of equals.",
            _closest_text,
            text=_COMPARABLE,
            candidates=array("Candidates, in their order.", _COMPARABLE),
        ),
        function(
            "mask_text",
            "Hides all but the last characters of a text behind a mask.",
            _mask_text,
            text=_TEXT,
            visible=integer("How many characters stay readable.", 1, _LONGEST),
            mask=_CHARACTER,
        ),
    ),
)
