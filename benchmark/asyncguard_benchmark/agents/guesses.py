"""Invents values as a hasty model does: of the right type and look, but not taken from anywhere."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

_WORDS = ("quarter", "inbox", "template", "export", "backup", "overview", "minutes", "roster", "snapshot", "agenda")
_NAMES = ("Whitcombe", "Adeyemi", "Sorensen", "Takahashi", "Ferreira", "Novotny", "Lindqvist", "Moreau")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _path(random: Random) -> str:
    return f"{random.choice(_WORDS)}_{random.randrange(100, 1000)}.txt"


def _symbol(random: Random) -> str:
    # Two letters more than usual tickers of the data, so that none is hit by chance.
    return "".join(random.choice(_LETTERS) for _ in range(6))


def _card(random: Random) -> str:
    return f"{random.randrange(1000, 10000)}-{random.randrange(1000, 10000)}"


def _phrase(random: Random) -> str:
    return f"{random.choice(_NAMES)} {random.choice(_WORDS)} {random.randrange(100, 1000)}"


_BY_NAME: tuple[tuple[tuple[str, ...], Callable[[Random], str]], ...] = (
    (("file", "folder", "path", "source", "destination", "first", "second"), _path),
    (("symbol",), _symbol),
    (("card",), _card),
)


def guess(name: str, schema: Mapping[str, Any], key: tuple[Any, ...]) -> Any:
    """A plausible value for an argument.

    Args:
        name: The argument's name.
        schema: Its JSON schema.
        key: What the draw depends on, and nothing else, so that two arms of an experiment share it.
    """
    random = Random(repr(key))
    if "enum" in schema:
        return random.choice(list(schema["enum"]))
    match schema.get("type"):
        case "integer":
            return random.randrange(1000, 100_000)
        case "number":
            return round(random.uniform(5, 500), 2)
        case "boolean":
            return random.random() < 0.5
        case "array":
            return [guess(name, schema.get("items", {}), (*key, 0))]
        case "object":
            return {part: guess(part, inner, (*key, part)) for part, inner in schema.get("properties", {}).items()}
    make = next((maker for words, maker in _BY_NAME if any(word in name for word in words)), _phrase)
    return make(random)
