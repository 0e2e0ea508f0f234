"""Plain JSON: values that every checkpointer stores and every provider reads back unchanged.

Models write, and integrations let through, values that are not plain JSON: lone surrogates from a
cut emoji, ``NaN``, integers of any length, nesting that breaks a recursive writer. Arguments with
such parts are refused and never repaired, because the model did not give a repaired value. In
texts, and in answers of tools, the broken characters are replaced.
"""

import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from asyncguard.core.calls import content_size

MAX_DEPTH = 64
"""Levels of nesting; msgpack and JSON writers fail between some hundred and a thousand."""
_INTEGERS = range(-(2**63), 2**64)
"""Integers that msgpack can represent."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half of a pair; a whole pair is one character in Python."""


def json_problem(arguments: Any) -> str:
    """Return the reason why the arguments are not a plain JSON object, empty if they are one."""
    if not isinstance(arguments, dict):
        return "The arguments have to be a JSON object."
    level: list[Any] = [arguments]
    # Level by level, as recursion would fail on the very nesting that is to be refused.
    for _ in range(MAX_DEPTH):
        deeper: list[Any] = []
        for value in level:
            if problem := _problem(value):
                return problem
            if isinstance(value, dict):
                deeper += value.values()
            elif isinstance(value, list):
                deeper += value
        if not deeper:
            return ""
        level = deeper
    return f"The arguments are nested more than {MAX_DEPTH} levels deep; send a flatter object."


def _problem(value: Any) -> str:
    match value:
        case str():
            return (
                "" if is_plain_text(value) else "The arguments hold text that is not valid Unicode."
            )
        case None | bool() | list():
            return ""
        case int():
            return (
                ""
                if value in _INTEGERS
                else "The arguments hold an integer beyond 64 bits; give it as text."
            )
        case float():
            return (
                ""
                if math.isfinite(value)
                else "The arguments hold NaN or an infinite number, which JSON has not."
            )
        case dict():
            named = all(isinstance(name, str) and is_plain_text(name) for name in value)
            return "" if named else "The arguments have to be a JSON object with text for names."
        case _:
            return "The arguments hold a value that JSON has not."


def is_plain_text(text: str) -> bool:
    """Return True if the text can be encoded: it holds no lone surrogates."""
    return text.isascii() or _LONE_SURROGATE.search(text) is None


def plain_text(text: str) -> str:
    """Return the text with U+FFFD, the replacement character, in place of each lone surrogate."""
    return text if is_plain_text(text) else _LONE_SURROGATE.sub("\ufffd", text)


def plain_content(content: Any) -> Any:
    """Apply :func:`plain_text` to all texts of a content or JSON value, names of values included.

    Returns:
        The same object if nothing has to be replaced.
    """
    # The copy that a change needs costs more than to look.
    return content if _is_plain(content) else changed_texts(content, plain_text)


def _is_plain(content: Any) -> bool:
    """Return True if all texts of a content or JSON value are plain: nearly always."""
    if isinstance(content, str):
        return is_plain_text(content)
    if isinstance(content, dict):
        content = [*content, *content.values()]
    elif not isinstance(content, list):
        return True
    for item in content:  # noqa: SIM110 - `all` with a generator takes twice the time
        # Most items are ASCII texts: they are not worth a call each.
        if not (isinstance(item, str) and item.isascii()) and not _is_plain(item):
            return False
    return True


def changed_texts(
    content: Any,
    change: Callable[[str], str],
    across: Callable[[list[Any]], list[Any]] = lambda blocks: blocks,
) -> Any:
    """Apply a function to all texts of a content or JSON value, names of values included.

    Args:
        content: Text, content blocks or any JSON value.
        change: Returns the text to write instead, the same object if it stays.
        across: Applied to the items of each list, after their own texts were changed.

    Returns:
        The same object if nothing was changed.
    """
    if isinstance(content, str):
        return change(content)
    if isinstance(content, list):
        parts = across([changed_texts(part, change, across) for part in content])
        same = all(new is old for new, old in zip(parts, content, strict=True))
        return content if same else parts
    if not isinstance(content, dict):
        return content
    changed: dict[Any, Any] = {}
    same = True
    for key, value in content.items():
        name = changed_texts(key, change, across)
        said = changed_texts(value, change, across)
        same = same and name is key and said is value
        while name in changed:  # names that differed only in the changed part stay two names
            name = f"{name}_"
        changed[name] = said
    return content if same else changed


