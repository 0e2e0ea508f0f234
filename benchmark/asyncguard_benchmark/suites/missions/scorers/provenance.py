"""Origins of a wrong value: a stand-in, nothing that was said, or something else that was said."""

import json
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from asyncguard_benchmark.suites.missions.gold_graph import GoldGraph, bits

_STAND_IN = re.compile(
    r"|n/?a|none|null|unknown|unspecified|not (?:given|provided|specified)|tbd|todo|placeholder|example"
    r"|x{2,}|\?+|\.{3}|<[^<>]*>|\[[^\[\]]*\]|\{[^{}]*\}|your[ _-].*",
    re.IGNORECASE,
)


class ValueOrigin(StrEnum):
    """Kinds of wrong values."""

    STAND_IN = "stand-in"
    INVENTED = "invented"
    """It stands nowhere in the conversation."""
    STALE = "stale"
    """It stands in the conversation, for something else."""
    OTHER = "other"
    """An object, an array, a truth value or null: it cannot be looked for."""


def origin_of(value: Any, texts: Iterable[str]) -> ValueOrigin:
    """Tell where a wrong value may come from.

    Args:
        value: The value.
        texts: All that the agent had seen.
    """
    if isinstance(value, str) and _STAND_IN.fullmatch(value.strip()):
        return ValueOrigin.STAND_IN
    if isinstance(value, bool | list | dict) or value is None:
        return ValueOrigin.OTHER
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    form = re.escape(_plain(str(value)))
    # Not as a part of another word or number.
    pattern = re.compile(rf"(?<!\w)(?<!\d\.){form}(?!\w)(?!\.\d*[1-9])")
    found = any(pattern.search(_plain(text)) for text in texts)
    return ValueOrigin.STALE if found else ValueOrigin.INVENTED


def told(graph: GoldGraph, done: int) -> tuple[str, ...]:
    """Return what a mission has told so far: results of the calls, and the user's replies."""
    nodes = [graph.nodes[each] for each in bits(done & ~graph.answers)]
    results = [_shown(node.observation) for node in nodes if node.observation is not None]
    return (*results, *(node.reply for node in nodes if node.reply is not None))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
