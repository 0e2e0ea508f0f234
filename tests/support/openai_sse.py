"""Server-sent events as both wire formats write them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests.support.openai_policy import JsonObject

CREATED = 1_760_000_000
"""The time stamp of every reply, in seconds; constant, so that a run repeats exactly."""

_PIECE = 5
"""Characters to a piece: small enough to cut JSON inside keys and values."""


def pieces(text: str) -> Iterator[str]:
    """Yield a text in the pieces that a stream sends; an empty text has none."""
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


def data_event(data: JsonObject) -> bytes:
    """Return an event which has data only, as the chat surface sends them."""
    return f"data: {json.dumps(data)}\n\n".encode()


def named_event(data: JsonObject) -> bytes:
    """Return an event which repeats its type as the event name, as the responses surface sends them."""
    return f"event: {data['type']}\n".encode() + data_event(data)
