"""SM: functions on texts: cutting, joining, casing, padding, searching, ordering, masking, enciphering.

No state. Positions count characters from 1. Searching is plain containment, never a pattern: an agent's regular
expression could run for ever.
"""

import re
from collections import Counter
from itertools import takewhile
from typing import Annotated, Any, Literal

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services.arguments import Several, Text, within
from asyncguard_benchmark.services.declarations import State, tool
from asyncguard_benchmark.services.service import toolset
from asyncguard_benchmark.services.state_shapes import NO_STATE

_LONGEST = 2000
"""Characters that a text may have."""

Content = Annotated[Text, "The text.", {"maxLength": _LONGEST}]
Texts = Annotated[
    Several[Annotated[Text, "A text.", {"maxLength": _LONGEST}]], "The texts, in their order."
]
Piece = Annotated[Text, "A piece of text; case matters.", {"maxLength": _LONGEST}]
Comparable = Annotated[Text, "A text.", {"maxLength": 120}]
"""A text that is compared letter by letter, which costs the product of two lengths."""
Character = Annotated[Text, "One character.", {"maxLength": 1}]


@tool()
def split_text(
    _: State, text: Content, separator: Annotated[Text, "What stands between two pieces."]
) -> Any:
    """Splits a text at a separator; blanks around the pieces are dropped."""
    pieces = [piece.strip() for piece in text.split(separator)]
    return {"pieces": pieces, "count": len(pieces), "first": pieces[0], "last": pieces[-1]}


@tool()
def join_texts(
    _: State, texts: Texts, glue: Annotated[Text, "What is put between two texts."]
) -> Any:
    """Joins texts to one, with glue between each two."""
    joined = glue.join(texts)
    return {"text": joined, "length": len(joined)}


def _words(text: str) -> list[str]:
    """Return the runs of letters and digits."""
    return re.findall(r"[^\W_]+", text)


@tool()
def change_case(
    _: State,
    text: Content,
    style: Annotated[
        Literal["upper", "lower", "title", "sentence", "snake", "kebab", "camel"], "The style."
    ],
) -> Any:
    """Writes a text in another case style; snake, kebab and camel keep only letters and digits."""
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


@tool()
def swap_text(
    _: State, text: Content, old: Piece, new: Annotated[Text, "What takes its place."]
) -> Any:
    """Replaces a piece of text wherever it occurs, and counts the replacements."""
    return {"text": text.replace(old, new), "replaced": text.count(old)}


@tool()
def pad_text(
    _: State,
    text: Content,
    width: Annotated[int, within(1, 500), "Characters that the result has at least."],
    fill: Character,
    side: Annotated[Literal["start", "end"], "Where the filling goes."] = "start",
) -> Any:
    """Fills a text up to a width with a character."""
    padded = text.rjust(width, fill) if side == "start" else text.ljust(width, fill)
    return {"text": padded, "added": len(padded) - len(text)}


@tool()
def strip_characters(
    _: State,
    text: Content,
    characters: Annotated[Text, "The characters, side by side in any order."],
    side: Annotated[Literal["both", "start", "end"], "At which end."] = "both",
) -> Any:
    """Removes certain characters from the ends of a text, none from its middle."""
    stripped = {"both": text.strip, "start": text.lstrip, "end": text.rstrip}[side](characters)
    return {"text": stripped, "removed": len(text) - len(stripped)}


@tool()
def reverse_text(
    _: State,
    text: Content,
    unit: Annotated[Literal["letters", "words"], "What changes places."] = "letters",
) -> Any:
    """Turns a text round, letter by letter or word by word."""
    backwards = text[::-1] if unit == "letters" else " ".join(reversed(text.split()))
    return {"text": backwards, "same": backwards == text}


@tool()
def locate_text(_: State, text: Content, wanted: Piece) -> Any:
    """Finds the positions, from 1, at which a piece of text begins."""
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


