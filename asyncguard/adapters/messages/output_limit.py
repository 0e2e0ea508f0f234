"""Bound what the model is shown of a result, whatever form it has."""

from collections import Counter
from typing import Any

from asyncguard.adapters.messages.sanitize import plain_text
from asyncguard.core.calls import content_size

_NAMED = 8
"""Kinds of blocks that the note about what was left out names."""
_WRAPPING = len('{"type":"text","text":""}')
_WORD = 32
"""Characters of a kind's name; it comes from the tool."""


def limited(content: Any, limit: int, label: str) -> Any:
    """Return the content, or what fits of it and a note about the rest.

    Text is cut. A block without text (an image, a document) is shown whole or not at all: half of one is none. Text
    stays text and a list of blocks stays one, so what a provider accepted before it accepts after.

    Args:
        content: Text or a list of texts and content blocks.
        limit: Bytes of UTF-8 text and canonical JSON; the note comes on top.
        label: The call's name, for the note.
    """
    if isinstance(content, str):
        kept, size = _beginning(content, limit)
        return content if size <= limit else f"{kept}\n{_note(label, size - limit, size)}"
    if not isinstance(content, list):
        return content
    room, lost, total = limit, 0, 0
    shown: list[Any] = []
    left_out: Counter[str] = Counter()
    for block in content:
        size = _size(block)
        total += size
        if size <= room:
            shown.append(block)
            room -= size
            continue
        text = _text_in(block)
        if text is None:
            left_out[_kind(block)] += size
            continue
        kept, _ = _beginning(text, max(0, room - (0 if isinstance(block, str) else _WRAPPING)))
        lost += size - room
        room = 0
        if kept:
            shown.append(kept if isinstance(block, str) else {"type": "text", "text": kept})
    if not lost and not left_out:
        return content
    notes = [_note(label, lost, total)] if lost else []
    if left_out:
        notes.append(_note_of_blocks(label, left_out, limit))
    texts_only = all(isinstance(block, str) for block in content)
    return [*shown, *(notes if texts_only else ({"type": "text", "text": note} for note in notes))]


def _beginning(text: str, limit: int) -> tuple[str, int]:
    """As much of a text as fits, and its size in bytes."""
    if len(text) <= limit // 4:  # four bytes a character at most
        return text, 0
    data = plain_text(text).encode()
    return (text if len(data) <= limit else data[:limit].decode("utf-8", "ignore")), len(data)


def _size(block: Any) -> int:
    """Size of a block in bytes; one byte at least, so that any number of empty ones ends."""
    try:
        return max(1, content_size(block))
    except (RecursionError, ValueError, TypeError):
        return 1 << 62  # it cannot be written, so it cannot be shown


def _text_in(block: Any) -> str | None:
    if isinstance(block, str):
        return block
    if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
        return str(block["text"])
    return None


def _kind(block: Any) -> str:
    kind = block.get("type") if isinstance(block, dict) else None
    return kind if isinstance(kind, str) and kind.isidentifier() and len(kind) <= _WORD else "other"


def _note(label: str, lost: int, total: int) -> str:
    return f"[{label}: {lost} of {total} bytes were cut off here]"


def _note_of_blocks(label: str, left_out: Counter[str], limit: int) -> str:
    parts = [f"{kind} ({size} bytes)" for kind, size in sorted(left_out.items())[:_NAMED]]
    more = ", and others" if len(left_out) > _NAMED else ""
    return f"[{label}: blocks were left out, for at most {limit} bytes are shown: {', '.join(parts)}{more}]"
