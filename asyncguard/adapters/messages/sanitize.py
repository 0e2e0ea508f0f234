"""Plain JSON: what every checkpointer stores, every log prints and every provider reads back as it was.

Models write, and integrations let through, what is none: lone surrogates from a cut emoji, ``NaN``, integers of any
length, nesting that breaks a recursive writer. Arguments with such parts are refused and never repaired, because a
repaired value would be one that the model did not give. In mere text, and in what tools answer, the broken characters
are replaced.
"""

import math
import re
from typing import Any

MAX_DEPTH = 64
"""Levels of nesting; msgpack and JSON writers give up between some hundred and a thousand."""
_INTEGERS = range(-(2**63), 2**64)
"""What msgpack can hold."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a pair; a whole pair is one character in Python."""


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
    return text.isascii() or _LONE_SURROGATE.search(text) is None


def plain_text(text: str) -> str:
    """Return the text with U+FFFD, the replacement character, in place of each lone surrogate."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def plain_content(content: Any) -> Any:
    """Return message content, or any JSON value, as :func:`plain_text` makes it; names of values are text, too.

    Returns:
        The same object where there is nothing to replace.
    """
    if isinstance(content, str):
        return content if is_plain_text(content) else plain_text(content)
    if isinstance(content, list):
        parts = [plain_content(part) for part in content]
        return content if all(new is old for new, old in zip(parts, content, strict=True)) else parts
    return _plain_mapping(content) if isinstance(content, dict) else content


def _plain_mapping(content: dict[Any, Any]) -> dict[Any, Any]:
    plain: dict[Any, Any] = {}
    same = True
    for key, value in content.items():
        name, said = plain_content(key), plain_content(value)
        same = same and name is key and said is value
        while name in plain:  # two names that differ in what was replaced are two values still
            name = f"{name}_"
        plain[name] = said
    return content if same else plain
