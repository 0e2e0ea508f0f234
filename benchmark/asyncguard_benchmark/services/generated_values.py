"""Functions of data generation that need no calendar: series, codes, labels, draws, selections.

Draws come from a hash of the seed and a counter, so that a seed gives the same values on every machine.
"""

import hashlib
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.arguments import Number, Several, Text, one_of, within
from asyncguard_benchmark.services.declarations import State, tool
from asyncguard_benchmark.services.exact_numbers import exact, rounded

MOST_ITEMS = 200
"""Longest list that a function makes."""
CODE_LENGTHS = {"Luhn": range(1, 31), "EAN-13": range(12, 13), "ISBN-10": range(9, 10)}
"""Schemes of check digits, and how many digits each takes."""
PLACEHOLDER = "*"
_PLACES = 4

Seed = Annotated[
    int, within(0), "whole number that decides the outcome; the same seed gives the same outcome"
]


def _limited(count: int) -> None:
    if count > MOST_ITEMS:
        raise ToolFailure(f"This would make {count} items; at most {MOST_ITEMS} are possible.")


def _digest(*parts: Any) -> str:
    return hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).hexdigest()


@tool()
def number_series(
    _: State,
    start: Annotated[Number, "the first number"],
    step: Annotated[Number, "what is added each time"],
    count: Annotated[int, within(1, MOST_ITEMS), "how many numbers"],
) -> Any:
    """Makes equally spaced numbers. Gives `values`, `last` and `total`, four decimals."""
    values = [exact(start) + position * exact(step) for position in range(count)]
    return {
        "values": [rounded(value, _PLACES) for value in values],
        "last": rounded(values[-1], _PLACES),
        "total": rounded(sum(values, Fraction()), _PLACES),
    }


@tool()
def growth_series(
    _: State,
    start: Annotated[Number, "the first number"],
    percent: Annotated[float, within(-100, 1000), "growth for each step in percent"],
    count: Annotated[int, within(1, 50), "how many numbers, the first included"],
) -> Any:
    """Makes numbers that grow (or shrink) by a percentage each time.

    Gives `values` and `last`, two decimals; the rounding does not feed back.
    """
    values = [exact(start) * (1 + exact(percent) / 100) ** position for position in range(count)]
    return {"values": [rounded(value, 2) for value in values], "last": rounded(values[-1], 2)}


@tool()
def spread_points(
    _: State,
    first: Annotated[Number, "where the distance begins"],
    last: Annotated[Number, "where it ends"],
    count: Annotated[int, within(2, 200), "how many points"],
) -> Any:
    """Places points evenly over a distance, both ends included.

    Gives `points`, the `gap` between two and the `inner` points without the ends, four
    decimals.
    """
    gap = (exact(last) - exact(first)) / (count - 1)
    points = [rounded(exact(first) + position * gap, _PLACES) for position in range(count)]
    return {"points": points, "gap": rounded(gap, _PLACES), "inner": points[1:-1]}


@tool()
def serial_labels(
    _: State,
    prefix: Annotated[Text, "what stands before each number"],
    first: Annotated[int, within(0), "the first number"],
    count: Annotated[int, within(1, MOST_ITEMS), "how many labels"],
    digits: Annotated[int, within(1, 12), "least number of digits"] = 4,
) -> Any:
    """Makes consecutive numbers behind a prefix, padded with zeros. Gives `labels`, `last` and `next_number`."""
    labels = [f"{prefix}{number:0{digits}d}" for number in range(first, first + count)]
    return {"labels": labels, "last": labels[-1], "next_number": first + count}


@tool()
def grid_labels(
    _: State,
    rows: Annotated[int, within(1, 26), "number of rows, named by letters"],
    columns: Annotated[int, within(1, MOST_ITEMS), "number of columns, numbered from 1"],
) -> Any:
    """Names the cells of a grid, A1, A2 ... for the first row.

    Gives them by `rows`, as flat `labels`, the `corners` and the `count`.
    """
    _limited(rows * columns)
    grid = [
        [f"{chr(ord('A') + row)}{column + 1}" for column in range(columns)] for row in range(rows)
    ]
    return {
        "rows": grid,
        "labels": [label for row in grid for label in row],
        "corners": list(dict.fromkeys([grid[0][0], grid[0][-1], grid[-1][0], grid[-1][-1]])),
        "count": rows * columns,
    }


@tool()
def crossed_labels(
    _: State,
    first: Annotated[Several[Text], "items that stand in front"],
    second: Annotated[Several[Text], "items that stand behind"],
    separator: Annotated[Text, "what stands between the two"],
) -> Any:
    """Joins each item of one list to each item of another. Gives `labels` (the second list runs fastest), `count`."""
    _limited(len(first) * len(second))
    labels = [f"{one}{separator}{other}" for one in first for other in second]
    return {"labels": labels, "count": len(labels)}


@tool()
def choose_groups(
    _: State,
    items: Annotated[Several[Text], "what is chosen from"],
    size: Annotated[int, within(1, 20), "items in a selection"],
) -> Any:
    """Lists all selections of a size out of some items, order irrelevant. Gives `groups` and `count`."""
    if size > len(items):
        raise ToolFailure(f"{size} of {len(items)} items cannot be chosen.")
    _limited(math.comb(len(items), size))
    groups = [list(group) for group in itertools.combinations(items, size)]
    return {"groups": groups, "count": len(groups)}


