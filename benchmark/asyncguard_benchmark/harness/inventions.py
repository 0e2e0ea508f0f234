"""Invented values: of the type and look of a right one, and nothing that the conversation told.

A model that lacks a value writes one that could be right: another day near the right one, an id with other digits, an
address with another name. The draw depends on its key alone.
"""

import re
from collections.abc import Callable
from datetime import date, timedelta
from random import Random
from typing import Any

_FIRST = ("Marta", "Oskar", "Priya", "Tomas", "Ingrid", "Kofi", "Yuki", "Diego", "Hanna", "Emil")
_LAST = ("Whitcombe", "Adeyemi", "Sorensen", "Ferreira", "Novotny", "Lindqvist", "Moreau", "Banks")
_WORDS = (
    *(
        "agenda",
        "amber",
        "backup",
        "canvas",
        "dispatch",
        "errand",
        "forecast",
        "gravel",
        "harvest",
        "invoice",
    ),
    *(
        "jacket",
        "kettle",
        "ladder",
        "marble",
        "nectar",
        "orchard",
        "parcel",
        "quarter",
        "ribbon",
        "saddle",
    ),
    *(
        "template",
        "umbrella",
        "velvet",
        "walnut",
        "yearbook",
        "zipper",
        "beacon",
        "cinnamon",
        "dahlia",
        "ember",
    ),
)
_PHRASES = (
    *(
        "see you at the station",
        "bring the spare keys",
        "thanks for the tip",
        "will call back later",
    ),
    *(
        "great photo",
        "count me in",
        "nice work everyone",
        "sold out already",
        "pick up the laundry",
    ),
)
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\b([01]\d|2[0-3]):([0-5]\d)\b")
_MAIL = re.compile(r"[\w.+-]+@([\w-]+\.)+\w+")
_DIGITS = re.compile(r"\d+")
_DECIMAL = re.compile(r"-?\d+\.\d+")
_PIECE = re.compile(r"[^\W\d_]+")
_PROSE = 2
"""Words from which on a text in lower case becomes a phrase."""


def invented(value: Any, key: tuple[Any, ...]) -> Any:
    """Return a value of the same type and look as another one.

    Args:
        value: A text or a number.
        key: Key of the draw: it depends on nothing else.
    """
    random = Random(repr(key))
    if isinstance(value, int):
        return _integer(value, random)
    if isinstance(value, float):
        return _decimal(f"{value}", random)
    return next(make(value, random) for pattern, make in _LOOKS if pattern.search(value))


def _integer(value: int, random: Random) -> int:
    size = len(str(abs(value)))
    low, high = (2, 12) if size == 1 else (10 ** (size - 1), 10**size - 1)
    drawn = random.randint(low, high)
    # People's numbers are round where the right one is.
    if size > 2 and value % 10 == 0:
        drawn = max(drawn // 10, 1) * 10
    return -drawn if value < 0 else drawn


def _decimal(text: str, random: Random) -> float:
    whole, _, decimals = text.lstrip("-").partition(".")
    drawn = random.randint(1, max(9, 10 ** len(whole) - 1)) + random.random()
    return round(drawn, max(1, len(decimals)) if decimals != "0" else 0)


def _moment(value: str, random: Random) -> str:
    def other_day(found: re.Match[str]) -> str:
        try:
            day = date.fromisoformat(found[0])
        except ValueError:
            return _other_digits(found[0], random)
        return (day + timedelta(days=random.randint(2, 120))).isoformat()

    moved = _ISO_DAY.sub(other_day, value)
    return _TIME.sub(
        lambda _: f"{random.randint(7, 21):02}:{random.choice((0, 15, 20, 30, 45)):02}", moved
    )


def _address(value: str, random: Random) -> str:
    domain = value.rpartition("@")[2]
    return f"{random.choice(_FIRST)}.{random.choice(_LAST)}@{domain}".lower()


def _other_digits(value: str, random: Random) -> str:
    def drawn(found: re.Match[str]) -> str:
        return str(random.randint(1, 9)) + "".join(str(random.randint(0, 9)) for _ in found[0][1:])

    return _DIGITS.sub(drawn, value)


def _name(value: str, random: Random) -> str:
    made = [random.choice(_FIRST), random.choice(_LAST), random.choice(_LAST)]
    return " ".join(made[: len(value.split())]) or made[0]


def _phrase(value: str, random: Random) -> str:
    return random.choice(_PHRASES)


def _words(value: str, random: Random) -> str:
    ending = re.search(r"\.[a-z]{1,5}$", value)
    kept = ending[0] if ending else ""
    body = value.removesuffix(kept)
    return _PIECE.sub(lambda _: random.choice(_WORDS), body) + kept


_LOOKS: tuple[tuple[re.Pattern[str], Callable[[str, Random], str]], ...] = (
    (_MAIL, _address),
    (re.compile(rf"^{_ISO_DAY.pattern}|^\d\d:\d\d$"), _moment),
    (re.compile(rf"^{_DECIMAL.pattern}$"), lambda value, random: f"{_decimal(value, random)}"),
    (re.compile(r"^[A-Za-z]{0,3}[-_ ]?\d[\d -]*$"), _other_digits),
    (re.compile(r"^(?:[A-Z][^\W\d_]+)(?: [A-Z][^\W\d_]+){0,2}$"), _name),
    (re.compile(rf"^\S+(?: \S+){{{_PROSE},}}$"), _phrase),
    (re.compile(""), _words),
)
"""Pattern of a look -> how another text of it is made; the first that is found."""
