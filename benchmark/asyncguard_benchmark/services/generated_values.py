"""Functions of data generation that need no calendar: series, codes, labels, draws, selections.

Draws come from a hash of the seed and a counter, so that a seed gives the same values on every machine.
"""

import hashlib
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.declarations import State
from asyncguard_benchmark.services.exact_numbers import exact, rounded

MOST_ITEMS = 200
"""Longest list that a function makes."""
CODE_LENGTHS = {"Luhn": range(1, 31), "EAN-13": range(12, 13), "ISBN-10": range(9, 10)}
"""Schemes of check digits, and how many digits each takes."""
PLACEHOLDER = "*"
_PLACES = 4


def _limited(count: int) -> None:
    if count > MOST_ITEMS:
        raise ToolFailure(f"This would make {count} items; at most {MOST_ITEMS} are possible.")


def _digest(*parts: Any) -> str:
    return hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).hexdigest()


def number_series(_: State, start: float, step: float, count: int) -> Any:
    """Return equally spaced numbers."""
    values = [exact(start) + position * exact(step) for position in range(count)]
    return {
        "values": [rounded(value, _PLACES) for value in values],
        "last": rounded(values[-1], _PLACES),
        "total": rounded(sum(values, Fraction()), _PLACES),
    }


def growth_series(_: State, start: float, percent: float, count: int) -> Any:
    """Return the numbers that each lie a percentage above the one before; rounded only when shown."""
    values = [exact(start) * (1 + exact(percent) / 100) ** position for position in range(count)]
    return {"values": [rounded(value, 2) for value in values], "last": rounded(values[-1], 2)}


def spread_points(_: State, first: float, last: float, count: int) -> Any:
    """Return the points that divide a distance evenly, both ends included."""
    gap = (exact(last) - exact(first)) / (count - 1)
    points = [rounded(exact(first) + position * gap, _PLACES) for position in range(count)]
    return {"points": points, "gap": rounded(gap, _PLACES), "inner": points[1:-1]}


def serial_labels(_: State, prefix: str, first: int, count: int, digits: int) -> Any:
    """Return consecutive numbers with a prefix."""
    labels = [f"{prefix}{number:0{digits}d}" for number in range(first, first + count)]
    return {"labels": labels, "last": labels[-1], "next_number": first + count}


def grid_labels(_: State, rows: int, columns: int) -> Any:
    """Return the names of the cells of a grid: a letter for the row, a number for the column."""
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


def crossed_labels(_: State, first: list[str], second: list[str], separator: str) -> Any:
    """Return every item of one list joined to every item of another."""
    _limited(len(first) * len(second))
    labels = [f"{one}{separator}{other}" for one in first for other in second]
    return {"labels": labels, "count": len(labels)}


def choose_groups(_: State, items: list[str], size: int) -> Any:
    """Return all selections of a size, in the order of the items."""
    if size > len(items):
        raise ToolFailure(f"{size} of {len(items)} items cannot be chosen.")
    _limited(math.comb(len(items), size))
    groups = [list(group) for group in itertools.combinations(items, size)]
    return {"groups": groups, "count": len(groups)}


def fill_pattern(_: State, pattern: str, values: list[Any]) -> Any:
    """Return a text for every value, put where the pattern has its placeholder."""
    if PLACEHOLDER not in pattern:
        raise ToolFailure(f"The pattern has no {PLACEHOLDER!r} to put a value in.")
    texts = [pattern.replace(PLACEHOLDER, str(value)) for value in values]
    return {"texts": texts, "longest": max(texts, key=len)}


def title_slug(_: State, title: str, longest: int) -> Any:
    """Return a title in small letters, digits and hyphens, cut between words."""
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


def content_key(_: State, content: str, length: int) -> Any:
    """Return a key that depends on a text only."""
    digest = _digest("key", content)
    return {
        "key": digest[:length],
        "capital": digest[:length].upper(),
        "number": int(digest[:8], 16) % 1_000_000,
    }


def check_code(_: State, digits: str, scheme: str) -> Any:
    """Return digits, followed by the check digit of a scheme."""
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


def seeded_shuffle(_: State, items: list[Any], seed: int) -> Any:
    """Return the items in an order that depends on the seed."""
    shuffled = _shuffled(items, seed)
    return {"items": shuffled, "first": shuffled[0], "last": shuffled[-1]}


def seeded_draw(_: State, items: list[Any], count: int, seed: int) -> Any:
    """Return some of the items, and the rest as it stood."""
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


def seeded_integers(_: State, low: int, high: int, count: int, seed: int) -> Any:
    """Return whole numbers between two bounds, repetition allowed."""
    if low > high:
        raise ToolFailure("The lower bound lies above the upper one.")
    values = [
        low + int(_digest(seed, "integer", place), 16) % (high - low + 1) for place in range(count)
    ]
    return {"values": values, "smallest": min(values), "largest": max(values), "total": sum(values)}
