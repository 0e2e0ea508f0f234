"""Plain JSON: what every checkpointer stores, every log prints and every provider reads back as it was.

Models write, and integrations let through, what is none: lone surrogates from a cut emoji, ``NaN``, integers of any
length, nesting that breaks a recursive writer. Arguments with such parts are refused and never repaired, because a
repaired value would be one that the model did not give; in mere text the broken characters are replaced.
"""

import math
from typing import Any

MAX_DEPTH = 64
"""Levels of nesting; msgpack and JSON writers give up between some hundred and a thousand."""
_INTEGERS = range(-(2**63), 2**64)
"""What msgpack can hold."""


def problem_with(arguments: Any) -> str:
    """Why the arguments are no plain JSON object, as a sentence for the model; empty if they are one."""
    if not isinstance(arguments, dict):
        return "The arguments have to be a JSON object."
    level: list[Any] = [arguments]
    for _ in range(MAX_DEPTH):
        deeper: list[Any] = []
        for value in level:
            if problem := _problem(value):
                return problem
            deeper += _parts(value)
        if not deeper:
            return ""
        level = deeper
    return f"The arguments are nested more than {MAX_DEPTH} levels deep; send a flatter object."


def _problem(value: Any) -> str:
    match value:
        case str():
            return "" if is_plain_text(value) else "The arguments hold text that is no valid Unicode."
        case None | bool() | list():
            return ""
        case int():
            return "" if value in _INTEGERS else "The arguments hold an integer beyond 64 bits; give it as text."
        case float():
            return "" if math.isfinite(value) else "The arguments hold NaN or an infinite number, which JSON has not."
        case dict():
            named = all(isinstance(name, str) and is_plain_text(name) for name in value)
            return "" if named else "The arguments have to be a JSON object with text for names."
        case _:
            return "The arguments hold a value that JSON has not."


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def is_plain_text(text: str) -> bool:
    """Whether the text can be encoded, which lone surrogates cannot."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def plain_text(text: str) -> str:
    """The text with lone surrogates replaced."""
    return text if is_plain_text(text) else text.encode("utf-8", "replace").decode("utf-8")


def plain_content(content: Any) -> Any:
    """Message content with lone surrogates replaced; the same object where there are none."""
    if isinstance(content, str):
        return plain_text(content)
    if isinstance(content, list):
        parts = [plain_content(part) for part in content]
        return content if all(new is old for new, old in zip(parts, content, strict=True)) else parts
    if isinstance(content, dict):
        values = {name: plain_content(value) for name, value in content.items()}
        return content if all(values[name] is content[name] for name in content) else values
    return content
