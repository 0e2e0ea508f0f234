"""Ids that come from what a thing says, not from a counter: an extra thing does not shift the id of a later one."""

import hashlib
import json
from collections.abc import Container
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
    attempt = 0
    while True:
        digest = hashlib.sha256(json.dumps([content, attempt], sort_keys=True).encode()).digest()
        found = f"{prefix}-{_LOWEST + int.from_bytes(digest[:4], 'big') % _COUNT}"
        if found not in taken:
            return found
        attempt += 1
