"""The world in which the tools of a case act: a log that they append to and that no runtime knows of."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass
class World:
    """The true effects. Tools write here from any OS thread, before they answer or break."""

    _effects: Counter[str] = field(default_factory=Counter)
    _keys: set[str] = field(default_factory=set)
    _begun: list[tuple[str, float]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, tool: str) -> int:
        """Note that a tool's code begins, and tell how often it has begun."""
        with self._lock:
            self._begun.append((tool, _now()))
            return sum(name == tool for name, _ in self._begun)

    def act(self, what: str, key: str = "") -> None:
        """Let an effect happen; with a key only the first time, as a service that honours keys does."""
        with self._lock:
            if key and key in self._keys:
                return
            self._keys.add(key)
            self._effects[what] += 1

    def happened(self, what: str) -> int:
        """Tell how often an effect happened."""
        with self._lock:
            return self._effects[what]

    @property
    def effects(self) -> Mapping[str, int]:
        """Return the number of times each effect happened."""
        with self._lock:
            return dict(self._effects)

    def begun(self, tool: str) -> list[float]:
        """Tell when a tool's code began, in seconds of the loop."""
        with self._lock:
            return [at for name, at in self._begun if name == tool]


def _now() -> float:
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:  # a thread
        return time.monotonic()