@tool()
def cut_text(
    _: State,
    text: Content,
    start: Annotated[
        int, within(1, _LONGEST), "Position of the first character of the stretch, from 1."
    ],
    length: Annotated[int, within(1, _LONGEST), "Characters in the stretch."],
) -> Any:
    """Cuts a stretch out of a text; gives it, what stood before and what stood after."""
    begin, end = start - 1, start - 1 + length
    if end > len(text):
        raise ToolFailure(f"The text has {len(text)} characters; the cut would end at {end}.")
    return {"cut": text[begin:end], "before": text[:begin], "after": text[end:]}


@tool()
def text_between(
    _: State,
    text: Content,
    opening: Annotated[Text, "Opening mark."],
    closing: Annotated[Text, "Closing mark."],
) -> Any:
    """Gives every piece between an opening and the next closing mark, and what is left without them."""
    inside, outside, rest = [], "", text
    while opening in rest and closing in rest.split(opening, 1)[1]:
        before, rest = rest.split(opening, 1)
        piece, rest = rest.split(closing, 1)
        inside.append(piece)
        outside += before
    if not inside:
        raise ToolFailure(f"Nothing stands between {opening!r} and {closing!r}.")
    return {"inside": inside, "count": len(inside), "outside": outside + rest}


@tool()
def shift_letters(
    _: State,
    text: Content,
    places: Annotated[int, within(-1000, 1000), "How far; negative for backwards."],
) -> Any:
    """Moves every letter from A to Z along the alphabet, round its end; case and other characters stay."""

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


@tool()
def word_facts(_: State, text: Content) -> Any:
    """Tells number, longest, shortest and most frequent word (the earliest of equals) and all lengths."""
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


@tool()
def shared_beginning(_: State, texts: Texts) -> Any:
    """Finds what all texts begin with, and what each goes on with."""
    columns = takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    length = sum(1 for _ in columns)
    return {
        "beginning": texts[0][:length],
        "length": length,
        "remainders": [each[length:] for each in texts],
    }


@tool()
def order_texts(
    _: State,
    texts: Texts,
    rule: Annotated[Literal["alphabet", "length"], "What decides."] = "alphabet",
) -> Any:
    """Sorts texts by alphabet, ignoring case, or from short to long."""
    # Length alone leaves ties; the original order settles them.
    ordered = (
        sorted(texts, key=len)
        if rule == "length"
        else sorted(texts, key=lambda each: (each.lower(), each))
    )
    return {"texts": ordered, "first": ordered[0], "last": ordered[-1]}


@tool()
def wrap_lines(
    _: State, text: Content, width: Annotated[int, within(1, 500), "Characters in a line."]
) -> Any:
    """Breaks a text into lines of at most a width, between words."""
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


@tool()
def take_initials(_: State, text: Content) -> Any:
    """Takes the first letter of each word as a capital, plain and with dots."""
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


@tool()
def closest_text(
    _: State,
    text: Comparable,
    candidates: Annotated[Several[Comparable], "Candidates, in their order."],
) -> Any:
    """Finds the candidate that takes the fewest edits to make from a text, the earliest of equals."""
    edits = [_edits(text, each) for each in candidates]
    best = edits.index(min(edits))
    return {"match": candidates[best], "position": best + 1, "edits": edits[best]}


@tool()
def mask_text(
    _: State,
    text: Content,
    visible: Annotated[int, within(1, _LONGEST), "How many characters stay readable."],
    mask: Character,
) -> Any:
    """Hides all but the last characters of a text behind a mask."""
    hidden = max(0, len(text) - visible)
    return {"text": mask * hidden + text[hidden:], "hidden": hidden, "shown": text[hidden:]}


TOOLSET = toolset(
    Category.STRING_MANIPULATION,
    NO_STATE,
    (
        split_text,
        join_texts,
        change_case,
        swap_text,
        pad_text,
        strip_characters,
        reverse_text,
        locate_text,
        cut_text,
        text_between,
        shift_letters,
        word_facts,
        shared_beginning,
        order_texts,
        wrap_lines,
        take_initials,
        closest_text,
        mask_text,
    ),
)
