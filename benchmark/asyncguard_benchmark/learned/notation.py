"""Compact notation of JSON values: texts without quotation marks where nothing else could be meant.

``{"city": "Lyon", "days": [3, "4"]}`` is written ``{city:Lyon,days:[3,"4"]}``: about half the tokens, and a value reads
the same as in the question that it is copied from. Every value of JSON has exactly one spelling here.
"""

import json
import re
from typing import Any

_BARE = re.compile(r"[^\s{}\[\]:,\"'\\][^{}\[\]:,\"\\\n\r]*")
_LITERALS = {"true": True, "false": False, "null": None}
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_DECODER = json.JSONDecoder()


class NotationError(ValueError):
    """A text cannot be read as a value in compact notation; the message says where."""


def compact(value: Any) -> str:
    """Return a JSON value in compact notation."""
    match value:
        case str():
            return value if _is_bare(value) else json.dumps(value, ensure_ascii=False)
        case dict():
            inner = (f"{compact(name)}:{compact(item)}" for name, item in value.items())
            return "{" + ",".join(inner) + "}"
        case list() | tuple():
            return "[" + ",".join(map(compact, value)) + "]"
        case _:
            return json.dumps(value)


def _is_bare(text: str) -> bool:
    return (
        _BARE.fullmatch(text) is not None
        and text == text.strip()
        and text not in _LITERALS
        and _NUMBER.fullmatch(text) is None
    )


def read_compact(text: str) -> Any:
    """Return the value of a text in compact notation.

    Raises:
        NotationError: it is none.
    """
    value, end = _value(text, 0)
    if end != len(text):
        raise NotationError(f"there is more after the value, from character {end}")
    return value


def _value(text: str, at: int) -> tuple[Any, int]:
    match text[at : at + 1]:
        case "{":
            return _object(text, at + 1)
        case "[":
            return _array(text, at + 1)
        case '"':
            try:
                return _DECODER.raw_decode(text, at)
            except ValueError as problem:
                raise NotationError(str(problem)) from problem
        case _:
            found = _BARE.match(text, at)
            if found is None:
                raise NotationError(f"a value is missing at character {at}")
            return _bare(found[0]), found.end()


def _bare(text: str) -> Any:
    if text in _LITERALS:
        return _LITERALS[text]
    return json.loads(text) if _NUMBER.fullmatch(text) else text


def _object(text: str, at: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while not text.startswith("}", at):
        name_at = at
        name, at = _value(text, at)
        if not text.startswith(":", at):
            raise NotationError(f"a colon is missing at character {at}")
        item, at = _value(text, at + 1)
        # A bare name may look like a number or a literal; its spelling is the name.
        found[name if isinstance(name, str) else text[name_at : text.index(":", name_at)]] = item
        at = _after_item(text, at, "}")
    return found, at + 1


def _array(text: str, at: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    while not text.startswith("]", at):
        item, at = _value(text, at)
        found.append(item)
        at = _after_item(text, at, "]")
    return found, at + 1


def _after_item(text: str, at: int, end: str) -> int:
    if text.startswith(",", at):
        return at + 1
    if text.startswith(end, at):
        return at
    raise NotationError(f"a comma or {end} is missing at character {at}")
