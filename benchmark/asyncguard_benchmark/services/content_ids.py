"""Ids that come from what a thing says, not from a counter: an extra thing does not shift the id of a later one."""

import hashlib
import json
from collections.abc import Callable, Container, Iterator
from itertools import count
from typing import Any

_LOWEST, _COUNT = 10_000, 90_000
"""Ids end in five digits."""


def content_id(prefix: str, content: Any, taken: Container[str]) -> str:
    """Return an id such as ``M-58213``; the n-th thing of equal content takes the n-th free id of its series.

    Args:
        prefix: Text before the dash.
        content: A JSON value; the order of names in objects does not matter.
        taken: Ids that are not free.
    """
    series = numbers(lambda attempt: json.dumps([content, attempt], sort_keys=True))
    return next(found for each in series if (found := f"{prefix}-{each}") not in taken)


def numbers(written: Callable[[int], str]) -> Iterator[int]:
    """Yield the series of five-digit numbers of a content, without end; `written` writes it with a position in it."""
    for attempt in count():
        digest = hashlib.sha256(written(attempt).encode()).digest()
        yield _LOWEST + int.from_bytes(digest[:4], "big") % _COUNT
