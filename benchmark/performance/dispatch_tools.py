"""The tools that the workers of `dispatch.py` run."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asyncguard import guarded


@guarded(effect="at_most_once")
async def effect(number: int) -> str:
    """Does nothing, but could be a payment: it goes through the journal."""
    return f"done {number}"


@guarded(effect="pure")
async def reading(number: int) -> str:
    """Does nothing, and may be repeated: no journal is asked."""
    return f"read {number}"


@guarded(effect="keyed", key_argument="key")
async def hold(number: int, key: str) -> str:
    """Holds its first worker until that is killed, and answers in the next one at once."""
    mark = Path(os.environ["DISPATCH_FOLDER"]) / key
    if not mark.exists():
        mark.write_text(str(os.getpid()), encoding="utf-8")
        await asyncio.sleep(3600)
    return f"held {number}"


TOOLS: list[Callable[..., Any]] = [effect, reading, hold]