_NAMED = 8
"""Number of kinds of omitted blocks that the note names."""
_WRAPPING = len('{"type":"text","text":""}')
_WORD = 32
"""Length limit of a kind's name, as it comes from the tool."""


def limited(content: Any, limit: int, label: str) -> Any:
    """Return the content, or the part of it within a limit and a note about the rest.

    Text is cut. A block without text (an image, a document) is shown whole or left out, as half of
    one cannot be read. Text stays text and a list of blocks stays a list, so a provider that
    accepts the content accepts the cut one, too.

    Args:
        content: Text or a list of texts and content blocks.
        limit: Bytes of UTF-8 text and canonical JSON, without the note.
        label: The call's name, for the note.
    """
    if isinstance(content, str):
        kept, size = _beginning(content, limit)
        return content if size <= limit else f"{kept}\n{_note(label, size - limit, size)}"
    if not isinstance(content, list):
        return content
    shown, lost, total, left_out = _fitting(content, limit)
    notes = [_note(label, lost, total)] if lost else []
    if left_out:
        named = [f"{kind} ({size} bytes)" for kind, size in sorted(left_out.items())]
        if len(named) > _NAMED:
            named[_NAMED:] = ["and others"]
        only = f"at most {limit} bytes are shown: {', '.join(named)}"
        notes.append(f"[{label}: blocks were left out, for {only}]")
    if not notes:
        return content
    # A list of plain texts gets plain notes, so that its form stays the same.
    texts_only = all(isinstance(block, str) for block in content)
    return [*shown, *(notes if texts_only else ({"type": "text", "text": note} for note in notes))]


def _fitting(blocks: list[Any], limit: int) -> tuple[list[Any], int, int, Counter[str]]:
    """Return the blocks within a limit, with the last text cut.

    Returns:
        The blocks, the bytes of text that were cut, those of all blocks, and those of the blocks
        that were left out, by kind.
    """
    room, lost, total = limit, 0, 0
    shown: list[Any] = []
    left_out: Counter[str] = Counter()
    for block in blocks:
        size = _size(block)
        total += size
        if size <= room:
            shown.append(block)
            room -= size
            continue
        text = _text_in(block)
        if text is None:
            # The note quotes the kind to the model, so it must be a harmless word.
            kind = block.get("type") if isinstance(block, dict) else None
            harmless = isinstance(kind, str) and kind.isidentifier() and len(kind) <= _WORD
            left_out[str(kind) if harmless else "other"] += size
            continue
        kept, _ = _beginning(text, max(0, room - (0 if isinstance(block, str) else _WRAPPING)))
        lost += size - room
        room = 0
        if kept:
            shown.append(kept if isinstance(block, str) else {"type": "text", "text": kept})
    return shown, lost, total, left_out


def _beginning(text: str, limit: int) -> tuple[str, int]:
    """Return the beginning of a text that fits, and the size of the text in bytes (0 if small)."""
    # UTF-8 has at most four bytes a character, so a short text need not be encoded.
    if len(text) <= limit // 4:
        return text, 0
    data = plain_text(text).encode()
    return (text if len(data) <= limit else data[:limit].decode("utf-8", "ignore")), len(data)


def _size(block: Any) -> int:
    """Return the size of a block in bytes, at least 1 so that empty blocks are limited, too."""
    try:
        return max(1, content_size(block))
    except (RecursionError, ValueError, TypeError):
        return 1 << 62  # greater than any limit: what cannot be encoded is not shown


def _text_in(block: Any) -> str | None:
    if isinstance(block, str):
        return block
    if (
        isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    ):
        return str(block["text"])
    return None


def _note(label: str, lost: int, total: int) -> str:
    return f"[{label}: {lost} of {total} bytes were cut off here]"
