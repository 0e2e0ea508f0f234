"""Conversations on the page: few, chosen, and cut where they are long; the rest are read by ``asyncguard view``."""

import json
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from asyncguard_benchmark.harness.ablation.findings import Setup
from asyncguard_benchmark.harness.episode import Episode

MOST = 20
"""Conversations on a page."""
_ALIKE = 10
"""Conversations of one setup, arm and verdict that are kept to choose from."""
_KEPT = 600
"""Conversations that are kept to choose from at all."""
_LONGEST_SYSTEM, _LONGEST_MESSAGE, _LONGEST = 600, 3_000, 24_000
"""Characters of a system message, which repeats in all of them, of another one, and of a conversation."""


@dataclass(kw_only=True)
class Transcripts:
    """Conversations by episode, deflated: a report reads files of thousands."""

    held: dict[Any, bytes] = field(default_factory=dict)
    _alike: Counter[tuple[Setup, str, bool]] = field(default_factory=Counter)

    def add(self, key: Any, episode: Episode, kind: tuple[Setup, str, bool]) -> None:
        """Keep a conversation, unless enough of its kind are kept or the file has none.

        Args:
            key: Names the episode.
            episode: The episode.
            kind: Setup, arm, and whether it was solved.
        """
        if not episode.messages or self._alike[kind] >= _ALIKE or len(self.held) >= _KEPT:
            return
        self._alike[kind] += 1
        self.held[key] = zlib.compress(json.dumps(told(episode.messages)).encode())

    def read(self, key: Any) -> list[list[str]] | None:
        """Return a conversation as [role, text], or None if it was not kept."""
        data = self.held.get(key)
        return None if data is None else json.loads(zlib.decompress(data))


def told(messages: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return messages as [role, text] up to so many characters; what is cut is said."""
    found, left = [], _LONGEST
    for number, message in enumerate(messages):
        if left <= 0:
            found.append(
                ["", f"{len(messages) - number} more messages: asyncguard view shows them"]
            )
            break
        text = _text(message)
        most = _LONGEST_SYSTEM if message["role"] == "system" else _LONGEST_MESSAGE
        longest = min(left, most)
        if len(text) > longest:
            text = (
                f"{text[:longest]}\N{HORIZONTAL ELLIPSIS} ({len(text) - longest:,} characters more)"
            )
        left -= len(text)
        found.append([str(message["role"]), text])
    return found


def _text(message: Mapping[str, Any]) -> str:
    content = message["content"]
    parts = [content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)]
    parts += [
        f"{call['name']}({json.dumps(call['args'], ensure_ascii=False)})"
        for call in message.get("tool_calls", ())
    ]
    return "\n".join(part for part in parts if part)