@tool()
def fill_pattern(
    _: State,
    pattern: Annotated[Text, "text with an asterisk where the value goes"],
    values: Annotated[Several[str | float], "what is put in"],
) -> Any:
    """Writes a text for each value, with the value in place of every asterisk. Gives `texts` and the `longest`."""
    if PLACEHOLDER not in pattern:
        raise ToolFailure(f"The pattern has no {PLACEHOLDER!r} to put a value in.")
    texts = [pattern.replace(PLACEHOLDER, str(value)) for value in values]
    return {"texts": texts, "longest": max(texts, key=len)}


@tool()
def title_slug(
    _: State,
    title: Annotated[Text, "the title"],
    longest: Annotated[int, within(1, 100), "most characters that the slug may have"] = 60,
) -> Any:
    """Turns a title into small letters, digits and hyphens, cut between words. Gives `slug`, `words`, `length`."""
    words = "".join(
        letter if letter.isascii() and letter.isalnum() else " " for letter in title.lower()
    ).split()
    if not words or len(words[0]) > longest:
        raise ToolFailure("Not one whole word of plain letters or digits fits into the slug.")
    kept = words[:1]
    for word in words[1:]:
        if len("-".join([*kept, word])) > longest:
            break
        kept.append(word)
    slug = "-".join(kept)
    return {"slug": slug, "words": kept, "length": len(slug)}


@tool()
def content_key(
    _: State,
    content: Annotated[Text, "the text"],
    length: Annotated[int, within(4, 64), "characters of the key"] = 12,
) -> Any:
    """Derives a key of hexadecimal digits from a text. Gives `key`, it as `capital`, and a six-digit `number`."""
    digest = _digest("key", content)
    return {
        "key": digest[:length],
        "capital": digest[:length].upper(),
        "number": int(digest[:8], 16) % 1_000_000,
    }


@tool()
def check_code(
    _: State,
    digits: Annotated[Text, "the number without its check digit, digits only"],
    scheme: Annotated[
        str, one_of(CODE_LENGTHS), "kind of check digit; EAN-13 takes 12 digits, ISBN-10 9"
    ],
) -> Any:
    """Works out a check digit. Gives `check_digit` and the full `code`, both as text, and its `length`."""
    if not (digits.isascii() and digits.isdigit()):
        raise ToolFailure(
            "Only the digits 0 to 9 may stand in the number, without spaces or hyphens."
        )
    lengths = CODE_LENGTHS[scheme]
    if len(digits) not in lengths:
        allowed = (
            f"{lengths.start}" if len(lengths) == 1 else f"{lengths.start} to {lengths.stop - 1}"
        )
        raise ToolFailure(f"{scheme} takes {allowed} digits, not {len(digits)}.")
    check = {"Luhn": _luhn, "EAN-13": _ean, "ISBN-10": _isbn}[scheme](
        [int(digit) for digit in digits]
    )
    return {"check_digit": check, "code": digits + check, "length": len(digits) + 1}


def _luhn(digits: Sequence[int]) -> str:
    doubled = [
        2 * digit if place % 2 == 0 else digit for place, digit in enumerate(reversed(digits))
    ]
    return str(-sum(value // 10 + value % 10 for value in doubled) % 10)


def _ean(digits: Sequence[int]) -> str:
    return str(-sum(3 * digit if place % 2 else digit for place, digit in enumerate(digits)) % 10)


def _isbn(digits: Sequence[int]) -> str:
    check = -sum((10 - place) * digit for place, digit in enumerate(digits)) % 11
    return "X" if check == 10 else str(check)


@tool()
def seeded_shuffle(
    _: State, items: Annotated[Several[str | float], "what is mixed"], seed: Seed
) -> Any:
    """Puts items into an order decided by a seed. Gives `items`, `first` and `last`."""
    shuffled = _shuffled(items, seed)
    return {"items": shuffled, "first": shuffled[0], "last": shuffled[-1]}


@tool()
def seeded_draw(
    _: State,
    items: Annotated[Several[str | float], "what is drawn from"],
    count: Annotated[int, within(1, MOST_ITEMS), "how many are drawn"],
    seed: Seed,
) -> Any:
    """Draws some of the items, decided by a seed. Gives `drawn`, in the order drawn, and `remaining`, as given."""
    if count > len(items):
        raise ToolFailure(f"{count} of {len(items)} items cannot be drawn.")
    drawn = _shuffled(range(len(items)), seed)[:count]
    return {
        "drawn": [items[position] for position in drawn],
        "remaining": [item for position, item in enumerate(items) if position not in drawn],
    }


def _shuffled(items: Sequence[Any], seed: int) -> list[Any]:
    positions = sorted(range(len(items)), key=lambda position: _digest(seed, "order", position))
    return [items[position] for position in positions]


@tool()
def seeded_integers(
    _: State,
    low: Annotated[int, within(-1000000, 1000000), "least number possible"],
    high: Annotated[int, within(-1000000, 1000000), "largest number possible"],
    count: Annotated[int, within(1, MOST_ITEMS), "how many numbers"],
    seed: Seed,
) -> Any:
    """Rolls whole numbers, decided by a seed. Gives `values`, `smallest`, `largest` and `total`."""
    if low > high:
        raise ToolFailure("The lower bound lies above the upper one.")
    values = [
        low + int(_digest(seed, "integer", place), 16) % (high - low + 1) for place in range(count)
    ]
    return {"values": values, "smallest": min(values), "largest": max(values), "total": sum(values)}
